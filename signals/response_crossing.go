package signals

import "github.com/isodetect/isodetect/event"

// ResponseCrossing is an answer that came back on another request's exchange.
var ResponseCrossing = &Signal{
	Name:   "response_crossing",
	Title:  "answer delivered to another request",
	Family: ExchangeKey,
	Since:  first,
	Variants: []Variant{
		{Name: "shared_session", What: "Two conversations use one session and the same id at the same time; one got the other's answer."},
		{Name: "shared_transport", What: "The same between two sessions, or between clients without sessions, that share one transport or server object."},
		{Name: "stale_request", What: "A request was given up; its late answer went to a later request that reuses the id."},
	},
	Protocol: []string{"P-ID-1", "P-ID-2", "P-RSP-1"},
	What: "An exchange received the answer of another exchange: right id, right form, wrong content. " +
		"The typical trace is a pair: one caller gets an answer that does not fit, and the other, with the same id, is never answered. " +
		"The table of waiting exchanges has the bare request id as its key; inside one session, session and id is not enough either. " +
		"For the receiver the wrong answer looks genuine.",
	Cause:  "Whose answer it was, and who may have gone without.",
	Victim: "Who got the answer of another.",
	Looks: []Look{
		{InCapture, "Two POSTs under one id overlap; one response holds values of the other's arguments, or a result of the other's kind, and the other exchange stays without an answer until its client gives up."},
		{InHAR, "Two entries that overlap, same id; one body quotes the other's request, the other has status 0, an empty body, or an error. " +
			"HARs that were paired by id after the fact (mcpsnoop, mcp-reticle) cannot show it (note paired_by_id)."},
		{InWire, `Two "req" lines with one id before either is answered; the "body" or "sse" of one holds the other's content.`},
		{InLog, "Request lines with session, id, start and end show ids in flight twice: the hazard. The crossing itself needs the content of answers, " +
			"or a relay that says where it sends them: supergateway behind HTTP+SSE sends every answer to all open sessions."},
		{InNative, "mcp.request.started and finished with isodetect.collision show the hazard; the crossing needs the content."},
	},
	LookAlike: []string{
		"400 or 409 for a duplicate id in flight: the defence at work (note refused_duplicate).",
		"An id used again after its answer, however often.",
		"A retry: same body, same id.",
		"The members of a batch answered in another order.",
		"An answer on a resumed stream.",
		"Equal ids in two sessions, each answered rightly: the steady state.",
		"Several requests with one id on one HTTP+SSE stream: pairing cannot be decided.",
	},
	Needs: []string{
		"Request and response bodies: two free-text answers that quote nothing cannot be told apart, and stay a hazard.",
		"The fate of the request that went without: still open at the end of the window says little.",
		"No hole on either connection: after one, which exchange an answer belongs to is unknown.",
		"It needs no second initialize: one pooled session is enough.",
	},
	Log:      "Each answer: its id, the exchange (HTTP request) that it is written on, and the exchange that asked. Logs seldom hold that; a capture always does.",
	Facts:    event.FactRequest | event.FactAnswer,
	Requires: Bodies | Pairing,
	Alone:    true,
	Occasion: "no id was in flight twice in one session",
	Remedy: "Route an answer by the exchange (the stream or connection) that its request came on, or refuse a request whose id is already in flight. " +
		"A key of session and id does not cure it inside one session. Give every session its own server and transport object, and forget a request when its exchange ends.",
	Client:  "Use one session for one conversation, or number requests across all conversations of a session. An id may not be reused within a session.",
	Example: "incident/pooled.har",
}
