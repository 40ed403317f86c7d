package signals

import "github.com/isodetect/isodetect/event"

// CancellationCrosstalk is one party's cancel that ended another party's request.
var CancellationCrosstalk = &Signal{
	Name:   "cancellation_crosstalk",
	Title:  "cancel of one party ended another party's request",
	Family: Lifetime,
	Since:  first,
	Variants: []Variant{
		{Name: "cancelled", What: "The victim's request answers that it was cancelled, though its party neither cancelled nor left."},
		{Name: "ended", What: "The victim's request ends right after the cancel, unlike its usual answers or much sooner than usual."},
		{Name: "silenced", What: "The victim's stream is closed, or stays silent, after the cancel; no answer comes."},
		{Name: "log", What: "A log names canceller and cancelled session on one line, or a session's request says cancelled right after another session's cancel."},
	},
	Protocol: []string{"P-CAN-1", "P-CAN-3", "P-CAN-4"},
	What: "A client cancelled its own request N, and another party's request with the same id ended at once. " +
		"Clients choose request ids and count from 0 or 1, so equal ids are the rule, and a registry of running requests whose key is the id alone cancels whoever is found under it. " +
		"The same happens behind a key of session and id when a stateless server gives every client the same empty session.",
	Cause:  "Who cancelled. It cancelled a request of its own; the fault is the server's, which looked it up by the id alone.",
	Victim: "Whose request ended.",
	Looks: []Look{
		{InCapture, "notifications/cancelled for N from A; within half a second B's open request N is answered cancelled, ends unlike its kind, or loses its stream, while A's own N may run on."},
		{InHAR, "The same in two entries. Order comes from intervals only, so a finding is at most probable; an entry with status 0 is a client that left."},
		{InWire, `A "req" whose body is notifications/cancelled, then an early "body", "sse" or "close" by the server in another party's exchange with that id.`},
		{InLog, "A line with both sessions proves it. A cancel line of one session followed by a cancelled line of another, with the same id and no cancel of its own, makes it probable."},
		{InNative, "mcp.request.cancelled whose isodetect.cancel.by.session.id differs from mcp.session.id."},
	},
	LookAlike: []string{
		"A cancel for an id that is finished or unknown, without any effect: legal, to be ignored.",
		"The victim cancelled, disconnected or deleted its session itself, perhaps milliseconds before.",
		"Two parties that cancel their own equal ids at nearly the same time.",
		"An ordinary result that happens to arrive right after the cancel.",
		"A time-out or deadline of the victim's own call.",
		"The server's own cancel of a request that the server sent.",
		"A shutdown, which ends everything together.",
		"Two conversations of one session.",
	},
	Needs: []string{
		"Two parties with the same id in flight in the same direction.",
		"The end of the victim's request in view, with its answer.",
		"Who sent the cancel: an unknown sender may be the sufferer itself.",
		"Enough ordinary answers of the same tool to call an end unlike (3) or much sooner (5).",
	},
	Log:      "Each cancelled request: its session and id, and the session that sent the cancel.",
	Facts:    event.FactRequest | event.FactCancel,
	Requires: Bodies,
	Occasion: "no cancel while another party had the same id in flight",
	Remedy: "Derive the scope of a cancel from the session that sent it: look N up under (session, N), and under the principal or the exchange where there are no sessions. " +
		"Never key running requests by the bare id. A fix of session resolution alone does not help.",
	Client:  "",
	Example: "incident/capture.pcap",
}
