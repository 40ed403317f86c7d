package scenario

import (
	"bytes"
	"encoding/json"
	"time"
)

const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// Wire compiles a trace to wire JSONL (schema isodetect/wire/v1).
func (t *Trace) Wire() []byte {
	var b bytes.Buffer
	line := func(kv ...any) {
		b.Write(object(kv...))
		b.WriteByte('\n')
	}
	line("schema", "isodetect/wire/v1", "creator", "scenario 1")
	for _, h := range t.Happenings {
		if t.Visible(h) {
			t.wireLine(h, line)
		}
	}
	return b.Bytes()
}

func (t *Trace) wireLine(h *Happening, line func(...any)) {
	x := h.X
	ts := t.Stamp(h.At).Format(stampLayout)
	switch h.Kind {
	case KReq:
		var headers json.RawMessage
		if !x.CutHead {
			headers = fieldMap(x.Header)
		}
		var body json.RawMessage
		if json.Valid(x.Body) {
			body = x.Body
		}
		line("ts", ts, "k", "req", "x", x.N, "conn", x.Conn.Label(), "peer", x.Conn.ID, "url", "http://"+x.Conn.Host+x.Target,
			"http_method", x.Method, "h", headers, "body", body)
	case KHead:
		line("ts", ts, "k", "head", "x", x.N, "status", x.Status, "h", fieldMap(x.RespHeader))
	case KEvent:
		if x.Unrecorded {
			line("ts", ts, "k", "gap", "x", x.N, "dir", "server", "missing", "the body was not kept")
		} else {
			line("ts", ts, "k", "sse", "x", x.N, "id", value(quoteOr(h.EventID)), "event", eventName(h), "data", string(h.Data))
		}
	case KBody:
		if x.Unrecorded {
			line("ts", ts, "k", "gap", "x", x.N, "dir", "server", "missing", "the body was not kept")
			return
		}
		if json.Valid(h.Data) {
			line("ts", ts, "k", "body", "x", x.N, "body", json.RawMessage(h.Data))
		} else {
			line("ts", ts, "k", "body", "x", x.N, "body_text", string(h.Data))
		}
	case KClose:
		line("ts", ts, "k", "close", "x", x.N, "by", h.By)
	case KGap:
		line("ts", ts, "k", "gap", "conn", x.Conn.Label(), "dir", h.Dir, "missing", "512 bytes")
	}
}

// Label names a connection in wire JSONL.
func (c *Conn) Label() string {
	if c.Name != "" {
		return c.Name
	}
	return c.ID
}

func eventName(h *Happening) string {
	if h.Event == "" {
		return "message"
	}
	return h.Event
}

func quoteOr(s string) string {
	if s == "" {
		return ""
	}
	return encode(s)
}

// fieldMap writes header fields as an object; a name that repeats becomes a list.
func fieldMap(fields []Field) json.RawMessage {
	var kv []any
	for i, f := range fields {
		var all []string
		first := true
		for j, g := range fields {
			if g.Name == f.Name {
				all = append(all, g.Value)
				first = first && j >= i
			}
		}
		switch {
		case !first:
		case len(all) == 1:
			kv = append(kv, f.Name, f.Value)
		default:
			kv = append(kv, f.Name, all)
		}
	}
	return object(kv...)
}

// sseText is a message as it stands in a response body.
func sseText(h *Happening) string {
	var b bytes.Buffer
	b.WriteString("event: " + eventName(h) + "\n")
	if h.EventID != "" {
		b.WriteString("id: " + h.EventID + "\n")
	}
	b.WriteString("data: ")
	b.Write(h.Data)
	b.WriteString("\n\n")
	return b.String()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
