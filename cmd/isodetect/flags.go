package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/verdict"
)

// inputFlags say how inputs are read and judged; scan and inspect share them.
type inputFlags struct {
	inputFormat  string
	domains      []string
	join         bool
	assume       string
	sharedDesign bool
	zone         string
	keyLog       string
	patterns     string
	since, until string
	cancelWindow time.Duration
	limits       []string
	config       string
	reveal       bool
	color        string
	noProgress   bool
}

func (f *inputFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.inputFormat, "input-format", "", "read every input as this `FORMAT` instead of recognising it (see formats)")
	fs.StringArrayVar(&f.domains, "domain", nil, "`NAME=GLOB` makes one domain of what matches the glob by input path, or by server and path (repeatable)")
	fs.BoolVar(&f.join, "join", false, "make one domain of recordings of one server (log, HAR, capture) that show the same sessions; reads the inputs twice")
	fs.StringVar(&f.assume, "assume", "", "`HOW` sessions are served: multiplexed by one process, or pinned, each to its own")
	fs.BoolVar(&f.sharedDesign, "shared-sessions-by-design", false, "conversations share sessions on purpose: drop that hazard, keep crossings")
	fs.StringVar(&f.zone, "assume-tz", "", "`OFFSET` from UTC of stamps without a zone, such as +02:00")
	fs.StringVar(&f.keyLog, "tls-keylog", "", "`FILE` with TLS secrets of a capture (SSLKEYLOGFILE)")
	fs.StringVar(&f.patterns, "patterns", "", "`FILE` that says what the lines of your own log mean (see docs/patterns.md)")
	fs.StringVar(&f.since, "since", "", "count findings from this `TIME` on: RFC 3339, a date, or a duration before now such as 15m")
	fs.StringVar(&f.until, "until", "", "count findings up to this `TIME`")
	fs.DurationVar(&f.cancelWindow, "cancel-window", 500*time.Millisecond, "`DURATION` in which a cancel shows its effect on another party's request")
	fs.StringArrayVar(&f.limits, "limit", nil, "bound the state: `NAME=N` with "+words(correlate.LimitNames())+" (repeatable)")
	fs.StringVar(&f.config, "config", "", "read settings from `FILE` instead of the isodetect.yaml in force; none = from none")
	fs.BoolVar(&f.reveal, "reveal", false, "show session ids and values; credentials stay hidden")
	fs.StringVar(&f.color, "color", "auto", "`WHEN` to use colour: auto, always, never")
	fs.BoolVar(&f.noProgress, "no-progress", false, "no progress bar")
}

// options checks the flags and turns them into those of a scan.
func (f *inputFlags) options(paths []string, stdin io.Reader) (scan.Options, error) {
	opt := scan.Options{
		Paths: paths, Stdin: stdin, InputFormat: f.inputFormat, Domains: f.domains, Join: f.join, Zone: f.zone, TLSKeyLog: f.keyLog,
		Assume: f.assume, SharedByDesign: f.sharedDesign, CancelWindow: f.cancelWindow,
	}
	if !slices.Contains([]string{"", scan.Multiplexed, scan.Pinned}, f.assume) {
		return opt, fmt.Errorf("cannot use --assume %q: use multiplexed or pinned", f.assume)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return opt, fmt.Errorf("cannot use --color %q: use auto, always or never", f.color)
	}
	if f.cancelWindow <= 0 {
		return opt, fmt.Errorf("cannot use --cancel-window %v: it must be longer than 0", f.cancelWindow)
	}
	var err error
	opt.Limits = correlate.DefaultLimits()
	for _, l := range f.limits {
		name, n, _ := strings.Cut(l, "=")
		if err := opt.Limits.Set(name, n); err != nil {
			return opt, fmt.Errorf("cannot use --limit %s: %w", quoted(l), err)
		}
	}
	if f.patterns != "" {
		if opt.Patterns, err = pattern.Load(f.patterns); err != nil {
			return opt, err
		}
	}
	now := time.Now()
	if opt.Since, err = scan.ParseTime(f.since, f.zone, now); err != nil {
		return opt, fmt.Errorf("--since: %w", err)
	}
	if opt.Until, err = scan.ParseTime(f.until, f.zone, now); err != nil {
		return opt, fmt.Errorf("--until: %w", err)
	}
	return opt, nil
}

// read runs a scan under a progress bar.
func (f *inputFlags) read(ctx context.Context, opt scan.Options, show report.Options, stderr io.Writer) (*report.Report, *verdict.Result, error) {
	bar := newBar(stderr, f.noProgress)
	opt.Progress = bar.update
	res, inputs, err := scan.Run(ctx, opt)
	bar.clear()
	if err != nil {
		return nil, nil, err
	}
	show.Version, show.Reveal = version(), f.reveal
	return report.Build(res, inputs, show), res, nil
}
