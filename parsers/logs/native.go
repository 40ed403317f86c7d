package logs

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// nativeState is what native events before this one have said: the last sequence
// number of each process, and which set of capabilities a digest stands for.
type nativeState struct {
	seq     map[event.Domain]int64
	digests map[string]mcp.Caps
}

const (
	maxProcesses = 1024
	maxDigests   = 4096
)

func (n *nativeState) capsOf(digest []byte) (mcp.Caps, bool) {
	c, ok := n.digests[string(digest)]
	return c, ok
}

// learn keeps the digest of a set of capabilities that an event spells out.
func (n *nativeState) learn(digest string, c mcp.Caps) {
	if n.digests == nil || len(n.digests) >= maxDigests {
		n.digests = map[string]mcp.Caps{}
	}
	n.digests[digest] = c
}

// nativeEvent makes the events of one native event (native.schema.json). The
// record is the outermost one: text inside a field never gets here.
func (p *parser) nativeEvent() {
	r := &p.rec
	p.mcp = true
	p.msg, p.said = nil, phrase{}
	p.base.Form = p.told.of(r.text(r.get(slotEvent))).form
	first := len(p.queue)
	p.sequence()
	switch name := string(r.text(r.get(slotEvent))); name {
	case "isodetect.meta":
		p.meta()
	case "mcp.session.created":
		if s := p.nativeSession(); s.State == event.Present {
			p.sessionCreated(s)
			e := &p.queue[len(p.queue)-1]
			e.Answered = s
			if d := r.text(r.get(slotCapsDigest)); len(d) > 0 && e.RPC.CapsKnown {
				p.native.learn(mcp.Cut(string(d), maxID), e.RPC.Caps)
			} else if c, ok := p.native.capsOf(d); ok {
				e.RPC.Caps, e.RPC.CapsKnown = c, true
			}
		}
	case "mcp.session.resolved", "session_resolved":
		p.sessionResolved(p.presented())
		e := &p.queue[len(p.queue)-1]
		e.Answered = p.nativeSession()
		if e.Asked.State == event.Present && e.Asked.ID == e.Answered.ID {
			e.Asked = e.Answered
		}
		p.types(e)
	case "mcp.session.rejected":
		e := p.emit(event.RequestDone)
		e.Asked, e.Outcome = p.presented(), event.OutcomeError
		p.finish(e)
	case "mcp.session.closed":
		if s := p.nativeSession(); s.State == event.Present {
			p.emit(event.SessionClosed).Answered = s
		}
	case "mcp.message.received", "mcp.message.sent", "mcp.request.started":
		p.nativeMessage(name)
	case "mcp.request.finished":
		e := p.emit(event.RequestDone)
		e.Asked, e.Answered = p.presented(), p.nativeSession()
		e.Time.Moment = event.MomentEnd
		p.outcome(e)
		p.finish(e)
	case "mcp.request.cancelled":
		p.nativeCancelled()
	case "mcp.subscription.added":
		p.nativeSubscribed(mcp.Subscribe)
	case "mcp.subscription.removed":
		p.nativeSubscribed(mcp.Unsubscribe)
	case "mcp.subscription.delivered":
		p.nativeRouted(mcp.ResourceUpdated)
	}
	p.nativeTransport()
	p.nativeSender(p.queue[first:])
}

// nativeSender fills who sent the request that the events are about. enduser.id
// is the subject, or a stable hash of it.
func (p *parser) nativeSender(events []event.Event) {
	user, agent := p.name(p.rec.text(p.rec.get(slotEndUser))), p.name(p.rec.text(p.rec.get(slotUserAgent)))
	for i := range events {
		s := &events[i].Sender
		if user != "" {
			s.Principal = "sub:" + user
		}
		if agent != "" {
			s.UserAgent = agent
		}
	}
}

// nativeSession is the session that an event says was used.
func (p *parser) nativeSession() event.Session {
	r := &p.rec
	s := p.session(r.get(slotMCPSession, slotSessionHash))
	switch string(r.text(r.get(slotSessionKind))) {
	case "telemetry":
		s.Kind = event.IDTelemetry
	case "gateway":
		s.Kind = event.IDGateway
	case "proxy":
		s.Kind = event.IDProxy
	}
	return s
}

// meta reads the first event of a process or file: only a counter that begins
// anew is a new process, a later file of the same process goes on counting.
func (p *parser) meta() {
	r := &p.rec
	if seq, ok := mcp.Number(r.text(r.get(slotSeq))); !ok || seq <= 1 {
		p.emit(event.ProcessStart)
	}
	if string(r.text(r.get(slotMode))) == "stateless" {
		p.emit(event.Stateless)
	}
}

func (p *parser) nativeTransport() {
	switch string(p.rec.text(p.rec.get(slotTransport))) {
	case "stdio", "pipe":
		p.emit(event.Stdio)
	}
}

// sequence reports numbers that were left out: events that were written and are not here.
func (p *parser) sequence() {
	seq, ok := mcp.Number(p.rec.text(p.rec.get(slotSeq)))
	if !ok || seq < 1 || seq > 1<<53 {
		return
	}
	if p.native.seq == nil || len(p.native.seq) >= maxProcesses {
		p.native.seq = map[event.Domain]int64{}
	}
	last, known := p.native.seq[p.base.Domain]
	now := int64(seq)
	if now > last || now == 1 {
		p.native.seq[p.base.Domain] = now
	}
	if known && now > last+1 {
		p.stats.Gaps++
		e := p.emit(event.Gap)
		e.Note = fmt.Sprintf("%d native events before this one are missing", now-last-1)
	}
}

// finish fills method, id and status of a request.
func (p *parser) finish(e *event.Event) {
	r := &p.rec
	if st, ok := mcp.Number(r.text(r.get(slotStatus))); ok && st >= 100 && st <= 599 {
		e.Status = int(st)
	}
	p.revision(e)
	p.request(e)
	p.types(e)
}

// types gives ids and tokens the types that their own keys name: in native
// events they are always written as strings.
func (p *parser) types(e *event.Event) {
	r := &p.rec
	e.Loss &^= event.LossIDType
	e.RPC.ID = p.typed(e, e.RPC.ID, slotIDType)
	e.RPC.CancelID = p.typed(e, e.RPC.CancelID, slotIDType)
	if r.has(slotTokenType) {
		e.RPC.Token = p.typed(e, e.RPC.Token, slotTokenType)
	} else {
		e.RPC.Token = p.typed(e, e.RPC.Token, slotIDType)
	}
}

func (p *parser) typed(e *event.Event, id mcp.ID, s slot) mcp.ID {
	if id == "" {
		return ""
	}
	switch string(p.rec.text(p.rec.get(s))) {
	case "string":
		return mcp.StringID(id.Fold())
	case "number":
		if n := mcp.NewID([]byte(id.Fold())); n != "" && !n.IsString() && n != mcp.NullID {
			return n
		}
		return id
	}
	if id.IsString() && integer([]byte(id.Fold())) {
		e.Loss |= event.LossIDType
	}
	return id
}

// nativeMessage reads message events and the start of a request, and what they
// say about where a message came from and which capabilities were looked at.
func (p *parser) nativeMessage(name string) {
	r := &p.rec
	e := p.emit(event.Message)
	e.Dir = event.ToServer
	if name == "mcp.message.sent" {
		e.Dir = event.ToClient
	}
	e.Answered = p.nativeSession()
	if e.Answered.State == event.Absent && e.Dir == event.ToServer {
		e.Asked, e.Answered = e.Answered, event.Session{}
	}
	if asked := p.presented(); asked.State != event.Unknown {
		e.Asked = asked
	}
	e.Stream = p.streamKind()
	p.client(e)
	p.finish(e)
	e.RPC.Kind = p.nativeKind(e, name)
	p.failure(e)
	p.canceller(e)
	if e.Dir == event.ToClient && e.RPC.Kind == mcp.KindRequest {
		p.needed(e, mcp.KindRequest, nil)
	}
	if origin := p.session(r.get(slotOrigin)); origin.State == event.Present && e.Dir == event.ToClient {
		p.nativeRouted(e.RPC.Method)
	}
	p.capsConsulted()
}

func (p *parser) nativeKind(e *event.Event, name string) mcp.Kind {
	k := p.kindKey()
	switch {
	case name == "mcp.request.started":
		return mcp.KindRequest
	case k == mcp.KindNone && strings.HasPrefix(e.RPC.Method, "notifications/"):
		return mcp.KindNotification
	case k == mcp.KindNone && e.RPC.Method != "" && e.RPC.ID != "":
		return mcp.KindRequest
	}
	return k
}

func (p *parser) nativeSubscribed(method string) {
	first := len(p.queue)
	p.subscribed(method)
	for i := first; i < len(p.queue); i++ {
		p.queue[i].Answered = p.nativeSession()
		p.types(&p.queue[i])
	}
}

// nativeRouted says to which session something went that another one's handler made.
func (p *parser) nativeRouted(method string) {
	e := p.emit(event.Routed)
	e.Dir = event.ToClient
	e.Answered, e.Origin = p.nativeSession(), p.session(p.rec.get(slotOrigin))
	e.RPC.Kind, e.RPC.Method = mcp.KindNotification, method
	p.subject(e)
	p.types(e)
	if e.Answered.State != event.Present {
		p.queue = p.queue[:len(p.queue)-1]
	}
}

func (p *parser) nativeCancelled() {
	r := &p.rec
	id, _ := r.id(r.get(slotCancelID, slotRPCID))
	e := p.emit(event.CancelledBy)
	e.Asked, e.Answered = p.session(r.get(slotCanceller)), p.nativeSession()
	p.cancelled(e, id, true)
	p.types(e)
}
