package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// cancel reads lines about cancels: a canceller and a cancelled one in one line,
// a cancel that arrived, and a request that ended as cancelled.
func (p *parser) cancel() bool {
	r, s := &p.rec, &p.said
	named := r.has(slotCanceller)
	if !named && (!s.any(wCancel|wCancelled) || s.any(wNot|wNotification|wUpstream)) {
		return false
	}
	id, sure := r.id(r.get(slotCancelID, slotRPCID, slotRequestID, slotID))
	if id == "" {
		return false
	}
	switch {
	case named:
		e := p.emit(event.CancelledBy)
		e.Asked = p.session(r.get(slotCanceller))
		if e.Answered = p.session(r.get(slotOwner, slotTarget)); e.Answered.State == event.Unknown {
			e.Answered = p.claimed()
		}
		p.cancelled(e, id, sure)
	case s.has(wCancel) && s.any(wReceived|wRequest) || has(p.msg, "requested"):
		e := p.emit(event.Message)
		e.Dir = event.ToServer
		e.RPC.Kind, e.RPC.Method, e.RPC.CancelID = mcp.KindNotification, mcp.Cancelled, id
		p.parties(e)
		p.canceller(e)
		e.RPC.Reason = p.reason()
		p.lossy(e, sure)
	case s.has(wCancelled) && s.any(wRequest|wJob|wCall|wTool|wRPC):
		e := p.emit(event.CancelledBy)
		if e.Answered = p.session(r.get(slotOwner)); e.Answered.State == event.Unknown {
			e.Answered = p.claimed()
		}
		p.cancelled(e, id, sure)
	default:
		return false
	}
	return true
}

func (p *parser) cancelled(e *event.Event, id mcp.ID, sure bool) {
	e.RPC.ID = id
	e.RPC.Tool = p.name(p.rec.text(p.rec.get(slotTool)))
	e.RPC.Reason = p.reason()
	e.Outcome = event.OutcomeCancelled
	p.lossy(e, sure)
}

func (p *parser) reason() string {
	return mcp.Cut(string(mustCut(p.rec.text(p.rec.get(slotReason)), 512)), 256)
}

func (p *parser) lossy(e *event.Event, sure bool) {
	if !sure {
		e.Loss |= event.LossIDType
	}
}

func has(b []byte, sub string) bool { return bytes.Contains(b, []byte(sub)) }

// subscription reads lines that say that a session subscribed or no longer does:
// such a line is written when the server has accepted it.
func (p *parser) subscription() bool {
	r, s := &p.rec, &p.said
	if s.any(wNot|wFailed|wUpstream|wRPC) || !s.any(wSubscribed|wUnsubscribed|wSubscription) || p.uri() == nil {
		return false
	}
	method := mcp.Subscribe
	switch op := r.text(r.get(slotOperation, slotRPCMethod, slotMethod)); {
	case string(op) == mcp.Unsubscribe, s.any(wUnsubscribed), s.has(wSubscription) && s.any(wEnded):
		method = mcp.Unsubscribe
	case string(op) != mcp.Subscribe && !s.any(wSubscribed) && !s.any(wBorn) && p.said.n > 2:
		return false
	}
	p.subscribed(method)
	return true
}

// subscribed emits a subscription with its acceptance.
func (p *parser) subscribed(method string) {
	uri := p.name(p.uri())
	id, sure := p.rec.id(p.rec.get(slotRPCID, slotRequestID))
	for _, kind := range []event.Kind{event.Message, event.RequestDone} {
		e := p.emit(kind)
		e.Dir = event.ToServer
		e.RPC.Kind, e.RPC.Method, e.RPC.URI, e.RPC.ID = mcp.KindRequest, method, uri, id
		p.parties(e)
		p.lossy(e, sure)
		if kind == event.RequestDone {
			e.Dir, e.Outcome = event.DirUnknown, event.OutcomeOK
		}
	}
}

// uri is the resource that a line is about; a path of HTTP is none.
func (p *parser) uri() []byte {
	u := p.rec.text(p.rec.get(slotURI))
	if len(u) == 0 || u[0] == '/' || nothing(u) {
		return nil
	}
	return u
}

// routed reads lines that say to which session something was delivered.
func (p *parser) routed() bool {
	r, s := &p.rec, &p.said
	if !s.any(wRouted|wSent) || s.any(wNot|wFailed|wRPC|wRequest|wUpstream) || r.has(slotKind) {
		return false
	}
	progress := s.has(wProgress)
	update := s.has(wResource | wUpdate)
	if !progress && !update && !s.has(wNotification) {
		return false
	}
	var e struct{ Answered, Origin event.Session }
	switch {
	case r.has(slotTarget):
		p.targets = true
		e.Answered, e.Origin = p.session(r.get(slotTarget)), p.session(r.get(slotOrigin))
		if e.Origin.State == event.Unknown {
			e.Origin = p.claimed()
		}
	case r.has(slotOrigin):
		e.Origin, e.Answered = p.session(r.get(slotOrigin)), p.claimed()
	case p.targets && progress:
		e.Origin = p.claimed() // where the target is named when there is one, the label is the handler's
	default:
		e.Answered = p.claimed()
	}
	n := 0
	if e.Answered.State != event.Present && e.Origin.State != event.Present {
		if n = p.recipients(); n == 0 || !update {
			return true
		}
	}
	q := p.emit(event.Routed)
	q.N = n
	q.Dir, q.Answered, q.Origin = event.ToClient, e.Answered, e.Origin
	q.RPC.Kind = mcp.KindNotification
	switch {
	case progress:
		q.RPC.Method = mcp.Progress
	case update:
		q.RPC.Method = mcp.ResourceUpdated
	default:
		q.RPC.Method = p.name(p.methodName())
	}
	p.subject(q)
	return true
}

// recipients is to how many sessions a line says that something was sent; 0 = it does not say.
func (p *parser) recipients() int {
	n, ok := mcp.Number(p.rec.text(p.rec.get(slotRecipients)))
	if !ok || n < 1 || n > 1e9 {
		return 0
	}
	return int(n)
}

// capsConsulted reads the set of capabilities that a dispatch line says was looked
// at. It comes before what was dispatched by it.
func (p *parser) capsConsulted() {
	v := p.rec.get(slotCapsConsulted)
	if v.form == formNone {
		return
	}
	c, known := p.caps(v)
	if t := p.rec.text(v); bytes.HasPrefix(t, []byte("sha256:")) {
		c, known = p.native.capsOf(t)
	}
	s := p.claimed()
	if !known || s.State != event.Present {
		return
	}
	e := p.emit(event.CapsConsulted)
	e.Answered, e.RPC.Caps, e.RPC.CapsKnown = s, c, true
	e.RPC.Method = p.name(p.methodName())
	line := p.queue[p.began:]
	now := line[len(line)-1]
	copy(line[1:], line)
	line[0] = now
}
