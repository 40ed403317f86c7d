package signals

import "github.com/isodetect/isodetect/event"

// FallbackResolution is a request without a session of its own that the server served from somebody else's.
var FallbackResolution = &Signal{
	Name:   "fallback_resolution",
	Title:  "request without a session bound to another session",
	Family: Keying,
	Since:  first,
	Variants: []Variant{
		{Name: "named", What: "The request carried no session id, or one that is not valid, and the answer names a session that another initialize created."},
		{Name: "wrong_session", What: "The request carried the id of one live session and the answer names another one."},
		{Name: "effect", What: "An effect of the request (its progress, its answer, a request or log message that quotes it) appeared on another party's stream."},
		{Name: "silent", What: "The request got a result although every session here has an id and the request named none; the answer does not say which session served it."},
		{Name: "log", What: "The server's own log says that it resolved the session by fallback, or shows an empty id resolved to another session."},
	},
	Protocol: []string{"P-SES-1", "P-SES-4", "P-SES-5", "P-SES-6"},
	What: "A request came without a session id, or with one that has ended or was never issued. The server should have refused it. " +
		"Instead it picked some other live session (the latest, the first, the only one, the last used) and ran the request there. " +
		"Whoever sent it now reads and changes another client's state, and at info level every line of it looks normal.",
	Cause:  "Who sent the request that named no session of its own. The fault is the server's, which bound it.",
	Victim: "Whose session the request was bound to; a candidate is one of several live sessions of which the wire does not show which it was.",
	Looks: []Look{
		{InCapture, "A POST without Mcp-Session-Id gets a JSON-RPC result, and the response header names a session that another initialize created. " +
			"Or the header stays silent and an effect of the call (its progress, a request or log message that quotes it) appears on another party's stream. " +
			"On HTTP+SSE: a POST without a valid session parameter is accepted and its answer arrives on somebody's stream."},
		{InHAR, "The same, entry by entry: no mcp-session-id in request.headers, one in response.headers that another entry's initialize got. " +
			"A HAR has no client address, so who sent the request rests on cookies, User-Agent, credentials and connection."},
		{InWire, `A "req" whose "h" has no mcp-session-id, and a "head" of the same exchange whose "h" names another client's session.`},
		{InLog, "A line such as session_resolved source=fallback; or a request line whose own session key is empty and whose resolved or answered session was created by another initialize. " +
			"Many servers write this line at debug level only: an info log without it proves nothing."},
		{InNative, `mcp.session.resolved with "isodetect.session.source":"fallback"; mcp.session.id is the session that was used.`},
	},
	LookAlike: []string{
		"A stateless server: it never issues an id, so every call is served without one.",
		"A refusal: any 4xx, and HTTP 200 that carries a JSON-RPC error (go-sdk answers so).",
		"initialize, ping and server/discover, which need no session; a notification that is answered 202.",
		"Revision 2026-07-28 on, which has no sessions.",
		"The answer names a new id: the server created a session on the spot (note implicit_session).",
		"The client lost its header and was given back its own session (note fallback_own).",
		"An unknown id that is accepted and touches nobody else, as after a restart (note unknown_session_accepted).",
	},
	Needs: []string{
		"Two live sessions at once. With one client only, a fallback can reach nobody else.",
		"Headers in full. With a short snap length an absent header cannot be told from a cut one.",
		"Sessions created in view: the initialize exchanges or log lines that name created ids.",
		"In a log: the resolved session next to the asked one. A log that names neither cannot show it.",
	},
	Log:      "Each request: the session id that came (also when none came: an empty value, no missing key), the one that was used or that the answer names, and the status. Better: how the session was found (source). And a line for each session made, so that one knows whose it is.",
	Facts:    event.FactResolution,
	Requires: Headers,
	Occasion: "no request without a session of its own was served or refused",
	Remedy: "Refuse a request without a valid, server-issued session id with 400, and one whose session has ended with 404; the client then sends a new initialize. " +
		"Remove every default such as latest, first or only session, also behind the check that just one session exists. Locks do not help: the key is wrong, not the timing. " +
		"Log the source of each resolution at info level.",
	Client:  "Send Mcp-Session-Id on every request after initialize. Do not adopt an id from a response other than that of your own initialize. On 400 or 404 start a new session.",
	Example: "incident/",
}
