package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// markdown writes the page of measured figures.
func markdown(rows []row, allocs, command string) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("# Measured figures\n\nWritten by `make bench`. Every figure on this page was measured; nothing is carried over from another run.\n\n")
	put("- Date: %s\n- Machine: %s\n- Command: `%s`\n", time.Now().UTC().Format("2006-01-02"), machine(), command)
	put("- Traffic: made by `bench/traffic`, seed 1, healthy. Every figure is the median of the runs. Speed is MB (10⁶ bytes) per second of CPU time, user and system; peak memory is the kernel's.\n")
	put("- Wall time is beside it: where it is shorter than CPU time, several threads worked.\n\n")
	put("## isodetect, an input and one ten times as large\n\n")
	put("| input | size | records | events | CPU | wall | MB/s by CPU | peak memory | verdict |\n|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, r := range rows {
		for _, f := range []figure{r.small, r.large} {
			put("| %s | %.0f MB | %d | %d | %s | %s | %.0f | %.0f MB | %s |\n", r.format, float64(f.bytes)/1e6, f.records, f.events,
				seconds(f.cpu), seconds(f.wall), f.perSecond(f.cpu), float64(f.rss)/1e6, f.outcome)
		}
	}
	put("\n## The same fields by other tools\n\n")
	put("isodetect does its whole work (reading, correlation, judgement, report); the other tool only pulls the fields out. Both ran on the same input, in turn.\n\n")
	put("| input | size | other tool | it pulls out | its CPU | its peak memory | isodetect's CPU | factor | factor by wall time |\n|---|---:|---|---|---:|---:|---:|---:|---:|\n")
	for _, r := range rows {
		if r.rival.does == "" {
			continue
		}
		if r.other.bytes == 0 {
			put("| %s | %.0f MB | %s: not installed, not measured | | | | %s | | |\n", r.format, float64(r.own.bytes)/1e6, r.rival.name, seconds(r.own.cpu))
			continue
		}
		put("| %s | %.0f MB | %s | %s | %s | %.0f MB | %s | %.1f | %.1f |\n", r.format, float64(r.own.bytes)/1e6, version(r.rival.name), r.rival.does, seconds(r.other.cpu), float64(r.other.rss)/1e6,
			seconds(r.own.cpu), r.other.cpu.Seconds()/r.own.cpu.Seconds(), r.other.wall.Seconds()/r.own.wall.Seconds())
		if r.reading.cpu > 0 {
			put("| %s, read into events and no further | the same | the same | the same | %s | %.0f MB | %s | %.1f | %.1f |\n", r.format, seconds(r.other.cpu), float64(r.other.rss)/1e6,
				seconds(r.reading.cpu), r.other.cpu.Seconds()/r.reading.cpu.Seconds(), r.other.wall.Seconds()/r.reading.wall.Seconds())
		}
	}
	for _, r := range rows {
		if len(r.growth) == 0 {
			continue
		}
		put("\n## Memory and the size of a capture\n\nOne run each. Reading holds what is open; a scan holds every session for a day after its last use, too, since its id may come back.\n\n")
		put("| size | read into events: wall | peak memory | scan: wall | peak memory |\n|---:|---:|---:|---:|---:|\n")
		for _, g := range r.growth {
			put("| %.0f MB | %s | %.0f MB | %s | %.0f MB |\n", float64(g.whole.bytes)/1e6, seconds(g.reading.wall), float64(g.reading.rss)/1e6, seconds(g.whole.wall), float64(g.whole.rss)/1e6)
		}
	}
	put("\n## Text beside wc -l\n\n`wc -l` counts the lines of a file that the system holds in memory, and does nothing else: the least that reading it can take. Wall time on the larger input, in turn.\n\n")
	put("| input | size | wc -l | isodetect | factor |\n|---|---:|---:|---:|---:|\n")
	for _, r := range rows {
		if r.rival.does == "" && r.other.bytes > 0 {
			put("| %s | %.0f MB | %.3f s | %.2f s | %.0f |\n", r.format, float64(r.large.bytes)/1e6, r.other.wall.Seconds(), r.own.wall.Seconds(), r.own.wall.Seconds()/r.other.wall.Seconds())
		}
	}
	put("\n## Allocations\n\n`go test -bench . -benchmem ./bench`, one operation is one whole run over a fixed input in memory; `allocs/event` is what counts.\n\n```\n%s\n```\n", allocs)
	return b.String()
}

func machine() string {
	model := "unknown CPU"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel := "unknown kernel"
	if out, err := exec.Command("uname", "-sr").Output(); err == nil {
		kernel = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", model, runtime.NumCPU(), kernel, runtime.Version())
}

// version returns the first line that a tool tells about itself.
func version(tool string) string {
	out, err := exec.Command(tool, "--version").Output()
	if err != nil {
		return tool
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSuffix(strings.TrimSpace(first), ".")
}
