package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/isodetect/isodetect/bench/traffic"
)

// crowd is what a watch of many sessions cost.
type crowd struct {
	what          string
	sessions      int
	lines         int64
	events, live  float64
	evicted, gaps float64
	rss, peak     int64 // resident bytes once all was read, and at most
	cpu, wall     time.Duration
}

// The crowds that bench run measures.
func crowds() map[string]traffic.Crowd {
	return map[string]traffic.Crowd{
		"live":  {Seed: 1, Sessions: 100_000, Calls: 3, Streams: true, Span: 10 * time.Minute},
		"storm": {Seed: 1, Sessions: 1_000_000, Calls: 1, Leave: 10, Span: time.Hour},
	}
}

func crowdFlags(args []string) error {
	if len(args) == 0 || args[0] != "live" && args[0] != "storm" {
		return fmt.Errorf("say which crowd: live or storm")
	}
	o := crowds()[args[0]]
	flags := flag.NewFlagSet("bench crowd "+args[0], flag.ContinueOnError)
	bin := flags.String("bin", "bin/isodetect", "the program to measure")
	flags.IntVar(&o.Sessions, "sessions", o.Sessions, "sessions in all")
	flags.IntVar(&o.Calls, "calls", o.Calls, "calls of each")
	flags.BoolVar(&o.Streams, "streams", o.Streams, "each opens a GET stream that stays open")
	checkpoint := flags.Bool("checkpoint", true, "with a checkpoint")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	c, err := measureCrowd(*bin, args[0], o, *checkpoint)
	if err == nil {
		fmt.Println(c)
	}
	return err
}

func (c crowd) String() string {
	return fmt.Sprintf("%s: %d sessions, %d lines, %.0f events, %.0f live at the end, %.0f evictions, %.0f gaps; resident %.0f MiB once read, %.0f MiB at most; CPU %.1f s, wall %.1f s",
		c.what, c.sessions, c.lines, c.events, c.live, c.evicted, c.gaps, mib(c.rss), mib(c.peak), c.cpu.Seconds(), c.wall.Seconds())
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// measureCrowd writes wire JSONL of a crowd as fast as it can to a file that a watch follows.
func measureCrowd(bin, what string, o traffic.Crowd, checkpoint bool) (crowd, error) {
	c := crowd{what: what, sessions: o.Sessions}
	dir, err := os.MkdirTemp("", "isodetect-bench-")
	if err != nil {
		return c, fmt.Errorf("cannot make a directory for the traffic: %w", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "crowd.wire.jsonl")
	f, err := os.Create(path)
	if err != nil {
		return c, fmt.Errorf("cannot write traffic: %w", err)
	}
	defer f.Close()
	args := []string{path}
	if checkpoint {
		args = append(args, "--checkpoint", filepath.Join(dir, "state.db"))
	}
	w, err := watch(bin, args...)
	if err != nil {
		return c, err
	}
	began := time.Now()
	written := &lineCounter{w: f}
	if _, err = traffic.Formats()[1].Crowd(written, o); err == nil {
		c.events, err = w.settled()
	}
	c.wall = time.Since(began)
	c.rss, c.peak = w.resident()
	for name, to := range map[string]*float64{"isodetect_live_sessions": &c.live, "isodetect_evictions_total": &c.evicted, "isodetect_coverage_gaps_total": &c.gaps} {
		if err == nil {
			*to, err = w.metric(name)
		}
	}
	var stopped error
	if c.lines, c.cpu, stopped = w.stop(); err == nil {
		err = stopped
	}
	if err == nil && c.lines != written.n {
		err = fmt.Errorf("%d lines were read of %d", c.lines, written.n)
	}
	return c, err
}

// lineCounter counts line ends.
type lineCounter struct {
	w io.Writer
	n int64
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += int64(bytes.Count(p, []byte("\n")))
	return c.w.Write(p)
}
