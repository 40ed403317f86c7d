package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Pairs of requests, and what an answer holds of either.

// Pair is two requests under one folded id on two exchanges: within one
// session whenever they overlap, across parties once an answer holds something of the other's.
type Pair struct {
	A, B *correlate.Request // B's exchange is where a suspicious answer came; within a session: the later request
	Same bool               // one session

	BGot Got // what the answer on B's exchange holds
	AGot Got
}

// Got is what an answer shows about two requests.
type Got struct {
	Seen    bool
	Foreign bool // holds a marker of the other request that is no value of its own
	Own     bool // holds a value of its own arguments
	Marker  bool // holds a marker of its own
	Rival   bool // holds the other's value of an argument that both have, not its own
	Apt     bool // its shape fits its own request and cannot answer the other
	Ref     correlate.Ref
}

func (f *Crossing) drop(a, b *correlate.Request) {
	f.Pairs = slices.DeleteFunc(f.Pairs, func(p *Pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
}

// content compares an answer with the arguments of the requests under its id.
func (f *Crossing) content(m *correlate.Moment) {
	r, d, ev := m.Request, m.Domain, m.Event
	marks := ev.RPC.Marks
	for _, o := range marked(d, marks) {
		if o == r || o.ID.Fold() != r.ID.Fold() || o.Exchange == r.Exchange || o.Exchange == nil || retry(o, r) || !sharesTransport(o, r, d) {
			continue
		}
		stale := (o.Fate == correlate.GivenUp || o.Fate == correlate.Cut) && orderedEnd(o, r)
		if !stale && !o.Overlaps(r) {
			continue
		}
		f.pair(o, r)
	}
	for _, p := range f.Pairs {
		switch r {
		case p.B:
			p.BGot = got(p.A, r, ev)
		case p.A:
			p.AGot = got(p.B, r, ev)
		}
	}
}

// pair opens a pair across parties if there is none between the two.
func (f *Crossing) pair(a, b *correlate.Request) {
	for _, p := range f.Pairs {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return
		}
	}
	if len(f.Pairs) < maxPairs {
		f.Pairs = append(f.Pairs, &Pair{A: a, B: b, Same: a.Party == b.Party && a.Party.IsSession()})
	}
}

// got reads what an answer to r holds of r and of the other request.
func got(other, r *correlate.Request, ev *event.Event) Got {
	marks := ev.RPC.Marks
	g := Got{Seen: true, Own: r.OwnValue(marks), Apt: apt(r.Method, other.Method, ev.RPC.Shape), Ref: refOf(ev)}
	for _, m := range other.Markers {
		g.Foreign = g.Foreign || m.Run.In(marks) && !r.HasRun(m.Run)
	}
	for _, m := range r.Markers {
		g.Marker = g.Marker || m.Run.In(marks)
	}
	for _, a := range other.Args {
		if a.Class < event.ArgMedium || !a.Run.In(marks) {
			continue
		}
		for _, b := range r.Args {
			if b.Key == a.Key && b.Run != a.Run && b.Class >= event.ArgMedium && !b.Run.In(marks) && !r.HasRun(a.Run) {
				g.Rival = true
			}
		}
	}
	return g
}

// settle judges the pairs of which both requests ended, or all at the end. Where
// one ended without an answer it waits for a while: after a restart its session is unknown to the server.
func (f *Crossing) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	keep := f.Pairs[:0]
	for _, p := range f.Pairs {
		if !end && !(over(p.A, now) && over(p.B, now)) {
			keep = append(keep, p)
			continue
		}
		f.judge(d, p, out)
	}
	clear(f.Pairs[len(keep):])
	f.Pairs = keep
	n := 0
	for n < len(f.Starved) && (end || over(f.Starved[n], now)) {
		f.across(f.Starved[n], out)
		n++
	}
	if n > 0 {
		f.Starved = slices.Delete(f.Starved, 0, n)
	}
}

// restartShows is how long after a cut a restart of the server may show.
const restartShows = 5 * int64(1e9)

func over(r *correlate.Request, now int64) bool {
	return r.Ended() && (r.Fate == correlate.Answered || r.Fate == correlate.Refused || now-r.End.Time.To > restartShows)
}

// across reports, as possible only, that a call starved while another party's
// call under its id was answered with content that decides nothing.
func (f *Crossing) across(a *correlate.Request, out *Sink) {
	b := f.Rivals[a.Seq]
	delete(f.Rivals, a.Seq)
	if b == nil || !judgeable(a) || !judgeable(b) || starves(a, b.End.Time) != starving || f.waits(a, b) {
		return
	}
	fd := f.finding(a, b, seen(signals.Victim, b.End, b.Party, "the answer on this exchange"), signals.Possible, "", []string{
		"one of two requests with one id starves while the other is answered; the content of the answer decides nothing"})
	fd.Evidence = append(fd.Evidence, seen(signals.Cause, a.End, a.Party, "the other request ends "+a.Fate.String()))
	out.Report(fd)
}

// waits reports whether the two requests are a pair that is judged by its content.
func (f *Crossing) waits(a, b *correlate.Request) bool {
	return slices.ContainsFunc(f.Pairs, func(p *Pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
}
