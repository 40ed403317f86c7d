package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// record makes the events of a record that is no native event. What the line
// says it is about decides first, what stands in its keys after that.
func (p *parser) record() {
	r := &p.rec
	p.msg = r.text(r.get(slotMessage))
	p.said = p.told.of(p.msg)
	if e := r.get(slotEvent); e.form == formString || e.form == formBare {
		if len(p.msg) == 0 {
			p.msg = r.text(e)
			p.said = p.told.of(p.msg)
		} else if s := p.told.of(r.text(e)); s.resolved() {
			p.said = s
		}
	}
	p.base.Form = p.said.form
	tpl := p.template()
	if tpl == unclaimed {
		p.process()
	}
	switch {
	case tpl == silent:
		return
	case p.forms.told.super.all:
		p.broadcast()
		return
	case p.said.resolved() && r.textual && r.twice != "":
		return // pairs that stand twice: some of them are part of an unquoted text
	case p.said.resolved():
		p.mcp = true
		p.sessionResolved(p.presented())
	case p.life():
	case !p.evident():
		return
	case p.clientInitialized():
	case p.cancel():
	case p.subscription():
	case p.routed():
	case p.access():
		return // its message, if it has one, is in it
	case p.done():
	case len(r.bodies) == 0:
		p.rpcLine()
	}
	p.capsConsulted()
	p.embedded()
}

// process reads what a line says about the process as a whole.
func (p *parser) process() {
	r, s := &p.rec, &p.said
	switch {
	case !s.plain() || s.any(wNot|wClient|wUpstream|wSession|wFailed):
	case s.has(wListening), s.has(wServer | wStarted):
		p.emit(event.ProcessStart)
	}
	if mode := r.text(r.get(slotMode)); string(mode) == "stateless" || r.get(slotStateless).true() || (s.plain() && s.has(wStateless) && s.any(wMode|wTransport) && !s.any(wNot)) {
		p.emit(event.Stateless)
	}
	if string(r.text(r.get(slotTransport))) == "stdio" || (s.plain() && s.has(wStdio) && s.any(wTransport|wStarted|wListening|wServer) && !s.any(wNot|wUpstream|wClient)) {
		p.emit(event.Stdio)
	}
}

// life reads lines that name a session as created or closed.
func (p *parser) life() bool {
	s := &p.said
	if !s.has(wSession) || s.rest || s.any(wTool|wCall|wNot|wUpstream|wFailed|wRequest|wCancel|wCancelled|wProgress|wSubscribed|wSubscription) || p.rec.has(slotUpstream) || p.rec.has(slotRPCMethod) {
		return false
	}
	switch {
	case s.any(wEnded | wIdle):
		if id := p.created(); id.State == event.Present {
			p.emit(event.SessionClosed).Answered = id
		}
	case s.any(wBorn | wInitialized):
		if s.any(wStream) && s.any(wStarted) {
			return false
		}
		if id := p.created(); id.State == event.Present {
			p.sessionCreated(id)
		}
	default:
		return false
	}
	p.mcp = p.mcp || len(p.queue) > 0
	return true
}

func (p *parser) sessionCreated(id event.Session) {
	e := p.emit(event.SessionCreated)
	e.Answered = id
	p.client(e)
	for i := range p.rec.bodies {
		var m mcp.Message
		if mcp.ParseMessage(p.rec.bodies[i].raw, &m) == nil && m.Method == mcp.Initialize {
			p.readParams(&m, e)
		}
	}
}

// clientInitialized reads the line that names the capabilities of a client once it is known.
func (p *parser) clientInitialized() bool {
	if !p.said.has(wClient|wInitialized) || !p.rec.has(slotCaps) {
		return false
	}
	if s := p.claimed(); s.State == event.Present {
		p.sessionCreated(s)
	}
	return true
}

// client fills what a line says about a client: name, capabilities, revision.
func (p *parser) client(e *event.Event) {
	r := &p.rec
	if v := r.get(slotCaps); v.form != formNone {
		e.RPC.Caps, e.RPC.CapsKnown = p.caps(v)
	}
	if name := r.text(r.get(slotClient)); len(name) > 0 && !nothing(name) {
		e.RPC.ClientInfo = p.name(name)
		if ver := r.text(r.get(slotClientVersion)); len(ver) > 0 {
			e.RPC.ClientInfo = mcp.Cut(e.RPC.ClientInfo+" "+string(ver), maxID)
		}
	}
	p.revision(e)
}

// revision fills the protocol revision and the era that it belongs to.
func (p *parser) revision(e *event.Event) {
	if v := p.rec.text(p.rec.get(slotProtocol)); len(v) > 0 {
		if era := mcp.RevisionEra(string(v)); era != mcp.EraUnknown {
			e.Revision, e.RPC.Era = p.name(v), era
		}
	}
}

// caps reads a set of capabilities: the object of initialize, a list of names,
// or names in one text. A set that is there and empty is known.
func (p *parser) caps(v value) (c mcp.Caps, known bool) {
	if v.absent() {
		return 0, true
	}
	switch v.form {
	case formObject:
		return mcp.ParseCaps(v.raw), true
	case formLiteral, formNumber:
		return 0, false
	}
	t := v.raw
	if v.form == formString {
		t = p.rec.text(v)
	}
	if len(t) > 0 && t[0] == '{' && bytes.IndexByte(t, '"') > 0 {
		return mcp.ParseCaps(t), true
	}
	if len(t) > maxCapsText {
		return 0, false
	}
	return mcp.CapsOfNames(bytesFields(t)), true
}

const maxCapsText = 4096

// bytesFields divides a list however it is written: [a b], ["a","b"], a,b, map[a:map[]].
func bytesFields(t []byte) (names []string) {
	for _, f := range bytes.FieldsFunc(t, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '/')
	}) {
		names = append(names, string(f))
	}
	return names
}

// sessionResolved reads how a request came to its session.
func (p *parser) sessionResolved(asked event.Session) {
	r := &p.rec
	e := p.emit(event.SessionResolved)
	e.Resolution = string(bytes.ToLower(mustCut(r.text(r.get(slotSource)), 64)))
	e.Asked, e.Answered = asked, p.claimed()
	if r.has(slotAnswered) {
		e.Answered = p.session(r.get(slotAnswered))
	}
	if asked.State == event.Unknown {
		switch e.Resolution {
		case "fallback":
			e.Asked = event.Session{State: event.Absent}
		case "header", "query", "path":
			e.Asked = e.Answered
		}
	}
	e.Sender.Conn = p.name(r.text(r.get(slotRemote))) // so that the finding can name who sent it
	p.revision(e)
	p.request(e)
}

func mustCut(b []byte, n int) []byte { return b[:min(len(b), n)] }
