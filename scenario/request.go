package scenario

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// request makes the body of a client's request.
func (p *play) request(q *Party, st *Step) (json.RawMessage, error) {
	if body := st.Get("body", ""); body != "" {
		return json.RawMessage(body), nil
	}
	method, params, err := methodOf(st)
	if err != nil {
		return nil, err
	}
	id := value(st.Get("id", ""))
	if id == nil {
		id = value(fmt.Sprint(q.nextID))
	}
	if n, err := strconv.Atoi(string(id)); err == nil && n >= q.nextID {
		q.nextID = n + 1
	}
	meta := p.meta(q, st)
	if meta != nil {
		params = append(params, "_meta", meta)
	}
	var body json.RawMessage
	if len(params) > 0 {
		body = object(params...)
	}
	return object("jsonrpc", "2.0", "id", id, "method", method, "params", body), nil
}

// meta is `_meta` of a request, nil for none.
func (p *play) meta(q *Party, st *Step) json.RawMessage {
	var kv []any
	if t := st.Get("token", ""); t != "" {
		kv = append(kv, "progressToken", value(t))
	}
	if t := st.Get("trace", ""); t != "" {
		kv = append(kv, "traceparent", fmt.Sprintf("00-%x-%x-01", bytesOf(t, 16), bytesOf(t+st.text, 8)))
	}
	if q.Opt.Flag("modern") {
		name, ver, _ := strings.Cut(q.Opt.Get("client", "client-"+strings.ToLower(q.Name)+" 2.0.0"), " ")
		kv = append(kv, "io.modelcontextprotocol/protocolVersion", "2026-07-28", "io.modelcontextprotocol/clientInfo", object("name", name, "version", ver),
			"io.modelcontextprotocol/clientCapabilities", capabilities(q.Opt.Get("caps", "none")))
	}
	if kv == nil {
		return nil
	}
	return object(kv...)
}

// methodOf returns method and parameters of a step such as `A call r1 tool=sum`.
func methodOf(st *Step) (string, []any, error) {
	switch st.Verb {
	case "call":
		args := value(st.Get("args", "{}"))
		return "tools/call", []any{"name", st.Get("tool", "lookup"), "arguments", args}, nil
	case "list":
		return "tools/list", nil, nil
	case "resources":
		return "resources/list", nil, nil
	case "prompts":
		return "prompts/list", nil, nil
	case "ping":
		return "ping", nil, nil
	case "discover":
		return "server/discover", nil, nil
	case "read", "subscribe", "unsubscribe":
		return "resources/" + st.Verb, []any{"uri", st.Get("uri", "")}, nil
	case "prompt":
		return "prompts/get", []any{"name", st.Get("name", ""), "arguments", value(st.Get("args", "{}"))}, nil
	case "complete":
		return "completion/complete", []any{"ref", object("type", "ref/prompt", "name", st.Get("name", "")), "argument", value(st.Get("args", "{}"))}, nil
	case "setlevel":
		return "logging/setLevel", []any{"level", st.Get("level", "info")}, nil
	case "listen":
		return "subscriptions/listen", []any{"notifications", value(st.Get("filter", "{}"))}, nil
	case "request":
		params, err := members(st.Get("params", "{}"))
		return st.Get("method", ""), params, err
	}
	return "", nil, fmt.Errorf("unknown verb %q of a party", st.Verb)
}

// members divides an object into keys and raw values, in its order.
func members(raw string) ([]any, error) {
	dec := json.NewDecoder(strings.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("cannot read params: %w", err)
	}
	var kv []any
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("cannot read params: %w", err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("cannot read params: %w", err)
		}
		kv = append(kv, key, v)
	}
	return kv, nil
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// plainID is an id without quotes, as native events write it.
func plainID(word string) string { return unquote(string(value(word))) }

func idType(word string) string {
	if v := value(word); len(v) > 0 && v[0] == '"' {
		return "string"
	}
	return "number"
}
