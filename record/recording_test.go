package record

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/parsers/wire"
)

// recording is an output that tests can wait on.
type recording struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{} // closed and made anew with each write
}

func (r *recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrote != nil {
		close(r.wrote)
	}
	r.wrote = make(chan struct{})
	return r.buf.Write(p)
}

func (r *recording) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// wait blocks until n lines hold every one of the texts.
func (r *recording) wait(t *testing.T, n int, texts ...string) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		text, next := r.buf.String(), r.wrote
		r.mu.Unlock()
		found := 0
		for line := range strings.Lines(text) {
			all := true
			for _, want := range texts {
				all = all && strings.Contains(line, want)
			}
			if all {
				found++
			}
		}
		if found >= n {
			return
		}
		select {
		case <-next:
		case <-limit:
			t.Fatalf("%d lines with %q, want %d, in:\n%s", found, texts, n, text)
		}
	}
}

// lines returns the happenings as maps.
func (r *recording) lines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for text := range strings.Lines(r.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil || !strings.HasSuffix(text, "\n") {
			t.Fatalf("no whole line: %q: %v", text, err)
		}
		if m["k"] != nil {
			lines = append(lines, m)
		}
	}
	return lines
}

// of returns the lines of a kind.
func (r *recording) of(t *testing.T, kind string) (lines []map[string]any) {
	t.Helper()
	for _, m := range r.lines(t) {
		if m["k"] == kind {
			lines = append(lines, m)
		}
	}
	return lines
}

// events reads the recording back; nothing in it may be malformed.
func (r *recording) events(t *testing.T) []event.Event {
	t.Helper()
	in := exchangetest.Input([]byte(r.String()))
	rd, err := wire.Format.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	var all []event.Event
	for {
		e, err := rd.Next()
		if err != nil {
			break
		}
		all = append(all, *e)
	}
	if s := in.Stats; s.Malformed > 0 || len(s.Problems) > 0 || s.Records != s.Used+s.Ignored {
		t.Errorf("the recording is not read whole: %d records, %d used, %d malformed, %v", s.Records, s.Used, s.Malformed, s.Problems)
	}
	return all
}

// proxied is a running recorder.
type proxied struct {
	url  string
	rec  *recording
	stop func() error
}

// behind starts a recorder in front of an upstream.
func behind(t *testing.T, upstream string, opt Options) *proxied {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxied{rec: &recording{}}
	opt.Upstream = u
	if opt.Out == nil {
		opt.Out = p.rec
	}
	if opt.Grace == 0 {
		opt.Grace = 50 * time.Millisecond
	}
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, ln) }()
	p.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { p.stop() })
	return p
}

// serve starts a server and a recorder in front of it.
func serve(t *testing.T, h http.HandlerFunc, opt Options) (*proxied, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return behind(t, s.URL, opt), s
}

// client returns a client that has connections of its own and leaves bodies alone.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
