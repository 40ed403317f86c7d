package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Token detects token_collision: progress reached a party that did not ask for it.
// Equal tokens in two sessions are the steady state and prove nothing by themselves.
type Token struct {
	Series  []*Series            // of requests whose token got progress or is in flight in two parties, until judged, in order; nil = dropped
	Of      map[uint64]*Series   // the same by Request.Seq
	Alone   []*Series            // those whose request ended and that had no rival then: they make room
	Full    bool                 // there were more series than are kept
	Settled int64                // event time of the last look for series that ended
	Reports Recent[string, bool] // tools that report progress in this domain
	Routes  []Route              // recent router lines of a log
	Equal   map[[2]string]bool   // pairs of parties, by alias, whose equal tokens were counted already
}

const (
	settleEvery = int64(250e6) // ns of event time
	maxPoints   = 256
	maxSeries   = 1024
)

func newToken(Options) Detector {
	return &Token{Of: map[uint64]*Series{}, Equal: map[[2]string]bool{}}
}

// Observe looks at progress on the wire and at router lines of a log.
func (f *Token) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	for _, r := range m.Ended {
		if s := f.Of[r.Seq]; s != nil && len(s.Rivals) == 0 {
			f.Alone = append(f.Alone, s)
		}
	}
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
	if now := m.Event.Time.To; len(f.Of) > 0 && now-f.Settled >= settleEvery {
		f.Settled = now
		f.settle(m.Domain, now, false, out)
	}
}

// End judges the series that are still open.
func (f *Token) End(d *correlate.Domain, out *Sink) {
	f.settle(d, d.Now.To, true, out)
	if f.Full {
		out.Unassessable(signals.TokenCollision, "more requests with progress were open at once than are compared")
	}
}

// given opens the watch over a token that is in flight in two parties.
func (f *Token) given(m *correlate.Moment, out *Sink) {
	r, d := m.Request, m.Domain
	if r.Party == nil || r.Era == mcp.EraModern {
		return
	}
	for _, o := range d.Index.Find(correlate.IDKey(correlate.ByToken, r.Token)) {
		if o == r || !o.Overlaps(r) || o.Era == mcp.EraModern || o.Dir != event.ToServer || !correlate.Distinct(o.Party, r.Party) {
			continue
		}
		f.hazard(r, o, out)
		f.watch(o, r)
		if !f.watch(r, o) {
			return // it has rivals enough
		}
	}
}

func (f *Token) hazard(r, o *correlate.Request, out *Sink) {
	if r.Exchange != nil { // a log does not show where the progress of either goes
		out.Judged(signals.TokenCollision)
	}
	key := [2]string{o.Party.Alias, r.Party.Alias}
	if len(f.Equal) >= maxSeries || f.Equal[key] {
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
		if own.Tool != "" {
			f.Reports.Put(own.Tool, true)
		}
		f.point(own, ev, sure && !x.Resumed)
		return
	}
	if x.Resumed {
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
		if !d.Tokens.Has(ev.RPC.Token) && !d.Tokens.Forgot() && a.Whole() && !a.Tokens.Has(ev.RPC.Token) {
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
	if a.Tokens.Forgot() {
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
			seen(signals.Context, *a.Birth, a, a.Alias+" begins here"),
		},
	})
}

// wholeSender reports whether all that a party without a session sent is in view.
func wholeSender(a *correlate.Party, ev *event.Event) bool {
	return a.Complete(event.ToServer, 1)
}
