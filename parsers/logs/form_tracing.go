package logs

import (
	"bytes"

	"github.com/buger/jsonparser"
)

// The formats of tracing-subscriber, which Rust servers log through (FORMATS A10,
// checked against tracing-subscriber 0.3):
//
//	full     TIME LEVEL span{id="…"}:span: target: message k=v
//	compact  TIME LEVEL span:span: target: message k=v id="…" — the fields of spans come last
//	pretty   TIME LEVEL target: message, k: v — and below it "at FILE:LINE", "in SPAN with k: v"
//
// A span whose name or field speaks of a session names the session of the line.

// prettyBegins takes the first line of the pretty format, which is indented by two blanks.
func prettyBegins(_ *parser, q *pending, line []byte) bool {
	if len(line) < 32 || line[0] != ' ' || line[1] != ' ' || !isDigit(line[2]) {
		return false
	}
	st, ok := parseTime(line[2:], 0)
	if !ok || !st.dated {
		return false
	}
	rest := bytes.TrimLeft(line[2+st.length:], " ")
	k := bytes.IndexByte(rest, ' ')
	if k <= 0 || !level(rest[:k]) {
		return false
	}
	head := len(line) - len(rest) + k + 1
	q.buf = append(q.buf, line[2:head]...)
	q.first = len(q.buf) // where the spans go
	q.buf = prettyFields(q.buf, line[head:])
	return true
}

// prettyMore takes the lines below it; a blank line ends the record.
func prettyMore(q *pending, line []byte) belongs {
	text := bytes.TrimLeft(line, " ")
	switch {
	case len(text) == 0:
		return last
	case len(line)-len(text) < 4:
		return another
	case bytes.HasPrefix(text, []byte("in ")):
		name, fields, with := bytes.Cut(text[3:], []byte(" with "))
		if k := bytes.LastIndex(name, []byte("::")); k >= 0 {
			name = name[k+2:]
		}
		span := append([]byte(nil), name...)
		if with {
			span = append(span, '{')
			span = prettyFields(span, append([]byte(", "), fields...))
			span = append(span, '}')
		}
		span = append(span, ':')
		if q.depth == 0 { // the innermost span comes first, and only the last one ends with a blank
			span = append(span, ' ')
		}
		q.depth++
		tail := append([]byte(nil), q.buf[q.first:]...)
		q.buf = append(append(q.buf[:q.first], span...), tail...)
	}
	return inside
}

// prettyFields writes ", k: v" as " k=v".
func prettyFields(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] == '"' {
			if end := stringEnd(b, i); end > 0 {
				dst = append(dst, b[i:end]...)
				i = end - 1
				continue
			}
		}
		if b[i] == ',' && i+2 < len(b) && b[i+1] == ' ' {
			j := i + 2
			for j < len(b) && keyByte(b[j]) {
				j++
			}
			if j > i+2 && j+1 < len(b) && b[j] == ':' && b[j+1] == ' ' {
				if len(dst) > 0 && dst[len(dst)-1] != '{' {
					dst = append(dst, ' ')
				}
				dst = append(append(dst, b[i+2:j]...), '=')
				i = j + 1
				continue
			}
		}
		dst = append(dst, b[i])
	}
	return dst
}

// tracingProbe reports TIME LEVEL, with the level aligned to the right.
func tracingProbe(b []byte, quote int) bool {
	if len(b) < 30 || !isDigit(b[0]) || b[4] != '-' || b[10] != 'T' {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 40)], ' ')
	if k < 20 || b[k-1] != 'Z' || len(b) < k+8 {
		return false
	}
	w := b[k+1 : k+6]
	switch string(w) {
	case " INFO", "DEBUG", "TRACE", " WARN", "ERROR":
		return b[k+6] == ' '
	}
	return false
}

// readTracing reads a line of the full or compact format.
func readTracing(p *parser, b []byte) verdict {
	r := &p.rec
	k := bytes.IndexByte(b, ' ')
	i := k + 7
	if end, _ := spanEnd(b, i); end < 0 {
		return unclaimed // another logger, as that of Spring Boot
	}
	r.set(slotTime, nil, value{b[:k], formBare})
	for i < len(b) { // spans and the target, each with a colon behind it
		end, fields := spanEnd(b, i)
		if end < 0 {
			break
		}
		p.spanFields(b[i:end], fields)
		if i = end + 1; i < len(b) && b[i] == ' ' {
			i++
		}
	}
	lead, _ := r.readPairs(b, i)
	r.said(lead)
	p.tracingIDs(b[i:])
	p.rmcp(lead, b[i:])
	return filled
}

// rmcp fills what the messages of the Rust SDK say about requests.
func (p *parser) rmcp(lead, tail []byte) {
	r := &p.rec
	word := func(s slot, text string) { r.set(s, nil, value{[]byte(text), formBare}) }
	switch string(lead) {
	case "received request", "received notification":
		_, class, ok := bytes.Cut(tail, []byte(string(lead[len("received "):])+"="))
		if !ok {
			return
		}
		class = bytes.TrimLeft(class, `"`)
		if k := bytes.IndexAny(class, "( {\""); k > 0 {
			class = class[:k]
		}
		if method, _ := methodOfType(class); method != "" {
			word(slotRPCMethod, method)
		}
		word(slotKind, string(lead[len("received "):]))
		word(slotDirection, "c2s")
	case "cancelled": // a cancel of the client arrived
		word(slotRPCMethod, "notifications/cancelled")
		word(slotDirection, "c2s")
		r.set(slotCancelID, nil, r.get(slotID))
		return
	case "response message":
		word(slotKind, "result")
		word(slotDirection, "s2c")
	case "response error":
		word(slotKind, "error")
		word(slotDirection, "s2c")
	default:
		return
	}
	if r.has(slotID) {
		r.set(slotRPCID, nil, r.get(slotID))
	}
}

// spanEnd returns where the span or target at b[i:] ends, at its colon, and the
// fields of the span; -1 if a message stands there.
func spanEnd(b []byte, i int) (end int, fields []byte) {
	j := i
	for j < len(b) && (keyByte(b[j]) || b[j] == ':' && j+1 < len(b) && b[j+1] == ':') {
		if b[j] == ':' {
			j++
		}
		j++
	}
	if j == i || j >= len(b) {
		return -1, nil
	}
	if b[j] == '{' {
		k := bracketEnd(b, j)
		if k < 0 || k >= len(b) || b[k] != ':' {
			return -1, nil
		}
		return k, b[j+1 : k-1]
	}
	if b[j] == ':' {
		return j, nil
	}
	return -1, nil
}

// spanFields files the fields of a span: id where the span is a session's, and
// any key that names a session.
func (p *parser) spanFields(span, fields []byte) {
	if len(fields) == 0 {
		return
	}
	name, _, _ := bytes.Cut(span, []byte("{"))
	for i := 0; i < len(fields); {
		k := i
		for k < len(fields) && keyByte(fields[k]) {
			k++
		}
		if k == i || k >= len(fields) || fields[k] != '=' {
			i = passOver(fields, i) + 1
			continue
		}
		key := fields[i:k]
		end, v := pairValue(fields, k+1)
		i = end + 1
		if string(key) == "id" {
			if mentionsSession(name) {
				p.rec.set(slotMCPSession, key, v)
			}
			continue
		}
		if !p.rec.has(slotSession) && mentionsSession(key) {
			p.rec.pair(key, v)
		}
	}
}

// tracingIDs tells the two meanings of id in the compact format apart: the quoted
// UUID is the session's, the bare number the request's.
func (p *parser) tracingIDs(tail []byte) {
	r := &p.rec
	if r.twice != "" {
		r.twice = ""
	}
	for i := 0; ; {
		k := bytes.Index(tail[i:], []byte("id="))
		if k < 0 {
			break
		}
		k += i
		i = k + 3
		if k > 0 && tail[k-1] != ' ' {
			continue
		}
		_, v := pairValue(tail, k+3)
		if v.form == formString && idShape(v.raw) {
			if !r.has(slotMCPSession) {
				r.set(slotMCPSession, tail[k:k+2], v)
			}
		} else {
			r.at[slotID], r.vals[slotID] = r.gen, v
		}
	}
	if v := r.get(slotID); v.form == formString && idShape(v.raw) {
		r.at[slotID] = r.gen - 1
	}
}

var tracingTemplates = []template{
	{begins: "received request", read: tracingJSON},
	{begins: "received notification", read: tracingJSON},
	{begins: "cancelled", read: tracingJSON},
	{begins: "response message", read: tracingJSON},
	{begins: "response error", read: tracingJSON},
}

// tracingJSON reads the same messages in the JSON format, where the session stands
// in the list of spans.
func tracingJSON(p *parser, rest []byte) verdict {
	line := p.forms.line
	if len(rest) > 0 || len(line) == 0 || line[0] != '{' || p.rec.textual || !has(line, `"target":`) {
		return unclaimed
	}
	_, _ = jsonparser.ArrayEach(line, func(span []byte, _ jsonparser.ValueType, _ int, _ error) {
		name, _, _, err := jsonparser.Get(span, "name")
		if err != nil || !mentionsSession(name) {
			return
		}
		if id, kind, _, err := jsonparser.Get(span, "id"); err == nil && kind == jsonparser.String {
			p.rec.set(slotMCPSession, nil, value{id, formString})
		}
	}, "spans")
	var tail []byte
	if k := bytes.LastIndexByte(p.msg, ' '); k > 0 && p.msg[k+1] == 'r' || k > 0 && p.msg[k+1] == 'n' {
		if class, err := jsonparser.GetString(line, "fields", string(p.msg[k+1:])); err == nil {
			tail = append(append(append(tail, p.msg[k+1:]...), '='), class...)
		}
	}
	p.rec.textual = true // numbers are printed as strings
	p.rmcp(p.msg, tail)
	return filled
}
