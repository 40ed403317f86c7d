// Package events writes isodetect native events from a net/http server:
// http.Handle("/mcp", events.Handler(os.Stdout, mcp)). It needs the standard library and nothing else.
//
// HTTP shows which session a request and its answer name. Which one the server took, and
// how it found it, only its own lookup can add: events.Resolved(r.Context(), id, "fallback").
package events

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

const limit = 65536 // bytes of a request body that are looked at; a longer one passes unread

type told struct{ session, source string }
type toldKey struct{}

// Resolved says which session the server took for a request: source is header, fallback, ….
func Resolved(ctx context.Context, session, source string) {
	if t, ok := ctx.Value(toldKey{}).(*told); ok {
		t.session, t.source = session, source
	}
}

type keys map[string]any

type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Capabilities map[string]any `json:"capabilities"`
		ClientInfo   struct{ Name, Version string }
	} `json:"params"`
}

// Handler writes the events of the requests that it hands on to next.
func Handler(out io.Writer, next http.Handler) http.Handler {
	var mu sync.Mutex
	seq, host := 0, func() string { h, _ := os.Hostname(); return h }()
	emit := func(name string, k keys) {
		mu.Lock()
		defer mu.Unlock()
		seq++
		k["event.name"], k["severity"], k["service.instance.id"], k["isodetect.seq"] = name, "INFO", fmt.Sprintf("%s:%d", host, os.Getpid()), seq
		maps.DeleteFunc(k, func(_ string, v any) bool { return v == "" })
		rest, _ := json.Marshal(k)
		fmt.Fprintf(out, `{"isodetect":"1","time":%q,%s`+"\n", time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), rest[1:])
	}
	emit("isodetect.meta", keys{"isodetect.mode": "stateful", "isodetect.emitter": "nethttp/1"})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		head, _ := io.ReadAll(io.LimitReader(r.Body, limit+1))
		d := json.NewDecoder(bytes.NewReader(head[:min(len(head), limit)]))
		d.UseNumber()
		_ = d.Decode(&m) // one message; anything else says nothing
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
		t, status, start, method, asked, begins := &told{}, 0, time.Now(), r.Method, r.Header.Get("Mcp-Session-Id"), m.Method == "initialize"
		id, kind := idOf(m.ID)
		tell := func(name string, more keys) {
			addr, port, _ := net.SplitHostPort(r.RemoteAddr)
			maps.Copy(more, keys{"isodetect.session.hash": hashed(t.session), "isodetect.session.presented": hashed(asked), "isodetect.session.header_present": asked != "",
				"mcp.method.name": cut(m.Method), "jsonrpc.request.id": id, "isodetect.rpc.id_type": kind, "network.transport": "tcp",
				"client.address": addr, "client.port": json.Number(port), "user_agent.original": cut(r.UserAgent())})
			emit(name, more)
		}
		call := kind != "" && m.Method != ""
		if call {
			tell("mcp.request.started", keys{})
		}
		headed := func(code int) {
			if status = code; t.session == "" {
				t.session = w.Header().Get("Mcp-Session-Id")
			}
			if code >= 400 {
				return
			}
			if begins && t.session != "" {
				tell("mcp.session.created", keys{"isodetect.session.trigger": "initialize", "isodetect.capabilities": paths(m.Params.Capabilities),
					"isodetect.client.name": cut(m.Params.ClientInfo.Name), "isodetect.client.version": cut(m.Params.ClientInfo.Version)})
			}
			source := map[bool]string{true: "initialize", false: "none"}[begins]
			if asked != "" {
				source = "header"
			}
			if t.source != "" {
				source = t.source
			}
			tell("mcp.session.resolved", keys{"isodetect.session.source": source})
			if method == "DELETE" && asked != "" {
				emit("mcp.session.closed", keys{"isodetect.session.hash": hashed(asked), "isodetect.session.end": "delete"})
			}
		}
		answer := &writer{ResponseWriter: w, headed: headed}
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), toldKey{}, t)))
		if !answer.done {
			headed(http.StatusOK)
		}
		if call && r.Context().Err() == nil { // else the client left, and what became of its request does not show here
			tell("mcp.request.finished", keys{"http.response.status_code": status, "isodetect.duration_ms": float64(time.Since(start).Microseconds()) / 1000,
				"isodetect.outcome": map[bool]string{true: "error"}[status >= 400]})
		}
	})
}

// writer tells when the head of the answer is written; streams are flushed through.
type writer struct {
	http.ResponseWriter
	headed func(status int)
	done   bool
}

func (w *writer) WriteHeader(status int) {
	if status >= 200 && !w.done {
		w.done = true
		w.headed(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(b []byte) (int, error) {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

func (w *writer) Flush() {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hashed: session ids work like passwords; return id itself only where the log is kept like one.
func hashed(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))[:len("sha256:")+16]
}

func idOf(v any) (id, kind string) {
	switch v := v.(type) {
	case string:
		return cut(v), "string"
	case json.Number:
		return cut(v.String()), "number"
	}
	return "", ""
}

// paths lists what initialize declares: roots.listChanged, sampling.
func paths(caps map[string]any) []string {
	out := []string{}
	for name, v := range caps {
		subs, _ := v.(map[string]any)
		for sub := range subs {
			out = append(out, cut(name+"."+sub))
		}
		if len(subs) == 0 {
			out = append(out, cut(name))
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 50)]
}

func cut(s string) string { return s[:min(len(s), 200)] }
