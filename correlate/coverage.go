package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Coverage is state: every loss cuts a hole with a time into what it concerns: a
// connection, a party, or, where nobody can tell whose it was, the whole domain.

// noteLoss cuts the holes that the loss flags of an event of an exchange mean.
func (d *Domain) noteLoss(x *Exchange, ev *event.Event) {
	loss := ev.Loss
	if ev.Kind != event.Opened {
		loss &^= event.LossHeaders // of an answer: which session a request named is known all the same
	}
	d.LossFlags |= loss
	if ev.At.Unit == event.UnitEntry && ev.Kind == event.Opened {
		x.Interval = true
		d.Intervals++
		d.openInterval(ev)
	}
	at := max(ev.Time.To, 1)
	if ev.Loss&event.LossPairing != 0 && ev.At.Unit == event.UnitEntry {
		d.Paired = true
	}
	if ev.Kind == event.Opened && ev.Loss&event.LossHeaders != 0 && x.Asked.State == event.Unknown {
		d.Hole[event.ToServer] = at // whose request this was is not known
	}
	if ev.Kind == event.Opened && ev.Loss&event.LossHeaders != 0 {
		d.Losses.Heads[causeOf(x, ev.Loss)]++
	}
	if ev.Loss&event.LossRequestBody != 0 && x.Method != "GET" && x.Method != "DELETE" {
		x.lose(event.ToServer, at)
		d.lostBody(x, ev.Loss)
	}
	if ev.Kind == event.Closed && ev.Loss&event.LossResponseBody != 0 && (x.Status == 200 || x.Status == 0 && ev.Loss&event.LossSnap != 0) {
		x.lose(event.ToClient, at)
		d.lostBody(x, ev.Loss)
	}
	if ev.Kind == event.Closed && x.Status == 0 && ev.Loss&event.LossResponseBody != 0 && ev.Loss&event.LossSnap == 0 && ev.At.Unit != event.UnitEntry {
		x.unseen(at)
	}
	if ev.Loss&event.LossRequest != 0 && ev.Kind == event.Opened {
		x.lose(event.ToServer, at)
	}
}

// unseen notes that whether and how an exchange was answered is not in the recording.
// A stream of its own that a GET opens carries no answers.
func (x *Exchange) unseen(at int64) {
	if x.Method != "GET" {
		x.Domain.AnswersUnseen++
		x.lose(event.ToClient, at)
		return
	}
	x.Domain.StreamsUnseen++
	if x.Resumed || x.Party == nil {
		x.lose(event.ToClient, at)
	}
	if x.Party != nil {
		x.Party.rare().Unseen++
	}
}

// lose cuts a hole where the messages of this exchange belong.
func (x *Exchange) lose(dir event.Dir, at int64) {
	switch {
	case x.Conn != nil:
		x.Conn.lose(dir, at)
		if x.Party == nil {
			x.Domain.Hole[dir] = max(x.Domain.Hole[dir], at)
		}
	case x.Party != nil:
		x.Party.Lose(dir, at)
	default:
		x.Domain.Hole[dir] = max(x.Domain.Hole[dir], at)
	}
}

// gap takes a hole that a parser located in an exchange or domain.
func (s *State) gap(m *Moment) {
	ev, d := m.Event, m.Domain
	x := d.exchange(ev.Exchange)
	conn := d.connOf(ev.Sender.Conn)
	if conn == nil && x != nil {
		conn = x.Conn
	}
	d.cut(ev, x, conn)
	m.Exchange = x
	if x != nil {
		m.Party = x.Party
	}
}

// sourceGap takes a hole that names no domain: it concerns those that know its
// connection, else every domain of its source, seen already or not.
func (s *State) sourceGap(ev *event.Event) {
	known := false
	for _, d := range s.Domains {
		if c := d.Conns[ev.Sender.Conn]; c != nil && d.Source == ev.At.Source {
			d.cut(ev, nil, c)
			known = true
		}
	}
	if known {
		return
	}
	holes := s.Holes[ev.At.Source]
	for _, dir := range directions(ev.Dir) {
		holes[dir] = max(holes[dir], ev.Time.To, 1)
	}
	s.Holes[ev.At.Source] = holes
	if ev.Loss&event.LossRest != 0 {
		s.Broken[ev.At.Source] = true
	}
	for _, d := range s.Domains {
		if d.Source == ev.At.Source {
			d.cut(ev, nil, nil)
		}
	}
}

func directions(dir event.Dir) []event.Dir {
	if dir == event.DirUnknown {
		return []event.Dir{event.ToServer, event.ToClient}
	}
	return []event.Dir{dir}
}

// cut notes a hole where it belongs: a connection, an exchange, or the domain.
func (d *Domain) cut(ev *event.Event, x *Exchange, conn *Conn) {
	switch {
	case ev.Loss&event.LossDark != 0:
		d.Dark++
	case ev.Loss&event.LossRest == 0:
		d.lostGap(ev)
	}
	d.LossFlags |= ev.Loss
	if x != nil {
		x.Gapped = true
	}
	if conn != nil {
		conn.Gapped = true
	}
	at := max(ev.Time.To, 1)
	for _, dir := range directions(ev.Dir) {
		switch {
		case conn != nil:
			conn.lose(dir, at)
			if dir == event.ToServer && (d.Mixing || len(conn.Sessions) != 1) {
				d.Hole[dir] = max(d.Hole[dir], at) // a request of anybody may be in it
			}
		case x != nil:
			x.lose(dir, at)
		default:
			d.Hole[dir] = max(d.Hole[dir], at)
		}
	}
	if conn != nil && ev.Loss&event.LossPairing != 0 {
		conn.Unpaired = true
	}
}

// release forgets ended requests that cannot explain anything any more: two
// graces after their end, and not while an open exchange without times of its
// own began before it. Requests that ended without an answer wait longer, since
// their late answer may reach a later request (stale_request).
func (d *Domain) release(l Limits) {
	limit := d.Now.To - 2*Grace
	if d.Intervals > 0 && d.EndedHead < len(d.Ended) && d.Ended[d.EndedHead].End.Time.To < limit {
		limit = min(limit, d.oldestInterval())
	}
	for d.EndedHead < len(d.Ended) {
		r := d.Ended[d.EndedHead]
		full := len(d.Ended)-d.EndedHead > l.EndedKept
		if !full && r.End.Time.To >= limit {
			break
		}
		d.Ended[d.EndedHead] = nil
		d.EndedHead++
		if !full && (r.Fate == GivenUp || r.Fate == Cut) {
			d.Abandoned = append(d.Abandoned, r)
			continue
		}
		if full {
			d.Evicted++
		}
		d.unindex(r)
	}
	if d.EndedHead > 64 && d.EndedHead > len(d.Ended)/2 {
		d.Ended = slices.Delete(d.Ended, 0, d.EndedHead)
		d.EndedHead = 0
	}
	n := 0
	for n < len(d.Abandoned) && (d.Now.To-d.Abandoned[n].End.Time.To > l.RequestIdle || len(d.Abandoned)-n > maxAbandoned) {
		d.unindex(d.Abandoned[n])
		n++
	}
	if n > 0 {
		d.Abandoned = slices.Delete(d.Abandoned, 0, n)
	}
}

const maxAbandoned = 4096

func (d *Domain) unindex(r *Request) {
	if r.indexed {
		r.indexed = false
		var room [8]Key
		for _, k := range r.keys(room[:0]) {
			d.Index.remove(k, r)
		}
	}
	if r.Party != nil {
		r.Party.drop(r)
	}
}

// sweep looks for idle state once a minute of event time and evicts what is
// beyond the limits, always with a hole in coverage.
func (s *State) sweep(d *Domain) {
	now := d.Now.To
	if now == 0 {
		return
	}
	if d.Swept == 0 {
		d.Swept = now
	}
	over := len(d.Sessions) > s.Limits.Sessions || len(d.Conns) > s.Limits.Conns
	if now-d.Swept < minute && !over {
		return
	}
	d.Swept = now
	s.sweepIdle(d, now)
	s.evictSessions(d, now)
	d.evictConns(s.Limits.Conns)
}

func (s *State) sweepIdle(d *Domain, now int64) {
	m := &Moment{Event: &event.Event{Time: event.At(now)}, Domain: d}
	for _, p := range d.Parties {
		if p == nil {
			continue
		}
		for _, r := range slices.Clone(p.Open) {
			if !r.Ended() && r.Method != mcp.Listen && now-r.Sent.Time.To > s.Limits.RequestIdle {
				d.Evicted++
				p.Lose(event.ToClient, now)
				s.end(m, r, Lost, Ref{At: r.Sent.At, Time: event.At(now)})
			}
		}
	}
}

// evictSessions forgets the least recently used sessions beyond the limit and
// those that nobody used for a day.
func (s *State) evictSessions(d *Domain, now int64) {
	type use struct {
		p    *Party
		last int64
	}
	var idle []use
	for _, p := range d.Parties {
		if p != nil {
			idle = append(idle, use{p, p.LastUse})
		}
	}
	slices.SortStableFunc(idle, func(a, b use) int {
		switch {
		case a.last < b.last:
			return -1
		case a.last > b.last:
			return 1
		}
		return 0
	})
	excess := len(idle) - s.Limits.Sessions
	if excess > 0 {
		excess += s.Limits.Sessions / 10 // in one go, so that a storm of sessions does not sort each time
	}
	gone := 0
	for i, u := range idle {
		if i >= excess && now-u.last <= s.Limits.SessionIdle {
			break
		}
		d.evict(u.p)
		gone++
	}
	if gone > 0 {
		isGone := func(p *Party) bool { return p.Gone }
		d.Parties, d.Lively = slices.DeleteFunc(d.Parties, isGone), slices.DeleteFunc(d.Lively, isGone)
		d.over = over{}
	}
}

// evict forgets a party. The caller takes those that are gone off Parties and Lively, all at once.
func (d *Domain) evict(p *Party) {
	for _, r := range slices.Clone(p.Open) {
		if r.indexed {
			d.unindex(r)
		}
	}
	if p.Live {
		d.endLive(p, d.Now)
	}
	d.idle(p)
	if p.IsSession() {
		delete(d.Sessions, p.ID) // if it comes back it is not born in view: that is its hole
	} else {
		delete(d.Others, Other{p.Kind, p.ID})
	}
	for _, c := range p.Conns { // which may live much longer
		if i := slices.Index(c.Sessions, p); i >= 0 {
			c.Sessions[i] = d.forgotten()
		}
	}
	d.Evicted++
	p.Gone = true
}

// forgotten stands for sessions that were evicted, where only that there was one counts.
func (d *Domain) forgotten() *Party {
	if d.Forgotten == nil {
		d.Forgotten = &Party{Kind: BySession, Domain: d, Birth: &Ref{}, Gone: true}
	}
	return d.Forgotten
}

func (d *Domain) evictConns(limit int) {
	if len(d.Conns) <= limit {
		return
	}
	ids := make([]string, 0, len(d.Conns))
	for id := range d.Conns {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		ca, cb := d.Conns[a], d.Conns[b]
		switch {
		case ca.LastUse < cb.LastUse:
			return -1
		case ca.LastUse > cb.LastUse:
			return 1
		case a < b:
			return -1
		}
		return 1
	})
	for _, id := range ids[:len(ids)-limit+limit/10] {
		delete(d.Conns, id)
	}
}
