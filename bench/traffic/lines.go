package traffic

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// logWriter writes the log of a server that logs every JSON-RPC message: twelve
// keys a line, the message last, half of them as an object and half as escaped
// text, and about a third of the lines about something else.
type logWriter struct {
	w    *bufio.Writer
	rng  *rand.Rand
	line int
}

func newLog(w io.Writer) writer {
	return &logWriter{w: bufio.NewWriterSize(w, 1<<16), rng: rand.New(rand.NewPCG(7, 7))}
}

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000Z") }

func (l *logWriter) happen(h *happening) error {
	switch {
	case h.what == opened && h.x.send != "":
		return l.message(h, "in", h.x.send)
	case h.what == event, h.what == body:
		return l.message(h, "out", h.msg)
	case h.what == closed:
		return l.noise(h)
	}
	return nil
}

func (l *logWriter) message(h *happening, dir, msg string) error {
	x := h.x
	session := x.s.id
	if dir == "in" && x.verb == "POST" && x.answersInitialize() {
		session = ""
	}
	l.line++
	_, err := fmt.Fprintf(l.w, `{"time":"%s","level":"info","logger":"mcp.transport","msg":"message %s","pid":4242,"instance":"notes-mcp-0","remote":"%s:%d","session_id":"%s","direction":"%s","stream":"post-%d","elapsed_ms":%d,`,
		stamp(h.at), map[string]string{"in": "received", "out": "sent"}[dir], address(x.c.ip), x.c.port, session, dir, x.n, (h.at-x.at)/1e6)
	if err != nil {
		return err
	}
	if l.line%2 == 0 {
		_, err = fmt.Fprintf(l.w, "\"body\":%s}\n", msg)
	} else {
		_, err = fmt.Fprintf(l.w, "\"raw\":%s}\n", strconv.Quote(msg))
	}
	return err
}

func (x *exchange) answersInitialize() bool { return x.answers }

// noise is what else such a server logs: its data base and its access lines.
func (l *logWriter) noise(h *happening) error {
	_, err := fmt.Fprintf(l.w, `{"time":"%s","level":"info","logger":"http.access","msg":"request done","pid":4242,"instance":"notes-mcp-0","remote":"%s:%d","verb":"%s","path":"/mcp","status":%d,"duration_ms":%.3f,"bytes":%d}`+"\n",
		stamp(h.at), address(h.x.c.ip), h.x.c.port, h.x.verb, h.x.status, float64(h.at-h.x.at)/1e6, 200+l.rng.IntN(4000))
	if err == nil && l.rng.IntN(3) == 0 {
		_, err = fmt.Fprintf(l.w, `{"time":"%s","level":"debug","logger":"db.pool","msg":"query done","pid":4242,"instance":"notes-mcp-0","statement":"select id, title, body from notes where board = $1 and deleted is null order by updated desc limit $2","rows":%d,"wait_us":%d,"pool_free":%d}`+"\n",
			stamp(h.at), l.rng.IntN(200), l.rng.IntN(900), l.rng.IntN(16))
	}
	return err
}

func (l *logWriter) done() error { return l.w.Flush() }

func address(ip int) string { return fmt.Sprintf("10.1.%d.%d", ip>>8&0xff, ip&0xff) }

// wireWriter writes isodetect/wire/v1.
type wireWriter struct{ w *bufio.Writer }

func newWire(w io.Writer) writer {
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintln(b, `{"schema":"isodetect/wire/v1","creator":"traffic generator"}`)
	return &wireWriter{b}
}

func (l *wireWriter) happen(h *happening) error {
	x := h.x
	var err error
	put := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(l.w, format, args...)
		}
	}
	put(`{"ts":"%s","x":"x%d",`, stamp(h.at), x.n)
	switch h.what {
	case opened:
		peer := address(x.c.ip) + ":" + strconv.Itoa(x.c.port)
		put(`"k":"req","conn":"%s","peer":"%s","url":"http://10.0.0.1:8080/mcp","http_method":"%s","h":{`, peer, peer, x.verb)
		for i, f := range x.requestHeader() {
			if i > 0 {
				put(",")
			}
			put("%q:%q", f[0], f[1])
		}
		put("}")
		if x.send != "" {
			put(`,"body":%s`, x.send)
		}
	case headed:
		put(`"k":"head","status":%d,"h":{`, x.status)
		for i, f := range x.responseHeader() {
			if i > 0 {
				put(",")
			}
			put("%q:%q", f[0], f[1])
		}
		put("}")
	case event:
		put(`"k":"sse","event":"message","data":%s`, strconv.Quote(h.msg))
	case body:
		put(`"k":"body","body":%s`, h.msg)
	case closed:
		put(`"k":"close","by":"server"`)
	}
	put("}\n")
	return err
}

func (l *wireWriter) done() error { return l.w.Flush() }

func (x *exchange) requestHeader() [][2]string {
	h := [][2]string{{"host", "10.0.0.1:8080"}, {"user-agent", "node"}}
	if x.send != "" {
		h = append(h, [2]string{"content-type", "application/json"}, [2]string{"accept", "application/json, text/event-stream"})
	}
	if !x.answers {
		h = append(h, [2]string{"mcp-session-id", x.s.id}, [2]string{"mcp-protocol-version", "2025-06-18"})
	}
	return h
}

func (x *exchange) responseHeader() [][2]string {
	var h [][2]string
	switch {
	case x.sse:
		h = append(h, [2]string{"content-type", "text/event-stream"}, [2]string{"cache-control", "no-cache"})
	case x.status == 200 && x.verb == "POST":
		h = append(h, [2]string{"content-type", "application/json"})
	}
	if x.status == 200 && x.verb == "POST" {
		h = append(h, [2]string{"mcp-session-id", x.s.id})
	}
	return h
}
