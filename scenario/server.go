package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
)

// exchangeStep acts out what arrives on the stream of an exchange.
func (p *play) exchangeStep(x *Exchange, st *Step) error {
	if x.closed && st.Verb != "gap" {
		return fmt.Errorf("exchange %s ended before", x.Label)
	}
	switch st.Verb {
	case "head":
		kind := "text/event-stream"
		if x.Mode == "json" {
			kind = "application/json"
		}
		p.echo(x, st)
		p.head(x, p.now, number(st.Get("status", "200")), kind)
		return nil
	case "status":
		return p.status(x, st)
	case "accepted":
		p.reply(x, p.now, 202, "", nil)
		return nil
	case "close":
		if x.Method == "POST" && st.Get("by", "server") == "server" {
			p.head(x, p.now, 200, "text/event-stream")
		}
		p.close(x, p.now, st.Get("by", "server"))
		return nil
	case "gap":
		p.t.add(&Happening{At: p.now, Kind: KGap, X: x, Dir: st.Get("dir", "server")})
		return nil
	case "body":
		p.echo(x, st)
		p.reply(x, p.now, 200, "application/json", []byte(st.Words[0]))
		return nil
	}
	msg, final, err := p.message(x, st)
	if err != nil {
		return err
	}
	return p.deliver(x, st, msg, final)
}

func (p *play) echo(x *Exchange, st *Step) {
	if e := st.Get("echo", ""); e != "" {
		x.Echo = e
		if q := p.parties[e]; q != nil {
			x.Echo = q.Session
		}
	}
}

// deliver puts a message on the exchange's response.
func (p *play) deliver(x *Exchange, st *Step, msg json.RawMessage, final bool) error {
	p.echo(x, st)
	end := final && x.Method == "POST" && !st.Flag("keep")
	h := &Happening{At: p.now, X: x, Data: msg, EventID: st.Get("eid", ""), From: p.labels[st.Get("from", "")]}
	if q := p.parties[st.Get("consulted", "")]; q != nil {
		h.Consulted = digest(q.Caps)
	}
	if x.Mode == "json" {
		if !end {
			return fmt.Errorf("a JSON answer holds one result; write mode=sse at %s", x.Label)
		}
		p.head(x, p.now, 200, "application/json")
		h.Kind = KBody
	} else {
		p.head(x, p.now, 200, "text/event-stream")
		h.Kind = KEvent
	}
	p.t.add(h)
	if end {
		p.close(x, p.now, "server")
	}
	return nil
}

func (p *play) status(x *Exchange, st *Step) error {
	if len(st.Words) == 0 {
		return fmt.Errorf("want `%s status 404`", x.Label)
	}
	code := number(st.Words[0])
	p.echo(x, st)
	if raw := st.Get("json", ""); raw != "" {
		p.reply(x, p.now, code, "application/json", []byte(raw))
		return nil
	}
	text := st.Get("text", "")
	if text != "" {
		text += "\n"
	}
	p.reply(x, p.now, code, "text/plain; charset=utf-8", []byte(text))
	return nil
}

// message makes the JSON-RPC message of a step; final says that it answers a request.
func (p *play) message(x *Exchange, st *Step) (msg json.RawMessage, final bool, err error) {
	id := value(st.Get("id", ""))
	if id == nil {
		id = json.RawMessage(x.ID)
	}
	note := func(method string, kv ...any) json.RawMessage {
		return object("jsonrpc", "2.0", "method", method, "params", object(kv...))
	}
	switch st.Verb {
	case "result":
		result, err := resultOf(st)
		return object("jsonrpc", "2.0", "id", id, "result", result), true, err
	case "error":
		return object("jsonrpc", "2.0", "id", id, "error", object("code", json.RawMessage(st.Get("code", "-32603")), "message", st.Get("text", "Internal error"))), true, nil
	case "progress":
		return p.progress(st, note)
	case "update":
		return note("notifications/resources/updated", "uri", st.Get("uri", "")), false, nil
	case "log":
		return note("notifications/message", "level", st.Get("level", "info"), "logger", st.Get("logger", "jobs"), "data", st.Words[0]), false, nil
	case "changed":
		return object("jsonrpc", "2.0", "method", "notifications/"+st.Get("what", "tools")+"/list_changed"), false, nil
	case "ask":
		return ask(st), false, nil
	case "event":
		return json.RawMessage(st.Words[0]), st.Flag("final"), nil
	}
	return nil, false, fmt.Errorf("unknown verb %q of an exchange", st.Verb)
}

// progress reads `progress token=7 3/10 "text"`.
func (p *play) progress(st *Step, note func(string, ...any) json.RawMessage) (json.RawMessage, bool, error) {
	kv := []any{"progressToken", value(st.Get("token", ""))}
	if len(st.Words) == 0 {
		return nil, false, fmt.Errorf("want `progress token=7 3/10`")
	}
	n, total, has := strings.Cut(st.Words[0], "/")
	kv = append(kv, "progress", json.RawMessage(n))
	if has {
		kv = append(kv, "total", json.RawMessage(total))
	}
	if len(st.Words) > 1 {
		kv = append(kv, "message", st.Words[1])
	}
	return note("notifications/progress", kv...), false, nil
}

// resultOf reads `result text="…"`, `result iserror text="…"` or `result {…}`.
func resultOf(st *Step) (json.RawMessage, error) {
	for _, w := range st.Words {
		if strings.HasPrefix(w, "{") || strings.HasPrefix(w, "[") {
			return json.RawMessage(w), nil
		}
	}
	if st.Has("text") {
		content := json.RawMessage("[" + string(object("type", "text", "text", st.Get("text", ""))) + "]")
		if st.Flag("iserror") {
			return object("content", content, "isError", true), nil
		}
		return object("content", content), nil
	}
	if len(st.Words) == 0 || len(st.Words) == 1 && st.Flag("keep") {
		return json.RawMessage("{}"), nil
	}
	return nil, fmt.Errorf("want `result {…}` or `result text=…`")
}

// ask makes a server request: `ask id=1 sampling text="…"`.
func ask(st *Step) json.RawMessage {
	kind := ""
	if len(st.Words) > 0 {
		kind = st.Words[0]
	}
	text := st.Get("text", "Summarize the open items")
	method, params := st.Get("method", kind), value(st.Get("params", ""))
	switch kind {
	case "sampling":
		method = "sampling/createMessage"
		params = object("messages", json.RawMessage("["+string(object("role", "user", "content", object("type", "text", "text", text)))+"]"), "maxTokens", 200, "task", value(st.Get("task", "")), "tools", value(st.Get("tools", "")))
	case "elicitation":
		method = "elicitation/create"
		if st.Get("mode", "") == "url" {
			params = object("mode", "url", "message", text, "url", "https://forms.example.org/f/"+st.Get("form", "91"), "elicitationId", "el-"+st.Get("form", "91"))
		} else {
			params = object("message", text, "requestedSchema", json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`))
		}
	case "roots":
		method = "roots/list"
	}
	return object("jsonrpc", "2.0", "id", value(st.Get("id", "1")), "method", method, "params", params)
}
