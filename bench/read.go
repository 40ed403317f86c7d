package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/isodetect/isodetect/parsers/pcap"
	"github.com/isodetect/isodetect/parsers/source"
)

// Reading alone: packets become events, with every field of every message, and
// nothing is made of them. It is what a tool does that pulls fields out.

// onDisk is a file as an input.
type onDisk string

func (p onDisk) Stream() (io.ReadCloser, error) { return os.Open(string(p)) }

func (p onDisk) Random() (source.RandomReader, int64, error) {
	return nil, 0, errors.New("cannot read in any order: a capture is read once")
}

func readCapture(args []string) error {
	if len(args) != 1 {
		return errors.New("name one capture to read")
	}
	n, err := readEvents(filepath.Base(args[0]), onDisk(args[0]))
	if err == nil {
		fmt.Println(n, "events")
	}
	return err
}

// readEvents reads a capture to its end and counts the events.
func readEvents(name string, from source.Opener) (n int, err error) {
	in := &source.Input{Path: name, Opener: from}
	r, err := pcap.Format.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		return 0, fmt.Errorf("cannot open: %w", err)
	}
	defer r.Close()
	for {
		switch _, err := r.Next(); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, fmt.Errorf("cannot read: %w", err)
		}
		n++
	}
}
