package logs

import (
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/pattern"
)

// userSlots says which slot of a record holds a field of a pattern. It is read only.
var userSlots = map[string]slot{
	"session": slotMCPSession, "presented": slotAsked, "origin": slotOrigin, "by": slotCanceller, "source": slotSource,
	"method": slotRPCMethod, "id": slotRPCID, "token": slotToken, "uri": slotURI, "tool": slotTool, "capabilities": slotCaps,
	"client": slotClient, "client_version": slotClientVersion, "protocol": slotProtocol, "remote": slotRemote, "reason": slotReason,
	"outcome": slotOutcome, "status": slotStatus, "error": slotError, "code": slotErrorCode, "progress": slotProgress,
	"total": slotTotal, "detail": slotDetail, "stream": slotStreamKind, "time": slotTime, "instance": slotInstance,
}

// fill makes the record what the pattern says. Of what stood in it only the time
// and the process that wrote it are kept: a line that a pattern claims gives what the pattern says.
func (u *userPatterns) fill(p *parser) {
	r := &p.rec
	r.only(slotTime, slotInstance, slotPod, slotHost, slotPID)
	for i := range u.hit.Fields {
		a := &u.hit.Fields[i]
		v := value{a.Text, formBare}
		if a.Capture >= 0 {
			v = u.took[a.Capture]
		}
		s := userSlots[a.Field.Name]
		if s == slotTime {
			if st, ok := parseTime(r.text(v), p.opt.AssumeUTCOffset); !ok || !st.dated {
				continue // the one in front, if there is one
			}
		}
		if v.form != formNone {
			r.unset(s)
			r.set(s, nil, v)
		}
	}
}

// only forgets all slots but these, and what else was found in the line.
func (r *record) only(ss ...slot) {
	var kept [8]value
	for i, s := range ss {
		kept[i] = r.get(s)
	}
	r.gen++
	if r.gen == 0 {
		r.at = [slots]uint32{}
		r.gen = 1
	}
	r.level, r.bodies, r.bare, r.front = 0, r.bodies[:0], false, nil
	for i, s := range ss {
		if kept[i].form != formNone {
			r.set(s, nil, kept[i])
		}
	}
}

// userEvents makes the events of a line that a pattern claims.
func (p *parser) userEvents() {
	p.msg, p.said = nil, phrase{}
	s := p.claimed()
	there := s.State == event.Present
	switch p.user.hit.Event.Kind {
	case pattern.SessionCreated:
		if there {
			p.sessionCreated(s)
		}
	case pattern.SessionResolved:
		p.sessionResolved(p.presented())
	case pattern.SessionRejected:
		e := p.emit(event.RequestDone)
		e.Asked, e.Outcome = p.presented(), event.OutcomeError
		p.userRequest(e)
	case pattern.SessionClosed:
		if there {
			p.emit(event.SessionClosed).Answered = s
		}
	case pattern.Request:
		p.userReceived(mcp.KindRequest, s)
	case pattern.Notification:
		p.userReceived(mcp.KindNotification, s)
	case pattern.CancelReceived:
		p.userCancel(s)
	case pattern.Finished:
		e := p.emit(event.RequestDone)
		p.userParties(e, s)
		e.Time.Moment = event.MomentEnd
		p.outcome(e)
		p.userRequest(e)
	case pattern.Cancelled:
		if there {
			id, sure := p.rec.id(p.rec.get(slotRPCID))
			e := p.emit(event.CancelledBy)
			e.Asked, e.Answered = p.session(p.rec.get(slotCanceller)), s
			p.cancelled(e, id, sure)
		}
	case pattern.Subscribed, pattern.Unsubscribed:
		if there && p.uri() != nil {
			p.subscribed(map[bool]string{true: mcp.Subscribe, false: mcp.Unsubscribe}[p.user.hit.Event.Kind == pattern.Subscribed])
		}
	case pattern.CapabilitiesConsulted:
		if c, known := p.caps(p.rec.get(slotCaps)); known && there {
			e := p.emit(event.CapsConsulted)
			e.Answered, e.RPC.Caps, e.RPC.CapsKnown = s, c, true
			e.RPC.Method = p.name(p.methodName())
		}
	case pattern.ProcessStarted:
		p.emit(event.ProcessStart)
	case pattern.Stateless:
		p.emit(event.Stateless)
	case pattern.Stdio:
		p.emit(event.Stdio)
	default:
		if there {
			p.userSent(s)
		}
	}
}

// userParties fills the sessions of a line about a request: a session key that
// is empty says that the request named none.
func (p *parser) userParties(e *event.Event, s event.Session) {
	e.Asked, e.Answered = p.presented(), s
	if s.State == event.Absent {
		e.Answered = event.Session{}
		if e.Asked.State == event.Unknown {
			e.Asked = s
		}
	}
}

// userRequest fills method, id, status and what else a line about a request tells.
func (p *parser) userRequest(e *event.Event) {
	r := &p.rec
	if st, ok := mcp.Number(r.text(r.get(slotStatus))); ok && st >= 100 && st <= 599 {
		e.Status = int(st)
	}
	e.Sender.Conn = p.name(r.text(r.get(slotRemote)))
	p.revision(e)
	p.request(e)
}

// userReceived makes the event of a request or notification of a client.
func (p *parser) userReceived(kind mcp.Kind, s event.Session) {
	e := p.emit(event.Message)
	e.Dir = event.ToServer
	p.userParties(e, s)
	p.userRequest(e)
	if e.RPC.Kind = kind; strings.HasPrefix(e.RPC.Method, "notifications/") {
		e.RPC.Kind = mcp.KindNotification
	}
}

// userCancel makes the event of a cancel that arrived.
func (p *parser) userCancel(s event.Session) {
	e := p.emit(event.Message)
	e.Dir = event.ToServer
	p.userParties(e, s)
	var sure bool
	e.RPC.Kind, e.RPC.Method = mcp.KindNotification, mcp.Cancelled
	e.RPC.CancelID, sure = p.rec.id(p.rec.get(slotRPCID))
	e.RPC.Reason = p.reason()
	p.lossy(e, sure)
	p.canceller(e)
}

// userSent makes the event of what the server sent to a session. One that names
// the session whose handler made it, too, is about the route.
func (p *parser) userSent(s event.Session) {
	kind, origin := p.user.hit.Event.Kind, p.session(p.rec.get(slotOrigin))
	how := event.Message
	if origin.State == event.Present || kind == pattern.Updated || kind == pattern.Delivered {
		how = event.Routed
	}
	e := p.emit(how)
	e.Dir, e.Answered, e.Origin, e.Stream = event.ToClient, s, origin, p.streamKind()
	e.RPC.Kind, e.RPC.Method = mcp.KindNotification, p.name(p.methodName())
	switch kind {
	case pattern.Progress:
		e.RPC.Method = mcp.Progress
	case pattern.Updated:
		e.RPC.Method = mcp.ResourceUpdated
	case pattern.ServerRequest:
		p.userAsked(e)
		return
	case pattern.Response:
		p.userAnswered(e)
		return
	}
	p.subject(e)
}

func (p *parser) userAsked(e *event.Event) {
	e.RPC.Kind = mcp.KindRequest
	p.subject(e)
	p.needed(e, mcp.KindRequest, nil)
}

func (p *parser) userAnswered(e *event.Event) {
	e.RPC.Kind = mcp.KindResult
	if v := p.rec.get(slotError, slotErrorCode); v.form != formNone && !v.absent() {
		e.RPC.Kind = mcp.KindError
	}
	p.subject(e)
	p.failure(e)
}
