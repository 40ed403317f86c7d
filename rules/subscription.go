package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Subscription detects subscription_bleed: an update reached a session that
// never subscribed to the resource while another one did.
type Subscription struct{}

func newSubscription(Options) Detector { return &Subscription{} }

// Observe looks at resource updates on the wire and at notify lines of a log.
func (f *Subscription) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	switch {
	case ev.Kind == event.Message && ev.Dir == event.ToClient && ev.RPC.Method == mcp.ResourceUpdated && ev.Exchange.N != 0:
		if legacy(m.Exchange) && !m.Exchange.Resumed() && m.Exchange.Loss&event.LossRequest == 0 {
			f.update(m, out)
		}
	case ev.Exchange.N == 0 && delivers(ev, mcp.ResourceUpdated) && ev.RPC.URI != "":
		f.update(m, out)
	}
}

// End has nothing to decide.
func (f *Subscription) End(*correlate.Domain, *Sink) {}

// covered is what a party's subscriptions say about an update.
type covered uint8

const (
	notCovered covered = iota
	pending            // the answer to the subscribe was not seen
	yes
)

// covers looks for a subscription of p that covers an update of uri at t. A
// subscription counts from its request, and until 2 s after the answer to its
// unsubscribe.
func covers(p *correlate.Party, uri string, t event.Time) (covered, *correlate.Subscription) {
	best, which := notCovered, (*correlate.Subscription)(nil)
	for i := range p.Subs {
		s := &p.Subs[i]
		if s.Refused || !correlate.Covers(uri, s.URI) || correlate.Before(s.From, t) == correlate.No {
			continue
		}
		if s.Ended != (event.Time{}) && s.Ended.To+correlate.Grace < t.From {
			continue
		}
		if s.Accepted {
			return yes, s
		}
		best, which = pending, s
	}
	return best, which
}

// update judges one update at the party it reached.
func (f *Subscription) update(m *correlate.Moment, out *Sink) {
	ev, d, a := m.Event, m.Domain, m.Party
	uri := ev.RPC.URI
	if !a.IsSession() || uri == "" {
		return
	}
	live, _ := d.Live(ev.Time)
	var subscribers []*correlate.Party
	var proof []*correlate.Subscription
	doubt := false
	for _, b := range live {
		if b == a {
			continue
		}
		switch c, s := covers(b, uri, ev.Time); c {
		case yes:
			subscribers, proof = append(subscribers, b), append(proof, s)
		case pending:
			doubt = true
		}
	}
	switch c, _ := covers(a, uri, ev.Time); {
	case c != notCovered:
		if len(live) > 1 {
			out.Judged(signals.SubscriptionBleed)
		}
		return
	case len(subscribers) == 0 && doubt:
		out.Unassessable(signals.SubscriptionBleed, "the answer to a subscribe is not in view")
		return
	}
	if why := a.WhyNotWhole(); why != "" {
		if len(subscribers) > 0 {
			out.Unassessable(signals.SubscriptionBleed, fmt.Sprintf("an update reached %s, which is not seen to subscribe, but %s", a.Alias, why))
		}
		return
	}
	if len(subscribers) == 0 {
		out.Note(signals.NoteBroadcastUpdate, ev.At)
		return
	}
	out.Judged(signals.SubscriptionBleed)
	f.report(m, subscribers, proof, out)
}

func (f *Subscription) report(m *correlate.Moment, subscribers []*correlate.Party, proof []*correlate.Subscription, out *Sink) {
	ev, a := m.Event, m.Party
	b := subscribers[0]
	variant, arrived := "unsubscribed", "the update arrives at "+a.Alias
	if ev.Exchange.N == 0 {
		variant, arrived = "log", "the server sends the update to "+a.Alias
	}
	never := "it never subscribed to it, and all it sent is in view"
	for i := range a.Subs {
		if correlate.Covers(ev.RPC.URI, a.Subs[i].URI) {
			never = "its own subscription was refused, or had ended more than 2 s before"
		}
	}
	parties := candidates([]signals.Party{party(a, signals.Cause), party(b, signals.Victim)}, subscribers[1:])
	out.Report(signals.Finding{
		Signal: signals.SubscriptionBleed, Variant: variant, Strength: signals.Confirmed, Era: "legacy", Parties: parties,
		URIs: []string{ev.RPC.URI}, Method: mcp.ResourceUpdated, First: ev.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("an update of %s, to which %s subscribed, was delivered to %s, which did not", ev.RPC.URI, b.Alias, a.Alias),
		Because: []string{
			fmt.Sprintf("%s subscribed to %s, and the server accepted", b.Alias, proof[0].URI),
			fmt.Sprintf("the update was delivered to %s; %s", a.Alias, never),
			"so the subscription table is keyed by the URI without the session, or the server broadcasts updates",
		},
		Evidence: []signals.Evidence{
			seen(signals.Victim, proof[0].Ref, b, b.Alias+" subscribes"),
			here(signals.Cause, ev, a, arrived),
			seen(signals.Context, a.Birth, a, a.Alias+" begins here"),
		},
	})
}
