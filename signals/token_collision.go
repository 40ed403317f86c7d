package signals

import "github.com/isodetect/isodetect/event"

// TokenCollision is progress that reached a party which did not ask for it.
var TokenCollision = &Signal{
	Name:   "token_collision",
	Title:  "progress delivered to another party",
	Family: Lifetime,
	Since:  first,
	Variants: []Variant{
		{Name: "misdelivered", What: "Progress arrived at a party that never gave this token, or is done with it, while exactly one other party's request with it is open or was answered a moment before."},
		{Name: "interleaved", What: "Both parties gave the token; one stream carries two progress series mixed into each other while the other party's is missing or broken off."},
		{Name: "duplicated", What: "Both parties gave the token; one receives values twice or beyond its total, and the other, which had received some, receives none."},
		{Name: "log", What: "A log line names the session the progress was sent to, and it is none of those whose requests carry the token; or the router says that two sessions' progress went to one stream."},
		{Name: "equal_tokens", Word: "cause", What: "Hazard only: two parties have the same token in flight. Delivery was right, or cannot be seen."},
	},
	Protocol: []string{"P-PRG-1", "P-PRG-2", "P-PRG-3", "P-STR-1"},
	What: "Progress for one party's request was written to another party's stream. " +
		"Equal tokens in two sessions are normal, because the requester chooses them and SDKs use the request id, a small number. " +
		"The fault is a routing table whose key is the token alone: the last registration wins and takes the other party's progress.",
	Cause:  "The receiver, on whose stream the progress came; it only received. Of equal_tokens: the other party with the token.",
	Victim: "Whose progress it was, and who may have gone without.",
	Word:   "receiver",
	Looks: []Look{
		{InCapture, "notifications/progress on a stream of a session that has no request with that token, while another session's request with it is open and goes without."},
		{InHAR, "The same inside response bodies; overlap of the two entries takes the place of exact times, since events of one body have an order but no time."},
		{InWire, `An "sse" line with notifications/progress in an exchange of a session that never gave that progressToken.`},
		{InLog, "A progress line that names its target session, with request lines that name session and token; where both sessions gave the token, " +
			"lines that also say how far it was (interleaved, probable). Lines without the target show nothing; --patterns reads them in your own wording."},
		{InNative, "mcp.message.sent with isodetect.progress.token, where mcp.session.id differs from isodetect.origin.session.id or from the session that gave the token."},
	},
	LookAlike: []string{
		"Progress on another stream of the same session: its GET stream or a sibling POST.",
		"The same token in two sessions, each served on its own streams: the steady state.",
		"Progress within 2 s after the answer: a race inside one session.",
		"A token that nobody gave: the server invented it (note invented_token).",
		"Replay after a reconnect.",
		"One fall of the value in an otherwise steady series: a tool with phases.",
		"Two conversations of one session.",
	},
	Needs: []string{
		"The receiver's session born in view and complete: else it may have given the token before the window, or in a lost packet.",
		"Two parties whose requests overlap.",
		"Response bodies, including event streams. Browsers and proxies often do not store them.",
	},
	Log:      "Each request: session, id, progress token. Each progress notification: its token, the session whose stream it is written to, and, where both sessions gave the token, how far it is and of how much.",
	Facts:    event.FactToken | event.FactProgress,
	Requires: Bodies | Streams,
	Occasion: "no progress, or never a token in flight in two parties",
	Remedy: "Key the progress registry by (session, token), and without sessions by the exchange, and send progress on a stream of the request that gave the token. " +
		"A fix of session resolution alone does not help. Entries that are already crossed clear by restart or eviction.",
	Client:  "Tokens that are unique everywhere (a UUID per request) make the fault harmless and any wrong delivery provable. The protocol does not demand it.",
	Example: "incident/capture.pcap",
}
