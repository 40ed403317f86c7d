package pcap

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

// The tests of this file let net/http and crypto/tls talk, write down what they
// send as a capture, and demand the events of the same conversation in the clear.

// wiretap hears what the two ends of loopback connections write, in order.
type wiretap struct {
	inner  net.Listener
	mu     sync.Mutex
	more   *sync.Cond // writes has grown
	writes []write
	conns  int
	accept chan net.Conn
	done   chan struct{}
	proxy  bool // the server stands behind a proxy that opens tunnels
}

type write struct {
	conn int
	dir  pcaptest.Dir
	data string // "" = the end
}

func newWiretap(t testing.TB) *wiretap {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inner.Close() })
	w := &wiretap{inner: inner, accept: make(chan net.Conn), done: make(chan struct{})}
	w.more = sync.NewCond(&w.mu)
	return w
}

// Accept, Close and Addr make it a listener.
func (w *wiretap) Accept() (net.Conn, error) {
	select {
	case c := <-w.accept:
		if w.proxy {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return nil, err
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
				return nil, err
			}
		}
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}

func (w *wiretap) Close() error   { close(w.done); return nil }
func (w *wiretap) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 8080} }

func (w *wiretap) dial() (net.Conn, error) {
	w.mu.Lock()
	a, err := net.Dial("tcp", w.inner.Addr().String())
	if err != nil {
		w.mu.Unlock()
		return nil, err
	}
	b, err := w.inner.Accept()
	n := w.conns
	w.conns++
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.accept <- &tapped{Conn: b, w: w, n: n, dir: toClient}
	return &tapped{Conn: a, w: w, n: n, dir: toServer}, nil
}

// tapped is one end of a connection.
type tapped struct {
	net.Conn
	w     *wiretap
	n     int
	dir   pcaptest.Dir
	ended sync.Once
}

func (t *tapped) Write(b []byte) (int, error) {
	t.w.hear(write{t.n, t.dir, string(b)})
	return t.Conn.Write(b)
}

func (t *tapped) Close() error {
	t.ended.Do(func() { t.w.hear(write{t.n, t.dir, ""}) })
	return t.Conn.Close()
}

func (w *wiretap) hear(x write) {
	w.mu.Lock()
	w.writes = append(w.writes, x)
	w.more.Broadcast()
	w.mu.Unlock()
}

func (w *wiretap) heard() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.writes)
}

// left waits until the client has left the stream that it gave up behind so many writes:
// by a frame of HTTP/2, or else by closing the connection. net/http does that in a goroutine.
func (w *wiretap) left(from int, h2 bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !slices.ContainsFunc(w.writes[from:], func(x write) bool { return x.dir == toServer && (h2 || x.data == "") }) {
		w.more.Wait()
	}
}

// packets is what was heard as a capture, in segments of at most the size.
func (w *wiretap) packets(segment int) []pcaptest.Packet {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rec pcaptest.Recording
	conns := make([]*pcaptest.Conn, w.conns)
	for i, x := range w.writes {
		at := time.Duration(i) * ms
		if conns[x.conn] == nil {
			conns[x.conn] = rec.Conn(fmt.Sprintf("10.0.0.2:%d", 40000+x.conn), "10.0.0.1:8080")
			conns[x.conn].Segment = segment
			conns[x.conn].Open(at)
		}
		if x.data == "" {
			conns[x.conn].Fin(at, x.dir)
		} else {
			conns[x.conn].Send(at, x.dir, x.data)
		}
	}
	return rec.Packets
}

// service answers calls by event streams, one of them with a trailer; a GET gives
// a stream that ends with its client.
func service(wr http.ResponseWriter, r *http.Request) {
	wr.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method == "DELETE":
		wr.WriteHeader(http.StatusNoContent)
	case bytes.Contains(body, []byte(`"id":8`)):
		wr.Header().Set("Content-Type", "application/json")
		fmt.Fprint(wr, answer(8))
	case bytes.Contains(body, []byte("notifications/")):
		wr.WriteHeader(http.StatusAccepted)
	default:
		wr.Header().Set("Content-Type", "text/event-stream")
		wr.Header().Set("Trailer", "X-End")
		n := 7
		if r.Method == "GET" {
			n = 99
		}
		fmt.Fprint(wr, sse(note(n)))
		wr.(http.Flusher).Flush()
		if r.Method == "GET" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(wr, sse(answer(n)))
		wr.Header().Set("X-End", "1")
	}
}

// converse is the client's part: requests one after the other, so that their
// order is certain.
func converse(t testing.TB, w *wiretap, client *http.Client, url string) {
	t.Helper()
	ask := func(method, body string) {
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Mcp-Session-Id", "session-1")
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		defer resp.Body.Close()
		if method == "GET" { // read one event, then leave
			if _, err := io.ReadFull(resp.Body, make([]byte, len(sse(note(99))))); err != nil {
				t.Fatal(err)
			}
			from := w.heard()
			leave()
			resp.Body.Close()
			w.left(from, resp.ProtoMajor == 2)
			return
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	ask("POST", call(7))
	ask("POST", call(8))
	ask("POST", strings.Repeat(" ", 40<<10)+call(7)) // over several frames and records
	ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask("GET", "")
	ask("DELETE", "")
}

// listen serves until the test has what it wants. tlsTo, if not nil, is on top.
func listen(t testing.TB, w *wiretap, h2c bool, tlsTo *tls.Config) (stop func()) {
	srv := &http.Server{Handler: http.HandlerFunc(service), Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(tlsTo != nil && (len(tlsTo.NextProtos) == 0 || tlsTo.NextProtos[0] == "h2"))
	srv.Protocols.SetUnencryptedHTTP2(h2c)
	served := make(chan error, 1)
	if tlsTo != nil {
		srv.TLSConfig = tlsTo
		go func() { served <- srv.ServeTLS(w, "", "") }()
	} else {
		go func() { served <- srv.Serve(w) }()
	}
	return func() {
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

// talkLive lets the conversation happen and returns what was heard.
func talkLive(t testing.TB, prepare func(*http.Transport), h2c bool, tlsTo *tls.Config) *wiretap {
	t.Helper()
	w := newWiretap(t)
	stop := listen(t, w, h2c, tlsTo)
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return w.dial() }, Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(h2c)
	tr.Protocols.SetHTTP1(!h2c)
	url := "http://10.0.0.1:8080/mcp"
	if tlsTo != nil {
		url = "https://10.0.0.1:8080/mcp"
	}
	if prepare != nil {
		prepare(tr)
	}
	w.proxy = tr.Proxy != nil
	converse(t, w, &http.Client{Transport: tr}, url)
	tr.CloseIdleConnections()
	stop()
	return w
}

// conversation is what every transport of it must give, without the connections.
const conversation = `
	1 opened POST /mcp id=session-1
	1 message client→server request tools/call 7
	1 head 200 id=session-1
	1 message server→client notification notifications/progress
	1 message server→client result  7
	1 closed by server
	2 opened POST /mcp id=session-1
	2 message client→server request tools/call 8
	2 head 200 id=session-1
	2 message server→client result  8
	2 closed by server
	3 opened POST /mcp id=session-1
	3 message client→server request tools/call 7
	3 head 200 id=session-1
	3 message server→client notification notifications/progress
	3 message server→client result  7
	3 closed by server
	4 opened POST /mcp id=session-1
	4 message client→server notification notifications/initialized
	4 head 202 id=session-1
	4 closed by server
	5 opened GET /mcp id=session-1
	5 head 200 id=session-1
	5 message server→client notification notifications/progress
	5 closed by client
	6 opened DELETE /mcp id=session-1
	6 head 204 id=session-1
	6 closed by server`

// plainLines leaves out what differs between transports.
func plainLines(lines []string) (out []string) {
	for _, l := range lines {
		if f := strings.Fields(l); len(f) > 4 && f[1] == "opened" {
			f[3] = f[3][strings.LastIndexByte(f[3], '/'):]
			l = strings.Join(append(f[:4:4], f[5:]...), " ")
		}
		out = append(out, l)
	}
	return out
}

func TestLiveHTTP2(t *testing.T) {
	for _, h2c := range []bool{false, true} {
		w := talkLive(t, nil, h2c, nil)
		for _, segment := range []int{1, 7, 1448, 0} {
			got := read(t, ether.Encode(w.packets(segment)))
			t.Logf("h2c %v, segments of %d", h2c, segment)
			expect(t, plainLines(got.lines), conversation)
		}
	}
}

// certificate is one for the servers of these tests.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"mcp"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// talkTLS has the conversation over TLS and returns what was heard and the key log.
func talkTLS(t testing.TB, change func(client, server *tls.Config)) (*wiretap, string) {
	t.Helper()
	var keys bytes.Buffer
	var mu sync.Mutex
	client := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: locked{&mu, &keys}}
	server := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	change(client, server)
	h2 := len(server.NextProtos) == 0 || server.NextProtos[0] == "h2"
	w := talkLive(t, func(tr *http.Transport) {
		tr.TLSClientConfig = client
		tr.Protocols.SetHTTP2(h2)
	}, false, server)
	return w, keys.String()
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func logOf(t testing.TB, text string) *keylog.Log {
	t.Helper()
	l := &keylog.Log{}
	if _, _, err := l.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return l
}
