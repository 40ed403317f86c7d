package signals

import "github.com/isodetect/isodetect/event"

// SharedSession is the hazard that one session serves two conversations.
var SharedSession = &Signal{
	Name:   "shared_session",
	Title:  "one session id used by two conversations (hazard)",
	Family: ExchangeKey,
	Since:  first,
	Variants: []Variant{
		{Name: "equal_ids", What: "An id is in flight twice in one session with different bodies."},
		{Name: "two_senders", What: "Two principals, trace ids, clientInfos or User-Agents use the session at the same time."},
	},
	Protocol: []string{"P-ID-1", "P-SES-7"},
	What: "One session id is in use by two conversations at once. Nothing has crossed yet. " +
		"Everything the server keeps for a session (running requests, tokens, subscriptions, cancel scope) is shared between them, and the first equal id decides who gets whose answer. " +
		"A hazard is printed with --show hazard and fails nothing.",
	Cause:  "The conversation that used the session first.",
	Victim: "The conversation that used it at the same time.",
	Looks: []Look{
		{InCapture, "The same Mcp-Session-Id with two overlapping requests of one id and different bodies, or with two credentials, trace ids, clientInfos or User-Agents side by side."},
		{InHAR, "The same between entries that overlap."},
		{InWire, `Two "req" lines of one session and one id with different bodies before the first is answered.`},
		{InLog, "Overlapping request lines with one session and one request id."},
		{InNative, "mcp.request.started with isodetect.collision true."},
	},
	LookAlike: []string{
		"Several addresses or connections of one client: a client holds many.",
		"A refreshed bearer token of the same subject.",
		"A retry with the same body.",
		"Requests that a fallback bound to the session, or that adopted its id after one.",
		"Deliberate sharing with separate id ranges: say so with --shared-sessions-by-design.",
	},
	Needs: []string{
		"Requests that carry the session id themselves.",
		"Request bodies, to tell a retry from a second conversation.",
	},
	Log:      "Each request: session, id, and who sent it: a hash of the credential, the User-Agent, the name of the client.",
	Facts:    event.FactRequest,
	Requires: Bodies,
	Alone:    true,
	Hazard:   true,
	Occasion: "no id was in flight twice in one session",
	Remedy:   "Refuse a request whose id is already in flight (400), and route answers by exchange, so that sharing cannot cross answers.",
	Client:   "Give each conversation its own session, or number requests across all conversations of a session.",
	Example:  "incident/pooled.har",
}
