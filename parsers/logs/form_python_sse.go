package logs

import (
	"bytes"
	"strconv"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The DEBUG lines of the HTTP+SSE transport of the Python SDK, the only ones of it
// with bodies (FORMATS A1, checked against mcp 1.30 and 2.3). A POST is told in
// several lines, between which those of other POSTs may come:
//
//	Parsed session ID: 0274fa29-5a6c-4800-a9fe-45f0b85e1c61
//	Received JSON: b'{"method":"tools/call",…}'
//
// What the server sends has no session ("Sending message via SSE: …").

// ssePost is what is known of the POSTs whose body has not been logged yet.
type ssePost struct {
	session string // theirs
	waiting int    // how many there are
	mixed   bool   // they are of several sessions: whose body comes next is not known
}

// come takes a POST to a session.
func (s *ssePost) come(id string) {
	s.mixed = s.waiting > 0 && (s.mixed || s.session != id)
	s.session = id
	s.waiting++
}

// gone takes the line that ends the wait of one of them, and returns its session,
// "" if it cannot be told.
func (s *ssePost) gone() (id string) {
	if s.waiting == 0 {
		return ""
	}
	if !s.mixed {
		id = s.session
	}
	s.waiting--
	return id
}

// sseID folds the two spellings of one id: the log prints a UUID, the URL carries
// its 32 digits.
func (p *parser) sseID(rest []byte) string {
	id := firstWord(rest)
	if len(id) != 36 || !idShape(id) {
		return ""
	}
	var hex [32]byte
	n := 0
	for _, c := range id {
		if c != '-' {
			hex[n] = c | 0x20
			n++
		}
	}
	return p.name(hex[:])
}

func pythonSSECreated(p *parser, rest []byte) verdict {
	id := p.sseID(rest)
	if id == "" {
		return unclaimed
	}
	p.mcp = true
	p.sessionCreated(event.Named(id))
	return silent
}

func pythonSSEParsed(p *parser, rest []byte) verdict {
	if id := p.sseID(rest); id != "" {
		p.mcp = true
		p.forms.told.python.post.come(id)
	}
	return silent
}

// pythonSSEDisconnected reads the end of a stream, and with it of its session.
func pythonSSEDisconnected(p *parser, rest []byte) verdict {
	id := p.sseID(rest)
	if id == "" {
		return unclaimed
	}
	p.mcp = true
	p.emit(event.SessionClosed).Answered = event.Named(id)
	return silent
}

// pythonSSEUnknown reads the refusal of a POST whose session is not there (any more).
func pythonSSEUnknown(p *parser, rest []byte) verdict {
	id := p.sseID(rest)
	if id == "" {
		return silent
	}
	p.forms.told.python.post.gone()
	p.sseRefused(event.Named(id), 404)
	return silent
}

// pythonSSERejected reads the refusal of a POST with another credential than its
// session's. It is answered with 404, but the session lives on.
func pythonSSERejected(p *parser, _ []byte) verdict {
	p.forms.told.python.post.gone()
	return silent
}

// pythonSSEWithout reads the refusal of a POST that names no session, or none that could be one.
func pythonSSEWithout(p *parser, rest []byte) verdict {
	asked := event.Session{State: event.Absent}
	if id := firstWord(rest); len(id) > 0 {
		asked = event.Named(p.name(id))
	}
	p.sseRefused(asked, 400)
	return silent
}

func (p *parser) sseRefused(asked event.Session, status int) {
	p.mcp = true
	e := p.emit(event.RequestDone)
	e.Asked, e.Status, e.Outcome = asked, status, event.OutcomeError
}

// pythonReceived reads the body of a POST, printed as Python bytes.
func pythonReceived(p *parser, rest []byte) verdict {
	id := p.forms.told.python.post.gone()
	if len(rest) < 3 || rest[0] != '\'' && rest[0] != '"' || rest[len(rest)-1] != rest[0] {
		return silent
	}
	body, ok := pythonBytes(rest[1 : len(rest)-1])
	if !ok {
		return silent
	}
	p.mcp = true
	if id != "" {
		p.rec.set(slotMCPSession, nil, value{[]byte(id), formBare})
	}
	p.bodyOf(body, event.ToServer)
	return silent
}

// pythonSSESends reads kind, id and method of a message that goes to a session
// which is not named: JSONRPCResponse(jsonrpc='2.0', id=7, result={…}), in mcp 1.x
// inside JSONRPCMessage(root=…).
func pythonSSESends(p *parser, rest []byte) verdict {
	rest = bytes.TrimPrefix(rest, []byte("JSONRPCMessage(root="))
	class, tail, ok := bytes.Cut(rest, []byte("("))
	if !ok {
		return silent
	}
	kind := mcp.KindNone
	switch string(class) {
	case "JSONRPCResponse":
		kind = mcp.KindResult
	case "JSONRPCError":
		kind = mcp.KindError
	case "JSONRPCRequest":
		kind = mcp.KindRequest
	case "JSONRPCNotification":
		kind = mcp.KindNotification
	default:
		return silent
	}
	p.mcp = true
	e := p.emit(event.Message)
	e.Dir, e.RPC.Kind = event.ToClient, kind
	if kind == mcp.KindRequest || kind == mcp.KindNotification {
		e.RPC.Method = p.name(pythonField(tail, "method="))
	}
	if id := pythonField(tail, "id="); len(id) > 0 && kind != mcp.KindNotification {
		e.RPC.ID = mcp.NewID(id)
		if !integer(id) {
			e.RPC.ID = mcp.StringID(string(id))
		}
	}
	return silent
}

// pythonField is the value of a member in the head of a printed object, in front of
// what it carries: behind that, anybody's text may look like one.
func pythonField(b []byte, key string) []byte {
	head := b
	for _, free := range [...]string{"params={", "result={", "error="} {
		if k := bytes.Index(head, []byte(free)); k >= 0 {
			head = head[:k]
		}
	}
	k := bytes.Index(head, []byte(key))
	for k > 0 && head[k-1] != ' ' {
		next := bytes.Index(head[k+1:], []byte(key))
		if next < 0 {
			return nil
		}
		k += 1 + next
	}
	if k < 0 {
		return nil
	}
	v := head[k+len(key):]
	if len(v) > 0 && v[0] == '\'' {
		v, _, _ = bytes.Cut(v[1:], []byte("'"))
		return v
	}
	if end := bytes.IndexAny(v, ",) "); end >= 0 {
		v = v[:end]
	}
	return v
}

// pythonBytes undoes the escapes of a bytes literal.
func pythonBytes(b []byte) (out []byte, ok bool) {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		if i++; i >= len(b) {
			return nil, false
		}
		switch c := b[i]; c {
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'x':
			if i+2 >= len(b) {
				return nil, false
			}
			v, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8)
			if err != nil {
				return nil, false
			}
			out = append(out, byte(v))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out, true
}
