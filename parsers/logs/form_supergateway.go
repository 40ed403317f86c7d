package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// supergateway (FORMATS D4, checked against 4.0) puts one stdio server behind
// HTTP+SSE. It logs what each client sends with its session, and what the server
// answers without one: that goes to all open sessions, whoever asked. Behind
// streamable HTTP every session has a server of its own, and no line of a message
// names it.

// superState is what supergateway said about its clients.
type superState struct {
	sessions []string // open ones, in the order in which they came
	all      bool     // the message of this line goes to all
}

const maxSuper = 64

func supergatewayProbe(b []byte, quote int) bool {
	return bytes.HasPrefix(b, []byte("[supergateway] "))
}

func readSupergateway(p *parser, b []byte) verdict {
	s, r := &p.forms.told.super, &p.rec
	b = b[len("[supergateway] "):]
	id := superSession(b)
	k := bytes.IndexByte(b, '{')
	word := ""
	switch from, to := superRoute(b[:max(k, 0)]); {
	case from == "SSE" && bytes.HasPrefix(to, []byte("Child (session ")) && len(id) > 0:
		s.came(p.name(id))
		r.set(slotMCPSession, nil, value{id, formBare})
		word = "c2s"
	case from == "Child" && string(to) == "SSE: ":
		s.all, word = true, "s2c"
	case from == "StreamableHttp" && bytes.HasPrefix(to, []byte("Child")):
		word = "c2s"
	case from == "Child" && string(to) == "StreamableHttp: ":
		word = "s2c"
	case bytes.HasPrefix(b, []byte("POST to SSE transport (session ")) && len(id) > 0:
		s.came(p.name(id))
		return silent
	default:
		return p.superLife(b, id)
	}
	raw := b[k:]
	if !bytes.HasPrefix(raw, []byte(`{"`)) {
		j := inspect{in: raw}
		if !j.value(0) {
			return silent
		}
		raw = j.out
	}
	p.mcp = true
	r.set(slotDirection, nil, value{[]byte(word), formBare})
	r.addBody(raw, nil)
	if len(id) > 0 && has(raw, `"method":"initialize"`) && startsSession(raw) {
		return p.superSays("session created", id)
	}
	return filled
}

// startsSession reports an initialize request.
func startsSession(raw []byte) bool {
	var m mcp.Message
	return mcp.ParseMessage(raw, &m) == nil && m.Method == mcp.Initialize
}

// superRoute divides "SSE → Child (session …): " at its arrow, which is found also
// where UTF-8 was read as Windows-1252.
func superRoute(b []byte) (from string, to []byte) {
	for _, arrow := range [...]string{" → ", " â†’ "} {
		if head, tail, ok := bytes.Cut(b, []byte(arrow)); ok {
			for _, known := range [...]string{"SSE", "Child", "StreamableHttp"} {
				if string(head) == known {
					return known, tail
				}
			}
		}
	}
	return "", nil
}

// superSession is the session that a line names in brackets.
func superSession(b []byte) []byte {
	_, tail, ok := bytes.Cut(b[:min(len(b), 160)], []byte("(session "))
	if !ok {
		return nil
	}
	id, _, _ := bytes.Cut(tail, []byte(")"))
	return id
}

// superLife reads how sessions begin and end.
func (p *parser) superLife(b, id []byte) verdict {
	if bytes.HasPrefix(b, []byte("Starting...")) { // a new process: nobody is connected
		p.forms.told.super.sessions = nil
		p.rec.set(slotMessage, nil, value{[]byte("server starting"), formBare})
		return filled
	}
	ended := false
	for _, begins := range [...]string{"Client disconnected (session ", "SSE connection closed (session ", "SSE error (session ",
		"StreamableHttp connection closed (session ", "StreamableHttp error (session "} {
		ended = ended || bytes.HasPrefix(b, []byte(begins))
	}
	if rest, ok := bytes.CutPrefix(b, []byte("Failed to send to session ")); ok { // it is sent nothing more
		id, ended = firstWord(rest), true
	}
	if rest, ok := bytes.CutPrefix(b, []byte("Session ")); ok && has(rest, " timed out, cleaning up") {
		id, ended = firstWord(rest), true
	}
	if rest, ok := bytes.CutPrefix(b, []byte("Session access count 0 -> 1 for ")); ok && has(rest, " (new session)") {
		return p.superSays("session created", firstWord(rest))
	}
	if !ended || len(id) == 0 || nothing(id) {
		return silent
	}
	p.forms.told.super.left(p.name(id))
	return p.superSays("session closed", id)
}

// superSays makes the record say what is generally understood.
func (p *parser) superSays(what string, id []byte) verdict {
	p.mcp = true
	p.rec.set(slotMCPSession, nil, value{id, formBare})
	p.rec.set(slotMessage, nil, value{[]byte(what), formBare})
	return filled
}

// came notes a session that is open; the bound drops the oldest.
func (s *superState) came(id string) {
	for _, have := range s.sessions {
		if have == id {
			return
		}
	}
	if len(s.sessions) == maxSuper {
		s.sessions = append(s.sessions[:0], s.sessions[1:]...)
	}
	s.sessions = append(s.sessions, id)
}

func (s *superState) left(id string) {
	for i, have := range s.sessions {
		if have == id {
			s.sessions = append(s.sessions[:i], s.sessions[i+1:]...)
			return
		}
	}
}

// broadcast emits a message of the server once for every session that it is sent
// to: that each got it is not in the line, which Resolution says.
func (p *parser) broadcast() {
	s := &p.forms.told.super
	s.all = false
	for _, b := range p.rec.bodies {
		var m mcp.Message
		if mcp.ParseMessage(b.raw, &m) != nil {
			continue
		}
		for _, id := range s.sessions {
			e := p.emit(event.Routed)
			e.Dir, e.Answered, e.Resolution = event.ToClient, event.Named(id), "broadcast"
			if m.Kind == mcp.KindRequest {
				e.Kind, e.Resolution = event.Message, ""
			}
			p.fill(&m, e)
		}
	}
}
