package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/isodetect/isodetect/bench/traffic"
	"github.com/isodetect/isodetect/scan"
)

// BenchmarkScan runs the whole chain over 5 MB of each kind of input.
func BenchmarkScan(b *testing.B) {
	for _, f := range traffic.Formats() {
		b.Run(f.Name, func(b *testing.B) {
			var input bytes.Buffer
			if _, err := f.Write(&input, traffic.Options{Seed: 1, Sessions: 100, Bytes: 5_000_000}); err != nil {
				b.Fatalf("cannot make traffic: %s", err)
			}
			b.SetBytes(int64(input.Len()))
			b.ReportAllocs()
			var events int64
			for b.Loop() {
				opt := scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(input.Bytes()), CancelWindow: 500 * time.Millisecond}
				_, in, err := scan.Run(context.Background(), opt)
				if err != nil {
					b.Fatalf("cannot scan: %s", err)
				}
				events = in[0].Stats.Events
			}
			if events == 0 {
				b.Fatalf("nothing was read of %s traffic", f.Name)
			}
			allocs := testing.AllocsPerRun(1, func() {
				opt := scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(input.Bytes()), CancelWindow: 500 * time.Millisecond}
				_, _, _ = scan.Run(context.Background(), opt)
			})
			b.ReportMetric(allocs/float64(events), "allocs/event")
		})
	}
}

func TestParseSize(t *testing.T) {
	f := func(in string, want int64) {
		t.Helper()
		got, err := parseSize(in)
		if err != nil || got != want {
			t.Fatalf("unexpected size for %q; got %d, %v; want %d", in, got, err, want)
		}
	}
	f("1", 1)
	f("500K", 500_000)
	f("20m", 20_000_000)
	f("1G", 1_000_000_000)

	bad := func(in string) {
		t.Helper()
		if got, err := parseSize(in); err == nil {
			t.Fatalf("expecting an error for %q; got %d", in, got)
		}
	}
	bad("")
	bad("M")
	bad("-5M")
	bad("twenty")
}

func TestMedian(t *testing.T) {
	f := median([]run1{{cpu: 3 * time.Second, rss: 5}, {cpu: time.Second, rss: 9}, {cpu: 2 * time.Second, rss: 7}})
	if f.cpu != 2*time.Second || f.rss != 7 {
		t.Fatalf("unexpected median; got %v and %d", f.cpu, f.rss)
	}
}

func TestCountsRefuseWhatWasNotRead(t *testing.T) {
	f := func(report string, ok bool) {
		t.Helper()
		var fig figure
		if err := fig.counts([]byte(report)); (err == nil) != ok {
			t.Fatalf("unexpected result for %s: %v", report, err)
		}
	}
	f(`{"inputs":[{"records":10,"used":9,"events":12}],"verdict":{"outcome":"clean"}}`, true)
	f(`{"inputs":[{"records":10,"used":9,"events":12,"malformed":1}],"verdict":{"outcome":"clean"}}`, false)
	f(`{"inputs":[{"records":10,"events":0}],"verdict":{"outcome":"inconclusive"}}`, false)
	f(`{"inputs":[],"verdict":{"outcome":"inconclusive"}}`, false)
	f(`not JSON`, false)
}
