// Command bench makes traffic and measures isodetect on it.
//
//	go run ./bench gen --format log --size 100M --sessions 500 --seed 1 FILE
//	go run ./bench run --bin bin/isodetect --size 20M --out docs/measured.md
//	go run ./bench read FILE.pcap   # into events and no further, as run measures it beside tshark
//	go run ./bench profile --out cmd/isodetect/default.pgo
//	go run ./bench latency --bin bin/isodetect   # of isodetect tail, from a line to its finding
//	go run ./bench crowd live --bin bin/isodetect   # memory of isodetect tail with 100,000 live sessions
//	go run ./bench crowd storm --bin bin/isodetect   # and with a million that come within an hour
//
// `run` reads an input and one ten times as large per format, three times each, and
// lets jq pull the same fields out of the smaller one, tshark out of the larger one, or
// wc count its lines, in between, so that both
// meet the same machine. Figures are medians; speed is by CPU time, which a busy
// machine disturbs least.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/bench/traffic"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "gen":
			return generate(args[1:])
		case "read":
			return readCapture(args[1:])
		case "profile":
			return writeProfile(args[1:])
		case "crowd":
			return crowdFlags(args[1:])
		case "latency":
			return latencyFlags(args[1:])
		case "run":
			return measureAll(args[1:])
		}
	}
	return fmt.Errorf("say what to do: gen, run, read, profile, latency or crowd")
}

func generate(args []string) error {
	flags := flag.NewFlagSet("bench gen", flag.ContinueOnError)
	name := flags.String("format", "log", "log, wire, pcap, har, python or slog")
	size := flags.String("size", "20M", "bytes to write, with K, M or G")
	sessions := flags.Int("sessions", 500, "live sessions at once")
	seed := flags.Uint64("seed", 1, "the same seed gives the same bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("name one file to write")
	}
	bytes, err := parseSize(*size)
	if err != nil {
		return err
	}
	for _, f := range traffic.Formats() {
		if f.Name == *name {
			return writeFile(flags.Arg(0), f, traffic.Options{Seed: *seed, Sessions: *sessions, Bytes: bytes})
		}
	}
	return fmt.Errorf("unknown format %q: use log, wire, pcap, har, python or slog", *name)
}

func writeFile(path string, f traffic.Format, o traffic.Options) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write traffic: %w", err)
	}
	if _, err := f.Write(file, o); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// parseSize reads a number of bytes such as 500K, 20M or 1G (powers of 1000).
func parseSize(s string) (int64, error) {
	digits, unit := s, int64(1)
	for suffix, u := range map[string]int64{"K": 1e3, "M": 1e6, "G": 1e9} {
		if d, ok := strings.CutSuffix(strings.ToUpper(s), suffix); ok {
			digits, unit = d, u
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("cannot read size %q: use a number with K, M or G", s)
	}
	return n * unit, nil
}
