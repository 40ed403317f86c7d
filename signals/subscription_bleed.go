package signals

import "github.com/isodetect/isodetect/event"

// SubscriptionBleed is a resource update that reached a party which did not subscribe.
var SubscriptionBleed = &Signal{
	Name:   "subscription_bleed",
	Title:  "resource update delivered to a party that did not subscribe",
	Family: Lifetime,
	Since:  first,
	Variants: []Variant{
		{Name: "unsubscribed", What: "The update arrived at a session that never subscribed to the resource, while another live session did."},
		{Name: "listen", What: "A subscriptions/listen stream (2026-07-28 on) carries a subscription id that is not its own, or a kind or URI outside the filter it acknowledged."},
		{Name: "log", What: "Notify lines with target session and URI, of which the target never subscribed and another session did."},
	},
	Protocol: []string{"P-SUB-1", "P-SUB-2", "P-STR-1"},
	What: "notifications/resources/updated for a URI reached a session that holds no accepted subscription covering it, and another live session holds one. " +
		"The subscription table has the URI as its key instead of session and URI, or updates are broadcast. What leaks is which resources others watch and when they change.",
	Cause:  "The receiver, on whose stream the update came; it only received.",
	Victim: "Who had subscribed to the resource; the other subscribers are candidates.",
	Word:   "receiver",
	Looks: []Look{
		{InCapture, "notifications/resources/updated on a stream of a session without an accepted resources/subscribe for that URI or one above it."},
		{InHAR, "The same inside response bodies. It needs only that the subscribe never happened, not an exact order."},
		{InWire, `An "sse" line with notifications/resources/updated in an exchange of a session that sent no resources/subscribe for that URI.`},
		{InLog, "Subscribe lines with session and URI and notify lines with target session and URI. Notify lines without a target show nothing, " +
			"or, where they count more receivers than the log shows as subscribed (go-sdk: subscriber_count), what is possible."},
		{InNative, "mcp.subscription.delivered or mcp.message.sent with mcp.resource.uri to a session without mcp.subscription.added for it."},
	},
	LookAlike: []string{
		"An update of something below a subscribed URI: sub-resources are covered.",
		"The same URI spelled differently: case of scheme and host, trailing slash, percent-encoding.",
		"An update while an unsubscribe is being answered, or up to 2 s after.",
		"An update that overtakes the answer to the subscribe.",
		"Both sessions subscribed: two separate messages.",
		"list_changed, which may go to everybody.",
		"Nobody subscribed: the server broadcasts (note broadcast_update).",
		"Replay after a reconnect.",
	},
	Needs: []string{
		"The receiver's session born in view and complete: a lost subscribe makes a clean server look like a bleed.",
		"Another live session that subscribed.",
		"The answers to the subscribes; a refused one subscribes nothing.",
	},
	Log:      "Each subscribe and unsubscribe: session and URI. Each update: its URI, and the session that it is written to.",
	Facts:    event.FactSubscribe | event.FactUpdate,
	Requires: Bodies | Streams,
	Occasion: "no resource update while several sessions were live",
	Remedy: "Key subscriptions by (session, URI), drop them with the session, and notify only the sessions found under the URI. " +
		"On subscriptions/listen tag each message with that stream's own id and keep to its acknowledged filter.",
	Client:  "Ignore updates for a URI you did not subscribe to.",
	Example: "incident/updates.wire.jsonl",
}
