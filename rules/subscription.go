package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Subscription detects subscription_bleed: an update reached a session that
// never subscribed to the resource while another one did.
type Subscription struct {
	Waiting []Update // updates that overtook the answer to a subscribe
}

// Update is one notifications/resources/updated at the session it reached.
type Update struct {
	At   *correlate.Party
	URI  correlate.URI
	Ref  correlate.Ref
	Log  bool
	Best signals.Strength // that it may be reported with
	If   string           // what that assumes
	Many bool             // other sessions were live then
}

const maxUpdates = 1024

func newSubscription(Options) Detector { return &Subscription{} }

// Observe looks at resource updates on the wire and at notify lines of a log.
func (f *Subscription) Observe(m *correlate.Moment, out *Sink) {
	ev, p := m.Event, m.Party
	for _, r := range m.Ended {
		if r.Method == mcp.Subscribe {
			f.answered(r, m.Domain, out)
		}
	}
	if ev.Kind == event.Routed && ev.N > 0 && p == nil && ev.RPC.URI != "" {
		f.counted(m, out)
	}
	if !p.IsSession() || ev.RPC.URI == "" {
		return
	}
	wire := ev.Kind == event.Message && ev.Dir == event.ToClient && ev.RPC.Method == mcp.ResourceUpdated && ev.Exchange.N != 0
	if wire && (!legacy(m.Exchange) || m.Exchange.Resumed || m.Exchange.Loss&event.LossRequest != 0) {
		return
	}
	if log := ev.Exchange.N == 0 && !m.Again && delivers(ev, mcp.ResourceUpdated); wire || log {
		u := Update{At: p, URI: correlate.NewURI(ev.RPC.URI), Log: log, Many: len(m.Domain.Live(ev.Time, 2)) > 1}
		u.Best, u.If = broadcast(ev, signals.Confirmed)
		u.Ref = refOf(ev)
		if log && m.Domain.Views {
			f.hold(u, m.Domain, out)
			return
		}
		f.judge(u, m.Domain, false, out)
	}
}

// hold keeps an update of a log where another log may still tell of a subscription
// before it, and judges those that waited long enough, many at once.
func (f *Subscription) hold(u Update, d *correlate.Domain, out *Sink) {
	n := 0
	for n < len(f.Waiting) && f.Waiting[n].Log && u.Ref.Time.From-f.Waiting[n].Ref.Time.To > minute {
		n++
	}
	switch {
	case len(f.Waiting) == maxUpdates:
		n = max(n, maxUpdates/4)
	case n < maxUpdates/4:
		n = 0
	}
	over := slices.Clone(f.Waiting[:n])
	f.Waiting = append(slices.Delete(f.Waiting, 0, n), u)
	for _, o := range over {
		f.judge(o, d, true, out)
	}
}

// answered judges anew the updates that waited for the answer to a subscribe.
func (f *Subscription) answered(r *correlate.Request, d *correlate.Domain, out *Sink) {
	if len(f.Waiting) == 0 {
		return
	}
	waiting, subscribed := f.Waiting, correlate.NewURI(r.URI)
	f.Waiting = nil
	for _, u := range waiting {
		if subscribed.Covers(u.URI) && !(u.Log && d.Views) {
			f.judge(u, d, false, out)
		} else {
			f.Waiting = append(f.Waiting, u)
		}
	}
}

// End judges what waited for an answer that did not come into view.
func (f *Subscription) End(d *correlate.Domain, out *Sink) {
	for _, u := range f.Waiting {
		f.judge(u, d, true, out)
	}
	f.Waiting = nil
}

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
func covers(p *correlate.Party, uri correlate.URI, t event.Time) (covered, *correlate.Subscription) {
	best, which := notCovered, (*correlate.Subscription)(nil)
	for i := range p.Subs {
		s := &p.Subs[i]
		if s.Refused || !s.URI.Covers(uri) || correlate.Before(s.Ref.Time, t) == correlate.No {
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

// judge judges one update at the party it reached. Without final it waits for
// the answers to subscribes that decide about it.
func (f *Subscription) judge(u Update, d *correlate.Domain, final bool, out *Sink) {
	own, _ := covers(u.At, u.URI, u.Ref.Time)
	if own == yes {
		if u.Many {
			out.Judged(signals.SubscriptionBleed)
		}
		return
	}
	var subscribers []*correlate.Party
	var proof []*correlate.Subscription
	doubt := own == pending
	for b := range d.Subscribing(u.URI) {
		if b == u.At || b.LiveAt(u.Ref.Time) == correlate.No {
			continue
		}
		if len(subscribers) > maxCandidates {
			break // more than a finding names
		}
		switch c, s := covers(b, u.URI, u.Ref.Time); c {
		case yes:
			subscribers, proof = append(subscribers, b), append(proof, s)
		case pending:
			doubt = doubt || len(subscribers) == 0
		}
	}
	switch why := u.At.WhyNotWhole(); {
	case doubt && !final && len(f.Waiting) < maxUpdates:
		f.Waiting = append(f.Waiting, u)
	case doubt && (own == pending || len(subscribers) == 0):
		out.Unassessable(signals.SubscriptionBleed, "the answer to a subscribe is not in view")
	case why != "" && len(subscribers) > 0:
		out.Unassessable(signals.SubscriptionBleed, fmt.Sprintf("an update reached %s, which is not seen to subscribe, but %s", u.At.Alias, why))
	case why != "":
	case len(subscribers) == 0:
		out.Note(signals.NoteBroadcastUpdate, u.Ref.At)
	default:
		out.Judged(signals.SubscriptionBleed)
		f.report(u, subscribers, proof, out)
	}
}

func (f *Subscription) report(u Update, subscribers []*correlate.Party, proof []*correlate.Subscription, out *Sink) {
	a, b := u.At, subscribers[0]
	variant, arrived := "unsubscribed", "the update arrives at "+a.Alias
	never := "it never subscribed to it, and all it sent is in view"
	if u.Log {
		variant, arrived = "log", "the server sends the update to "+a.Alias
		never = "the log holds its creation and no subscription of it"
	}
	for i := range a.Subs {
		if a.Subs[i].URI.Covers(u.URI) {
			never = "its own subscription was refused, or had ended more than 2 s before"
		}
	}
	parties := candidates([]signals.Party{party(a, signals.Cause), party(b, signals.Victim)}, subscribers[1:])
	out.Report(signals.Finding{
		Signal: signals.SubscriptionBleed, Variant: variant, Strength: u.Best, Assumption: u.If, Era: "legacy", Parties: parties,
		URIs: []string{u.URI.Text}, Method: mcp.ResourceUpdated, First: u.Ref.Time.From, Last: u.Ref.Time.To,
		Summary: fmt.Sprintf("an update of %s, to which %s subscribed, was delivered to %s, which did not", u.URI.Text, b.Alias, a.Alias),
		Because: []string{
			fmt.Sprintf("%s subscribed to %s, and the server accepted", b.Alias, proof[0].URI.Text),
			fmt.Sprintf("the update was delivered to %s; %s", a.Alias, never),
			"so the subscription table is keyed by the URI without the session, or the server broadcasts updates",
		},
		Evidence: []signals.Evidence{
			seen(signals.Victim, proof[0].Ref, b, b.Alias+" subscribes"),
			seen(signals.Cause, u.Ref, a, arrived),
			seen(signals.Context, *a.Birth, a, a.Alias+" begins here"),
		},
	})
}
