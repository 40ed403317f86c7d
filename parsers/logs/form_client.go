package logs

import (
	"bytes"
)

// Logs of clients and recorders (FORMATS D4, D5, from documentation). They name no
// session of the wire: their messages are facts whose session is not known.

// vscodeProbe: 2026-07-24 02:03:14.089 [debug] [editor -> server] {json}.
func vscodeProbe(b []byte, quote int) bool {
	if len(b) < 40 || b[0] != '2' || b[24] != '[' || b[4] != '-' || b[10] != ' ' {
		return false
	}
	head := b[:min(len(b), 80)]
	return bytes.Contains(head, []byte("] [editor -> server] ")) || bytes.Contains(head, []byte("] [server -> editor] "))
}

func readVSCode(p *parser, b []byte) verdict {
	k := bytes.IndexByte(b, '{')
	if k < 0 {
		return silent
	}
	word := []byte("c2s")
	if bytes.Contains(b[:k], []byte("[server -> editor]")) {
		word = []byte("s2c")
	}
	return p.clientBody(b, b[k:], word)
}

// desktopProbe: 2026-07-19T22:20:43.472Z [notes] [info] Message from client: {json} { metadata: undefined }.
func desktopProbe(b []byte, quote int) bool {
	return len(b) > 44 && b[0] == '2' && b[10] == 'T' && b[25] == '[' && bytes.Contains(b[:min(len(b), 160)], []byte("] Message from "))
}

func readDesktop(p *parser, b []byte) verdict {
	_, tail, _ := bytes.Cut(b, []byte("] Message from "))
	word := []byte("c2s")
	switch {
	case bytes.HasPrefix(tail, []byte("client: ")):
	case bytes.HasPrefix(tail, []byte("server: ")):
		word = []byte("s2c")
	default:
		return unclaimed
	}
	tail = tail[len("client: "):]
	if len(tail) > 0 && tail[0] == '{' {
		return p.clientBody(b, tail, word)
	}
	// newer builds leave the bodies out: method="tools/list" id=1 params
	p.clientTime(b)
	p.rec.textual = true
	p.rec.set(slotDirection, nil, value{word, formBare})
	_, pairs := p.rec.readPairs(tail, 0)
	if v := p.rec.get(slotMethod); v.form != formNone {
		p.rec.set(slotRPCMethod, nil, v)
	}
	if v := p.rec.get(slotID); v.form != formNone {
		p.rec.set(slotRPCID, nil, v)
	}
	if bytes.HasSuffix(tail, []byte(" result")) {
		p.rec.set(slotKind, nil, value{[]byte("result"), formBare})
	}
	if pairs == 0 {
		return silent
	}
	return filled
}

func (p *parser) clientTime(b []byte) {
	if st, ok := parseTime(b, p.opt.AssumeUTCOffset); ok {
		p.rec.set(slotTime, nil, value{b[:st.length], formBare})
	}
}

func (p *parser) clientBody(b, raw, direction []byte) verdict {
	end, f := valueEnd(raw, 0)
	if f == formNone {
		return silent
	}
	p.clientTime(b)
	p.rec.set(slotDirection, nil, value{direction, formBare})
	p.rec.addBody(raw[:end], nil)
	return filled
}

// clientFile puts right what the JSON records of recorders call by names that mean
// something else in the log of a server.
func (p *parser) clientFile() {
	r, line := &p.rec, p.forms.line
	if len(line) == 0 || line[0] != '{' {
		return
	}
	head := line[:min(len(line), 512)]
	switch {
	case r.has(slotSession) && bytes.HasPrefix(head, []byte(`{"session_id":"`)) && bytes.Contains(head, []byte(`"server_label":`)):
		r.at[slotSession] = r.gen - 1 // mcpsnoop: its own run, not a session of the server
		r.bare = false
	case r.has(slotOrigin) && r.has(slotDirection) && len(r.bodies) > 0:
		word := []byte("c2s")
		switch string(r.text(r.get(slotOrigin))) {
		case "client":
		case "server":
			word = []byte("s2c")
			r.bodies = r.bodies[:1] // the other one is the client's answer
		default:
			return
		}
		r.at[slotOrigin] = r.gen - 1 // MCP Inspector
		r.at[slotDirection], r.vals[slotDirection] = r.gen, value{word, formBare}
	}
}
