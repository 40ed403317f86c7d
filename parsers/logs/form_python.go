package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The loggers of python-sdk 1.x and 2.x and of fastmcp (FORMATS A1, A3), through
// any formatter: logging.basicConfig, asctime, rich, python-json-logger, structlog, loguru.

// pythonState is what a python server said a moment ago.
type pythonState struct {
	fresh   string // a session that was created and has not been answered for yet
	many    bool   // there are several, so that it is not known whose answer comes next
	refused string // one whose first request the access log shows as refused
	post    ssePost
}

var pythonTemplates = []template{
	{begins: "Created new transport with session ID: ", read: pythonCreated},
	{begins: "Created new session with ID: ", read: pythonSSECreated},
	{begins: "Parsed session ID: ", read: pythonSSEParsed},
	{begins: "Sending message via SSE: SessionMessage(message=", read: pythonSSESends},
	{begins: "Received request without session_id", read: pythonSSEWithout},
	{begins: "Received invalid session ID: ", read: pythonSSEWithout},
	{begins: "Could not find session for ID: ", read: pythonSSEUnknown},
	{begins: "Rejecting message for session ", read: pythonSSERejected},
	{begins: "Client session disconnected ", read: pythonSSEDisconnected},
	{begins: "Validated client message: "},          // the same as "Received JSON"
	{begins: "Sending session message to writer: "}, // once more
	{begins: "Sent endpoint event: "},               // the session that was just created
	{begins: "StreamableHTTP session manager started", read: pythonStarted},
	{begins: "Processing request of type ", read: pythonType},
	{begins: "Dispatching ", holds: " of type "}, // follows "Processing"
	{begins: "Request ", holds: " cancelled - duplicate response suppressed", read: pythonCancelled},
	{begins: "Session ", holds: " crashed", read: pythonEnded},
	{begins: "Session ", holds: " idle timeout", read: pythonEnded},
	{begins: "Cleaning up crashed session ", read: pythonGone},
	{begins: "Terminating session: ", read: pythonTerminating},
	{begins: "Rejected request with unknown or expired session ID: ", read: pythonUnknown},
	{begins: "Rejecting request for session "},
	{begins: "Received JSON: b", read: pythonReceived},
	{begins: "Session already exists, handling request directly"},
	{begins: "Creating new transport"},
	{begins: "Received message: <mcp.shared.session.RequestResponder object at "},
	{begins: "Added session: ", read: forgeAdded},
	{begins: "Stored capabilities for session ", read: forgeCapabilities},
	{begins: "Stateless mode: Creating new transport", read: pythonStateless},
	{begins: "Started server process [", read: pythonStarted},
	{begins: "Starting MCP server '", read: fastmcpStarting},
}

// pythonCreated remembers the session: the SDK makes one for every request without
// a header, also for those that it then answers with 400 (WIRE, TS 4). Such a
// creation is no initialize.
func pythonCreated(p *parser, rest []byte) verdict {
	id := firstWord(rest)
	if len(id) < 8 {
		return silent
	}
	s := &p.forms.told.python
	s.many = s.fresh != ""
	s.fresh = p.name(id)
	p.mcp = true
	p.sessionCreated(event.Named(s.fresh))
	return silent
}

// refusedCreation looks at the first answer behind a creation.
func (p *parser) refusedCreation(method, status []byte) {
	s := &p.forms.told.python
	if s.fresh == "" || string(method) != "POST" {
		return
	}
	if status[0] == '4' && !s.many {
		s.refused = s.fresh
	}
	s.fresh, s.many = "", false
}

// loggedAccess looks at an access line of uvicorn that a logger wrote into a record of its own.
func (p *parser) loggedAccess() {
	if p.forms.told.python.fresh == "" || p.rec.textual || !uvicornProbe(p.msg, bytes.IndexByte(p.msg, '"')) {
		return
	}
	if a, ok := splitAccess(p.msg); ok {
		if status, _, _ := bytes.Cut(bytes.TrimSpace(a.post), []byte(" ")); digits(status, 0, 3) {
			p.refusedCreation(a.method, status)
		}
	}
}

// pythonRefused takes a creation back.
func (p *parser) pythonRefused(id string) {
	p.emit(event.SessionClosed).Answered = event.Named(id)
}

func pythonStateless(p *parser, _ []byte) verdict {
	p.mcp = true
	p.emit(event.Stateless)
	return silent
}

// fastmcpStarting reads "'notes' with transport 'http' (stateless) on http://…".
func fastmcpStarting(p *parser, rest []byte) verdict {
	p.mcp = true
	p.emit(event.ProcessStart)
	if has(rest, "' (stateless)") {
		p.emit(event.Stateless)
	}
	if has(rest, "with transport 'stdio'") {
		p.emit(event.Stdio)
	}
	return silent
}

func pythonStarted(p *parser, _ []byte) verdict {
	p.mcp = true
	p.emit(event.ProcessStart)
	return silent
}

// pythonType reads the class of a request. The line names neither session nor id.
func pythonType(p *parser, rest []byte) verdict {
	method, note := methodOfType(firstWord(rest))
	if method == "" {
		return silent
	}
	p.mcp = true
	e := p.emit(event.Message)
	e.Dir, e.RPC.Method, e.RPC.Kind = event.ToServer, method, mcp.KindRequest
	if note {
		e.RPC.Kind = mcp.KindNotification
	}
	return silent
}

// pythonCancelled reads "Request 7 cancelled - duplicate response suppressed".
func pythonCancelled(p *parser, rest []byte) verdict {
	id, tail, _ := bytes.Cut(rest, []byte(" "))
	if !bytes.HasPrefix(tail, []byte("cancelled - duplicate response suppressed")) {
		return unclaimed
	}
	p.mcp = true
	e := p.emit(event.CancelledBy)
	e.Outcome, e.Loss = event.OutcomeCancelled, e.Loss|event.LossIDType
	if integer(id) {
		e.RPC.ID = mcp.NewID(id)
	} else {
		e.RPC.ID = mcp.StringID(string(id))
	}
	return silent
}

func pythonTerminating(p *parser, rest []byte) verdict {
	p.mcp = true
	if string(firstWord(rest)) == "None" {
		p.emit(event.Stateless)
		return silent
	}
	p.emit(event.SessionClosed).Answered = event.Named(p.name(firstWord(rest)))
	return silent
}

// pythonEnded reads "ID crashed", in mcp up to 1.26 with the error behind it, and "ID idle timeout".
func pythonEnded(p *parser, rest []byte) verdict {
	id, tail, _ := bytes.Cut(rest, []byte(" "))
	if len(id) < 8 || !bytes.HasPrefix(tail, []byte("crashed")) && !bytes.HasPrefix(tail, []byte("idle timeout")) {
		return unclaimed
	}
	return pythonGone(p, id)
}

func pythonGone(p *parser, rest []byte) verdict {
	p.mcp = true
	p.emit(event.SessionClosed).Answered = event.Named(p.name(firstWord(rest)))
	return silent
}

// pythonUnknown reads the refusal of a session that is not there (any more).
func pythonUnknown(p *parser, rest []byte) verdict {
	id := firstWord(rest)
	if len(id) == 0 {
		return silent
	}
	p.mcp = true
	e := p.emit(event.RequestDone)
	e.Asked, e.Status, e.Outcome = event.Named(p.name(id)), 404, event.OutcomeError
	if len(id) >= 64 { // the log cuts it there
		e.Asked = event.Session{}
	}
	return silent
}

// forgeAdded reads the registry of IBM context-forge (FORMATS §3).
func forgeAdded(p *parser, rest []byte) verdict {
	if id := firstWord(rest); len(id) >= 8 {
		p.mcp = true
		p.sessionCreated(event.Named(p.name(id)))
	}
	return silent
}

// forgeCapabilities reads "ID: {'roots': {…}}", a Python dict.
func forgeCapabilities(p *parser, rest []byte) verdict {
	id, dict, ok := bytes.Cut(rest, []byte(": "))
	j := inspect{in: dict}
	if !ok || len(id) < 8 || len(dict) == 0 || dict[0] != '{' || !j.value(0) {
		return silent
	}
	p.mcp = true
	e := p.emit(event.SessionCreated)
	e.Answered = event.Named(p.name(id))
	e.RPC.Caps, e.RPC.CapsKnown = mcp.ParseCaps(j.out), true
	return silent
}

// fastmcpProbe: … event=request_start method=tools/call source=client … payload=…,
// or the same keys as one object.
func fastmcpProbe(b []byte, quote int) bool {
	if quote > 0 && b[quote-1] == '{' && bytes.HasPrefix(b[quote:], []byte(fastmcpObject)) {
		return true
	}
	k := bytes.IndexByte(b[:min(len(b), 160)], '=')
	return k >= 5 && string(b[k-5:k]) == "event" && (bytes.HasPrefix(b[k+1:], []byte("request_")) || bytes.HasPrefix(b[k+1:], []byte("notification_")))
}

const fastmcpObject = `"event": "`

// readFastmcp reads the line up to payload and error, which are not quoted and hold
// what a client sent.
func readFastmcp(p *parser, b []byte) verdict {
	if k := bytes.Index(b[:min(len(b), 160)], []byte("{"+fastmcpObject)); k >= 0 {
		tail := b[k+len("{"+fastmcpObject):]
		if !bytes.HasPrefix(tail, []byte("request_")) && !bytes.HasPrefix(tail, []byte("notification_")) {
			return unclaimed
		}
		if p.rec.prefix(b[:k], p.opt.AssumeUTCOffset) < k || !p.rec.readJSON(b[k:]) || p.rec.native {
			return silent
		}
		return filled
	}
	for _, free := range [...]string{" payload=", " error="} {
		if k := bytes.Index(b, []byte(free)); k >= 0 {
			b = b[:k]
		}
	}
	if !p.rec.readText(b, p.opt.AssumeUTCOffset) {
		return silent
	}
	return filled
}
