package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Server requests that belong to another party's call.

// Misrouted is a server request that reached an idle party while exactly one
// other party had a call in flight; it waits for what becomes of that call.
type Misrouted struct {
	Request  *correlate.Request // the server request
	Receiver *correlate.Party
	Call     *correlate.Request
}

// quotes judges a request that holds a marker of another party's call in flight.
func (f *Drift) quotes(m *correlate.Moment, out *Sink) bool {
	r, p, d := m.Request, m.Party, m.Domain
	var owner *correlate.Request
	for _, c := range marked(d, m.Event.RPC.Marks) {
		if c.Party == nil || c.Dir != event.ToServer || unbound(c, d) || c.InFlight(r.Sent.Time) == correlate.No {
			continue
		}
		if !correlate.Distinct(c.Party, p) {
			return false // its own call
		}
		if owner != nil && owner.Party != c.Party {
			return false
		}
		owner = c
	}
	if owner == nil {
		return false
	}
	out.Judged(signals.CapabilityDrift)
	st, assume := signals.Confirmed, ""
	if owner.InFlight(r.Sent.Time) == correlate.Perhaps {
		st, assume = st.Down(), "the request came while that call was in flight: the stamps leave it open"
	}
	out.Report(signals.Finding{
		Signal: signals.CapabilityDrift, Variant: "misrouted_request", Strength: st, Era: "legacy",
		Parties:    []signals.Party{party(p, signals.Cause), party(owner.Party, signals.Victim)},
		RequestIDs: ids(owner, r), Method: r.Method, Tool: owner.Tool, First: r.Sent.Time.From, Last: r.Sent.Time.To,
		Summary: fmt.Sprintf("%s got the request %s that belongs to the %s of %s", name(p), r.Method, call(owner), name(owner.Party)),
		Because: []string{
			fmt.Sprintf("the request quotes a value that only the call of %s carried", name(owner.Party)),
			fmt.Sprintf("that call was in flight; it arrived at %s", name(p)),
			"so the server sends what a call needs to another client than the one that made it",
		},
		Assumption: assume,
		Evidence: []signals.Evidence{
			seen(signals.Victim, owner.Sent, owner.Party, "the call that carries the value"),
			here(signals.Cause, m.Event, p, "the request that quotes it"),
		},
	})
	return true
}

// idle remembers a request that reached a party with nothing in flight while
// exactly one other party had a call in flight.
func (f *Drift) idle(m *correlate.Moment, out *Sink) {
	r, p, d := m.Request, m.Party, m.Domain
	if inFlight(p.Open, r.Sent.Time) > 0 || !p.Complete(event.ToServer, r.Sent.Time.From-2*minute) {
		return
	}
	var other *correlate.Request
	parties := d.Busy
	if orderless(r.Sent.Time) {
		parties = d.Parties // those that were busy then may be idle now
	}
	for _, o := range parties {
		if !correlate.Distinct(o, p) {
			continue
		}
		for _, c := range o.Open {
			if c.Dir != event.ToServer || c.InFlight(r.Sent.Time) == correlate.No || c.Method == mcp.Initialize {
				continue
			}
			if other != nil && other.Party != o {
				return
			}
			other = c
		}
	}
	if other == nil || len(f.Pending) >= 256 {
		return
	}
	mis := Misrouted{Request: r, Receiver: p, Call: other}
	for _, old := range f.Refusals {
		if old.of(other, r.Need) && correlate.Before(old.Ref.Time, p.LiveFrom) == correlate.Certain {
			f.reportMisrouted(mis, old.Ref, "an earlier call of the same tool was refused for lack of the capability, before "+name(p)+" was there", out)
			return
		}
	}
	if other.Ended() {
		if starved(other) {
			f.reportMisrouted(mis, other.End, "that call was never answered", out)
		}
		return
	}
	f.Pending = append(f.Pending, mis)
}

// starved reports whether a call ended without an answer: its client gave up, or the server closed.
func starved(r *correlate.Request) bool {
	return r.Fate == correlate.GivenUp || r.Fate == correlate.Cut && !r.Left
}

func (f *Drift) reportMisrouted(p Misrouted, proof correlate.Ref, shows string, out *Sink) {
	out.Judged(signals.CapabilityDrift)
	r, c := p.Request, p.Call
	st, assume := signals.Probable, "the server does not ask clients on its own"
	if c.InFlight(r.Sent.Time) != correlate.Certain {
		st, assume = st.Down(), "the request came while that call was in flight: the stamps leave it open"
	}
	out.Report(signals.Finding{
		Signal: signals.CapabilityDrift, Variant: "misrouted_request", Strength: st, Era: "legacy",
		Parties:    []signals.Party{party(p.Receiver, signals.Cause), party(c.Party, signals.Victim)},
		RequestIDs: ids(c, r), Method: r.Method, Tool: c.Tool, First: r.Sent.Time.From, Last: max(r.Sent.Time.To, proof.Time.To),
		Summary: fmt.Sprintf("%s got the request %s while it had nothing in flight; the only call in flight then was %s of %s", name(p.Receiver), r.Method, call(c), name(c.Party)),
		Because: []string{
			"a server asks a client inside a call of that client (transports: messages on a stream should relate to its request)",
			fmt.Sprintf("%s had no call in flight, %s had exactly this one", name(p.Receiver), name(c.Party)),
			shows,
			"so the request that this call needed went to another client",
		},
		Assumption: assume,
		Evidence: []signals.Evidence{
			seen(signals.Victim, c.Sent, c.Party, "the call in flight"),
			seen(signals.Cause, r.Sent, p.Receiver, "the request arrives at an idle client"),
			seen(signals.Victim, proof, c.Party, shows),
		},
	})
}
