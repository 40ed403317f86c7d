package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
)

// agentProbe: TIME⇥LEVEL⇥request K=V … (FORMATS §3, agentgateway).
func agentProbe(b []byte, quote int) bool {
	if !isDigit(b[0]) {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 48)], '\t')
	return k > 18 && bytes.Contains(b[k:min(len(b), k+24)], []byte("\trequest "))
}

// readAgent reads the request log of agentgateway. Keys come in a fixed order and
// values have no quotes; error and reason, which may hold blanks, come last.
func readAgent(p *parser, b []byte) verdict {
	k := bytes.IndexByte(b, '\t')
	p.rec.set(slotTime, nil, value{b[:k], formBare})
	p.rec.textual = true
	p.forms.moment = event.MomentEnd
	b = b[k+bytes.Index(b[k:], []byte("\trequest "))+len("\trequest "):]
	for _, free := range [...]string{" error=", " reason="} {
		if end := bytes.Index(b, []byte(free)); end >= 0 {
			p.rec.set(slotError, nil, value{b[end+len(free):], formBare})
			b = b[:end]
		}
	}
	p.rec.readPairs(b, 0)
	return filled
}

// goMiddlewareProbe: … [REQUEST] Session: ID | Method: tools/call.
func goMiddlewareProbe(b []byte, quote int) bool {
	if b[0] != '[' && !isDigit(b[0]) {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 40)], '[')
	return k >= 0 && k+4 < len(b) && b[k+1] == 'R' && (bytes.HasPrefix(b[k:], []byte("[REQUEST] Session: ")) || bytes.HasPrefix(b[k:], []byte("[RESPONSE] Session: ")))
}

func readGoMiddleware(p *parser, b []byte) verdict {
	r := &p.rec
	if st, ok := parseTime(b, p.opt.AssumeUTCOffset); ok {
		r.set(slotTime, nil, value{b[:st.length], formBare})
	}
	k := bytes.IndexByte(b, '[')
	r.textual = true
	if k+4 < len(b) && b[k+3] == 'Q' { // it is a middleware for what clients send
		r.set(slotDirection, nil, value{[]byte("c2s"), formBare})
	}
	for _, part := range bytes.Split(b[k+bytes.IndexByte(b[k:], ']')+1:], []byte(" | ")) {
		key, v, _ := bytes.Cut(part, []byte(":"))
		v = bytes.TrimSpace(v)
		switch string(bytes.TrimSpace(key)) {
		case "Session":
			r.set(slotMCPSession, nil, value{v, formBare})
		case "Method":
			r.set(slotRPCMethod, nil, value{v, formBare})
		case "Status":
			word := []byte("error")
			if string(v) == "OK" {
				word = []byte("ok")
			}
			r.set(slotOutcome, nil, value{word, formBare})
		}
	}
	return filled
}
