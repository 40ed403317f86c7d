package logs

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// access reads lines that a server writes when an HTTP request is answered.
func (p *parser) access() bool {
	r := &p.rec
	if !r.has(slotStatus) {
		return false
	}
	status, ok := mcp.Number(r.text(r.get(slotStatus)))
	if !ok && r.get(slotStatus).absent() && (r.has(slotRequestHeaders) || verb(r.text(r.get(slotHTTPMethod)))) {
		status, ok = 0, true // the client left before there was an answer
	}
	if !ok || status != 0 && (status < 100 || status > 599) {
		return false
	}
	method := r.text(r.get(slotHTTPMethod))
	if !verb(method) {
		if method = r.text(r.get(slotMethod)); !verb(method) {
			if !r.has(slotPath) && !r.has(slotResponseHeader) && !r.has(slotDuration) {
				return false
			}
			method = nil
		}
	}
	e := p.emit(event.RequestDone)
	e.Status, e.HTTPMethod = int(status), p.name(method)
	if e.Time.Moment = p.forms.moment; e.Time.Moment == event.MomentExact {
		e.Time.Moment = event.MomentEnd
	}
	p.startKey(e)
	if status >= 400 {
		e.Outcome = event.OutcomeError
	}
	p.dump(e)
	if !r.has(slotAsked) && !r.has(slotMCPSession) {
		p.querySession(r.text(r.get(slotPath)))
	}
	p.parties(e)
	p.client(e)
	if len(r.bodies) > 0 {
		var m mcp.Message
		if mcp.ParseMessage(r.bodies[0].raw, &m) == nil {
			p.fill(&m, e)
		}
	} else {
		id, sure := r.id(r.get(slotRPCID))
		e.RPC.ID, e.RPC.Method = id, p.name(p.methodName())
		p.lossy(e, sure)
		p.subject(e)
	}
	p.outcome(e)
	e.Sender.UserAgent = p.name(r.text(r.get(slotUserAgent)))
	if e.Asked.State == event.Absent && e.Answered.State == event.Present && e.RPC.Method == "" && e.Time.To != 0 && p.forms.doubled() {
		p.stats.Note("lines that stand twice, byte for byte, were read once: a doubled initialize would look like a request without a session")
		p.queue = p.queue[:len(p.queue)-1]
	}
	return true
}

// dump reads a dump of request headers (pino-http, Caddy, Kong), and a line of Traefik, which
// has a key for each header that came. A dump without the session header says that
// there was none, but only once this file has shown that the header is logged where
// it is: a header that is dropped or redacted would be missing too.
func (p *parser) dump(e *event.Event) {
	r := &p.rec
	traefik := string(appendPath(r.path[:0], r.keys[slotStatus])) == "downstreamstatus"
	if !r.has(slotRequestHeaders) && !traefik {
		return
	}
	if r.has(slotAsked) {
		p.headers = true
	} else if p.headers {
		e.Asked = event.Session{State: event.Absent}
	}
}

func verb(b []byte) bool {
	switch string(b) {
	case "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH":
		return true
	}
	return false
}

// done reads lines that say that a request came to its end.
func (p *parser) done() bool {
	r, s := &p.rec, &p.said
	outcome := r.has(slotOutcome) && r.get(slotOutcome).form != formObject
	if s.any(wNot|wUpstream|wClient|wServer) || r.has(slotKind) {
		return false
	}
	switch {
	case outcome && len(p.methodName()) > 0: // mcp.request of mcp-go
	case s.any(wDone|wSucceeded|wFailed) && s.any(wTool|wCall|wRPC|wRequest|wMCP):
	default:
		return false
	}
	e := p.emit(event.RequestDone)
	e.Time.Moment = event.MomentEnd
	p.parties(e)
	p.request(e)
	p.revision(e)
	if e.RPC.Method == "" && r.has(slotTool) {
		e.RPC.Method = mcp.ToolsCall
	}
	if s.any(wFailed) {
		e.Outcome = event.OutcomeError
	} else if s.any(wSucceeded) {
		e.Outcome = event.OutcomeOK
	} else if s.any(wDone) {
		e.Outcome = event.OutcomeEnded
	}
	p.outcome(e)
	if e.RPC.ID == "" && e.Answered.State == event.Unknown && e.Asked.State == event.Unknown {
		p.queue = p.queue[:len(p.queue)-1] // whose request it was cannot be told
	}
	return true
}

// outcome reads the keys that say how a request ended.
func (p *parser) outcome(e *event.Event) {
	r := &p.rec
	if v := r.get(slotError); v.form != formNone && !v.absent() && !v.false() {
		e.Outcome = event.OutcomeError
		if t := r.text(v); len(t) > 0 && t[0] != '{' {
			e.RPC.ErrorText = mcp.Cut(string(mustCut(t, 2048)), 1024)
		}
	}
	if r.has(slotErrorCode) {
		if c, ok := mcp.Number(r.text(r.get(slotErrorCode))); ok && c != 0 && c > -1e9 && c < 1e9 {
			e.Outcome, e.RPC.Code = event.OutcomeError, int(c)
		}
	}
	switch string(r.text(r.get(slotOutcome))) {
	case "ok", "success", "succeeded":
		e.Outcome = event.OutcomeOK
	case "error", "failed", "failure":
		e.Outcome = event.OutcomeError
	case "cancelled", "canceled":
		e.Outcome = event.OutcomeCancelled
	case "dropped":
		e.Outcome = event.OutcomeDropped
	case "ended":
		e.Outcome = event.OutcomeEnded
	}
}
