package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Shared detects the hazard shared_session: one session id used by two conversations.
type Shared struct {
	ByDesign bool
	Senders  Recent[Hint, *Senders]
}

// Hint is one kind of hint about who uses a session, in one recording: another may
// write the same program or credential in another way.
type Hint struct {
	Kind, Session string
	View          int32
}

// Senders is who used a session, by one kind of hint.
type Senders struct {
	Last  string
	Past  []string
	Refs  []correlate.Ref
	Found bool
}

func newShared(o Options) Detector {
	return &Shared{ByDesign: o.SharedByDesign}
}

// Observe looks at who sends requests in the name of a session, and at ids in flight twice.
func (f *Shared) Observe(m *correlate.Moment, out *Sink) {
	ev, x, p := m.Event, m.Exchange, m.Party
	if f.ByDesign || !p.IsSession() {
		return
	}
	if x == nil {
		if ev.Dir != event.ToClient && ev.RPC.Era != mcp.EraModern {
			f.turns(p, correlate.Sender{Principal: ev.Sender.Principal, ClientInfo: ev.Sender.ClientInfo, UserAgent: ev.Sender.UserAgent}, ev, out)
		}
		return
	}
	if !legacy(x) || x.Asked.State != event.Present || x.Asked.ID != p.ID {
		return // bound or misled by a fallback
	}
	switch {
	case ev.Kind == event.Opened:
		f.turns(p, x.From(), ev, out)
	case ev.Kind == event.Message && ev.Dir == event.ToServer && ev.RPC.Kind == mcp.KindRequest:
		f.senders(p, "traceparent", ev.RPC.Trace, ev, out)
		f.twins(m, out)
	}
}

// turns looks at the credential that comes with a session id, and at the program that sends it.
func (f *Shared) turns(p *correlate.Party, s correlate.Sender, ev *event.Event, out *Sink) {
	f.senders(p, "credential", s.Principal, ev, out)
	f.senders(p, "clientInfo", s.ClientInfo, ev, out)
	f.senders(p, "User-Agent", s.UserAgent, ev, out)
}

// End has nothing to decide.
func (f *Shared) End(*correlate.Domain, *Sink) {}

// twins judges a request whose id is in flight in its session already.
func (f *Shared) twins(m *correlate.Moment, out *Sink) {
	r := m.Request
	if r == nil {
		return
	}
	for _, o := range r.Party.Open {
		if o == r || o.ID.Fold() != r.ID.Fold() || o.Exchange == nil || o.Exchange == r.Exchange || !open(o, r) || retry(o, r) {
			continue
		}
		if o.Exchange.Asked.State != event.Present {
			continue // bound or misled by a fallback
		}
		out.Judged(signals.SharedSession)
		out.Report(signals.Finding{
			Signal: signals.SharedSession, Variant: "equal_ids", Strength: signals.Hazard, Era: "legacy",
			Parties:    []signals.Party{half(o, "a", signals.Cause), half(r, "b", signals.Victim)},
			RequestIDs: ids(o, r), Method: r.Method, Tool: r.Tool, First: o.Sent.Time.From, Last: r.Sent.Time.To,
			Summary:  fmt.Sprintf("%s is used by two conversations: id %s is in flight twice with different bodies", r.Party.Alias, idText(r.ID)),
			Because:  []string{"an id must not be used twice in one session (P-ID-1); two counters that both start at 0 do so", "a server that routes answers by the bare id will mix them up"},
			Evidence: []signals.Evidence{seen(signals.Cause, o.Sent, r.Party, "the first request"), seen(signals.Victim, r.Sent, r.Party, "the second, while the first is open")},
		})
		return
	}
}

// senders judges one kind of hint: A, B and A again is two holders, A and then B
// for good is a refresh or an update.
func (f *Shared) senders(p *correlate.Party, what, who string, ev *event.Event, out *Sink) {
	if who == "" {
		return
	}
	key := Hint{what, p.ID, ev.View}
	s, known := f.Senders.Get(key)
	if !known {
		s = &Senders{}
		f.Senders.Put(key, s)
	}
	if who == s.Last || s.Found {
		return
	}
	ref := refOf(ev)
	if i := slices.Index(s.Past, who); i >= 0 {
		s.Found = true
		out.Judged(signals.SharedSession)
		out.Report(signals.Finding{
			Signal: signals.SharedSession, Variant: "two_senders", Strength: signals.Hazard, Era: "legacy",
			Parties: []signals.Party{party(p, signals.Cause)}, First: s.Refs[i].Time.From, Last: ref.Time.To,
			Summary: fmt.Sprintf("%s is used with more than one %s in turns", p.Alias, what),
			Because: []string{"the first one came back after the other: this is no refresh, two conversations use the session"},
			Evidence: []signals.Evidence{
				seen(signals.Cause, s.Refs[i], p, "one "+what), seen(signals.Victim, s.Refs[len(s.Refs)-1], p, "another"), seen(signals.Cause, ref, p, "the first again"),
			},
		})
		return
	}
	s.Last = who
	if len(s.Past) >= maxPast {
		s.Past, s.Refs = slices.Delete(s.Past, 0, 1), slices.Delete(s.Refs, 0, 1)
	}
	s.Past, s.Refs = append(s.Past, who), append(s.Refs, ref)
}

const maxPast = 8
