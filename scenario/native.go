package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/isodetect/isodetect/mcp"
)

// Native compiles a trace to native events: what a server that logs them would
// know. The wire's own story is told by the server's word: which session it
// used, on whose stream it wrote, whose handler a message came from.
func (t *Trace) Native() []byte {
	n := &native{t: t, pid: 4242}
	n.facts(0, "isodetect.meta", "isodetect.mode", "stateful", "isodetect.emitter", "ledger/1.4", "network.transport", "tcp")
	for _, h := range t.Happenings {
		if h.Kind == KLine || !t.Visible(h) {
			n.seen(h)
			continue
		}
		n.happening(h)
	}
	return n.b.Bytes()
}

type native struct {
	t   *Trace
	b   bytes.Buffer
	seq int
	pid int
}

// seen counts what happened before the recording.
func (n *native) seen(*Happening) { n.seq++ }

func (n *native) facts(at time.Duration, name string, kv ...any) {
	n.seq++
	severity := "INFO"
	if name == "mcp.session.rejected" {
		severity = "WARN"
	}
	all := append([]any{"isodetect", "1", "time", n.t.Stamp(at).Format(stampLayout), "event.name", name, "severity", severity,
		"service.name", "ledger-mcp", "service.instance.id", fmt.Sprintf("ledger-mcp-0:%d", n.pid), "isodetect.seq", n.seq}, kv...)
	n.b.Write(object(dropEmpty(all)...))
	n.b.WriteByte('\n')
}

func dropEmpty(kv []any) []any {
	out := kv[:0:0]
	for i := 0; i < len(kv); i += 2 {
		if s, ok := kv[i+1].(string); ok && s == "" {
			continue
		}
		out = append(out, kv[i], kv[i+1])
	}
	return out
}

func (n *native) happening(h *Happening) {
	x := h.X
	switch h.Kind {
	case KReq:
		n.request(h)
	case KHead:
		if x.Status >= 400 {
			reason := "unknown"
			if x.Asked == "" {
				reason = "missing"
			}
			n.facts(h.At, "mcp.session.rejected", append(client(x), "http.response.status_code", x.Status, "isodetect.reject.reason", reason,
				"isodetect.session.presented", x.Asked, "mcp.method.name", x.RPC)...)
		} else if x.Method == "GET" {
			n.facts(h.At, "mcp.stream.opened", "mcp.session.id", x.Session, "isodetect.stream.id", streamID(x), "isodetect.stream.kind", streamKind(x))
		}
	case KEvent, KBody:
		n.sent(h)
	case KClose:
		if x.Method == "GET" && x.Status == 200 {
			n.facts(h.At, "mcp.stream.closed", "mcp.session.id", x.Session, "isodetect.stream.id", streamID(x), "isodetect.stream.kind", streamKind(x))
		}
	case KFact:
		n.fact(h)
	}
}

func (n *native) fact(h *Happening) {
	name, _ := h.Facts["event.name"].(string)
	if name == "isodetect.meta" {
		n.pid, n.seq = n.pid+61, 0
		n.facts(h.At, name, "isodetect.mode", "stateful", "isodetect.emitter", "ledger/1.4", "network.transport", "tcp")
		return
	}
	var keys []string
	for k := range h.Facts {
		if k != "event.name" {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var kv []any
	for _, k := range keys {
		kv = append(kv, k, h.Facts[k])
	}
	n.facts(h.At, name, kv...)
}

// request says how the session was resolved and what was received.
func (n *native) request(h *Happening) {
	x := h.X
	if refused(x) {
		return // the session was rejected: KHead says so
	}
	if x.RPC != "initialize" {
		n.facts(h.At, "mcp.session.resolved", append(client(x), "mcp.session.id", x.Session, "isodetect.session.source", x.Source,
			"isodetect.session.presented", x.Asked, "isodetect.session.header_present", x.Asked != "", "mcp.method.name", x.RPC,
			"jsonrpc.request.id", plainRaw(x.ID), "isodetect.rpc.id_type", typeRaw(x.ID))...)
	}
	_, _ = mcp.Each(x.Body, func(raw []byte) {
		n.message(h, "mcp.message.received", raw, x.Session, "")
	})
}

func refused(x *Exchange) bool { return x.Status >= 400 }

// sent says which message was written to whose stream.
func (n *native) sent(h *Happening) {
	x := h.X
	if h.Event == "endpoint" || x.Status >= 400 {
		return
	}
	origin := ""
	if h.From != nil {
		origin = h.From.Session
	}
	_, _ = mcp.Each(h.Data, func(raw []byte) {
		n.message(h, "mcp.message.sent", raw, x.Session, origin)
	})
}

func (n *native) message(h *Happening, name string, raw []byte, session, origin string) {
	var m mcp.Message
	if mcp.ParseMessage(raw, &m) != nil {
		return
	}
	var p struct {
		URI       string          `json:"uri"`
		Token     json.RawMessage `json:"progressToken"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	token := p.Token
	if token == nil {
		token = p.Meta.Token
	}
	kind := map[mcp.Kind]string{mcp.KindRequest: "request", mcp.KindNotification: "notification", mcp.KindResult: "response", mcp.KindError: "error"}[m.Kind]
	kv := []any{"mcp.session.id", session, "isodetect.rpc.kind", kind, "mcp.method.name", m.Method, "jsonrpc.request.id", plainRaw(string(m.ID)), "isodetect.rpc.id_type", typeRaw(string(m.ID)),
		"isodetect.stream.id", streamID(h.X), "isodetect.stream.kind", streamKind(h.X), "mcp.resource.uri", p.URI,
		"isodetect.progress.token", plainRaw(string(token)), "isodetect.progress.token.type", typeRaw(string(token)),
		"isodetect.cancel.request_id", plainRaw(string(p.RequestID)), "isodetect.origin.session.id", origin, "isodetect.capabilities.consulted", h.Consulted}
	if m.Method == mcp.Initialize {
		return // session.created says it
	}
	n.facts(h.At, name, kv...)
	switch {
	case name == "mcp.message.received" && (m.Method == mcp.Subscribe || m.Method == mcp.Unsubscribe):
		what := map[string]string{mcp.Subscribe: "mcp.subscription.added", mcp.Unsubscribe: "mcp.subscription.removed"}[m.Method]
		if !answeredByError(h.X) {
			n.facts(h.At, what, "mcp.session.id", session, "mcp.resource.uri", p.URI)
		}
	case name == "mcp.message.sent" && (m.Kind == mcp.KindResult || m.Kind == mcp.KindError) && h.X.Method == "POST" && string(m.ID) == h.X.ID && h.X.RPC != mcp.Initialize:
		n.finished(h, &m, session)
	}
}

func (n *native) finished(h *Happening, m *mcp.Message, session string) {
	outcome := "ok"
	text := strings.ToLower(string(m.Error) + string(m.Result))
	switch {
	case m.Kind == mcp.KindError && strings.Contains(text, "cancel"), strings.Contains(text, `"iserror":true`) && strings.Contains(text, "cancel"):
		outcome = "cancelled"
	case m.Kind == mcp.KindError:
		outcome = "error"
	}
	n.facts(h.At, "mcp.request.finished", "mcp.session.id", session, "mcp.method.name", h.X.RPC, "jsonrpc.request.id", plainRaw(h.X.ID), "isodetect.rpc.id_type", typeRaw(h.X.ID),
		"isodetect.duration_ms", milliseconds(h.At-h.X.Opened), "isodetect.outcome", outcome, "http.response.status_code", h.X.Status)
}

func answeredByError(x *Exchange) bool {
	for _, h := range x.Parts {
		var m mcp.Message
		if (h.Kind == KEvent || h.Kind == KBody) && mcp.ParseMessage(h.Data, &m) == nil && m.Kind == mcp.KindError {
			return true
		}
	}
	return false
}

// createdFacts is what a server logs when it creates a session.
func createdFacts(q *Party, caps, name, version string) map[string]any {
	f := map[string]any{"event.name": "mcp.session.created", "mcp.session.id": q.Session, "isodetect.session.trigger": "initialize",
		"mcp.protocol.version": "2025-11-25", "isodetect.capabilities": capPaths(caps), "isodetect.capabilities.digest": digest(caps), "client.address": q.Addr}
	if name != "" {
		f["isodetect.client.name"] = name
	}
	if version != "" {
		f["isodetect.client.version"] = version
	}
	return f
}

func digest(caps string) string { return fmt.Sprintf("sha256:%016x", seed(caps)) }

// capPaths lists capabilities as paths, sorted.
func capPaths(caps string) []string {
	var tree map[string]any
	_ = json.Unmarshal([]byte(caps), &tree)
	paths := []string{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		m, ok := v.(map[string]any)
		if !ok || len(m) == 0 {
			if at != "" {
				paths = append(paths, at)
			}
			return
		}
		for k, w := range m {
			walk(strings.TrimPrefix(at+"."+k, "."), w)
		}
	}
	walk("", tree)
	sort.Strings(paths)
	return paths
}

// client is what a server knows about who sent a request.
func client(x *Exchange) []any {
	addr, port, _ := strings.Cut(x.Conn.ID, ":")
	kv := []any{"client.address", addr, "client.port", number(port)}
	for _, f := range x.Header {
		switch strings.ToLower(f.Name) {
		case "user-agent":
			kv = append(kv, "user_agent.original", f.Value)
		case "authorization":
			kv = append(kv, "enduser.id", fmt.Sprintf("u-%08x", uint32(seed(subject(f.Value)))))
		}
	}
	return kv
}

// subject is the readable subject of a credential, else the credential.
func subject(authorization string) string {
	parts := strings.Split(authorization, ".")
	if len(parts) == 3 {
		if _, sub, ok := strings.Cut(decode(parts[1]), `"sub":"`); ok {
			sub, _, _ = strings.Cut(sub, `"`)
			return sub
		}
	}
	return authorization
}

func streamID(x *Exchange) string { return fmt.Sprintf("st-%d", x.N) }

func streamKind(x *Exchange) string {
	switch {
	case x.Party.Opt.Flag("sse"):
		return "sse"
	case x.Method == "GET":
		return "get"
	}
	return "post"
}

func plainRaw(raw string) string { return unquote(raw) }

func typeRaw(raw string) string {
	switch {
	case raw == "":
		return ""
	case raw[0] == '"':
		return "string"
	}
	return "number"
}
