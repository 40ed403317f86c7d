package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Token detects token_collision: progress reached a party that did not ask for it.
// Equal tokens in two sessions are the steady state and prove nothing by themselves.
type Token struct {
	Series  []*Series          // of requests whose token got progress or is in flight in two parties, until judged
	Of      map[uint64]*Series // the same by Request.Seq
	Settled int64              // event time of the last look for series that ended
	Reports map[string]bool    // tools that report progress in this domain
	Routes  []Route            // recent router lines of a log
	Equal   map[string]bool    // pairs of parties whose equal tokens were counted already
}

// Series is the progress that reached the party of one request.
type Series struct {
	Request *correlate.Request
	Rivals  []*correlate.Request // other parties' requests with the same token, in flight at the same time
	Points  []Point
}

// Point is one progress notification.
type Point struct {
	Value, Total float64
	HasTotal     bool
	Text         string // its message with the digits taken out
	Stream       event.ExchangeID
	Ordered      bool // its place in the series is sure: no replay, and no other request of the party could be meant
	Ref          correlate.Ref
}

// Route is a router line: progress of Origin with Token went to Target.
type Route struct {
	Token          mcp.ID
	Origin, Target string
	Ref            correlate.Ref
}

const (
	settleEvery = int64(250e6) // ns of event time
	maxPoints   = 256
	maxSeries   = 1024
)

func newToken(Options) Detector {
	return &Token{Of: map[uint64]*Series{}, Reports: map[string]bool{}, Equal: map[string]bool{}}
}

// Observe looks at progress on the wire and at router lines of a log.
func (f *Token) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	switch {
	case ev.Kind == event.Message && ev.Dir == event.ToClient && ev.RPC.Method == mcp.Progress && ev.Exchange.N != 0:
		if legacy(m.Exchange) && ev.RPC.Token != "" {
			f.progress(m, out)
		}
	case ev.Kind == event.Message && ev.Dir == event.ToServer && ev.RPC.Kind == mcp.KindRequest && m.Request != nil && m.Request.Token != "":
		f.given(m, out)
	case ev.Exchange.N == 0 && ev.RPC.Token != "" && delivers(ev, mcp.Progress):
		f.routed(m, out)
	}
	if now := m.Event.Time.To; len(f.Series) > 0 && now-f.Settled >= settleEvery {
		f.Settled = now
		f.settle(m.Domain, now, false, out)
	}
}

// End judges the series that are still open.
func (f *Token) End(d *correlate.Domain, out *Sink) { f.settle(d, d.Now.To, true, out) }

// given opens the watch over a token that is in flight in two parties.
func (f *Token) given(m *correlate.Moment, out *Sink) {
	r, d := m.Request, m.Domain
	if r.Party == nil || r.Era == mcp.EraModern {
		return
	}
	for _, o := range d.Index.Find(correlate.IDKey(correlate.ByToken, r.Token)) {
		if o == r || !correlate.Distinct(o.Party, r.Party) || o.Era == mcp.EraModern || !o.Overlaps(r) || o.Dir != event.ToServer {
			continue
		}
		f.hazard(r, o, out)
		f.watch(o, r)
		if !f.watch(r, o) {
			return // it has rivals enough
		}
	}
}

// watch notes a rival of a request and reports whether there was room.
func (f *Token) watch(r, rival *correlate.Request) bool {
	s := f.series(r)
	if s == nil || len(s.Rivals) >= maxRivals {
		return false
	}
	s.Rivals = append(s.Rivals, rival)
	return true
}

// series returns the series of a request and begins it if there is room.
func (f *Token) series(r *correlate.Request) *Series {
	s := f.Of[r.Seq]
	if s == nil && len(f.Series) < maxSeries {
		s = &Series{Request: r}
		f.Of[r.Seq] = s
		f.Series = append(f.Series, s)
	}
	return s
}

const maxRivals = 8

func (f *Token) hazard(r, o *correlate.Request, out *Sink) {
	out.Judged(signals.TokenCollision)
	key := o.Party.Alias + "|" + r.Party.Alias
	if f.Equal[key] || len(f.Equal) >= maxSeries {
		return
	}
	f.Equal[key] = true
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "equal_tokens", Strength: signals.Hazard, Era: "legacy",
		Parties:    []signals.Party{party(r.Party, signals.Cause), party(o.Party, signals.Victim)},
		RequestIDs: ids(o, r), Tokens: tokens(o.Token, r.Token), Method: r.Method, First: o.Sent.Time.From, Last: r.Sent.Time.To,
		Summary:  fmt.Sprintf("%s and %s have progress token %s in flight at once; a router keyed by the token alone would mix them up", name(o.Party), name(r.Party), r.Token),
		Because:  []string{"tokens are chosen by each client and need to be unique in its session only (P-PRG-1)"},
		Evidence: []signals.Evidence{seen(signals.Victim, o.Sent, o.Party, "gives the token"), seen(signals.Cause, r.Sent, r.Party, "gives the same token")},
	})
}

// progress judges one progress notification on a stream of A.
func (f *Token) progress(m *correlate.Moment, out *Sink) {
	ev, d, a := m.Event, m.Domain, m.Party
	x := m.Exchange
	if a == nil {
		return
	}
	if own, sure := f.own(m); own != nil {
		own.Progress++
		if own.Tool != "" {
			f.Reports[own.Tool] = true
		}
		f.point(own, ev, sure && !x.Resumed())
		return
	}
	if x.Resumed() {
		return
	}
	if ev.Loss&event.LossPairing != 0 || x.Loss&event.LossRequest != 0 {
		return
	}
	var holder *correlate.Request
	parties := 0
	for _, r := range d.Index.Find(correlate.IDKey(correlate.ByToken, ev.RPC.Token)) {
		if r.Party == a || r.Era == mcp.EraModern || r.OpenWithin(ev.Time, correlate.Grace) == correlate.No {
			continue
		}
		if unbound(r, d) || r.Party == nil {
			return // a request without a session: fallback_resolution's matter, or nobody's
		}
		if !correlate.Distinct(r.Party, a) {
			return
		}
		if holder == nil || holder.Party != r.Party {
			parties++
		}
		holder = r
	}
	switch {
	case parties == 0:
		if !d.Tokens.Has(ev.RPC.Token) && !d.Tokens.Forgot && a.Whole() && !a.Tokens.Has(ev.RPC.Token) {
			out.Note(signals.NoteInventedToken, ev.At)
		}
	case parties == 1:
		f.misdelivered(m, holder, out)
	}
}

// own returns the request of A that the progress may belong to: one that gave
// this token and is open, or was answered within the grace. sure is false if
// several of its requests could be meant.
func (f *Token) own(m *correlate.Moment) (own *correlate.Request, sure bool) {
	a, ev := m.Party, m.Event
	if !a.Tokens.Has(ev.RPC.Token) {
		return nil, false
	}
	sure = true
	for _, r := range m.Domain.Index.Find(correlate.IDKey(correlate.ByToken, ev.RPC.Token)) {
		if r.Party != a {
			continue
		}
		if r.Exchange == m.Exchange {
			return r, true
		}
		if r.OpenWithin(ev.Time, correlate.Grace) != correlate.No {
			sure = own == nil
			own = r
		}
	}
	return own, sure
}

func (f *Token) misdelivered(m *correlate.Moment, b *correlate.Request, out *Sink) {
	ev, a := m.Event, m.Party
	if why := a.WhyNotWhole(); why != "" && a.IsSession() {
		out.Unassessable(signals.TokenCollision, fmt.Sprintf("progress for a token of %s reached %s, but of %s: %s", name(b.Party), name(a), name(a), why))
		return
	}
	if !a.IsSession() && !wholeSender(a, ev) {
		out.Unassessable(signals.TokenCollision, "part of what a party without a session sent is missing")
		return
	}
	if a.Tokens.Forgot {
		out.Unassessable(signals.TokenCollision, "a party gave more tokens than are remembered")
		return
	}
	out.Judged(signals.TokenCollision)
	gave := fmt.Sprintf("%s never gave the token %s", name(a), ev.RPC.Token)
	if a.Tokens.Has(ev.RPC.Token) {
		gave = fmt.Sprintf("%s had its own request with the token %s answered more than 2 s before", name(a), ev.RPC.Token)
	}
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "misdelivered", Strength: signals.Confirmed, Era: "legacy",
		Parties:    []signals.Party{party(a, signals.Cause), party(b.Party, signals.Victim)},
		RequestIDs: ids(b), Tokens: tokens(b.Token), Method: b.Method, Tool: b.Tool, First: ev.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("progress of %s's %s (token %s) was delivered to %s", name(b.Party), call(b), ev.RPC.Token, name(a)),
		Because: []string{
			fmt.Sprintf("%s gave the token %s with its %s", name(b.Party), b.Token, call(b)),
			gave + ", and all it sent is in view",
			fmt.Sprintf("the progress arrived on a stream of %s", name(a)),
			"so the progress router is not keyed by session and token together (P-PRG-2)",
		},
		Evidence: []signals.Evidence{
			seen(signals.Victim, b.Sent, b.Party, "the request that gave the token"),
			here(signals.Cause, ev, a, "the progress arrives at "+a.Alias),
			seen(signals.Context, a.Birth, a, a.Alias+" begins here"),
		},
	})
}

// wholeSender reports whether all that a party without a session sent is in view.
func wholeSender(a *correlate.Party, ev *event.Event) bool {
	return a.Complete(event.ToServer, 1)
}

// point keeps a progress value of a request whose token another party has in flight too.
func (f *Token) point(r *correlate.Request, ev *event.Event, ordered bool) {
	s := f.series(r)
	if s == nil {
		return
	}
	if len(s.Points) < maxPoints {
		s.Points = append(s.Points, Point{
			Value: ev.RPC.Progress, Total: ev.RPC.Total, HasTotal: ev.RPC.HasTotal, Text: skeleton(ev.RPC.ProgressMsg), Stream: ev.Exchange, Ordered: ordered,
			Ref: correlate.Ref{At: ev.At, Time: ev.Time, Excerpt: ev.Excerpt},
		})
	}
}

// skeleton takes the digits out of a progress message, so that "part 1 of 8"
// and "part 2 of 8" are one series.
func skeleton(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// settle judges the series that ended with all their rivals a grace ago, or all at the end.
func (f *Token) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	if !end && d.Intervals > 0 {
		return // messages of streams without times may still belong to what ended
	}
	over := func(r *correlate.Request) bool { return r.Ended() && r.End.Time.To+correlate.Grace < now }
	keep := f.Series[:0]
	var done []*Series
	for _, s := range f.Series {
		if end || over(s.Request) && !slices.ContainsFunc(s.Rivals, func(r *correlate.Request) bool { return !over(r) }) {
			done = append(done, s)
		} else {
			keep = append(keep, s)
		}
	}
	if len(done) == 0 {
		return
	}
	for _, s := range done {
		for _, rival := range s.Rivals {
			f.judge(s, rival, out)
		}
	}
	clear(f.Series[len(keep):])
	f.Series = keep
	for _, s := range done {
		delete(f.Of, s.Request.Seq)
	}
}

// judge asks whether the progress of a rival, which has the same token in
// flight, came mixed into a series while the rival's own is missing or broken off.
func (f *Token) judge(s *Series, rival *correlate.Request, out *Sink) {
	if !s.Request.Overlaps(rival) || len(s.Points) < 2 {
		return
	}
	var theirs []Point
	if o := f.Of[rival.Seq]; o != nil {
		theirs = o.Points
	}
	lacks := f.lacks(rival, theirs)
	if lacks == "" {
		return
	}
	points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return !p.Ordered })
	if fall, how := mixed(points, theirs); how != "" {
		f.report(s, rival, "interleaved", fall, how, lacks, out)
		return
	}
	if at, how := beyond(points); how != "" && len(theirs) > 0 {
		f.report(s, rival, "duplicated", at, how, lacks, out)
	}
}

// lacks says what the rival's own series misses, "" if nothing.
func (f *Token) lacks(rival *correlate.Request, points []Point) string {
	if rival.Fate == correlate.Lost || rival.OwnCancel != (event.Time{}) || rival.Left || rival.Ended() && !rival.Succeeded() {
		return "" // what it misses has another reason, or is not known
	}
	if rival.Party == nil || !rival.Party.Complete(event.ToClient, rival.Sent.Time.From) {
		return ""
	}
	if len(points) == 0 {
		if rival.Tool != "" && f.Reports[rival.Tool] {
			return fmt.Sprintf("%s got no progress at all for its %s, a tool that reports progress", name(rival.Party), call(rival))
		}
		return ""
	}
	last := points[0]
	for _, p := range points {
		if p.Value > last.Value {
			last = p
		}
	}
	if last.HasTotal && last.Value < last.Total {
		return fmt.Sprintf("the progress of %s broke off at %g of %g", name(rival.Party), last.Value, last.Total)
	}
	return ""
}

// mixed reports whether the points of one stream are two series: they fall with
// the total or the message of the other series, or split into two increasing
// series that interleave. A single fall alone is a tool with phases.
func mixed(points, theirs []Point) (Point, string) {
	for _, own := range byStream(points) {
		falls := 0
		for i := 1; i < len(own); i++ {
			if own[i].Value > own[i-1].Value {
				continue
			}
			falls++
			if foreign(own[i], own[i-1], theirs) {
				return own[i], fmt.Sprintf("its progress fell from %g to %g, with the total or message of the other series", own[i-1].Value, own[i].Value)
			}
		}
		if falls >= 2 && twoSeries(own) {
			return own[len(own)-1], "its progress is two increasing series that interleave"
		}
	}
	return Point{}, ""
}

// foreign reports whether p carries the total or message of the other series
// and its predecessor does not.
func foreign(p, before Point, theirs []Point) bool {
	for _, t := range theirs {
		if t.HasTotal && p.HasTotal && t.Total == p.Total && before.Total != p.Total {
			return true
		}
		if t.Text != "" && t.Text == p.Text && before.Text != p.Text {
			return true
		}
	}
	return false
}

// byStream divides points by the stream they came on, since only there their order is sure.
func byStream(points []Point) [][]Point {
	exact := !slices.ContainsFunc(points, func(p Point) bool { return orderless(p.Ref.Time) })
	if exact {
		return [][]Point{points}
	}
	var out [][]Point
	for _, p := range points {
		i := slices.IndexFunc(out, func(s []Point) bool { return s[0].Stream == p.Stream })
		if i < 0 {
			out = append(out, []Point{p})
			continue
		}
		out[i] = append(out[i], p)
	}
	return out
}

// twoSeries reports whether points split into exactly two strictly increasing
// series: their longest run of non-increasing values (Dilworth) has length two.
func twoSeries(points []Point) bool {
	longest := make([]int, len(points))
	deepest := 0
	for i := range points {
		longest[i] = 1
		for j := range i {
			if points[j].Value >= points[i].Value {
				longest[i] = max(longest[i], longest[j]+1)
			}
		}
		deepest = max(deepest, longest[i])
	}
	return deepest == 2
}

// beyond reports whether one value came twice, or more than the total.
func beyond(points []Point) (Point, string) {
	for i, p := range points {
		if p.HasTotal && p.Total > 0 && p.Value > p.Total {
			return p, fmt.Sprintf("its progress went to %g of %g", p.Value, p.Total)
		}
		for _, q := range points[:i] {
			if q.Value == p.Value {
				return p, fmt.Sprintf("it received the value %g twice", p.Value)
			}
		}
	}
	return Point{}, ""
}

func (f *Token) report(s *Series, rival *correlate.Request, variant string, at Point, how, lacks string, out *Sink) {
	a, b := s.Request, rival
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: variant, Strength: signals.Probable, Era: "legacy",
		Parties:    []signals.Party{party(a.Party, signals.Cause), party(b.Party, signals.Victim)},
		RequestIDs: ids(a, b), Tokens: tokens(a.Token, b.Token), Method: b.Method, Tool: b.Tool,
		First: s.Points[0].Ref.Time.From, Last: at.Ref.Time.To,
		Summary: fmt.Sprintf("%s and %s have token %s in flight at once, and %s receives the progress of both", name(a.Party), name(b.Party), a.Token, name(a.Party)),
		Because: []string{
			fmt.Sprintf("%s and %s both gave the token %s, and both requests were in flight", name(a.Party), name(b.Party), a.Token),
			fmt.Sprintf("on the side of %s: %s (P-PRG-3 demands that progress increases)", name(a.Party), how),
			"at the same time " + lacks,
			"so the router keeps one entry per token, and the later registration took both series",
		},
		Assumption: "the tool does not report progress in this shape by itself",
		Evidence: []signals.Evidence{
			seen(signals.Victim, b.Sent, b.Party, "gives the token"),
			seen(signals.Cause, a.Sent, a.Party, "gives the same token"),
			seen(signals.Cause, s.Points[0].Ref, a.Party, "first progress on this side"),
			seen(signals.Cause, at.Ref, a.Party, how),
		},
	})
}

// routed judges a router line of a log.
func (f *Token) routed(m *correlate.Moment, out *Sink) {
	ev, d, target := m.Event, m.Domain, m.Party
	if target == nil {
		return
	}
	if holder := f.loggedHolder(m); holder != nil && target.Born {
		f.reportLog(m, holder, "the progress line names a target session that is none of those whose requests carry the token", out)
		return
	}
	if ev.Origin.State != event.Present {
		return
	}
	now := Route{Token: ev.RPC.Token, Origin: ev.Origin.ID, Target: target.ID, Ref: correlate.Ref{At: ev.At, Time: ev.Time, Excerpt: ev.Excerpt}}
	for _, o := range f.Routes {
		if o.Token == now.Token && o.Target == now.Target && o.Origin != now.Origin && now.Ref.Time.To-o.Ref.Time.To < minute {
			origin := now.Origin
			if origin == target.ID {
				origin = o.Origin
			}
			if from := d.Sessions[origin]; from != nil && target.Born {
				f.reportRoute(m, from, o.Ref, out)
			}
			break
		}
	}
	if len(f.Routes) >= 256 {
		f.Routes = slices.Delete(f.Routes, 0, 1)
	}
	f.Routes = append(f.Routes, now)
}

// loggedHolder returns the request of another session that carries the token,
// where the log shows tokens with requests and the target's carry none of it.
func (f *Token) loggedHolder(m *correlate.Moment) *correlate.Request {
	if m.Party.Tokens.Has(m.Event.RPC.Token) {
		return nil
	}
	var holder *correlate.Request
	for _, r := range m.Domain.Index.Find(correlate.IDKey(correlate.ByToken, m.Event.RPC.Token)) {
		if r.OpenWithin(m.Event.Time, correlate.Grace) == correlate.No || r.Party == nil || r.Party == m.Party {
			continue
		}
		if holder != nil && holder.Party != r.Party {
			return nil
		}
		holder = r
	}
	return holder
}

func (f *Token) reportLog(m *correlate.Moment, b *correlate.Request, why string, out *Sink) {
	ev, a := m.Event, m.Party
	out.Judged(signals.TokenCollision)
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "log", Strength: signals.Confirmed, Era: "legacy",
		Parties:    []signals.Party{party(a, signals.Cause), party(b.Party, signals.Victim)},
		RequestIDs: ids(b), Tokens: tokens(ev.RPC.Token), Method: b.Method, Tool: b.Tool, First: ev.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("the server sent progress for token %s of %s to %s", ev.RPC.Token, name(b.Party), name(a)),
		Because: []string{why, "so the progress router is not keyed by session and token together"},
		Evidence: []signals.Evidence{
			seen(signals.Victim, b.Sent, b.Party, "the request that carries the token"),
			here(signals.Cause, ev, a, "the progress is sent to "+a.Alias),
			seen(signals.Context, a.Birth, a, a.Alias+" is created here"),
		},
	})
}

func (f *Token) reportRoute(m *correlate.Moment, from *correlate.Party, other correlate.Ref, out *Sink) {
	ev, a := m.Event, m.Party
	out.Judged(signals.TokenCollision)
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "log", Strength: signals.Confirmed, Era: "legacy",
		Parties: []signals.Party{party(a, signals.Cause), party(from, signals.Victim)},
		Tokens:  tokens(ev.RPC.Token), Method: mcp.ToolsCall, First: other.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("the server sent the progress of %s and %s for token %s to one stream, that of %s", name(from), name(a), ev.RPC.Token, name(a)),
		Because: []string{"the router lines name two origins and one target for one token", "so the progress router is keyed by the token alone"},
		Evidence: []signals.Evidence{
			seen(signals.Victim, other, nil, "progress of one session goes there"),
			here(signals.Cause, ev, a, "progress of another session goes there too"),
		},
	})
}
