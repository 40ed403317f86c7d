package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// agentProbe: TIME⇥LEVEL⇥request K=V … (FORMATS §3, agentgateway).
func agentProbe(b []byte, quote int) bool {
	if !isDigit(b[0]) {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 48)], '\t')
	return k > 18 && bytes.Contains(b[k:min(len(b), k+24)], []byte("\trequest "))
}

// readAgent reads the request log of agentgateway. Keys come in a fixed order and
// values have no quotes; error and reason, which may hold blanks, come last.
func readAgent(p *parser, b []byte) verdict {
	k := bytes.IndexByte(b, '\t')
	p.rec.set(slotTime, nil, value{b[:k], formBare})
	p.rec.textual = true
	p.forms.moment = event.MomentEnd
	b = b[k+bytes.Index(b[k:], []byte("\trequest "))+len("\trequest "):]
	for _, free := range [...]string{" error=", " reason="} {
		if end := bytes.Index(b, []byte(free)); end >= 0 {
			p.rec.set(slotError, nil, value{b[end+len(free):], formBare})
			b = b[:end]
		}
	}
	p.rec.readPairs(b, 0)
	return filled
}

// superState is what supergateway said about its clients: it sends every answer of
// its one child to all of them, whoever asked (FORMATS D4).
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
	id := []byte(nil)
	if _, tail, ok := bytes.Cut(b[:min(len(b), 160)], []byte("(session ")); ok {
		id, _, _ = bytes.Cut(tail, []byte(")"))
	}
	k := bytes.IndexByte(b, '{')
	switch {
	case bytes.HasPrefix(b, []byte("SSE → Child (session ")) && len(id) > 0 && k > 0:
		s.came(p.name(id))
		r.set(slotMCPSession, nil, value{id, formBare})
		r.set(slotDirection, nil, value{[]byte("c2s"), formBare})
	case bytes.HasPrefix(b, []byte("Child → SSE: ")) && k > 0:
		s.all = true
		r.set(slotDirection, nil, value{[]byte("s2c"), formBare})
	case bytes.HasPrefix(b, []byte("StreamableHttp → Child: ")) && k > 0:
		r.set(slotDirection, nil, value{[]byte("c2s"), formBare})
	case bytes.HasPrefix(b, []byte("Child → StreamableHttp: ")) && k > 0:
		r.set(slotDirection, nil, value{[]byte("s2c"), formBare})
	case bytes.HasPrefix(b, []byte("POST to SSE transport (session ")) && len(id) > 0:
		s.came(p.name(id))
		return silent
	case bytes.HasPrefix(b, []byte("Client disconnected (session ")) && len(id) > 0:
		s.left(p.name(id))
		r.set(slotMCPSession, nil, value{id, formBare})
		r.set(slotMessage, nil, value{[]byte("session closed"), formBare})
		p.mcp = true
		return filled
	default:
		return silent
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
	r.addBody(raw, nil)
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

// broadcast emits a message of the child once for every client that it is sent to.
func (p *parser) broadcast() {
	s := &p.forms.told.super
	s.all = false
	for _, b := range p.rec.bodies {
		var m mcp.Message
		if mcp.ParseMessage(b.raw, &m) != nil {
			continue
		}
		for _, id := range s.sessions {
			e := p.emit(event.Message)
			e.Dir, e.Answered = event.ToClient, event.Named(id)
			p.fill(&m, e)
		}
	}
}

// goMiddlewareProbe: … [REQUEST] Session: ID | Method: tools/call.
func goMiddlewareProbe(b []byte, quote int) bool {
	if b[0] != '[' && !isDigit(b[0]) {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 40)], '[')
	return k >= 0 && k+4 < len(b) && b[k+1] == 'R' && (bytes.HasPrefix(b[k:], []byte("[REQUEST] Session: ")) || bytes.HasPrefix(b[k:], []byte("[RESPONSE] Session: ")))
}

func readGoMiddleware(p *parser, b []byte) verdict {
	r := &p.rec
	if st, ok := parseTime(b, p.opt.AssumeUTCOffset); ok {
		r.set(slotTime, nil, value{b[:st.length], formBare})
	}
	k := bytes.IndexByte(b, '[')
	r.textual = true
	for _, part := range bytes.Split(b[k+bytes.IndexByte(b[k:], ']')+1:], []byte(" | ")) {
		key, v, _ := bytes.Cut(part, []byte(":"))
		v = bytes.TrimSpace(v)
		switch string(bytes.TrimSpace(key)) {
		case "Session":
			r.set(slotMCPSession, nil, value{v, formBare})
		case "Method":
			r.set(slotRPCMethod, nil, value{v, formBare})
		case "Status":
			word := []byte("error")
			if string(v) == "OK" {
				word = []byte("ok")
			}
			r.set(slotOutcome, nil, value{word, formBare})
		}
	}
	return filled
}
