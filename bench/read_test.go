package main

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/isodetect/isodetect/bench/traffic"
	"github.com/isodetect/isodetect/parsers/source"
)

// kept is an input in memory.
type kept []byte

func (k kept) Stream() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(k)), nil }

func (k kept) Random() (source.RandomReader, int64, error) {
	return nil, 0, errors.New("cannot read in any order: a capture is read once")
}

// BenchmarkReadCapture reads packets into events, which is what tshark's fields
// come to, of 200 connections at a time.
func BenchmarkReadCapture(b *testing.B) {
	var input bytes.Buffer
	capture := traffic.Formats()[2]
	if capture.Name != "pcap" {
		b.Fatalf("the third format is %s", capture.Name)
	}
	if _, err := capture.Write(&input, traffic.Options{Seed: 1, Sessions: 200, Bytes: 20_000_000}); err != nil {
		b.Fatalf("cannot make traffic: %s", err)
	}
	b.SetBytes(int64(input.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := readEvents("bench", kept(input.Bytes())); err != nil || n == 0 {
			b.Fatalf("%d events were read: %v", n, err)
		}
	}
}
