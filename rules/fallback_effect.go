package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Effects of a request without a session on another party's stream.

// elsewhere judges an HTTP+SSE answer that arrives on the stream of a session
// which did not ask: the request carried no or an unknown session parameter.
func (f *Fallback) elsewhere(m *correlate.Moment, out *Sink) {
	d, p := m.Domain, m.Party
	if m.Exchange.Stream != event.StreamSSE || !p.IsSession() {
		return
	}
	var found *correlate.Request
	for _, r := range d.Index.Find(correlate.IDKey(correlate.ByID, m.Event.RPC.ID)) {
		x := r.Exchange
		if x == nil || r.Ended() || r.Party == p || x.Asked.State == event.Unknown || x.Party.IsSession() && x.Party.Issued || x.Status >= 400 {
			continue
		}
		if found != nil {
			return // two could be meant
		}
		found = r
	}
	if found == nil || !f.whole(p, out) {
		return
	}
	out.Judged(signals.FallbackResolution)
	f.shown(m, found, p, "its answer arrived on the stream of "+p.Alias, out)
	found.Fate = correlate.Answered
	found.Answer = m.Event.RPC.Kind
	found.End = refOf(m.Event)
}

// effect judges a message on a session's stream that a request without a session caused.
func (f *Fallback) effect(m *correlate.Moment, out *Sink) {
	ev, d, p := m.Event, m.Domain, m.Party
	if !p.IsSession() || d.Issued == 0 || m.Exchange.Resumed || m.Request != nil && ev.RPC.Kind != mcp.KindRequest {
		return
	}
	if ev.RPC.Method == mcp.Progress && ev.RPC.Token != "" && !active(d, p, ev) {
		for _, r := range d.Index.Find(correlate.IDKey(correlate.ByToken, ev.RPC.Token)) {
			if f.may(r, p, d) && r.OpenWithin(ev.Time, correlate.Grace) != correlate.No && f.whole(p, out) {
				f.shown(m, r, p, "its progress arrived on a stream of "+p.Alias, out)
				return
			}
		}
	}
	if ev.RPC.Kind == mcp.KindRequest || ev.RPC.Method == mcp.LogMessage {
		for _, r := range marked(d, ev.RPC.Marks) {
			if f.may(r, p, d) && r.OpenWithin(ev.Time, correlate.Grace) != correlate.No {
				f.shown(m, r, p, "a message that quotes an argument of it arrived on a stream of "+p.Alias, out)
				return
			}
		}
	}
}

// active reports whether p itself has a request with the token of this progress
// that is open or was answered within the grace.
func active(d *correlate.Domain, p *correlate.Party, ev *event.Event) bool {
	return p.Tokens.Has(ev.RPC.Token) && slices.ContainsFunc(d.Index.Find(correlate.IDKey(correlate.ByToken, ev.RPC.Token)), func(r *correlate.Request) bool {
		return r.Party == p && r.OpenWithin(ev.Time, correlate.Grace) != correlate.No
	})
}

// whole reports whether "the session did not ask for this itself" may be said of p.
func (f *Fallback) whole(p *correlate.Party, out *Sink) bool {
	why := p.WhyNotWhole()
	if why != "" {
		out.Unassessable(signals.FallbackResolution, "a message that "+p.Alias+" is not seen to ask for reached it, but "+why)
	}
	return why == ""
}

// may reports whether r is a request without a session that could have been bound to p.
func (f *Fallback) may(r *correlate.Request, p *correlate.Party, d *correlate.Domain) bool {
	return unbound(r, d) && r.Party != p && legacy(r.Exchange) && r.Exchange.Loss&event.LossHeaders == 0 && !f.done(r)
}

func (f *Fallback) shown(m *correlate.Moment, r *correlate.Request, p *correlate.Party, how string, out *Sink) {
	x := r.Exchange
	live := m.Domain.Live(r.Sent.Time, maxLive)
	relation := correlate.Relate(x, p)
	if relation == correlate.SamePerson {
		out.Note(signals.NoteFallbackOwn, x.Opened.At)
		f.Done.Put(r.Seq, true)
		return
	}
	st, assume := signals.Probable, fmt.Sprintf("the sender is not the client of %s that lost its session id", p.Alias)
	if relation == correlate.AnotherPerson {
		st, assume = signals.Confirmed, ""
	} else if len(live) < 2 {
		out.Note(signals.NoteFallbackOwn, x.Opened.At)
		f.Done.Put(r.Seq, true)
		return
	}
	out.Judged(signals.FallbackResolution)
	f.Done.Put(r.Seq, true)
	from := sender(x, signals.Cause)
	ev := []signals.Evidence{
		seen(signals.Cause, r.Sent, nil, "sent without a session of its own"),
		here(signals.Victim, m.Event, p, how),
		seen(signals.Context, *p.Birth, p, p.Alias+" was made here, for its own client"),
	}
	ev[0].Party = from.Alias
	out.Report(signals.Finding{
		Signal: signals.FallbackResolution, Variant: "effect", Strength: st, Era: "legacy",
		Parties: []signals.Party{from, party(p, signals.Victim)}, RequestIDs: ids(r), Tokens: tokens(m.Event.RPC.Token),
		Method: r.Method, Tool: r.Tool, First: r.Sent.Time.From, Last: m.Event.Time.To,
		Summary:    fmt.Sprintf("%s without a session of its own was bound to %s: %s", f.asks(x), p.Alias, how),
		Because:    []string{"the request named no session that the server had issued", how, "so the server bound it to " + p.Alias},
		Assumption: assume, Evidence: ev,
	})
}

func (f *Fallback) done(r *correlate.Request) bool {
	_, done := f.Done.Get(r.Seq)
	return done
}
