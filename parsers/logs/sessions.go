package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
)

// session makes a session of a value: a missing key is unknown, one that is
// there and empty is absent (DETECTION §1, "complete").
func (p *parser) session(v value) event.Session {
	if v.form == formNone || (v.form == formLiteral && !v.absent()) {
		return event.Session{}
	}
	if v.absent() {
		return event.Session{State: event.Absent}
	}
	t := bytes.TrimSpace(p.rec.text(v))
	if p.rec.textual {
		t = bytes.TrimRight(t, ",;")
	}
	if len(t) >= 2 && t[0] == '"' && t[len(t)-1] == '"' { // tracing prints values for debugging, with their quotes
		t = t[1 : len(t)-1]
	}
	if len(t) == 0 {
		return event.Session{}
	}
	if nothing(t) {
		return event.Session{State: event.Absent}
	}
	if redacted(t) {
		return event.Session{}
	}
	return event.Named(p.name(t))
}

// claimed is the session that a line names without saying how it came to it.
func (p *parser) claimed() event.Session {
	v := p.rec.get(slotMCPSession, slotSession)
	if v.form == formObject || v.form == formArray && !bytes.HasPrefix(v.raw, []byte(`["`)) {
		return event.Session{}
	}
	return p.session(v)
}

// created is the session that a line about a session's life names, by key or in its text.
func (p *parser) created() event.Session {
	s := p.claimed()
	if s.State == event.Unknown && p.said.plain() {
		id := idIn(p.msg)
		if id == nil {
			id = firstID(p.rec.front, 32) // [id] Session initialized
		}
		if id != nil {
			s = event.Named(p.name(id))
		}
	}
	return s
}

// presented is the session that a line says the request itself named.
func (p *parser) presented() event.Session {
	r := &p.rec
	if v := r.get(slotAsked); v.form != formNone {
		return p.session(v)
	}
	if r.get(slotHeaderPresent).false() {
		return event.Session{State: event.Absent}
	}
	if r.has(slotResponseHeader) && r.has(slotMCPSession) { // nginx and its kin log the pair
		return p.session(r.get(slotMCPSession))
	}
	return event.Session{}
}

// parties fills Asked and Answered of a line about a request or a message.
//
// A session label is a claim about the session that was used, so it is the one
// answered for; what the request presented is known from a key that says so. An
// empty label on what a client sent says that it had none.
func (p *parser) parties(e *event.Event) {
	r := &p.rec
	if asked := p.presented(); asked.State != event.Unknown {
		e.Asked = asked
	}
	switch {
	case r.has(slotAnswered):
		e.Answered = p.session(r.get(slotAnswered))
	case r.has(slotResponseHeader):
		e.Answered = p.session(r.get(slotResponseHeader))
		return
	}
	if e.Answered.State != event.Unknown {
		return
	}
	switch s := p.claimed(); {
	case s.State == event.Present:
		e.Answered = s
	case s.State == event.Absent && e.Dir == event.ToClient:
		e.Answered = s
	case s.State == event.Absent && e.Asked.State == event.Unknown:
		e.Asked = s
	}
}

// evident reports that the record or its file is about MCP, so that a bare
// session key names a session of MCP and not a login (FORMATS §1.4).
func (p *parser) evident() bool {
	if p.mcp {
		return true
	}
	r := &p.rec
	p.mcp = r.has(slotMCPSession) || p.keyed(slotAsked) || p.keyed(slotResponseHeader) || r.has(slotRPCMethod) || r.has(slotRPCID) || r.has(slotToken) || len(r.bodies) > 0 ||
		p.said.any(wRPC|wMCP) || rpcMethod(r.text(r.get(slotMethod))) || rpcMethod(r.text(r.get(slotOperation)))
	return p.mcp
}

// keyed reports that the key that filled a slot says MCP.
func (p *parser) keyed(s slot) bool {
	if !p.rec.has(s) {
		return false
	}
	k := p.rec.keys[s]
	return len(k) >= 3 && (bytes.Contains(k, []byte("mcp")) || bytes.Contains(k, []byte("Mcp")) || bytes.Contains(k, []byte("MCP")))
}
