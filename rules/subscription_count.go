package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// counted judges a line that says to how many sessions an update was sent, and to
// which not (go-sdk: subscriber_count). More than the log shows as subscribed may be
// a bleed; it may as well be subscriptions of before the log, or of a stream of the
// modern era, which are not logged. So it is possible, never more.
func (f *Subscription) counted(m *correlate.Moment, out *Sink) {
	ev, d := m.Event, m.Domain
	uri := correlate.NewURI(ev.RPC.URI)
	var subscribed, others []*correlate.Party
	for _, p := range d.Live(ev.Time, maxLive) {
		if c, _ := covers(p, uri, ev.Time); c != notCovered {
			subscribed = append(subscribed, p)
		} else if p.Whole() {
			others = append(others, p)
		}
	}
	if len(subscribed) == 0 || len(subscribed) >= maxLive || ev.N <= len(subscribed) || len(others) < ev.N-len(subscribed) {
		return // nobody seen to subscribe, or nobody in view whom the rest could have reached
	}
	b := subscribed[0]
	_, proof := covers(b, uri, ev.Time)
	parties := candidates([]signals.Party{party(b, signals.Victim)}, others)
	evidence := []signals.Evidence{here(signals.Cause, ev, nil, fmt.Sprintf("the update is sent to %d sessions", ev.N))}
	if proof != nil {
		evidence = append(evidence, seen(signals.Victim, proof.Ref, b, b.Alias+" subscribes"))
	}
	out.Report(signals.Finding{
		Signal: signals.SubscriptionBleed, Variant: "log", Strength: signals.Possible, Era: "legacy", Parties: parties,
		URIs: []string{uri.Text}, Method: mcp.ResourceUpdated, First: ev.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("an update of %s was sent to %d sessions, of which the log shows %d as subscribed", uri.Text, ev.N, len(subscribed)),
		Because: []string{
			fmt.Sprintf("%d of the live sessions subscribed to it", len(subscribed)),
			fmt.Sprintf("the server counts %d receivers", ev.N),
		},
		Assumption: "no subscription was made out of view, before the log begins or in another way than resources/subscribe",
		Evidence:   evidence,
	})
}
