package tail

import (
	"runtime"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/rules"
)

// BenchmarkLines is a watch without its files: lines through the merge into the engine.
func BenchmarkLines(b *testing.B) {
	lines := bleeding(2000).lines
	var bytes int64
	for _, l := range lines {
		bytes += int64(len(l)) + 1
	}
	b.SetBytes(bytes)
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		events = 0
		g := graph{Live: parsers.NewLive(parsers.Options{}), Engine: rules.NewEngine(rules.Options{})}
		for i, l := range lines {
			if err := g.Live.Line(0, "x", []byte(l), int64(i+1), 0, 0); err != nil {
				b.Fatal(err)
			}
			for e := g.Live.Next(); e != nil; e = g.Live.Next() {
				g.Engine.Apply(e)
				events++
			}
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkLiveSessions tells the memory that 10,000 live sessions hold, and how long
// a checkpoint of them takes.
func BenchmarkLiveSessions(b *testing.B) {
	lines := bleeding(5_000).lines
	for b.Loop() {
		g := graph{Live: parsers.NewLive(parsers.Options{}), Engine: rules.NewEngine(rules.Options{})}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i, l := range lines {
			if err := g.Live.Line(0, "x", []byte(l), int64(i+1), 0, 0); err != nil {
				b.Fatal(err)
			}
			for e := g.Live.Next(); e != nil; e = g.Live.Next() {
				g.Engine.Apply(e)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		s, err := OpenStore(b.TempDir()+"/s.db", "bench", false)
		if err != nil {
			b.Fatal(err)
		}
		at := time.Now()
		if err := s.Save(nil, &g, known(), NewEmitter()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(at).Seconds(), "s/checkpoint")
		s.Close()
		runtime.KeepAlive(g)
	}
}
