package correlate

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Answers and ends: which request a message decides the fate of.

// answeredEarly narrows the time of a server request by the client's answer: it
// is not later than that, and -32601 is sent at once (DETECTION §3, capability_drift).
func (s *State) answeredEarly(m *Moment, r *Request, a EarlyAnswer) {
	r.Sent.Time.To = min(r.Sent.Time.To, a.Ref.Time.To)
	r.Sent.Time.From = min(r.Sent.Time.From, r.Sent.Time.To)
	if a.Code == CodeMethodNotFound {
		r.Sent.Time.From = r.Sent.Time.To
	}
	r.Answer, r.Code = a.Kind, a.Code
	s.end(m, r, Answered, a.Ref)
}

// CodeMethodNotFound is JSON-RPC's error code for a method the receiver does not serve.
const CodeMethodNotFound = -32601

// serverAnswer finds the request that an answer on this exchange belongs to.
func (s *State) serverAnswer(m *Moment, x *Exchange) {
	id := m.Event.RPC.ID
	r := x.own(id)
	if r == nil && (x.Stream == event.StreamGet || x.Stream == event.StreamSSE) {
		if r = x.Party.openClient(id); r == nil {
			r = x.Party.Recent(id)
		}
	}
	if r == nil && id.Placeholder() && m.Event.RPC.Kind == mcp.KindError && len(x.Requests) == 1 {
		r = x.Requests[0]
	}
	if r == nil {
		return
	}
	m.Request = r
	if p := r.Party; p.IsSession() && m.Event.RPC.Kind == mcp.KindResult && r.Exchange != nil && r.Exchange.Asked.State == event.Present {
		m.Domain.use(p, m.Event.Time)
	}
	if r.Ended() && r.Fate == Answered {
		m.Extra = true
		return
	}
	s.answer(m, r)
	s.initialized(m, x, r)
}

// own returns the request of the exchange's own body with this id: typed,
// then folded; an open one before an answered one.
func (x *Exchange) own(id mcp.ID) *Request {
	var best *Request
	rank := 0
	for _, r := range x.Requests {
		n := 0
		switch {
		case r.ID == id:
			n = 3
		case r.ID.Fold() == id.Fold():
			n = 1
		default:
			continue
		}
		if !r.Ended() {
			n++
		}
		if n > rank {
			best, rank = r, n
		}
	}
	return best
}

// answer decides the fate of a request by a message.
func (s *State) answer(m *Moment, r *Request) {
	rpc := &m.Event.RPC
	r.Answer, r.Code, r.IsError, r.ErrorText = rpc.Kind, rpc.Code, rpc.IsError, rpc.ErrorText
	r.Echo = r.OwnValue(rpc.Marks)
	if r.Fate == GivenUp || r.Fate == Cut || r.Fate == Lost {
		// It had been given up before; the late answer is its answer all the same.
		r.Fate, r.End = Answered, refOf(m.Event)
		m.Ended = append(m.Ended, r)
	} else {
		s.end(m, r, Answered, refOf(m.Event))
	}
	if r.Party != nil && r.Succeeded() {
		r.Party.LastResult = m.Event.Time.To
	}
	if x := r.Exchange; x != nil && r.Dir == event.ToServer {
		r.Status = x.Status
	}
	m.Domain.subscribed(r, m.Event.Time)
}

// initialized takes the answer to an initialize where the response head did not
// settle the session: no session header, HTTP+SSE, or a refusal.
func (s *State) initialized(m *Moment, x *Exchange, r *Request) {
	if r.Method != mcp.Initialize {
		return
	}
	d, p := m.Domain, r.Party
	origin := r.Exchange
	if m.Event.RPC.Kind == mcp.KindError {
		if p.IsSession() && p.Issued && p.BornAt == r.Sent.Time && p.Live {
			d.endLive(p, m.Event.Time)
			p.LiveTo = p.LiveFrom
			d.Issued--
		}
		return
	}
	switch {
	case x.Stream == event.StreamSSE && p.IsSession():
		d.Inits++
		if p.InitOrder != 0 {
			p.Rekeyed, p.CapsKnown = true, false
			return
		}
		p.InitOrder, p.ClientInfo = int32(d.Inits), r.ClientInfo
		d.declare(p, r.Need, r.Sent)
	case origin != nil && origin.Answered.State == event.Absent && origin.Asked.State != event.Present:
		d.Unissued++
	case origin != nil && origin.Asked.State == event.Present && origin.Answered.State != event.Present && p.IsSession():
		if p.Issued || p.InitOrder != 0 {
			p.Rekeyed, p.CapsKnown = true, false
		}
	}
}

// end decides the fate of a request.
func (s *State) end(m *Moment, r *Request, fate Fate, ref Ref) {
	if r.Ended() {
		return
	}
	r.Fate, r.End = fate, ref
	switch {
	case r.Dir != event.ToServer:
	case r.Party != nil:
		m.Domain.finish(r.Party)
	default:
		m.Domain.Nameless--
	}
	m.Domain.Ended = append(m.Domain.Ended, r)
	m.Ended = append(m.Ended, r)
}

// closed ends an exchange and decides what became of its requests.
func (s *State) closed(m *Moment) {
	ev, d := m.Event, m.Domain
	x := d.exchange(ev.Exchange)
	if x == nil {
		return
	}
	m.Exchange, m.Party = x, x.Party
	if ev.EventID != "" {
		x.Resumable = true
	}
	x.Whole = x.Conn == nil || !x.Conn.Unpaired
	x.Done, x.By = true, ev.By
	x.Loss |= ev.Loss
	if ev.Status != 0 {
		x.Status = int32(ev.Status)
	}
	d.noteLoss(x, ev)
	for _, r := range x.Requests {
		if !r.Ended() {
			s.abandon(m, x, r)
		}
	}
	if x.Stream == event.StreamSSE && x.Party.IsSession() && ev.By != event.ByWindow {
		s.endSession(m, x.Party)
	}
	if x.Party != nil {
		x.Party.Streams--
		d.vacate(x.Party)
	}
	delete(d.Exchanges, ev.Exchange)
	d.newest = nil
	if x.Interval {
		d.Intervals--
	}
}

// abandon decides the fate of a request whose exchange closed without an answer.
func (s *State) abandon(m *Moment, x *Exchange, r *Request) {
	ref := refOf(m.Event)
	switch {
	case x.Loss&(event.LossResponseBody|event.LossPairing) != 0 || r.Party != nil && !r.Party.Complete(event.ToClient, r.Sent.Time.From):
		s.end(m, r, Lost, ref)
	case x.Status >= 400:
		r.Status = x.Status
		s.end(m, r, Refused, ref)
	case x.Status == 202 || x.By == event.ByWindow:
		// The answer comes on another stream, or the window ended first.
	case r.OwnCancel != (event.Time{}):
		s.end(m, r, GivenUp, ref)
	case x.Resumable && x.By != event.ByClient:
		// The client may resume the stream and get the answer there.
	case x.By == event.ByClient, x.By == event.ByUnknown:
		r.Left = true
		s.end(m, r, GivenUp, ref)
	default:
		s.end(m, r, Cut, ref)
	}
}
