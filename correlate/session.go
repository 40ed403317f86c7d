package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
)

// Sessions: who an exchange belongs to, and how sessions begin and end.

// belong gives an open exchange to a party and notes what it shows about it.
func (s *State) belong(x *Exchange, p *Party) {
	if p == nil {
		return
	}
	d := x.Domain
	if x.Party != p {
		if x.Party != nil {
			x.Party.Streams--
			d.vacate(x.Party)
		}
		x.Party = p
		p.Streams++
		p.Exchanges++
		defer d.occupy(p) // once its connections are known
	}
	if p.IsSession() && x.Conn != nil {
		x.Conn.carry(p)
		d.Mixing = d.Mixing || len(x.Conn.Sessions) > 1
	}
	if x.Conn != nil && !slices.Contains(p.Conns, x.Conn) {
		if len(p.Conns) >= maxConns {
			oldest := p.Conns[0]
			if oldest.Holes != nil { // the connection is forgotten, its holes are not
				for dir, at := range oldest.Holes {
					p.Lose(event.Dir(dir), at)
				}
			}
			p.Conns = slices.Delete(p.Conns, 0, 1)
		}
		p.Conns = append(p.Conns, x.Conn)
	}
	if x.Sender == nil {
		return
	}
	d.hint(p, x.Sender)
	d.Cookies = addHint(d.Cookies, x.Sender.Cookie)
	if p.ClientInfo == "" {
		p.ClientInfo = x.Sender.ClientInfo
	}
}

// head takes the response head: status, and the session that the server named.
func (s *State) head(m *Moment) {
	ev := m.Event
	x := m.Domain.exchange(ev.Exchange)
	if x == nil {
		return
	}
	m.Exchange, m.Party = x, x.Party
	x.Status, x.Answered = int32(ev.Status), ev.Answered
	switch {
	case ev.Answered.State == event.Present && !(x.Asked.State == event.Present && x.Asked.ID == ev.Answered.ID):
		if x.Initial == nil {
			x.Headed = newRef(ev)
		}
	case x.Asked.State == event.Present:
		if ev.Answered.State == event.Present {
			x.Answered.ID = x.Asked.ID // one string, not two
		}
		if x.Party.Issued {
			x.Opened.Excerpt = "" // there is nothing that it could be evidence of
		}
	}
	x.Loss |= ev.Loss
	m.Domain.noteLoss(x, ev)
	d := m.Domain
	ok := ev.Status >= 200 && ev.Status < 300
	if !ok && ev.Status >= 400 {
		if ev.Status == 404 && x.Asked.State == event.Present && x.Party.IsSession() && x.Initial == nil {
			x.Party.Expired = x.Party.Expired || x.Party.Live
			s.endSession(m, x.Party)
		}
		return
	}
	if ok && ev.Answered.State == event.Present && d.Sessions[ev.Answered.ID] == nil {
		x.NewID = true
	}
	if ok && x.Initial != nil && ev.Answered.State == event.Present {
		s.issue(m, x, d.sessionOf(ev.Answered.ID, ev))
		return
	}
	if ok && x.Method == "DELETE" && x.Asked.State == event.Present && x.Party.IsSession() && ev.Status != 202 {
		s.endSession(m, x.Party)
		return
	}
	if ok && x.Method == "GET" && x.Asked.State == event.Present && x.Party.IsSession() {
		d.use(x.Party, ev.Time)
	}
	if ok && x.NewID && x.Initial == nil {
		// A session made outside initialize: it is there, but its capabilities are not in view.
		p := d.sessionOf(ev.Answered.ID, ev)
		d.setLive(p, ev.Time)
		if x.Party == nil || !x.Party.IsSession() {
			s.adopt(x, p)
			m.Party = p
		}
	}
}

// use makes a session live that the server accepted and whose beginning is not in view.
func (d *Domain) use(p *Party, t event.Time) {
	if !p.Live && p.LiveTo == (event.Time{}) {
		d.setLive(p, t)
	}
}

// issue binds an initialize exchange to the session that its answer named.
func (s *State) issue(m *Moment, x *Exchange, p *Party) {
	d := m.Domain
	r := x.Initial
	r.Sent.Link = m.Event.Link // other recordings know it as what made the session
	// A use that stands between the request and its answer is the client's own:
	// stamps of milliseconds put the next request before this answer.
	other := p.Birth.View != r.Sent.View && (p.Rare == nil || !slices.Contains(p.Rare.InitIn, r.Sent.View))
	again := p.Issued || (p.Live || p.LiveTo != (event.Time{})) && p.Birth.Time.To < r.Sent.Time.From
	s.adopt(x, p)
	m.Party = p
	if again && !other {
		p.Rekeyed, p.CapsKnown = true, false
		return
	}
	d.Issued++
	if other && len(p.rare().InitIn) < maxViews {
		p.Rare.InitIn = append(p.Rare.InitIn, r.Sent.View)
	}
	if p.Issued { // the same initialize in another recording
		if !p.CapsKnown && !p.Rekeyed && x.Loss&event.LossRequestBody == 0 {
			d.declare(p, r.Need, r.Sent)
		}
		if r.Sent.Time.From < p.BornAt.From {
			sent := r.Sent
			p.Birth, p.BornAt = &sent, sent.Time
		}
		return
	}
	d.Inits++
	sent := r.Sent
	sent.Excerpt = d.same(sent.Excerpt) // clients of one program introduce themselves alike
	p.Issued, p.Born, p.BornAt, p.InitOrder, p.Birth = true, true, sent.Time, int32(d.Inits), &sent
	if x.Loss&event.LossRequestBody == 0 {
		d.declare(p, r.Need, r.Sent)
	} else {
		p.Caps, p.CapsKnown, p.CapsRef = r.Need, false, p.Birth
	}
	p.ClientInfo = d.same(r.ClientInfo)
	p.LiveTo = event.Time{}
	d.setLive(p, m.Event.Time)
}

// adopt moves an exchange and its requests to the party they turned out to belong to.
func (s *State) adopt(x *Exchange, p *Party) {
	if was := x.Party; was != nil && was != p {
		defer x.Domain.park(was)
	}
	s.belong(x, p)
	for _, r := range x.Requests {
		switch {
		case r.Party == nil && !r.Ended():
			x.Domain.Nameless--
		case r.Party != nil && !r.Ended():
			x.Domain.finish(r.Party)
		}
		if r.Party != nil {
			r.Party.drop(r)
			r.Party.Requests--
		}
		r.Party = p
		p.Requests++
		p.Open = append(p.Open, r)
		if !r.Ended() {
			x.Domain.begin(p)
		}
		p.Given.Add(r.ID)
		if r.Token != "" {
			p.Tokens.Add(r.Token)
		}
	}
}

func (p *Party) drop(r *Request) {
	for i, o := range p.Open {
		if o == r {
			p.Open = slices.Delete(p.Open, i, i+1)
			return
		}
	}
}

// endpoint takes the announcement of an HTTP+SSE stream: a session begins with it.
func (s *State) endpoint(m *Moment) {
	ev, d := m.Event, m.Domain
	x := d.exchange(ev.Exchange)
	if x == nil {
		return
	}
	d.SSE = true
	x.Stream = event.StreamSSE
	if path := event.EndpointPath(ev.Note); path != "" && path != ev.Domain.Path {
		alias := ev.Domain
		alias.Path = path
		if o := s.ByKey[alias]; o == nil {
			s.Aliases[alias] = d
		} else {
			d.Split, o.Split = path, path
		}
	}
	m.Exchange = x
	if ev.Answered.State != event.Present {
		return
	}
	p := d.sessionOf(ev.Answered.ID, ev)
	d.Issued++
	p.Issued = true
	if !p.Born {
		p.Born, p.BornAt = true, ev.Time
	}
	birth := x.Opened
	birth.Link = ev.Link
	p.Birth = &birth
	d.setLive(p, ev.Time)
	s.belong(x, p)
	m.Party = p
}

// endSession ends a session: deleted, gone, or its stream ended.
func (s *State) endSession(m *Moment, p *Party) {
	d := m.Domain
	if p == nil {
		return
	}
	if !p.Live && p.LiveTo == (event.Time{}) {
		p.LiveTo = m.Event.Time // known dead, never seen live
		return
	}
	d.endLive(p, m.Event.Time)
	for _, r := range slices.Clone(p.Open) {
		if !r.Ended() {
			r.Left = m.Exchange != nil && m.Exchange.Method == "DELETE"
			s.end(m, r, Cut, refOf(m.Event))
		}
	}
}
