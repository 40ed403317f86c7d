package inspector

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// entry is one exported request with its answer. What it holds is valid until the
// next parse.
type entry struct {
	method, url, category string
	asked, answered       []exchange.Header // nil = not recorded
	post, body            []byte            // nil = not recorded
	status                int

	room [2][]byte
}

// parse reads one record.
func (e *entry) parse(raw []byte) error {
	*e = entry{room: e.room}
	if ok, _ := exchange.Valid(raw); !ok || len(raw) == 0 || raw[0] != '{' {
		return errors.New("record is no valid JSON object")
	}
	return jsonparser.ObjectEach(raw, func(key, v []byte, kind jsonparser.ValueType, _ int) error {
		text := kind == jsonparser.String
		switch string(key) {
		case "method":
			e.method = strings.ToUpper(mcp.Unescape(v))
		case "url":
			e.url = mcp.Unescape(v)
		case "category":
			e.category = mcp.Unescape(v)
		case "responseStatus":
			if n, err := strconv.Atoi(string(v)); err == nil && kind == jsonparser.Number && n >= 100 && n < 1000 {
				e.status = n
			}
		case "requestHeaders":
			e.asked = headers(v, kind)
		case "responseHeaders":
			e.answered = headers(v, kind)
		case "requestBody":
			e.post = e.content(0, v, kind, text)
		case "responseBody":
			e.body = e.content(1, v, kind, text)
		}
		return nil
	})
}

// content is a body as text, or as the JSON that it was.
func (e *entry) content(room int, v []byte, kind jsonparser.ValueType, text bool) []byte {
	switch {
	case text:
		var out []byte
		out, e.room[room] = mcp.UnescapeBytes(v, e.room[room])
		if out == nil {
			out = []byte{}
		}
		return out
	case kind == jsonparser.Object || kind == jsonparser.Array:
		return v
	}
	return nil
}

// headers reads an object of names and values.
func headers(v []byte, kind jsonparser.ValueType) []exchange.Header {
	if kind != jsonparser.Object {
		return nil
	}
	out := []exchange.Header{}
	_ = jsonparser.ObjectEach(v, func(key, v []byte, kind jsonparser.ValueType, _ int) error {
		if kind == jsonparser.String && len(out) < maxHeaders {
			out = append(out, exchange.Header{Name: mcp.Unescape(key), Value: mcp.Unescape(v)})
		}
		return nil
	})
	return out
}

const maxHeaders = 256

// transport reports a request of the transport, not one of authorization.
func (e *entry) transport() bool {
	if e.method == "" || e.url == "" || e.category == "auth" || e.method == "OPTIONS" {
		return false
	}
	if e.category == "transport" || bytes.Contains(e.post, []byte("jsonrpc")) {
		return true
	}
	for _, h := range e.asked {
		if strings.HasPrefix(strings.ToLower(h.Name), "mcp-") {
			return true
		}
	}
	return false
}

// named reports an answer that names its session.
func (e *entry) named() bool {
	for _, h := range e.answered {
		if exchange.SessionHeader(h.Name) {
			return true
		}
	}
	return false
}

// stream reports an answer that is a stream of events.
func (e *entry) stream() bool {
	for _, h := range e.answered {
		if strings.EqualFold(h.Name, "content-type") {
			return strings.HasPrefix(strings.ToLower(h.Value), "text/event-stream")
		}
	}
	return false
}

// splitURL returns the origin, without a default port, and path with query.
func splitURL(raw string) (origin, target string) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "", raw
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host, u.RequestURI()
}
