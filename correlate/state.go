// Package correlate rebuilds timelines: domains, parties, sessions, requests and
// their fates, streams and their owners, coverage. It draws no conclusions about
// isolation; package rules does, from the moments that State.Apply returns.
//
// Everything here is pure: no I/O, clock, goroutine or randomness, and no map
// order in what callers see. All state hangs on exported fields without closures
// or channels.
package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Limits bounds the state (DESIGN, "State is bounded").
type Limits struct {
	OpenPerParty  int   // requests in flight of one party
	EndedKept     int   // ended requests kept in one domain
	Subscriptions int   // of one session
	Sessions      int   // of one domain
	Conns         int   // of one domain
	RequestIdle   int64 // ns after which an unanswered request is given up as lost
	SessionIdle   int64 // ns after last use
}

// DefaultLimits are the limits that hold unless a user says otherwise.
var DefaultLimits = Limits{
	OpenPerParty: 64, EndedKept: 100_000, Subscriptions: 64, Sessions: 200_000, Conns: 200_000,
	RequestIdle: 15 * minute, SessionIdle: 24 * 60 * minute,
}

// Grace is how long an ended request may still explain what arrives
// (DETECTION §3: progress within 2 s after the answer, updates after an unsubscribe).
const Grace = 2 * second

// State is everything that is known at one moment of the event stream.
type State struct {
	Limits  Limits
	Domains []*Domain // in order of appearance
	ByKey   map[event.Domain]*Domain
	Aliases map[event.Domain]*Domain // POST paths that an HTTP+SSE stream announced
	Moment  Moment                   // the one that Apply returned last
	Holes   map[int32][3]int64       // by source: last hole that may concern any domain of it
	Stdio   bool
	Unread  []Unreadable
}

// Unreadable is traffic that was seen and cannot be read.
type Unreadable struct {
	What string
	N    int
	At   event.Address
}

// NewState returns an empty state.
func NewState(l Limits) *State {
	return &State{Limits: l, ByKey: map[event.Domain]*Domain{}, Aliases: map[event.Domain]*Domain{}, Holes: map[int32][3]int64{}}
}

// Moment is one event with what it belongs to, already looked up.
type Moment struct {
	Event    *event.Event
	Domain   *Domain
	Exchange *Exchange // nil for log lines
	Party    *Party    // who sent it, or whose stream or session it arrived on; nil = unknown
	Request  *Request  // the request that this message is, or that it answers on a stream of its own
	Extra    bool      // an answer whose request was answered before
	Cancels  *Request  // a cancel: the party's own request that it names; nil = none open or unknown
	Ended    []*Request
	// Ended holds the requests whose fate this event decided, in order of arrival.
	Refused bool // the initialize that this exchange made was refused
}

// Apply takes the next event in order of event time and returns its moment.
// The moment is valid until the next call.
func (s *State) Apply(ev *event.Event) *Moment {
	switch ev.Kind {
	case event.Stdio:
		s.Stdio = true
		return nil
	case event.Unreadable:
		s.unreadable(ev)
		return nil
	}
	if ev.Kind == event.Gap && ev.Exchange.N == 0 && s.ByKey[ev.Domain] == nil && s.Aliases[ev.Domain] == nil {
		s.sourceGap(ev)
		return nil
	}
	d := s.domainOf(ev)
	late := ev.Time.To != 0 && d.Now.To > ev.Time.To
	if late {
		d.LateEvents++
	}
	d.stamp(ev.Time)
	s.Moment = Moment{Event: ev, Domain: d, Ended: s.Moment.Ended[:0]}
	m := &s.Moment
	switch ev.Kind {
	case event.Opened:
		s.opened(m)
	case event.Message:
		s.message(m)
	case event.Head:
		s.head(m)
	case event.Closed:
		s.closed(m)
	case event.Endpoint:
		s.endpoint(m)
	case event.Gap:
		s.gap(m)
	default:
		s.logged(m)
	}
	if m.Party != nil {
		m.Party.LastUse = max(m.Party.LastUse, ev.Time.To)
	}
	d.release(s.Limits)
	s.sweep(d)
	return m
}

func (s *State) domainOf(ev *event.Event) *Domain {
	if ev.Exchange.N != 0 {
		// Every event of an exchange belongs where its Opened was put.
		if d := s.Aliases[ev.Domain]; d != nil {
			return d
		}
	}
	d := s.ByKey[ev.Domain]
	if d == nil {
		d = newDomain(ev.Domain, len(s.Domains)+1)
		d.Source = ev.At.Source
		d.Hole = s.Holes[ev.At.Source]
		if d.Hole != ([3]int64{}) {
			d.Gaps++
		}
		s.ByKey[ev.Domain] = d
		s.Domains = append(s.Domains, d)
		d.Log = ev.Exchange.N == 0
	}
	return d
}

func (s *State) unreadable(ev *event.Event) {
	for i := range s.Unread {
		if s.Unread[i].What == ev.Note {
			s.Unread[i].N += max(ev.N, 1)
			return
		}
	}
	s.Unread = append(s.Unread, Unreadable{What: ev.Note, N: max(ev.N, 1), At: ev.At})
}

// opened starts an exchange and finds its party.
func (s *State) opened(m *Moment) {
	ev, d := m.Event, m.Domain
	d.Xchanges++
	x := &Exchange{
		ID: ev.Exchange, Seq: d.Xchanges, Domain: d, Method: ev.HTTPMethod, Stream: ev.Stream, Asked: ev.Asked, Sender: ev.Sender,
		Path: ev.Domain.Path, Opened: refOf(ev), Loss: ev.Loss, Resume: ev.Resume, Bytes: -1, Era: mcp.EraLegacy,
	}
	if mcp.RevisionEra(ev.Revision) == mcp.EraModern && x.Method == "POST" && ev.Asked.State != event.Present {
		x.Era = mcp.EraModern // until a message of the body says otherwise
	}
	d.Exchanges[ev.Exchange] = x
	x.Conn = d.connOf(ev.Sender.Conn)
	if x.Conn != nil {
		x.Conn.LastUse = ev.Time.To
		x.Before = slices.Clone(x.Conn.Sessions)
	}
	d.noteLoss(x, ev)
	if ev.Loss&event.LossStart != 0 {
		x.lose(event.ToServer, ev.Time.To)
		x.lose(event.ToClient, ev.Time.To)
	}
	switch {
	case ev.Asked.State == event.Present:
		s.belong(x, d.sessionOf(ev.Asked.ID, ev))
	case ev.Asked.State == event.Absent:
		s.belong(x, d.senderParty(ev.Sender, ev))
	}
	m.Exchange, m.Party = x, x.Party
}

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
		defer d.occupy(p) // once its connections are known
	}
	if p.IsSession() && x.Conn != nil {
		x.Conn.carry(p)
	}
	if x.Conn != nil && !slices.Contains(p.Conns, x.Conn) {
		if len(p.Conns) >= maxConns {
			oldest := p.Conns[0]
			for dir := range oldest.Hole { // the connection is forgotten, its holes are not
				p.Hole[dir] = max(p.Hole[dir], oldest.Hole[dir])
			}
			p.Conns = slices.Delete(p.Conns, 0, 1)
		}
		p.Conns = append(p.Conns, x.Conn)
	}
	p.Principals = addHint(p.Principals, x.Sender.Principal)
	p.Cookies = addHint(p.Cookies, x.Sender.Cookie)
	p.UserAgents = addHint(p.UserAgents, x.Sender.UserAgent)
	d.Cookies = addHint(d.Cookies, x.Sender.Cookie)
	if p.ClientInfo == "" {
		p.ClientInfo = x.Sender.ClientInfo
	}
}

// head takes the response head: status, and the session that the server named.
func (s *State) head(m *Moment) {
	ev := m.Event
	x := m.Domain.Exchanges[ev.Exchange]
	if x == nil {
		return
	}
	m.Exchange, m.Party = x, x.Party
	x.Headed, x.Status, x.Answered = refOf(ev), ev.Status, ev.Answered
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
	// A use that stands between the request and its answer is the client's own:
	// stamps of milliseconds put the next request before this answer.
	again := p.Issued || (p.Live || p.LiveTo != (event.Time{})) && p.Birth.Time.To < r.Sent.Time.From
	s.adopt(x, p)
	m.Party = p
	if again {
		p.Rekeyed, p.CapsKnown = true, false
		return
	}
	d.Issued++
	d.Inits++
	p.Issued, p.Born, p.BornAt, p.InitOrder = true, true, r.Sent.Time, d.Inits
	p.Birth, p.CapsRef = r.Sent, r.Sent
	p.Caps, p.CapsKnown = r.Need, x.Loss&event.LossRequestBody == 0
	p.ClientInfo = r.ClientInfo
	p.LiveTo = event.Time{}
	d.setLive(p, m.Event.Time)
	d.Newest = p
}

// adopt moves an exchange and its requests to the party they turned out to belong to.
func (s *State) adopt(x *Exchange, p *Party) {
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
	x := d.Exchanges[ev.Exchange]
	if x == nil {
		return
	}
	d.SSE = true
	x.Stream = event.StreamSSE
	if path := endpointPath(ev.Note); path != "" && path != ev.Domain.Path {
		alias := ev.Domain
		alias.Path = path
		if s.ByKey[alias] == nil {
			s.Aliases[alias] = d
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
	p.Birth = x.Opened
	d.setLive(p, ev.Time)
	s.belong(x, p)
	m.Party = p
}

// endpointPath returns the path of an announced endpoint: of a URI reference
// without query, with one trailing slash dropped.
func endpointPath(uri string) string {
	for i := 0; i < len(uri); i++ {
		if uri[i] == '?' || uri[i] == '#' {
			uri = uri[:i]
			break
		}
	}
	for i := 0; i+2 < len(uri); i++ {
		if uri[i:i+3] == "://" {
			rest := uri[i+3:]
			for j := 0; j < len(rest); j++ {
				if rest[j] == '/' {
					uri = rest[j:]
					break
				}
			}
			break
		}
	}
	if len(uri) == 0 || uri[0] != '/' {
		return ""
	}
	if len(uri) > 1 && uri[len(uri)-1] == '/' {
		uri = uri[:len(uri)-1]
	}
	return uri
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
