package tail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/isodetect/isodetect/metrics"
)

// Gauges are what /metrics and the probes show of a tail; its loop sets them.
type Gauges struct {
	set *vm.Set

	events, malformed, late, evictions, gaps, dropped *vm.Counter

	sessions  atomic.Int64
	refused   atomic.Int64
	watermark atomic.Int64 // ns
	lag       atomic.Int64 // ns
	ready     atomic.Bool  // the checkpoint is loaded and all sources were looked at
	beat      atomic.Int64 // unix ns of the last turn of the loop
}

// NewGauges makes the metrics, all from 0.
func NewGauges() *Gauges {
	g := &Gauges{set: vm.NewSet()}
	counter := func(m metrics.Metric) *vm.Counter { return g.set.NewCounter(m.Name) }
	g.events, g.malformed, g.late = counter(metrics.Events), counter(metrics.Malformed), counter(metrics.Late)
	g.evictions, g.gaps = counter(metrics.Evictions), counter(metrics.Gaps)
	g.dropped = counter(metrics.Dropped)
	gauge := func(m metrics.Metric, value func() float64) { g.set.NewGauge(m.Name, value) }
	gauge(metrics.Lag, func() float64 { return float64(g.lag.Load()) / 1e9 })
	gauge(metrics.Watermark, func() float64 { return float64(g.watermark.Load()) / 1e9 })
	gauge(metrics.Sessions, func() float64 { return float64(g.sessions.Load()) })
	gauge(metrics.Refused, func() float64 { return float64(g.refused.Load()) })
	gauge(metrics.Memory, func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys - m.HeapReleased)
	})
	return g
}

// occurred counts occurrences of findings. No label holds a session id.
func (g *Gauges) occurred(o Occurrence) {
	name := fmt.Sprintf(`%s{signal="%s",strength="%s",family="%s",domain="%s"}`, metrics.Findings.Name, o.Signal, o.Strength, o.Family, labelValue(o.Domain))
	g.set.GetOrCreateCounter(name).Add(o.N)
}

// labelValue escapes the value of a label (Prometheus text format 0.0.4).
func labelValue(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

// stalled is after how long without a turn of the loop a tail is not healthy.
const stalled = time.Minute

// Serve answers /metrics, /healthz and /readyz at an address until ctx ends.
func (g *Gauges) Serve(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		g.set.WritePrometheus(w)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(time.Unix(0, g.beat.Load())) > stalled {
			http.Error(w, "the loop stands still", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !g.ready.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve metrics: %w", err)
	}
	return nil
}
