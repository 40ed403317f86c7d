package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/isodetect/isodetect/bench/traffic"
	"github.com/isodetect/isodetect/scan"
)

// writeProfile scans traffic of every format and writes where the time went, as the
// compiler takes it to build the program for that (go.dev/doc/pgo).
func writeProfile(args []string) error {
	flags := flag.NewFlagSet("bench profile", flag.ContinueOnError)
	out := flags.String("out", "cmd/isodetect/default.pgo", "profile to write")
	size := flags.String("size", "60M", "bytes of each input")
	if err := flags.Parse(args); err != nil {
		return err
	}
	bytes, err := parseSize(*size)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "isodetect-profile-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the traffic: %w", err)
	}
	defer os.RemoveAll(dir)
	var paths []string
	for _, f := range traffic.Formats() {
		path := filepath.Join(dir, f.File)
		if err := writeFile(path, f, traffic.Options{Seed: 1, Sessions: 500, Bytes: bytes}); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	file, err := os.Create(*out)
	if err != nil {
		return fmt.Errorf("cannot write the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		file.Close()
		return fmt.Errorf("cannot profile: %w", err)
	}
	for _, path := range paths {
		if err = scanOften(path); err != nil {
			break
		}
	}
	pprof.StopCPUProfile()
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// scanOften scans a file until ten seconds are over.
func scanOften(path string) error {
	for begin := time.Now(); time.Since(begin) < 10*time.Second; {
		_, _, err := scan.Run(context.Background(), scan.Options{Paths: []string{path}, CancelWindow: 500 * time.Millisecond})
		if err != nil {
			return fmt.Errorf("cannot scan %s: %w", path, err)
		}
	}
	return nil
}
