package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// following is what a following isodetect does beside a busy server.
type following struct {
	latencies []latency // by the number of logs
	logs      []int
	crowds    []crowd
}

func measureFollowing(bin string) (f following, err error) {
	for _, logs := range []int{1, 4} {
		fmt.Fprintf(os.Stderr, "latency in %d logs …\n", logs)
		o := usualLoad
		o.files = logs
		l, err := measureLatency(bin, o)
		if err != nil {
			return f, err
		}
		f.logs, f.latencies = append(f.logs, logs), append(f.latencies, l)
	}
	for _, what := range []string{"live", "storm"} {
		fmt.Fprintf(os.Stderr, "%s …\n", what)
		c, err := measureCrowd(bin, what, crowds()[what], true)
		if err != nil {
			return f, err
		}
		f.crowds = append(f.crowds, c)
	}
	return f, nil
}

// markdown is the part of the page about a following isodetect.
func (f following) markdown() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("\n## isodetect tail\n\nOne run each, with a checkpoint, beside what writes the logs on the same machine.\n\n")
	put("### From a line to its finding\n\nFrom the writing of the line that decides a finding to the finding on standard output, in server logs that are written every %d ms. What lines of several logs wait for each other is in it. The aim: 99 %% within 1 s at %.0f events/s.\n\n",
		batch/time.Millisecond, usualLoad.events)
	put("| logs | events/s | findings | half within | 99 %% within | all within | processors busy | peak memory |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for i, l := range f.latencies {
		put("| %d | %.0f | %d | %s | %s | %s | %.2f | %.0f MiB |\n", f.logs[i], l.events, l.findings, milliseconds(l.p50), milliseconds(l.p99), milliseconds(l.max), l.cpu, mib(l.rss))
	}
	put("\n### Memory of many sessions\n\nWire JSONL, written as fast as it goes. *live*: each session opens a GET stream that stays open, and makes a few calls; the aim is 256 MiB. *storm*: each comes within one hour of event time, makes a call, and nine of ten never end; the limits of the state hold, and the aim is 512 MiB.\n\n")
	put("| | sessions | lines | events | live at the end | forgotten | once read | peak memory | CPU | wall |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range f.crowds {
		put("| %s | %d | %d | %.0f | %.0f | %.0f | %.0f MiB | %.0f MiB | %s | %s |\n", c.what, c.sessions, c.lines, c.events, c.live, c.evicted, mib(c.rss), mib(c.peak), seconds(c.cpu), seconds(c.wall))
	}
	return b.String()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
