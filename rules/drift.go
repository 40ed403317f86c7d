package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Drift detects capability_drift: a server request reached a client that did
// not declare what it needs, or that belongs to another client's call.
type Drift struct {
	// Ignores holds the kinds of request for which the server was seen to look at
	// nobody's capabilities: from then on they are never above possible.
	Ignores map[string]bool
	// Seen holds, per kind, the undeclared requests with a donor, for the step to confirmed.
	Seen map[string][]Drifted
	// Refusals holds calls that were refused for lack of a capability.
	Refusals []Refusal
	Pending  []Misrouted
	Lacking  *correlate.Party     // a live client that lacked what was asked for last
	Rekeyed  Recent[string, bool] // sessions that were initialized again, noted already
	Told     event.Address        // the last line that names the set that was looked at
	Unnamed  Unnamed              // the last request that a line told of without its id
}

// Unnamed is an undeclared request of which a line of a log does not say the id.
type Unnamed struct {
	Victim  string
	At      event.Address
	Finding *signals.Finding
}

// Drifted is one undeclared request.
type Drifted struct {
	Victim  string
	Donor   string
	Finding *signals.Finding
}

func newDrift(Options) Detector {
	return &Drift{Ignores: map[string]bool{}, Seen: map[string][]Drifted{}}
}

// Observe looks at server requests, at refusals, and at the fate of calls that may starve.
func (f *Drift) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	if p := m.Party; p != nil && p.Rekeyed && f.Rekeyed.First(p.ID, true) {
		out.Note(signals.NoteSessionRekeyed, ev.At)
	}
	switch {
	case ev.Kind == event.CapsConsulted:
		f.consulted(m, out)
	case ev.Kind == event.Message && ev.Exchange.N != 0 && ev.Dir == event.ToClient && ev.RPC.Kind == mcp.KindRequest:
		if m.Request != nil && legacy(m.Exchange) && m.Request.Sent.At == ev.At {
			f.request(m, out)
		}
	case ev.Kind == event.Message && ev.Exchange.N == 0 && ev.Dir == event.ToClient && ev.RPC.Kind == mcp.KindRequest:
		f.asked(m, out)
	}
	for _, r := range m.Ended {
		f.ended(m, r, out)
	}
}

// End drops what waits: a call that still runs at the end of the window is not starved.
func (f *Drift) End(*correlate.Domain, *Sink) { f.Pending = nil }

func (f *Drift) ended(m *correlate.Moment, r *correlate.Request, out *Sink) {
	if r.Dir == event.ToServer && (r.Answer == mcp.KindError || r.IsError) && r.Party != nil {
		if lacks := saysUnsupported(r.ErrorText); lacks != 0 {
			if len(f.Refusals) >= 64 {
				f.Refusals = append(f.Refusals[:0], f.Refusals[1:]...)
			}
			f.Refusals = append(f.Refusals, Refusal{r.Party, r.Method, r.Tool, lacks, r.End})
		}
	}
	for i := 0; i < len(f.Pending); i++ {
		p := f.Pending[i]
		if p.Call != r {
			continue
		}
		f.Pending = slices.Delete(f.Pending, i, i+1)
		i--
		if starved(r) {
			f.reportMisrouted(p, r.End, "that call was never answered", out)
		}
	}
}

// request judges one server request at the party whose stream it arrived on.
func (f *Drift) request(m *correlate.Moment, out *Sink) {
	r, p, d := m.Request, m.Party, m.Domain
	if r.Need == 0 || p == nil || m.Exchange.Resumed || m.Exchange.Loss&event.LossRequest != 0 {
		return
	}
	if r.Method == mcp.RootsList && f.expected(r, p) {
		return
	}
	if f.quotes(m, out) {
		return
	}
	if !p.IsSession() {
		return
	}
	if p.Born && p.CapsKnown && !p.Rekeyed {
		if p.Caps.Has(r.Need) {
			f.declared(m, out)
		} else {
			f.undeclared(m, out)
		}
	} else if len(without(d.Live(r.Sent.Time, 2), p)) > 0 {
		out.Unassessable(signals.CapabilityDrift, "a session that got a server request declared its capabilities out of view")
	}
	f.idle(m, out)
}

// expected reports whether a roots/list may have come within 2 s after the
// client became ready or its roots changed: servers ask then, whatever was declared.
func (f *Drift) expected(r *correlate.Request, p *correlate.Party) bool {
	return slices.ContainsFunc(p.Ready, func(t event.Time) bool {
		return r.Sent.Time.To >= t.From && r.Sent.Time.From <= t.To+correlate.Grace
	})
}

// declared counts a request that its receiver had declared while another live session had not.
func (f *Drift) declared(m *correlate.Moment, out *Sink) {
	need, t := m.Request.Need, m.Request.Sent.Time
	if m.Domain.Declared.Has(need) {
		return // every client has it
	}
	lacks := func(o *correlate.Party) bool {
		return o != nil && o != m.Party && o.CapsKnown && !o.Caps.Has(need) && o.LiveAt(t) != correlate.No
	}
	if !lacks(f.Lacking) { // mostly the same one as before
		f.Lacking = nil
		if i := slices.IndexFunc(m.Domain.Lively, lacks); i >= 0 {
			f.Lacking = m.Domain.Lively[i]
		}
	}
	if f.Lacking != nil {
		out.Judged(signals.CapabilityDrift)
	}
}

// undeclared judges a request for which its receiver never declared the capability.
func (f *Drift) undeclared(m *correlate.Moment, out *Sink) {
	r, p, d := m.Request, m.Party, m.Domain
	by := donorsOf(d, p, r)
	kind := r.Method
	if by.last == nil {
		f.Ignores[kind] = true
		out.Note(signals.NoteCapabilityViolation, r.Sent.At)
		if by.live > 1 {
			out.Judged(signals.CapabilityDrift)
		}
		return
	}
	out.Judged(signals.CapabilityDrift)
	log := m.Event.Exchange.N == 0
	running := inFlight(p.Open, r.Sent.Time)
	if by.after == nil && p == by.newest && running > 0 {
		f.Ignores[kind] = true // nobody came later whose capabilities could have been taken
	}
	donor := by.last
	st, assume := signals.Possible, "the donor's capabilities were there before the victim's"
	switch {
	case by.after != nil:
		donor = by.after
		st, assume = signals.Probable, "the server looks at capabilities at all, and took those of "+donor.Alias
		if !log && f.refusedBefore(m.Request, p, donor) {
			st, assume = signals.Confirmed, ""
		}
	case !log && running == 0 && by.busy:
		st, assume = signals.Probable, "the request belongs to the call that "+donor.Alias+" had in flight"
	}
	if f.Ignores[kind] {
		st, assume = signals.Possible, "the server was seen to send this kind of request without looking at capabilities"
	}
	fd := out.Report(f.finding(m, donor, st, assume))
	if log && r.ID == "" {
		f.Unnamed = Unnamed{p.ID, r.Sent.At, fd}
	}
	if !log && by.after != nil && !f.Ignores[kind] {
		f.repeat(kind, Drifted{p.ID, donor.ID, fd}, out)
	}
}

// donors are the other sessions that declared what a server request needs.
type donors struct {
	last   *correlate.Party // the donor that became live last, nil = there is none
	after  *correlate.Party // the last donor that initialized after the receiver
	busy   bool             // a donor has a call in flight
	newest *correlate.Party // of all live sessions
	live   int              // sessions, the receiver among them
}

// donorsOf walks over all live sessions once and keeps no list of them: a server
// that ignores capabilities asks every one of thousands.
func donorsOf(d *correlate.Domain, p *correlate.Party, r *correlate.Request) (by donors) {
	t := r.Sent.Time
	for _, o := range d.Lively {
		if o.LiveAt(t) == correlate.No {
			continue
		}
		by.live++
		if by.newest == nil || o.InitOrder > by.newest.InitOrder {
			by.newest = o
		}
		if o == p || !o.CapsKnown || o.Rekeyed || !o.Caps.Has(r.Need) {
			continue
		}
		by.last = o
		if o.InitOrder >= p.InitOrder {
			by.after = o
		}
		by.busy = by.busy || inFlight(o.Open, t) > 0
	}
	return by
}

// repeat confirms the findings of a kind once two victims or two donors were seen.
func (f *Drift) repeat(kind string, now Drifted, out *Sink) {
	list := f.Seen[kind]
	two := false
	for _, o := range list {
		two = two || o.Victim != now.Victim || o.Donor != now.Donor
	}
	if len(list) < 64 {
		f.Seen[kind] = append(list, now)
	}
	if !two {
		return
	}
	for _, o := range f.Seen[kind] {
		if o.Finding.Strength < signals.Confirmed {
			out.Raise(o.Finding, signals.Confirmed, "it happened to more than one session, each time after a client that declares it had initialized")
		}
	}
}

func (f *Drift) finding(m *correlate.Moment, donor *correlate.Party, st signals.Strength, assume string) signals.Finding {
	r, p := m.Request, m.Party
	return signals.Finding{
		Signal: signals.CapabilityDrift, Variant: "undeclared", Strength: st, Era: "legacy",
		Parties:    []signals.Party{party(donor, signals.Cause), party(p, signals.Victim)},
		RequestIDs: ids(r), Method: r.Method, First: r.Sent.Time.From, Last: r.Sent.Time.To,
		Summary: fmt.Sprintf("%s got %s, which it never declared (it declared: %s); %s had", p.Alias, r.Method, p.Caps, donor.Alias),
		Because: []string{
			fmt.Sprintf("%s declared %s at its initialize", p.Alias, p.Caps),
			fmt.Sprintf("the request needs %s", r.Need),
			fmt.Sprintf("%s, live at the same time, declared it", donor.Alias),
			"so the server read the capabilities of another session than the one it wrote to",
		},
		Assumption: assume,
		Evidence: []signals.Evidence{
			seen(signals.Victim, *p.CapsRef, p, "what "+p.Alias+" declared"),
			here(signals.Victim, m.Event, p, "the server asks for "+r.Need.String()),
			seen(signals.Cause, *donor.CapsRef, donor, "what "+donor.Alias+" declared"),
		},
	}
}

const minute = int64(60e9)

// consulted judges a log line that names the capability set used at dispatch.
func (f *Drift) consulted(m *correlate.Moment, out *Sink) {
	ev, p, d := m.Event, m.Party, m.Domain
	if p == nil || !p.CapsKnown || p.CapsDiffer || !ev.RPC.CapsKnown {
		return
	}
	f.Told = ev.At
	out.Judged(signals.CapabilityDrift)
	if ev.RPC.Caps == p.Caps {
		return
	}
	live := d.Live(ev.Time, 0)
	st, assume := signals.Probable, "the difference comes from another client"
	from := signals.Party{Alias: "?", Text: "unknown", Role: signals.Cause}
	evidence := []signals.Evidence{
		seen(signals.Victim, *p.CapsRef, p, "capabilities at initialize: "+p.Caps.String()),
		here(signals.Victim, ev, p, "capabilities consulted: "+ev.RPC.Caps.String()),
	}
	for _, o := range live {
		if o != p && o.CapsKnown && o.Caps == ev.RPC.Caps {
			st, assume, from = signals.Confirmed, "", party(o, signals.Cause)
			evidence = append(evidence, seen(signals.Cause, *o.CapsRef, o, "the set that "+o.Alias+" declared"))
			break
		}
	}
	out.Report(signals.Finding{
		Signal: signals.CapabilityDrift, Variant: "log", Strength: st, Era: "legacy", Parties: []signals.Party{from, party(p, signals.Victim)},
		Method: ev.RPC.Method, First: ev.Time.From, Last: ev.Time.To,
		Summary:    fmt.Sprintf("the server consulted the capabilities %s for %s, which declared %s", ev.RPC.Caps, p.Alias, p.Caps),
		Because:    []string{"one session has one capability set, fixed at initialize", "the set used at dispatch is another one"},
		Assumption: assume, Evidence: evidence,
	})
}

// inFlight counts the client requests of a list that may have been in flight at t.
func inFlight(list []*correlate.Request, t event.Time) int {
	n := 0
	for _, r := range list {
		if r.Dir == event.ToServer && r.InFlight(t) != correlate.No {
			n++
		}
	}
	return n
}
