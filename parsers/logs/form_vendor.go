package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
)

// JSON records of gateways whose keys mean something of their own (FORMATS §3, from
// documentation). Each has a key that no other writer has, which fills slotVendor.
// What such a record calls a session is mostly none of the wire.

// vendor reads those keys. It is called before anything else of the record is read.
func (p *parser) vendor() {
	r := &p.rec
	v := r.get(slotVendor)
	switch path := appendPath(r.path[:0], r.keys[slotVendor]); string(path) {
	case "component", "logger":
		if bytes.HasPrefix(r.text(v), []byte("LiteLLM")) {
			r.unset(slotSession) // a session of LiteLLM, which is a conversation or a user's
		}
	case "timegenerated": // a row of Azure Monitor; API Management documents its SessionId as the conversation's
		r.unset(slotSession)
		r.set(slotTime, r.keys[slotVendor], v)
	case "serverresponsedurationms": // mcp_portal_logs of Cloudflare
		p.outcomeOf(r.get(slotSuccess))
	case "apitype": // Tyk
		if string(r.text(v)) == "mcp" {
			p.mcp = true
		}
	}
}

// outcomeOf reads whether a gateway calls a request successful: that it failed, or
// that it is over. A gateway may call an answer a success that holds an error.
func (p *parser) outcomeOf(success value) {
	word := ""
	switch {
	case success.true():
		word = "ended"
	case success.false():
		word = "error"
	default:
		return
	}
	p.rec.set(slotOutcome, nil, value{[]byte(word), formBare})
}

// gateway reports a record whose session is that of a gateway with its clients.
func (p *parser) gateway() bool {
	return p.rec.has(slotVendor) && string(appendPath(p.rec.path[:0], p.rec.keys[slotVendor])) == "serverresponsedurationms"
}

// redacted reports what loggers put in the place of a header that they hide. Read
// as an id, it would make one session of all.
func redacted(t []byte) bool {
	t = bytes.Trim(t, "[]<>(){}*")
	if len(t) == 0 {
		return true // ***
	}
	if len(t) > 16 {
		return false
	}
	switch string(bytes.ToLower(t)) {
	case "redacted", "masked", "hidden", "filtered", "removed", "secret", "sensitive", "xxx", "xxxx", "xxxxx", "xxxxxx", "xxxxxxxx":
		return true
	}
	return false
}

// liteLLMProbe: 22:20:43 - LiteLLM Proxy:INFO: file.py:123 - text [session_id=…].
func liteLLMProbe(b []byte, _ int) bool {
	return isDigit(b[0]) && bytes.Contains(b[:min(len(b), 40)], []byte(" - LiteLLM"))
}

// markKind marks the sessions of a record as those of a gateway or of telemetry.
func markKind(events []event.Event, kind event.IDKind) {
	for i := range events {
		for _, s := range [...]*event.Session{&events[i].Asked, &events[i].Answered} {
			if s.State == event.Present {
				s.Kind = kind
			}
		}
	}
}
