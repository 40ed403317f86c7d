package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a server sees and what a client gets must be the same with and without a recorder.
func TestTransparent(t *testing.T) {
	p, s := serve(t, echo, Options{})
	c := client(t)
	f := func(method, target, body string, set ...string) {
		t.Helper()
		call := func(base string) string {
			t.Helper()
			q, err := http.NewRequest(method, base+target, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body != "" {
				q.Body, q.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			}
			for i := 0; i < len(set); i += 2 {
				switch set[i] {
				case "chunked":
					q.ContentLength = -1
				case "trailer":
					q.ContentLength = -1
					q.Trailer = http.Header{"X-Sum": {set[i+1]}}
				default:
					q.Header.Add(set[i], set[i+1])
				}
			}
			res, err := c.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return show(res, got)
		}
		if d := cmp.Diff(call(s.URL), call(p.url)); d != "" {
			t.Errorf("%s %s differs (-direct +recorded):\n%s", method, target, d)
		}
	}
	f("GET", "/", "")
	f("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Content-Type", "application/json")
	f("POST", "/mcp", `{"pieces":1}`, "chunked", "")
	f("POST", "/mcp", `{"trailer":1}`, "trailer", "abc")
	f("POST", "/mcp", `{"large":"`+strings.Repeat("large ", 1<<18)+`"}`)
	f("DELETE", "/mcp", "", "Mcp-Session-Id", "S1")
	f("HEAD", "/mcp", "")
	f("OPTIONS", "/mcp", "", "Origin", "https://app.example")
	f("GET", "/a%2Fb//c/../d%20e?x=1;y=2&z=%zz&empty", "")
	f("GET", "/q?", "")
	f("GET", "/forwarded", "", "X-Forwarded-For", "192.0.2.1", "Forwarded", "for=192.0.2.1", "X-Forwarded-Proto", "https")
	f("GET", "/twice", "", "Accept", "application/json", "Accept", "text/event-stream", "Accept-Encoding", "br", "User-Agent", "agent/1")
	for _, kind := range []string{"204", "304", "404", "302", "500", "bare", "empty", "twice", "gzip", "chunks", "trailer", "nodate", "early"} {
		f("GET", "/answer/"+kind, "", "Cookie", "a=b")
	}
	f("POST", "/answer/early", `{"early":1}`)
	p.rec.events(t)
}

// echo answers with what it got, or as the path asks.
func echo(w http.ResponseWriter, r *http.Request) {
	kind, special := strings.CutPrefix(r.URL.Path, "/answer/")
	switch {
	case !special:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		head, _ := httputil.DumpRequest(r, false)
		fmt.Fprintf(w, "%s\n%s\nlength %d encoding %v host %s uri %s trailer %v\n%s", r.Proto, head, r.ContentLength, r.TransferEncoding, r.Host, r.RequestURI, r.Trailer, body)
	case kind == "302":
		w.Header().Set("Location", "/elsewhere?token=secret")
		w.WriteHeader(302)
	case len(kind) == 3:
		var code int
		fmt.Sscan(kind, &code)
		w.WriteHeader(code)
	case kind == "bare":
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "<html>is not to be guessed</html>")
	case kind == "twice":
		w.Header().Add("Set-Cookie", "a=1; Path=/")
		w.Header().Add("Set-Cookie", "b=2; HttpOnly")
		w.Header().Set("x-odd_name", "ü")
		io.WriteString(w, "two")
	case kind == "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "packed")
		z.Close()
	case kind == "chunks":
		for range 3 {
			io.WriteString(w, "piece")
			http.NewResponseController(w).Flush()
		}
	case kind == "trailer":
		w.Header().Set("Trailer", "X-After")
		io.WriteString(w, "body")
		w.Header().Set("X-After", "all")
	case kind == "nodate":
		w.Header()["Date"] = nil
		io.WriteString(w, "when?")
	case kind == "early":
		w.WriteHeader(413)
	}
}

func show(res *http.Response, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s length %d encoding %v\n", res.Proto, res.Status, res.ContentLength, res.TransferEncoding)
	var fields []string
	for name, values := range res.Header {
		if name == "Date" {
			values = []string{"some"}
		}
		fields = append(fields, fmt.Sprintf("%s: %q", name, values))
	}
	sort.Strings(fields)
	fmt.Fprintf(&b, "%s\ntrailer %v\n%s", strings.Join(fields, "\n"), res.Trailer, body)
	return b.String()
}

// The bytes of a body arrive as they were sent, also those that are no text.
func TestBytesOfBodies(t *testing.T) {
	all := make([]byte, 1<<16)
	for i := range all {
		all[i] = byte(i * i >> 3)
	}
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Content-Type", "application/octet-stream")
		io.Copy(w, r.Body) // it answers while it is reading
	}, Options{})
	res, err := client(t).Post(p.url, "application/octet-stream", bytes.NewReader(all))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes came back changed: %v", len(got), err)
	}
	p.rec.wait(t, 1, `"k":"close"`)
	if q := p.rec.of(t, "req")[0]; q["body_b64"] == nil {
		t.Errorf("bytes are not recorded as base64: %v", q)
	}
}

// A page that resolves its own name to this machine must not get past the server's check.
func TestHost(t *testing.T) {
	var host string
	p, s := serve(t, func(_ http.ResponseWriter, r *http.Request) { host = r.Host }, Options{})
	kept := behind(t, s.URL, Options{KeepHost: true})
	own := strings.TrimPrefix(s.URL, "http://")
	f := func(url, sent, want string) {
		t.Helper()
		q, _ := http.NewRequest("GET", url, nil)
		q.Host = sent
		res, err := client(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if host != want {
			t.Errorf("Host %q arrives as %q, want %q", sent, host, want)
		}
	}
	f(p.url, "", own)
	f(p.url, "localhost:1", own)
	f(p.url, "[::1]:1", own)
	f(p.url, "evil.example:1", "evil.example:1")
	f(kept.url, "localhost:1", "localhost:1")
}

// A recorder is no open proxy: wherever a request wants to go, it goes to the upstream.
func TestAbsoluteTarget(t *testing.T) {
	p, s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) }, Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET http://elsewhere.example/x?y HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	if string(body) != "/x?y" {
		t.Errorf("upstream saw %q", body)
	}
	p.rec.wait(t, 1, `"k":"req"`, `"url":"`+s.URL+`/x?y"`)
}

// Every client connection has one connection of its own to the server, over which
// all its requests go, and which ends with it.
func TestConnections(t *testing.T) {
	addrs, ended := make(chan string, 8), make(chan string, 8)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { addrs <- r.RemoteAddr }))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- c.RemoteAddr().String()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	p := behind(t, s.URL, Options{})
	a, b := client(t), client(t)
	var seen []string
	for _, c := range []*http.Client{a, b, a, b} {
		res, err := c.Get(p.url)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		seen = append(seen, <-addrs)
	}
	if seen[0] == seen[1] || seen[0] != seen[2] || seen[1] != seen[3] {
		t.Errorf("the server saw connections %q, want two in turns", seen)
	}
	a.CloseIdleConnections()
	if gone := <-ended; gone != seen[0] {
		t.Errorf("connection %s ended, want %s, that of the client that left", gone, seen[0])
	}
}

// Clients may speak HTTP/2 without TLS; one that resets its stream has left.
func TestHTTP2(t *testing.T) {
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: {\"a\":1}\n\n")
		<-r.Context().Done()
	}, Options{})
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	res, err := (&http.Client{Transport: tr}).Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	p.rec.wait(t, 1, `"k":"sse"`)
	res.Body.Close()
	p.rec.wait(t, 1, `"k":"close"`, `"by":"client"`)
	if res.ProtoMajor != 2 {
		t.Errorf("answered in %s", res.Proto)
	}
}
