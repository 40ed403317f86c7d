// Package correlate rebuilds timelines: domains, parties, sessions, requests and
// their fates, streams and their owners, coverage. It draws no conclusions about
// isolation; package rules does, from the moments that State.Apply returns.
//
// Everything here is pure: no I/O, clock, goroutine or randomness, and no map
// order in what callers see. All state hangs on exported fields without closures
// or channels.
package correlate

import (
	"cmp"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Grace is how long an ended request may still explain what arrives
// (DETECTION §3: progress within 2 s after the answer, updates after an unsubscribe).
const Grace = 2 * second

// State is everything that is known at one moment of the event stream.
type State struct {
	Limits  Limits
	Domains []*Domain // in order of appearance
	ByKey   map[event.Domain]*Domain
	latest  *Domain                  // found under its key last
	Aliases map[event.Domain]*Domain // POST paths that an HTTP+SSE stream announced
	Moment  Moment                   // the one that Apply returned last
	Holes   map[int32][3]int64       // by source: last hole that may concern any domain of it
	Broken  map[int32]bool           // by source: it ends in the middle
	Stdio   bool
	Unread  []Unreadable
	Beyond  int // events of domains beyond the limit, which are in nobody's timeline
}

// Unreadable is traffic that was seen and cannot be read.
type Unreadable struct {
	What         string
	Server, Path string // whose: event.Domain; Path "" = of any path
	N            int    // connections
	At           event.Address
}

// maxUnread bounds State.Unread.
const maxUnread = 4096

// Closed returns how many connections of each kind cannot be read that may belong to a domain.
func (s *State) Closed(d *Domain) (of []Unreadable) {
	for _, u := range s.Unread {
		if u.of(d) {
			of = count(of, u)
		}
	}
	return of
}

// Elsewhere returns the same of those that can belong to none of some domains.
func (s *State) Elsewhere(domains []*Domain) (others []Unreadable) {
	for _, u := range s.Unread {
		if !slices.ContainsFunc(domains, u.of) {
			others = count(others, u)
		}
	}
	return others
}

func (u Unreadable) of(d *Domain) bool {
	return u.Server == d.Key.Server && (u.Path == "" || u.Path == d.Key.Path)
}

func count(to []Unreadable, u Unreadable) []Unreadable {
	if i := slices.IndexFunc(to, func(o Unreadable) bool { return o.What == u.What }); i >= 0 {
		to[i].N += u.N
		return to
	}
	return append(to, u)
}

// NewState returns an empty state.
func NewState(l Limits) *State {
	return &State{Limits: l, ByKey: map[event.Domain]*Domain{}, Aliases: map[event.Domain]*Domain{}, Holes: map[int32][3]int64{}, Broken: map[int32]bool{}}
}

// Moment is one event with what it belongs to, already looked up.
type Moment struct {
	Event    *event.Event
	Domain   *Domain
	Exchange *Exchange // nil for log lines
	Party    *Party    // who sent it, or whose stream or session it arrived on; nil = unknown
	Request  *Request  // the request that this message is, or that it answers on a stream of its own
	Extra    bool      // an answer whose request was answered before
	Again    bool      // a line of a log that tells what another line of it told a moment before
	Cancels  *Request  // a cancel: the party's own request that it names; nil = none open or unknown
	Ended    []*Request
	// Ended holds the requests whose fate this event decided, in order of arrival.
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
	case event.Idle:
		return nil // see Pass
	}
	if ev.Kind == event.Gap && ev.Exchange.N == 0 && s.ByKey[ev.Domain] == nil && s.Aliases[ev.Domain] == nil {
		s.sourceGap(ev)
		return nil
	}
	d := s.domainOf(ev)
	if d == nil {
		s.Beyond++
		return nil
	}
	d.Views = d.Views || ev.View != d.View
	d.Log = d.Log && ev.Exchange.N == 0
	d.MCP = d.MCP || d.speaks(ev)
	d.Inline = d.Inline || ev.Kind == event.Message && ev.Dir == event.ToClient && ev.Exchange.N != 0 && ev.HTTPMethod == "POST"
	d.stamp(ev.Time)
	d.untimedNow = ev.Loss&event.LossTime != 0 && ev.At.Unit == event.UnitEntry
	d.Untimed = d.Untimed || d.untimedNow
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
	m.Again = ev.Form != 0 && ev.Exchange.N == 0 && d.toldBefore(m)
	if d.Views && m.Party.IsSession() {
		d.meet(m.Party, ev)
	}
	if m.Party != nil {
		m.Party.LastUse = max(m.Party.LastUse, ev.Time.To)
	}
	d.release(s.Limits)
	s.sweep(d)
	return m
}

// domainOf returns the domain of an event and makes it if it is new, nil beyond the limit.
func (s *State) domainOf(ev *event.Event) *Domain {
	if ev.Exchange.N != 0 {
		// Every event of an exchange belongs where its Opened was put.
		if d := s.Aliases[ev.Domain]; d != nil {
			return d
		}
	}
	if s.latest != nil && s.latest.Key == ev.Domain {
		return s.latest
	}
	d := s.ByKey[ev.Domain]
	if d == nil && len(s.Domains) >= s.Limits.Domains {
		return nil
	}
	if d == nil {
		d = newDomain(ev.Domain, len(s.Domains)+1)
		d.Source, d.View, d.Joined = ev.At.Source, ev.View, ev.Joined
		if all := ev.Domain; all.View != 0 {
			all.View = 0
			d.Of = cmp.Or(s.ByKey[all], s.Aliases[all])
		}
		d.Hole = s.Holes[ev.At.Source]
		switch {
		case s.Broken[ev.At.Source]:
			d.LossFlags |= event.LossRest
		case d.Hole != ([3]int64{}):
			d.Gaps++
			d.Losses.Gaps[InGap]++
		}
		s.ByKey[ev.Domain] = d
		s.Domains = append(s.Domains, d)
		d.Log = ev.Exchange.N == 0
	}
	s.latest = d
	return d
}

func (s *State) unreadable(ev *event.Event) {
	u := Unreadable{What: ev.Note, Server: ev.Domain.Server, Path: ev.Domain.Path, N: max(ev.N, 1), At: ev.At}
	if len(s.Unread) >= maxUnread {
		u.Server, u.Path = "", ""
	}
	for i := range s.Unread {
		if o := &s.Unread[i]; o.What == u.What && o.Server == u.Server && o.Path == u.Path {
			o.N += u.N
			return
		}
	}
	s.Unread = append(s.Unread, u)
}

// opened starts an exchange and finds its party.
func (s *State) opened(m *Moment) {
	ev, d := m.Event, m.Domain
	d.Xchanges++
	d.Units |= 1 << ev.At.Unit
	x := &Exchange{
		ID: ev.Exchange, Domain: d, Method: ev.HTTPMethod, Stream: ev.Stream, Asked: ev.Asked,
		Opened: refOf(ev), Loss: ev.Loss, Resumed: ev.Resume != "", Era: mcp.EraLegacy,
	}
	if mcp.RevisionEra(ev.Revision) == mcp.EraModern && x.Method == "POST" && ev.Asked.State != event.Present {
		x.Era = mcp.EraModern // until a message of the body says otherwise
	}
	d.Exchanges[ev.Exchange], d.newest = x, x
	x.Conn = d.connOf(ev.Sender.Conn)
	from := Sender{ev.Sender.Principal, ev.Sender.Cookie, ev.Sender.UserAgent, ev.Sender.ClientInfo}
	if c := x.Conn; c != nil {
		c.LastUse = ev.Time.To
		x.Before = uint8(len(c.Sessions))
		if c.Sender == nil || *c.Sender != from {
			c.Sender = d.senderOf(from)
		}
		x.Sender = c.Sender
	} else {
		x.Sender = d.senderOf(from)
	}
	d.noteLoss(x, ev)
	if ev.Loss&event.LossStart != 0 {
		x.lose(event.ToServer, ev.Time.To)
		x.lose(event.ToClient, ev.Time.To)
	}
	switch {
	case ev.Asked.State == event.Present:
		p := d.sessionOf(ev.Asked.ID, ev)
		x.Asked.ID = p.ID // one string, not two
		s.belong(x, p)
	case ev.Asked.State == event.Absent:
		s.belong(x, d.senderParty(ev.Sender, ev))
	}
	m.Exchange, m.Party = x, x.Party
}
