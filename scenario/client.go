package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// partyStep acts out what a client does.
func (p *play) partyStep(q *Party, st *Step) error {
	label := ""
	if len(st.Words) > 0 && !flags[st.Words[0]] {
		label = st.Words[0]
	}
	switch st.Verb {
	case "is":
		return p.isParty(q, st)
	case "init":
		return p.initialize(q, st, label)
	case "get", "sse":
		return p.get(q, st, label)
	case "delete":
		return p.deleteSession(q, st, label)
	case "drop":
		x := p.labels[label]
		if x == nil {
			return fmt.Errorf("drop of an unknown exchange %q", label)
		}
		p.close(x, p.now, "client")
		return nil
	case "cancel", "notify", "answer":
		return p.oneWay(q, st, label)
	case "forget":
		q.Session = ""
		return nil
	}
	body, err := p.request(q, st)
	if err != nil {
		return err
	}
	x, err := p.open(q, st, "POST", label, body)
	if err != nil {
		return err
	}
	if q.Opt.Flag("sse") && !st.Flag("pending") {
		p.reply(x, p.now+time.Millisecond, 202, "", []byte("Accepted"))
	}
	return nil
}

// flags are words that no exchange may be called.
var flags = map[string]bool{"unrecorded": true, "stateless": true, "pending": true, "quiet": true, "modern": true, "sse": true, "fin": true, "iserror": true, "keep": true, "hidden": true, "refused": true}

func (p *play) isParty(q *Party, st *Step) error {
	q.Opt = *st
	q.Addr = st.Get("addr", q.Addr)
	q.Host = st.Get("host", q.Host)
	if id := st.Get("session", ""); id != "" {
		if other := p.parties[id]; other != nil { // a second conversation of that session
			q.Session, q.planned = other.Session, other.planned
			if other.SSE != nil {
				q.SSE = other.SSE
			}
			return nil
		}
		q.planned = id
		if st.Flag("known") {
			q.Session = id
		}
	}
	if st.Flag("known") && q.Session == "" { // began before the recording
		q.Session = q.planned
	}
	if st.Flag("sse") && st.Flag("known") {
		return errors.New("an HTTP+SSE party is never known before its endpoint event")
	}
	return nil
}

// capabilities makes the object of `caps=sampling,roots` or `caps={…}`.
func capabilities(v string) json.RawMessage {
	if strings.HasPrefix(v, "{") {
		return json.RawMessage(v)
	}
	var kv []any
	for _, c := range strings.Split(v, ",") {
		switch c {
		case "", "none":
		case "roots":
			kv = append(kv, c, json.RawMessage(`{"listChanged":true}`))
		default:
			kv = append(kv, c, json.RawMessage("{}"))
		}
	}
	return object(kv...)
}

// initialize sends the request, the answer 2 ms later and the notification
// after that, unless the step says otherwise.
func (p *play) initialize(q *Party, st *Step, label string) error {
	caps := capabilities(st.Get("caps", "none"))
	name, ver, _ := strings.Cut(st.Get("client", q.Opt.Get("client", "client-"+strings.ToLower(q.Name)+" 1.0.0")), " ")
	id := value(st.Get("id", fmt.Sprint(q.nextID)))
	q.nextID++
	version := p.s.Server.Get("version", "2025-11-25")
	body := object("jsonrpc", "2.0", "id", id, "method", "initialize", "params",
		object("protocolVersion", version, "capabilities", caps, "clientInfo", object("name", name, "version", ver)))
	x, err := p.open(q, st, "POST", label, body)
	if err != nil {
		return err
	}
	q.Caps = string(caps)
	if q.Opt.Flag("sse") {
		return p.initializeSSE(q, st, x, id, version, name, ver)
	}
	at := p.now + 2*time.Millisecond
	if code := st.Get("status", ""); code != "" {
		p.reply(x, at, number(code), "application/json", object("jsonrpc", "2.0", "id", id, "error", object("code", -32600, "message", "Bad Request: "+st.Get("text", "unsupported client"))))
		return nil
	}
	x.Echo = ""
	if !st.Flag("stateless") && !p.s.Server.Flag("stateless") {
		x.Echo = q.planned
		if e := st.Get("answered", ""); e != "" && p.parties[e] != nil {
			x.Echo = p.parties[e].planned
		}
		q.Session, q.Given, x.Session = x.Echo, true, x.Echo
	}
	result := object("jsonrpc", "2.0", "id", id, "result", p.initResult(version))
	if q.Session != "" {
		p.t.add(&Happening{At: at, Kind: KFact, X: x, Facts: createdFacts(q, string(caps), name, ver)})
	}
	p.answerWhole(x, at, result)
	if st.Flag("quiet") {
		return nil
	}
	return p.ready(q, st, p.now+3*time.Millisecond)
}

func (p *play) initResult(version string) json.RawMessage {
	return object("protocolVersion", version, "capabilities", json.RawMessage(`{"logging":{},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}}`),
		"serverInfo", object("name", p.s.Server.Get("name", "ledger-mcp"), "version", "3.4.1"))
}

// ready sends notifications/initialized.
func (p *play) ready(q *Party, st *Step, at time.Duration) error {
	now := p.now
	defer func() { p.now = now }()
	p.now = at
	y, err := p.open(q, st, "POST", "", object("jsonrpc", "2.0", "method", "notifications/initialized"))
	if err != nil {
		return err
	}
	p.reply(y, at+time.Millisecond, 202, "", nil)
	return nil
}

func (p *play) initializeSSE(q *Party, st *Step, x *Exchange, id json.RawMessage, version, name, ver string) error {
	if q.SSE == nil {
		return errors.New("open the stream first: `A sse g`")
	}
	p.reply(x, p.now+time.Millisecond, 202, "", []byte("Accepted"))
	q.Session, q.Given = q.planned, true
	x.Session = q.planned
	at := p.now + 2*time.Millisecond
	p.t.add(&Happening{At: at, Kind: KFact, X: x, Facts: createdFacts(q, q.Caps, name, ver)})
	p.t.add(&Happening{At: at, Kind: KEvent, X: q.SSE, Data: object("jsonrpc", "2.0", "id", id, "result", p.initResult(version))})
	if st.Flag("quiet") {
		return nil
	}
	return p.ready(q, st, p.now+3*time.Millisecond)
}

// answerWhole gives one message as the exchange's whole answer, framed as the server does it.
func (p *play) answerWhole(x *Exchange, at time.Duration, msg json.RawMessage) {
	if x.Mode == "json" {
		p.reply(x, at, 200, "application/json", msg)
		return
	}
	p.head(x, at, 200, "text/event-stream")
	p.t.add(&Happening{At: at, Kind: KEvent, X: x, Data: msg})
	p.close(x, at, "server")
}

func (p *play) get(q *Party, st *Step, label string) error {
	x, err := p.open(q, st, "GET", label, nil)
	if err != nil {
		return err
	}
	x.Mode = "sse"
	if st.Verb == "sse" {
		q.SSE = x
		if !q.Opt.Flag("sse") {
			return fmt.Errorf("say `%s is sse` first", q.Name)
		}
		p.head(x, p.now+time.Millisecond, 200, "text/event-stream")
		x.Session = q.planned
		p.t.add(&Happening{At: p.now + time.Millisecond, Kind: KEvent, X: x, Event: "endpoint", Data: []byte("/message?sessionId=" + q.planned)})
		return nil
	}
	if st.Flag("pending") {
		return nil
	}
	p.head(x, p.now+time.Millisecond, 200, "text/event-stream")
	return nil
}

func (p *play) deleteSession(q *Party, st *Step, label string) error {
	x, err := p.open(q, st, "DELETE", label, nil)
	if err != nil {
		return err
	}
	status := number(st.Get("status", "200"))
	p.reply(x, p.now+time.Millisecond, status, "", nil)
	if status < 300 {
		p.t.add(&Happening{At: p.now + time.Millisecond, Kind: KFact, X: x, Facts: map[string]any{
			"event.name": "mcp.session.closed", "mcp.session.id": x.Session, "isodetect.session.end": "delete"}})
	}
	return nil
}

// oneWay sends a notification or a response; a server answers 202.
func (p *play) oneWay(q *Party, st *Step, label string) error {
	body := p.oneWayBody(st)
	x, err := p.open(q, st, "POST", label, body)
	if err != nil {
		return err
	}
	status := number(st.Get("status", "202"))
	at := p.now + time.Millisecond
	if victim := p.labels[st.Get("hits", "")]; victim != nil {
		p.t.add(&Happening{At: p.now, Kind: KFact, X: x, Facts: map[string]any{"event.name": "mcp.request.cancelled", "mcp.session.id": victim.Session,
			"isodetect.cancel.by.session.id": x.Session, "isodetect.cancel.request_id": plainID(st.Get("id", "")), "jsonrpc.request.id": plainID(st.Get("id", "")), "isodetect.rpc.id_type": idType(st.Get("id", ""))}})
	}
	if status >= 400 {
		p.reply(x, at, status, "text/plain", []byte(st.Get("text", "session not found")+"\n"))
		return nil
	}
	p.reply(x, at, status, "", nil)
	return nil
}

func (p *play) oneWayBody(st *Step) json.RawMessage {
	switch st.Verb {
	case "cancel":
		return object("jsonrpc", "2.0", "method", "notifications/cancelled", "params", object("requestId", value(st.Get("id", "")), "reason", value(st.Get("reason", ""))))
	case "answer":
		if code := st.Get("error", ""); code != "" {
			return object("jsonrpc", "2.0", "id", value(st.Get("id", "")), "error", object("code", json.RawMessage(code), "message", st.Get("text", "Method not found")))
		}
		result := value(st.Get("result", ""))
		if result == nil {
			result = object("role", "assistant", "content", object("type", "text", "text", st.Get("text", "ok")), "model", "m-large", "stopReason", "endTurn")
		}
		return object("jsonrpc", "2.0", "id", value(st.Get("id", "")), "result", result)
	}
	return object("jsonrpc", "2.0", "method", st.Get("method", "notifications/roots/list_changed"), "params", value(st.Get("params", "")))
}
