package envelope

import "bytes"

// Recorders of MCP messages wrap each message with its time and direction.

// peelInspector reads an entry of the protocol messages that MCP Inspector exports: a
// message, and the answer to it where it came.
func peelInspector(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	message := f.get(keyMessage)
	origin := string(f.name(keyOrigin))
	if !f.has(keyDirection) || origin != "client" && origin != "server" || len(message) == 0 || message[0] != '{' || !bytes.Contains(message, []byte(`"jsonrpc"`)) {
		return other
	}
	there, back := "c2s", "s2c"
	if origin == "server" {
		there, back = back, there
	}
	moment := string(f.name(keyMoment))
	l.many = true
	if moment != "end" {
		l.time = f.name(keyTimestamp)
		l.wireMessage(p, there, message, nil)
	}
	if answer := f.get(keyResponse); moment != "begin" && len(answer) > 2 && answer[0] == '{' {
		if l.time = f.name(keyTimestamp); moment == "end" {
			l.time = f.name(keyMomentTime)
		}
		l.wireMessage(p, back, answer, nil)
	}
	return several
}

// wireMessage hands on a message with its direction.
func (l *layer) wireMessage(p *Peeler, direction string, message, more []byte) {
	out := append(append(append(l.object[:0], `{"direction":"`...), direction...), '"')
	out = append(out, more...)
	out = append(append(append(out, `,"message":`...), message...), '}')
	l.object, l.inner, l.final = out, out, true
	p.into(l, false)
}

// peelSnoop reads a line of mcpsnoop. Its session_id is the run of the proxy: over
// stdio that is one client and its server, over HTTP any number of clients.
func peelSnoop(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	direction, run := f.name(keyDirection), f.name(keySession)
	if run == nil || !f.has(keySeq) || !f.has(keyTransport) {
		return other
	}
	l.time, l.who = scalar(f.get(keyTS)), place{program: f.name(keyServerLabel)}
	seq := scalar(f.get(keySeq))
	lost := p.sequence.lost(run, seq)
	raw := f.get(keyRaw)
	if lost {
		l.why = "mcpsnoop left messages out: their sequence numbers are missing"
		p.into(l, false)
		l.why = ""
	}
	if string(direction) != "c2s" && string(direction) != "s2c" || len(raw) < 2 || raw[0] != '{' && raw[0] != '[' {
		return bare
	}
	var more []byte
	if string(f.name(keyTransport)) == "stdio" { // each run has a server of its own
		l.who.id = run
		more = append(append(append(more, `,"transport":"stdio","isodetect.session.id_kind":"proxy","mcp.session.id":"`...), run...), '"')
	}
	if conn := scalar(f.get(keyConn)); len(conn) > 0 {
		more = append(append(append(more, `,"isodetect.conn":"`...), conn...), '"')
	}
	l.many = lost
	l.wireMessage(p, string(direction), raw, more)
	return several
}

// sequence follows the numbers that a recorder gives its lines.
type sequence struct {
	last map[string]int64 // by run
}

const maxRuns = 1024

// lost reports that numbers are missing before this one.
func (s *sequence) lost(run, seq []byte) bool {
	n := int64(0)
	for _, c := range seq {
		if !isDigit(c) || n > 1<<50 {
			return false
		}
		n = n*10 + int64(c-'0')
	}
	if s.last == nil || len(s.last) >= maxRuns {
		s.last = map[string]int64{}
	}
	last, known := s.last[string(run)]
	s.last[string(run)] = n
	return known && n > last+1
}
