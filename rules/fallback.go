package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Fallback detects fallback_resolution: a request without a valid session id of
// its own was bound to some other live session.
type Fallback struct {
	// Stateless: a session-bound request got a result although no session was live.
	Stateless bool
	// Named counts, per session, the log lines that were answered with it although
	// the request had none: the first one is its initialize.
	Named Recent[Naming, int]
	// Told says of a request id and a session that the server has said that it bound
	// the one to the other by fallback: the line about the end of that request says no more.
	Told Recent[Hint, int]
	// Done holds the requests already reported by their effects, so that one
	// request is one occurrence.
	Done Recent[uint64, bool]
}

func newFallback(Options) Detector {
	return &Fallback{}
}

// Observe looks at answers, at effects on other parties' streams, and at log lines.
func (f *Fallback) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	switch ev.Kind {
	case event.Head:
		f.stream(m, out)
	case event.Message:
		if ev.Exchange.N == 0 || !legacy(m.Exchange) {
			return
		}
		if ev.Dir == event.ToClient {
			f.answer(m, out)
			f.effect(m, out)
		}
	case event.Closed:
		f.closed(m, out)
	case event.SessionResolved:
		f.resolved(m, out)
	case event.RequestDone:
		f.logged(m, out)
	}
}

// End has nothing to decide.
func (f *Fallback) End(*correlate.Domain, *Sink) {}

// stream judges a GET that was answered with a stream of another session.
func (f *Fallback) stream(m *correlate.Moment, out *Sink) {
	x, ev := m.Exchange, m.Event
	if x == nil || x.Method != "GET" || ev.Status != 200 || ev.Answered.State != event.Present {
		return
	}
	f.named(m, x, nil, out)
}

// answer judges a result: was it given to a request that had no session of its own?
func (f *Fallback) answer(m *correlate.Moment, out *Sink) {
	r, ev := m.Request, m.Event
	if (r == nil || m.Extra) && ev.RPC.Kind == mcp.KindResult {
		f.elsewhere(m, out)
	}
	if r == nil || m.Extra || r.Exchange == nil || !legacy(r.Exchange) || r.Dir != event.ToServer {
		return
	}
	x := r.Exchange
	if x != m.Exchange || x.Initial != nil || mcp.NeedsNoSession(r.Method) || !x.Paired() || x.Loss&event.LossHeaders != 0 {
		return
	}
	if ev.RPC.Kind != mcp.KindResult {
		f.refused(m, x, r, out)
		return
	}
	switch {
	case x.Answered.State == event.Present && !(x.Asked.State == event.Present && x.Asked.ID == x.Answered.ID):
		f.named(m, x, r, out)
	case x.Asked.State == event.Absent && mcp.SessionBound(r.Method):
		f.silent(m, x, r, out)
	case x.Asked.State == event.Present && !x.Party.Issued:
		f.unknownID(m, x, out)
	}
}

// refused counts a header-less request that was refused: the occasion was there, and the server did right.
func (f *Fallback) refused(m *correlate.Moment, x *correlate.Exchange, r *correlate.Request, out *Sink) {
	if x.Asked.State == event.Absent && mcp.SessionBound(r.Method) && m.Domain.Issued > 0 {
		out.Judged(signals.FallbackResolution)
	}
}

// closed counts a header-less request that was refused with an HTTP status.
func (f *Fallback) closed(m *correlate.Moment, out *Sink) {
	x := m.Exchange
	if x == nil || x.Status < 400 || x.Asked.State != event.Absent || !legacy(x) || m.Domain.Issued == 0 {
		return
	}
	for _, r := range x.Requests {
		if mcp.SessionBound(r.Method) && r.Fate == correlate.Refused {
			out.Judged(signals.FallbackResolution)
			return
		}
	}
}

// named judges an answer that names a session which the request did not carry.
func (f *Fallback) named(m *correlate.Moment, x *correlate.Exchange, r *correlate.Request, out *Sink) {
	d := m.Domain
	bound := d.Sessions[x.Answered.ID]
	if bound == nil || x.Bound {
		return
	}
	asked := x.Asked
	if asked.State == event.Unknown || asked.State == event.Present && asked.ID == bound.ID {
		return
	}
	if x.NewID {
		out.Note(signals.NoteImplicitSession, x.Opened.At)
		return
	}
	x.Bound = true
	out.Judged(signals.FallbackResolution)
	asks := f.asks(x)
	live := d.Live(x.Opened.Time, maxLive)
	others := without(live, bound)
	if asked.State == event.Present && asked.ID != bound.ID && x.Party.IsSession() && x.Party.Issued && x.Party.LiveAt(x.Opened.Time) != correlate.No {
		if bound.Issued {
			f.report(m, x, r, bound, signals.Confirmed, out,
				fmt.Sprintf("%s, sent with the id of %s, was answered in the name of %s", asks, x.Party.Alias, bound.Alias), "")
		}
		return
	}
	switch correlate.Relate(x, bound) {
	case correlate.AnotherPerson:
		st, assume := signals.Confirmed, ""
		if !bound.Issued {
			st, assume = signals.Probable, fmt.Sprintf("%s was initialized out of view, by another client", bound.Alias)
		}
		f.report(m, x, r, bound, st, out, fmt.Sprintf("%s without a session of its own was bound to %s, which another client initialized", asks, bound.Alias), assume)
	case correlate.SamePerson:
		out.Note(signals.NoteFallbackOwn, x.Opened.At)
	default:
		if len(others) == 0 {
			out.Note(signals.NoteFallbackOwn, x.Opened.At)
			return
		}
		f.report(m, x, r, bound, signals.Probable, out, fmt.Sprintf("%s without a session of its own was bound to %s", asks, bound.Alias),
			fmt.Sprintf("the sender is not the client of %s that lost its header", bound.Alias))
	}
}

func (f *Fallback) asks(x *correlate.Exchange) string {
	if len(x.Requests) > 0 {
		r := x.Requests[0]
		if r.Tool != "" {
			return "a " + r.Method + " (" + r.Tool + ")"
		}
		return "a " + r.Method
	}
	return "a " + x.Method
}

// silent judges a result to a request without a session id where the answer
// names no session: the binding shows only in that the call succeeded.
func (f *Fallback) silent(m *correlate.Moment, x *correlate.Exchange, r *correlate.Request, out *Sink) {
	d := m.Domain
	live := d.Live(x.Opened.Time, maxLive)
	if len(live) == 0 {
		f.Stateless = true
		return
	}
	if f.done(r) {
		return
	}
	own := ownSession(x)
	others := without(live, own)
	if len(others) == 0 || own == nil && len(live) == 1 {
		out.Note(signals.NoteFallbackOwn, x.Opened.At)
		return
	}
	out.Judged(signals.FallbackResolution)
	st, assume := signals.Probable, "the endpoint has no stateless branch for requests without a session id"
	switch {
	case f.Stateless || d.Unissued > 0 || d.StatelessHint:
		st, assume = signals.Possible, "the endpoint also answers clients without any session: this may be its stateless branch"
	case d.Issued == 0:
		st, assume = signals.Possible, "the endpoint gives every client a session id: no initialize is in view"
	}
	if own != nil {
		assume += "; " + own.Alias + ", whose requests came on this connection before, sent it"
	}
	from := sender(x, signals.Cause)
	parties := candidates([]signals.Party{from}, others)
	ev := []signals.Evidence{
		seen(signals.Cause, r.Sent, own, "sent without a session id, all headers recorded"),
		here(signals.Context, m.Event, own, "answered with a result"),
	}
	for _, p := range others[:min(2, len(others))] {
		ev = append(ev, seen(signals.Candidate, *p.Birth, p, p.Alias+" was live then"))
	}
	f.Done.Put(r.Seq, true)
	out.Report(signals.Finding{
		Signal: signals.FallbackResolution, Variant: "silent", Strength: st, Era: "legacy", Parties: parties,
		RequestIDs: ids(r), Method: r.Method, Tool: r.Tool, First: r.Sent.Time.From, Last: m.Event.Time.To,
		Summary: fmt.Sprintf("%s without a session id succeeded at an endpoint that gives every client one; which session served it does not show; besides the sender's, %s", f.asks(x), wereLive(others)),
		Because: []string{
			"the endpoint issued a session id to every initialize in view",
			"a request without one should be refused (P-SES-5), this one got a result",
			"the answer names no session, so which of the live ones it was bound to does not show",
		},
		Assumption: assume, Evidence: ev,
	})
}

// maxLive is how many live sessions are looked at: enough for the candidates, one
// that is the sender's own, and to tell that there are more.
const maxLive = maxCandidates + 2

// wereLive says which sessions were live, or how many.
func wereLive(ps []*correlate.Party) string {
	switch {
	case len(ps) == 1:
		return ps[0].Alias + " was live"
	case len(ps) > maxCandidates:
		return fmt.Sprintf("more than %d sessions were live", maxCandidates)
	}
	return fmt.Sprintf("%d sessions were live", len(ps))
}

// unknownID notes a result to a session id that the server never issued in view.
func (f *Fallback) unknownID(m *correlate.Moment, x *correlate.Exchange, out *Sink) {
	d := m.Domain
	if d.Issued > 0 && !x.Party.Born && x.Loss&event.LossStart == 0 && x.Party.Birth.At == x.Opened.At && d.First < x.Opened.Time.From {
		out.Note(signals.NoteUnknownSessionAccepted, x.Opened.At)
	}
}

// report writes the finding of a binding that the answer or an effect shows.
func (f *Fallback) report(m *correlate.Moment, x *correlate.Exchange, r *correlate.Request, bound *correlate.Party, st signals.Strength, out *Sink, summary, assume string) {
	from := sender(x, signals.Cause)
	carried := "sent without a session id"
	if x.Asked.State == event.Present {
		carried = "sent with another session id"
		if !x.Party.Issued {
			carried = "sent with an id that the server did not issue or had ended"
		}
	}
	variant := "named"
	if x.Asked.State == event.Present && x.Party.IsSession() && x.Party.Issued {
		variant = "wrong_session"
	}
	sent := x.Opened
	method, tool := "", ""
	if r != nil {
		sent, method, tool = r.Sent, r.Method, r.Tool
		f.Done.Put(r.Seq, true)
	}
	ev := []signals.Evidence{
		seen(signals.Cause, sent, nil, carried),
		seen(signals.Victim, *x.Headed, bound, "answered in the name of "+bound.Alias),
		seen(signals.Context, *bound.Birth, bound, bound.Alias+" was made here, for its own client"),
	}
	ev[0].Party = from.Alias
	out.Report(signals.Finding{
		Signal: signals.FallbackResolution, Variant: variant, Strength: st, Era: "legacy",
		Parties: []signals.Party{from, party(bound, signals.Victim)}, RequestIDs: ids(r), Method: method, Tool: tool,
		First: sent.Time.From, Last: m.Event.Time.To, Summary: summary,
		Because: []string{
			carried,
			fmt.Sprintf("the response header names %s, issued to an earlier initialize", bound.Alias),
			"so the server resolves a missing or wrong session id to a session that is there, instead of refusing it",
		},
		Assumption: assume, Evidence: ev,
	})
}
