package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The lines of servers that were copied from the examples of the TypeScript SDK,
// and of mcp-use (FORMATS A5). They have no time and no level.

// consoleState is what such a server printed in the lines before.
type consoleState struct {
	named int64  // the line behind the last one that names the session of a request; 0 = none so far, -1 = in a file before
	init  []byte // the initialize request that was printed last
	inits int    // how many were printed since a session was made
}

const maxInit = 64 << 10

var consoleTemplates = []template{
	{begins: "Received MCP request for session: ", read: consoleNamed},
	{begins: "Request body:", read: consoleBody},
	{begins: "Received MCP request:", read: consoleRequest},
	{begins: "Session initialized", read: consoleSession, pairs: true},
	{begins: "Session closed", read: consoleSession, pairs: true},
	{begins: "Established SSE stream with session ID: ", read: consoleSSE},
	{begins: "Establishing "},
	{begins: "Client reconnecting with Last-Event-ID"},
	{begins: "No active transport found for session ID"},
	{begins: "Received session termination request for session "}, // "Transport closed" follows
}

func consoleNamed(p *parser, _ []byte) verdict {
	p.mcp = true
	p.forms.told.console.named = p.base.At.N + 1
	return silent
}

// consoleBody reads a printed request. The example prints it only where the request
// had no session header, which shows once it printed the session of another.
func consoleBody(p *parser, _ []byte) verdict {
	s := &p.forms.told.console
	return p.printed(s.named != 0 && s.named != p.base.At.N)
}

// consoleRequest reads a request that is printed whether or not it has a session.
func consoleRequest(p *parser, _ []byte) verdict { return p.printed(false) }

func (p *parser) printed(absent bool) verdict {
	r, s := &p.rec, &p.forms.told.console
	if len(r.bodies) == 0 {
		return silent
	}
	p.mcp = true
	var m mcp.Message
	if mcp.ParseMessage(r.bodies[0].raw, &m) == nil && m.Method == mcp.Initialize {
		s.inits++
		s.init = append(s.init[:0], r.bodies[0].raw...)
		if len(s.init) > maxInit {
			s.init = s.init[:0]
		}
		return silent // it comes with the line about its session
	}
	if absent {
		r.set(slotMCPSession, nil, value{nil, formBare})
	}
	_, _ = mcp.Each(r.bodies[0].raw, func(member []byte) {
		var m mcp.Message
		if len(p.queue) < maxEvents && mcp.ParseMessage(member, &m) == nil {
			e := p.emit(event.Message)
			e.Dir = event.ToServer
			p.parties(e)
			p.fill(&m, e)
			e.RPC.Batch = r.bodies[0].raw[0] == '['
		}
	})
	return silent
}

// consoleSession reads "Session initialized with ID: …", with the initialize that
// was printed just before where there was only one.
func consoleSession(p *parser, rest []byte) verdict {
	s := &p.forms.told.console
	k := bytes.Index(rest, []byte(": "))
	if k >= 0 && bytes.Contains(p.rec.front, []byte("[MCP]")) && !p.rec.has(slotMCPSession) {
		if id := firstWord(rest[k+2:]); len(id) >= 4 { // mcp-use
			p.rec.set(slotMCPSession, nil, value{id, formBare})
		}
	}
	if s.inits == 1 && len(s.init) > 0 && len(p.rec.bodies) == 0 && p.said.any(wInitialized) {
		p.rec.bodies = append(p.rec.bodies, body{raw: s.init, key: "request"})
		defer func() { p.rec.bodies = p.rec.bodies[:0] }()
		s.inits = 0
		if !p.life() {
			return unclaimed
		}
		return silent
	}
	s.inits = 0
	return filled
}

// consoleSSE reads the session of an HTTP+SSE stream.
func consoleSSE(p *parser, rest []byte) verdict {
	if id := firstWord(rest); len(id) >= 8 {
		p.mcp = true
		p.sessionCreated(event.Named(p.name(id)))
	}
	return silent
}
