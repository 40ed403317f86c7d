package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Answers of which a log says to which session they were sent.

// delivered judges an answer at a session that it was sent to. It is foreign where
// the session has no request open under its id and another one has.
func (f *Crossing) delivered(m *correlate.Moment, out *Sink) {
	ev, d, b := m.Event, m.Domain, m.Party
	if !b.IsSession() || ev.RPC.ID == "" || ev.RPC.ID.Placeholder() {
		return
	}
	if m.Request != nil && !m.Extra {
		if len(d.Live(ev.Time, 2)) > 1 {
			out.Judged(signals.ResponseCrossing) // others were there to be reached
		}
		return
	}
	owner := f.asked(m)
	if owner == nil {
		return
	}
	if why := b.WhyNotWhole(); why != "" {
		out.Unassessable(signals.ResponseCrossing, fmt.Sprintf("an answer to %s was sent to %s too, but of %s: %s", name(owner.Party), b.Alias, b.Alias, why))
		return
	}
	out.Judged(signals.ResponseCrossing)
	f.reportDelivered(m, owner, out)
}

// asked returns the request of another session that the answer belongs to: one
// that is open, or that this very line answers.
func (f *Crossing) asked(m *correlate.Moment) *correlate.Request {
	ev := m.Event
	for _, r := range m.Domain.Index.Find(correlate.IDKey(correlate.ByID, ev.RPC.ID)) {
		if r.Dir != event.ToServer || r.Party == m.Party || !r.Party.IsSession() || !r.SameID(ev.RPC.ID, ev.Loss&event.LossIDType != 0) {
			continue
		}
		if !r.Ended() && correlate.Before(r.Sent.Time, ev.Time) != correlate.No || r.Ended() && r.End.At == ev.At {
			return r
		}
	}
	return nil
}

func (f *Crossing) reportDelivered(m *correlate.Moment, a *correlate.Request, out *Sink) {
	ev, b := m.Event, m.Party
	st, assume := broadcast(ev, signals.Confirmed)
	arrived := "the log says that the answer was sent to %s as well"
	if st < signals.Confirmed {
		arrived = "the answer was sent while %s was open as well"
	}
	gave := fmt.Sprintf("%s never sent a request under this id, and all it sent is in view", b.Alias)
	if m.Extra {
		gave = fmt.Sprintf("the request of %s under this id had its answer before", b.Alias)
		if st > signals.Probable {
			st, assume = signals.Probable, "the second answer is not a repetition by the server"
		}
	}
	out.Report(signals.Finding{
		Signal: signals.ResponseCrossing, Variant: "shared_transport", Strength: st, Era: "legacy",
		Parties:    []signals.Party{party(a.Party, signals.Cause), party(b, signals.Victim)},
		RequestIDs: ids(a), Method: a.Method, Tool: a.Tool, First: a.Sent.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("the answer to %s of %s was sent to %s too, which did not ask", call(a), name(a.Party), b.Alias),
		Because: []string{
			fmt.Sprintf("%s sent %s", name(a.Party), call(a)),
			fmt.Sprintf(arrived+"; %s", b.Alias, gave),
			"so answers go to sessions that did not ask: " + b.Alias + " can read what was meant for " + name(a.Party),
		},
		Assumption: assume,
		Evidence: []signals.Evidence{
			seen(signals.Cause, a.Sent, a.Party, "the request whose answer it is"),
			here(signals.Victim, ev, b, "the answer is sent to "+b.Alias),
			seen(signals.Context, *b.Birth, b, b.Alias+" begins here"),
		},
	})
}

// broadcast takes a row down to probable where the log does not name who a message
// was sent to, but is of a gateway that sends every message to all open sessions.
func broadcast(ev *event.Event, st signals.Strength) (signals.Strength, string) {
	if ev.Resolution != "broadcast" {
		return st, ""
	}
	return min(st, signals.Probable), "the gateway sends what its server writes to every open session, as its published versions do; this log does not name who got it"
}
