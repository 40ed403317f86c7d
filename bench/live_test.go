package main

import (
	"bytes"
	"testing"

	"github.com/isodetect/isodetect/bench/traffic"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/rules"
)

// BenchmarkLive follows logs and recordings: lines in, judged events out, on one core.
func BenchmarkLive(b *testing.B) {
	for _, f := range traffic.Formats() {
		if f.Name != "wire" && f.Name != "log" {
			continue
		}
		var data bytes.Buffer
		if _, err := f.Write(&data, traffic.Options{Seed: 1, Sessions: 1000, Bytes: 8 << 20}); err != nil {
			b.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(data.Bytes()), []byte("\n"))
		for _, sources := range []int32{1, 3} {
			b.Run(f.Name+map[int32]string{1: "", 3: " in three files"}[sources], func(b *testing.B) {
				events := 0
				for b.Loop() {
					events += follow(b, lines, sources)
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
				b.ReportMetric(float64(len(lines)*b.N)/b.Elapsed().Seconds(), "lines/s")
			})
		}
	}
}

// follow deals lines to sources and returns how many events the engine was given.
func follow(b *testing.B, lines [][]byte, sources int32) (events int) {
	l, eng := parsers.NewLive(parsers.Options{}), rules.NewEngine(rules.Options{})
	for i, line := range lines {
		if err := l.Line(int32(i)%sources, "x.log", line, int64(i), 0, 0); err != nil {
			b.Fatal(err)
		}
		for e := l.Next(); e != nil; e = l.Next() {
			if e.Kind != event.Idle {
				events++
			}
			eng.Apply(e)
		}
	}
	return events
}
