package record

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAdded measures what the recorder adds to a call, in turns with calls
// that go to the server itself; added-ms/p50 is the difference of the medians.
func BenchmarkAdded(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			flush(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":%d}}\n\n", i))
		}
		flush(w, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")
	}))
	defer s.Close()
	f, err := os.Create(filepath.Join(b.TempDir(), "out.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	u, _ := url.Parse(s.URL)
	r, err := New(Options{Upstream: u, Out: f})
	if err != nil {
		b.Fatal(err)
	}
	p := httptest.NewServer(r)
	defer p.Close()
	times := map[string][]time.Duration{}
	for b.Loop() {
		for _, to := range []string{s.URL, p.URL} {
			start := time.Now()
			res, err := http.Post(to, "application/json", strings.NewReader(call))
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			times[to] = append(times[to], time.Since(start))
		}
	}
	median := func(to string) float64 {
		slices.Sort(times[to])
		return float64(times[to][len(times[to])/2]) / 1e6
	}
	b.ReportMetric(median(s.URL), "direct-ms/p50")
	b.ReportMetric(median(p.URL)-median(s.URL), "added-ms/p50")
}
