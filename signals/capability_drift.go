package signals

import "github.com/isodetect/isodetect/event"

// CapabilityDrift is a server request that reached a client which never declared the capability for it.
var CapabilityDrift = &Signal{
	Name:   "capability_drift",
	Title:  "server request judged by, or meant for, another client",
	Family: Keying,
	Since:  first,
	Variants: []Variant{
		{Name: "undeclared", What: "The request needs a capability that this session did not declare, while another live session did: the server looked it up in the wrong place."},
		{Name: "misrouted_request", Word: "receiver", Family: Lifetime, What: "The request belongs to another party's call and was delivered to the wrong client. The capability set may be right; the route is not."},
		{Name: "log", What: "The capability set logged at initialize and the one consulted for the same session at dispatch differ."},
	},
	Protocol: []string{"P-CAP-1", "P-CAP-2", "P-CAP-3", "P-CAP-4", "P-STR-2"},
	What: "The server sent sampling/createMessage, elicitation/create or roots/list (or a mode or task form of one) to a session whose accepted initialize did not declare it, " +
		"while another live session did. Either the capabilities are read from an object that a later initialize overwrote, " +
		"or the request was raised by another party's call and came out on the wrong stream. The two need different repairs, so they are two variants.",
	Cause:  "The donor, who declared the capability, or, of misrouted_request, the receiver on whose stream the request came. Neither did anything.",
	Victim: "Who was asked for what it had not declared, or whose call the misrouted request belongs to.",
	Word:   "donor",
	Looks: []Look{
		{InCapture, "A sampling, elicitation or roots request on a stream of a session whose initialize did not list that capability, after another client with it connected. " +
			"Misrouted: the receiver has nothing in flight, another party does; the request quotes that party's call, or that call then starves."},
		{InHAR, "The same messages inside the response bodies. A HAR gives no time per event, so which call was in flight is often possible, not certain; the client's answer (a POST with result or error -32601) dates the request."},
		{InWire, `An "sse" or "body" line with method sampling/createMessage in an exchange of a session whose initialize body did not declare it.`},
		{InLog, "Capabilities named on the initialize line, and a dispatch line of the same session that names a different set, " +
			"or a line that names the session to which a sampling, elicitation or roots request went (undeclared, probable at most). Most logs have neither; --patterns reads them in your own wording."},
		{InNative, "isodetect.capabilities of mcp.session.created against isodetect.capabilities.consulted of mcp.message.sent for the same session."},
	},
	LookAlike: []string{
		"A server that ignores capabilities for everybody: no live session declared it (note capability_violation).",
		"elicitation: {} declares the form mode.",
		"roots/list right after notifications/initialized or roots/list_changed.",
		"ping, vendor methods and experimental features.",
		"A second initialize on the same session with other capabilities (note session_rekeyed).",
	},
	Needs: []string{
		"The victim's initialize in view, with its body: else what it declared is unknown.",
		"A donor: another live session that declared the capability.",
		"For misrouted_request: the in-flight calls of all parties.",
	},
	Log:      "Each session made: the capabilities that its client declared. Each server request (sampling, elicitation, roots): the session that it goes to (probable), and the set of capabilities that was looked at (confirmed).",
	Facts:    event.FactCaps | event.FactAsk,
	Requires: Bodies | Streams,
	Occasion: "no server request for which clients declared different capabilities",
	Remedy: "undeclared: copy the client's capabilities into the session when initialize is accepted and read only that snapshot; one server object connected to several transports overwrites them. " +
		"misrouted_request: send a request that a call raises on that call's own stream, and key pending server requests by session and id.",
	Client:  "Answer a request for a capability you did not declare with error -32601, and never run it.",
	Example: "incident/capture.pcap",
}
