package correlate

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// logged takes a fact that only a log or a native event states. What a log says
// about sessions is a claim of the server, good enough to build its timelines.
func (s *State) logged(m *Moment) {
	ev, d := m.Event, m.Domain
	switch ev.Kind {
	case event.SessionCreated:
		s.created(m)
	case event.SessionResolved:
		m.Party = s.logParty(m)
		if m.Party != nil {
			d.use(m.Party, ev.Time)
		}
		d.Legacy = true
	case event.SessionClosed:
		if ev.Answered.State == event.Present {
			m.Party = d.sessionOf(ev.Answered.ID, ev)
			s.endSession(m, m.Party)
		}
	case event.RequestDone:
		s.done(m)
	case event.CancelledBy:
		m.Party = s.logParty(m)
		d.Legacy = true
		s.cancelled(m)
	case event.Routed, event.CapsConsulted:
		m.Party = s.logParty(m)
		d.Legacy = true
		s.delivered(m)
	case event.ProcessStart:
		for _, p := range d.Parties {
			if p != nil && p.Live {
				s.endSession(m, p)
			}
		}
	case event.Stateless:
		d.StatelessHint = true
	}
}

// born notes the line that made a session.
func (s *State) born(m *Moment, p *Party) {
	ev, d := m.Event, m.Domain
	d.CreationLines++
	d.Inits++
	p.Born, p.BornAt, p.Issued, p.InitOrder = true, ev.Time, true, int32(d.Inits)
	p.Birth = newRef(ev)
	p.LiveTo = event.Time{}
	d.setLive(p, ev.Time)
}

// cancelled takes a line that says a request of a session was cancelled.
func (s *State) cancelled(m *Moment) {
	id := m.Event.RPC.CancelID
	if id == "" {
		id = m.Event.RPC.ID
	}
	if r := m.Party.openClient(id); r != nil {
		if m.Request = r; r.Exchange != nil {
			return // a capture shows how it ends
		}
		r.Answer, r.Code = mcp.KindError, CodeRequestCancelled
		s.end(m, r, Answered, refOf(m.Event))
		return
	}
	m.Request = m.Party.toldLater(id, m.Event.Time)
}

// toldLater returns the party's request with this id that was answered a moment
// before, if only now a line says that it was cancelled.
func (p *Party) toldLater(id mcp.ID, t event.Time) *Request {
	r := p.Recent(id)
	if r == nil || r.Exchange != nil || r.Fate != Answered || t.To-r.End.Time.To >= second {
		return nil
	}
	r.Answer, r.Code = mcp.KindError, CodeRequestCancelled
	return r
}

// logParty returns the session that a log line is about.
func (s *State) logParty(m *Moment) *Party {
	ev := m.Event
	switch {
	case ev.Answered.State == event.Present:
		return m.Domain.sessionOf(ev.Answered.ID, ev)
	case ev.Asked.State == event.Present:
		return m.Domain.sessionOf(ev.Asked.ID, ev)
	}
	return nil
}

// delivered takes an answer that a log says was sent to a session: where that has
// a request open under its id, this is its answer, whoever made it.
func (s *State) delivered(m *Moment) {
	ev := m.Event
	if ev.Kind != event.Routed || ev.RPC.Kind != mcp.KindResult && ev.RPC.Kind != mcp.KindError {
		return
	}
	if r := m.Party.openClient(ev.RPC.ID); r != nil {
		m.Request = r
		s.answer(m, r)
	} else if r = m.Party.Recent(ev.RPC.ID); r != nil && r.Fate == Answered {
		m.Request, m.Extra = r, true
	}
}

// created takes a creation line. Several lines about one session are one creation.
func (s *State) created(m *Moment) {
	ev, d := m.Event, m.Domain
	if ev.Answered.State != event.Present {
		return
	}
	d.Legacy = true
	p := d.sessionOf(ev.Answered.ID, ev)
	m.Party = p
	if !p.Born {
		s.born(m, p)
	} else if ev.View != p.Birth.View {
		d.CreationLines++ // a capture showed it first
	}
	switch {
	case !ev.RPC.CapsKnown:
	case !p.CapsKnown:
		m.Domain.declare(p, ev.RPC.Caps, refOf(ev))
	case p.Caps != ev.RPC.Caps:
		p.CapsDiffer = true
	}
	if p.ClientInfo == "" {
		p.ClientInfo = ev.RPC.ClientInfo
	}
	d.hint(p, d.senderOf(Sender{UserAgent: ev.Sender.UserAgent}))
}

// loggedMessage takes a log line about a JSON-RPC message.
func (s *State) loggedMessage(m *Moment) {
	ev, d := m.Event, m.Domain
	rpc := &ev.RPC
	m.Party = s.logParty(m)
	if rpc.Era == mcp.EraModern {
		d.Modern = true
		return
	}
	if rpc.Era == mcp.EraLegacy || m.Party != nil {
		d.Legacy = true
	}
	p := m.Party
	if p != nil {
		d.use(p, ev.Time)
	}
	switch {
	case rpc.Kind == mcp.KindRequest && ev.Dir != event.ToClient:
		if r := p.openClient(rpc.ID); r != nil && (r.Method == rpc.Method || rpc.Method == "") {
			m.Request = r // a second line about one request
			if r.Token == "" && rpc.Token != "" {
				r.Token = rpc.Token
				d.Index.add(IDKey(ByToken, r.Token), r)
				p.Tokens.Add(r.Token)
			}
			if r.Tool == "" {
				r.Tool = rpc.Tool
			}
			return
		}
		if rpc.ID == "" || p == nil {
			return
		}
		r := s.request(m, p, nil)
		d.subscribe(r, ev)
	case rpc.Kind == mcp.KindNotification && ev.Dir != event.ToClient:
		s.clientNotification(m, p)
	case (rpc.Kind == mcp.KindResult || rpc.Kind == mcp.KindError) && ev.Dir != event.ToServer:
		if r := p.openClient(rpc.ID); r != nil {
			if m.Request = r; r.Exchange == nil { // else a capture shows how it ends
				s.answer(m, r)
			}
		}
	}
}

// done takes a line that was written when a request had ended.
func (s *State) done(m *Moment) {
	ev, d := m.Event, m.Domain
	m.Party = s.logParty(m)
	if ev.RPC.Era == mcp.EraModern {
		d.Modern = true
		return
	}
	if ev.Status == 404 && ev.Asked.State == event.Present && m.Party.IsSession() {
		m.Party.Expired = m.Party.Expired || m.Party.Live
		s.endSession(m, m.Party)
		return
	}
	if p := m.Party; p != nil && !p.Born && p.Birth.At == ev.At && ev.Asked.State == event.Absent && ev.Status < 400 {
		s.born(m, p) // the first line that names it, and the request named none: its initialize
	}
	if m.Party != nil {
		d.Legacy = true
		if ev.Status == 0 || ev.Status < 400 {
			d.use(m.Party, ev.Time)
		}
	}
	p := m.Party
	if ev.RPC.Method == mcp.Subscribe || ev.RPC.Method == mcp.Unsubscribe {
		d.loggedSubscription(p, ev)
	}
	r := p.openClient(ev.RPC.ID)
	if r == nil {
		if ev.Outcome == event.OutcomeCancelled { // the line about the answer came before the one that knows why
			p.toldLater(ev.RPC.ID, ev.Time)
		}
		return
	}
	if m.Request = r; r.Exchange != nil {
		return // a capture shows how it ends
	}
	switch ev.Outcome {
	case event.OutcomeOK, event.OutcomeError, event.OutcomeCancelled, event.OutcomeEnded:
		r.Answer, r.ErrorText, r.Code = mcp.KindError, ev.RPC.ErrorText, ev.RPC.Code
		switch ev.Outcome {
		case event.OutcomeOK:
			r.Answer = mcp.KindResult
		case event.OutcomeEnded: // with a result or an error
			r.Answer = mcp.KindNone
		}
		if ev.Outcome == event.OutcomeCancelled {
			r.Code = CodeRequestCancelled
		}
		s.end(m, r, Answered, refOf(ev))
		d.subscribed(r, ev.Time)
	case event.OutcomeDropped:
		s.end(m, r, Cut, refOf(ev))
	}
}

// loggedSubscription takes a log line about an accepted subscription, which may
// name no request.
func (d *Domain) loggedSubscription(p *Party, ev *event.Event) {
	if p == nil || ev.RPC.URI == "" || ev.Outcome == event.OutcomeError {
		return
	}
	if ev.RPC.Method == mcp.Unsubscribe {
		for i := range p.Subs {
			if p.Subs[i].Ended == (event.Time{}) && p.Subs[i].URI.Normal == NormalURI(ev.RPC.URI) {
				p.Subs[i].Ended = ev.Time
			}
		}
		return
	}
	for i := range p.Subs {
		if p.Subs[i].Ended == (event.Time{}) && p.Subs[i].URI.Text == ev.RPC.URI {
			p.Subs[i].Accepted = true
			return
		}
	}
	if len(p.Subs) < maxSubs {
		d.addSub(p, Subscription{URI: NewURI(ev.RPC.URI), Accepted: true, Ref: refOf(ev)})
	}
}
