package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/isodetect/isodetect/event"
)

func flush(w http.ResponseWriter, text string) {
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

// The first event arrives, and is recorded, before the server sends the second.
func TestEventsAreNotHeldBack(t *testing.T) {
	next := make(chan struct{})
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			flush(w, fmt.Sprintf("id: %d\nevent: message\ndata: {\"n\":%d}\n\n", i, i))
			<-next
		}
	}, Options{})
	res, err := client(t).Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for i := range 3 {
		for lines.Scan() && lines.Text() != "" {
		}
		if n := len(p.rec.of(t, "sse")); n != i+1 {
			t.Fatalf("%d events are recorded when event %d has arrived", n, i)
		}
		next <- struct{}{}
	}
	p.rec.wait(t, 1, `"k":"close"`, `"by":"server"`)
}

// Bodies of other types are passed on piece by piece, too.
func TestPiecesAreNotHeldBack(t *testing.T) {
	next := make(chan struct{})
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 3 {
			flush(w, "{}\n")
			<-next
		}
	}, Options{})
	res, err := client(t).Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for range 3 {
		if _, err := io.ReadFull(res.Body, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		next <- struct{}{}
	}
}

func TestClientLeaves(t *testing.T) {
	gone := make(chan struct{})
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: {\"a\":1}\n\n")
		<-r.Context().Done()
		close(gone)
	}, Options{})
	ctx, leave := context.WithCancel(context.Background())
	q, _ := http.NewRequestWithContext(ctx, "GET", p.url, nil)
	res, err := client(t).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	p.rec.wait(t, 1, `"k":"sse"`)
	leave()
	<-gone // the server learns of it
	p.rec.wait(t, 1, `"k":"close"`, `"by":"client"`)
}

func TestClientLeavesBeforeTheAnswer(t *testing.T) {
	here, gone := make(chan struct{}), make(chan struct{})
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(here)
		<-r.Context().Done()
		close(gone)
	}, Options{})
	ctx, leave := context.WithCancel(context.Background())
	q, _ := http.NewRequestWithContext(ctx, "POST", p.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`))
	go func() {
		<-here
		leave()
	}()
	if _, err := client(t).Do(q); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	<-gone
	p.rec.wait(t, 1, `"k":"close"`, `"by":"client"`)
	p.rec.events(t)
}

func TestServerDies(t *testing.T) {
	f := func(h http.HandlerFunc, headed bool, want ...string) {
		t.Helper()
		p, _ := serve(t, h, Options{})
		res, err := client(t).Post(p.url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if (err == nil) != headed {
			t.Errorf("got %v, want a head = %v", err, headed)
		}
		if err == nil {
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Error("the client does not see that the server died")
			}
			res.Body.Close()
		}
		p.rec.wait(t, 1, append(want, `"k":"close"`, `"by":"server"`)...)
		p.rec.events(t)
	}
	f(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false)
	f(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: {\"a\":1}\n\ndata: {\"b\"")
		panic(http.ErrAbortHandler)
	}, true)
	f(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		flush(w, `{"jsonrpc":"2.0","id":1,`)
		panic(http.ErrAbortHandler)
	}, true, `unexpected EOF`)
}

func TestServerIsNotThere(t *testing.T) {
	told := make(chan error, 1)
	p := behind(t, "http://127.0.0.1:1", Options{Unreached: func(err error) { told <- err }})
	res, err := client(t).Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 502 || !strings.Contains(string(body), "cannot reach http://127.0.0.1:1") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	p.rec.wait(t, 1, `"k":"gap"`, "could not be reached")
	if err := <-told; err == nil {
		t.Error("it is told without the reason")
	}
	if heads := p.rec.of(t, "head"); len(heads) > 0 {
		t.Errorf("an answer is recorded that no server gave: %v", heads)
	}
}

func TestConcurrent(t *testing.T) {
	const clients, calls = 40, 25
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := strings.Split(string(body), `"id":`)[1]
		id = id[:strings.IndexByte(id, ',')]
		w.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, ": comment\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"+id+",\"progress\":1}}\r\n\r\n")
		flush(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+id+",\"result\":{}}\n\n")
	}, Options{})
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			c := client(t)
			for i := range calls {
				q, _ := http.NewRequest("POST", p.url+"/mcp", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i)))
				q.Header.Set("Content-Type", "application/json")
				q.Header.Set("Mcp-Session-Id", fmt.Sprintf("session-%04d", k))
				res, err := c.Do(q)
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	wg.Wait()
	p.rec.wait(t, clients*calls, `"k":"close"`, `"by":"server"`)
	kinds, conns := map[event.Kind]int{}, map[string]string{}
	for _, e := range p.rec.events(t) {
		kinds[e.Kind]++
		if e.Asked != e.Answered && e.Kind != event.Opened && e.Kind != event.Message {
			t.Errorf("asked %v, answered %v", e.Asked, e.Answered)
		}
		if s, ok := conns[e.Sender.Conn]; ok && s != e.Asked.ID {
			t.Errorf("connection %s has sessions %s and %s", e.Sender.Conn, s, e.Asked.ID)
		}
		conns[e.Sender.Conn] = e.Asked.ID
	}
	const n = clients * calls
	if kinds[event.Opened] != n || kinds[event.Head] != n || kinds[event.Closed] != n || kinds[event.Message] != 3*n {
		t.Errorf("events: %v, want %d exchanges with three messages each", kinds, n)
	}
}

// What is open when the recorder is stopped was open at the end of the recording;
// what ends in the moment of grace is recorded whole.
func TestStop(t *testing.T) {
	here, finish := make(chan struct{}), make(chan struct{})
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, "data: {\"a\":1}\n\n")
			<-r.Context().Done()
			return
		}
		close(here)
		<-finish
		io.WriteString(w, "done")
	}, Options{Grace: 2e9})
	c := client(t)
	stream, err := c.Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	answer := make(chan string)
	go func() {
		res, err := c.Post(p.url, "text/plain", strings.NewReader("late"))
		if err != nil {
			answer <- err.Error()
			return
		}
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-here
	stopped := make(chan error)
	go func() { stopped <- p.stop() }()
	close(finish)
	if got := <-answer; got != "done" {
		t.Errorf("a request in flight got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if closes := p.rec.of(t, "close"); len(closes) != 1 || closes[0]["x"] != "2" {
		t.Errorf("closes: %v, want that of the POST alone", closes)
	}
}

// failing takes some bytes and no more.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// A recorder that cannot write must not go on as if it did.
func TestOutputFails(t *testing.T) {
	p, _ := serve(t, func(http.ResponseWriter, *http.Request) {}, Options{Out: &failing{left: 100}})
	if res, err := client(t).Get(p.url); err == nil {
		res.Body.Close()
	}
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "cannot write the recording: disk full") {
		t.Errorf("got %v", err)
	}
}

func TestUpstream(t *testing.T) {
	f := func(upstream, want string) {
		t.Helper()
		u := mustParse(upstream)
		_, err := New(Options{Upstream: u, Out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", upstream, err, want)
		}
	}
	f("127.0.0.1", "absolute URL")
	f("ftp://example", "absolute URL")
	f("http://user:password@example", "credential")
	f("http://example/?a=b", "query")
}
