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
	Senders  map[string]*Senders // by session id
	Open     []Twins
}

// Senders is who used a session, in order of last change.
type Senders struct {
	Last  string // principal, or User-Agent where there is none
	Past  []string
	Refs  []correlate.Ref
	Found bool
}

// Twins are two requests of one session in flight under one id with different bodies.
type Twins struct{ First, Second *correlate.Request }

func newShared(o Options) Detector {
	return &Shared{ByDesign: o.SharedByDesign, Senders: map[string]*Senders{}}
}

// Observe looks at who sends requests in the name of a session, and at ids in flight twice.
func (f *Shared) Observe(m *correlate.Moment, out *Sink) {
	ev, x := m.Event, m.Exchange
	if f.ByDesign || x == nil || !legacy(x) || !m.Party.IsSession() || x.Asked.State != event.Present || x.Asked.ID != m.Party.ID {
		return
	}
	switch {
	case ev.Kind == event.Opened:
		f.senders(m, out)
	case ev.Kind == event.Message && ev.Dir == event.ToServer && ev.RPC.Kind == mcp.KindRequest:
		f.twins(m, out)
	}
}

// End has nothing to decide.
func (f *Shared) End(*correlate.Domain, *Sink) {}

// twins judges a request whose id is in flight in its session already.
func (f *Shared) twins(m *correlate.Moment, out *Sink) {
	r := m.Request
	if r == nil {
		return
	}
	for _, o := range m.Domain.Index.Find(correlate.IDKey(correlate.ByID, r.ID)) {
		if o == r || o.Party != r.Party || o.Exchange == nil || o.Exchange == r.Exchange || !open(o, r) || retry(o, r) {
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

// senders judges whose credential or program comes with a session id: A, B and A
// again is two holders, A and then B for good is a refresh or an update.
func (f *Shared) senders(m *correlate.Moment, out *Sink) {
	x := m.Exchange
	who, what := x.Sender.Principal, "credential"
	if who == "" {
		who, what = x.Sender.UserAgent, "User-Agent"
	}
	if who == "" {
		return
	}
	s := f.Senders[m.Party.ID]
	if s == nil {
		if len(f.Senders) >= maxPairs {
			return
		}
		s = &Senders{}
		f.Senders[m.Party.ID] = s
	}
	if who == s.Last || s.Found {
		return
	}
	if slices.Contains(s.Past, who) {
		s.Found = true
		i := slices.Index(s.Past, who)
		out.Judged(signals.SharedSession)
		out.Report(signals.Finding{
			Signal: signals.SharedSession, Variant: "two_senders", Strength: signals.Hazard, Era: "legacy",
			Parties: []signals.Party{party(m.Party, signals.Cause)}, Method: x.Method, First: s.Refs[i].Time.From, Last: x.Opened.Time.To,
			Summary: fmt.Sprintf("%s is used with more than one %s in turns", m.Party.Alias, what),
			Because: []string{"the first holder came back after the other one: this is no refresh"},
			Evidence: []signals.Evidence{
				seen(signals.Cause, s.Refs[i], m.Party, "one "+what), seen(signals.Victim, s.Refs[len(s.Refs)-1], m.Party, "another"),
				seen(signals.Cause, x.Opened, m.Party, "the first again"),
			},
		})
		return
	}
	s.Last = who
	if len(s.Past) < 8 {
		s.Past, s.Refs = append(s.Past, who), append(s.Refs, x.Opened)
	}
}
