package logs

import "bytes"

// pino-pretty prints a record over several lines, its keys below the message, each
// value as JSON (checked against pino-pretty with pino 10):
//
//	[08:51:30.285] INFO (9593): session created
//	    sessionId: "8148e62b-7533-4afb-b25b-3fb83fca0de9"
//	    capabilities: {
//	      "roots": {}
//	    }
//
// It is read as the message with one object of the keys behind it.

func pinoBegins(_ *parser, q *pending, line []byte) bool {
	if line[0] != '[' {
		return false
	}
	end := bytes.IndexByte(line[:min(len(line), 48)], ']')
	if end < 0 {
		return false
	}
	if st, ok := parseTime(line[1:end], 0); !ok || st.length == 0 {
		return false
	}
	name, rest, ok := bytes.Cut(line[end+1:], []byte(" ("))
	if !ok || len(name) < 4 || !level(name[1:]) {
		return false
	}
	pid, _, ok := bytes.Cut(rest[:min(len(rest), 64)], []byte("): "))
	if !ok || !digits(pid, 0, len(pid)) {
		return false
	}
	q.buf = append(q.buf, line...)
	q.first = len(q.buf)
	return true
}

// pinoMore takes a key with its value, or what goes on in a value.
func pinoMore(q *pending, line []byte) belongs {
	if !bytes.HasPrefix(line, []byte("    ")) {
		return another
	}
	text := line[4:]
	k := 0
	for k < len(text) && keyByte(text[k]) {
		k++
	}
	if k == 0 || k+1 >= len(text) || text[k] != ':' || text[k+1] != ' ' { // inside of an object
		if len(q.buf) == q.first {
			return another
		}
		q.buf = append(q.buf, bytes.TrimLeft(text, " ")...)
		return inside
	}
	begin := `,"`
	if len(q.buf) == q.first {
		begin = ` {"`
	}
	q.buf = append(append(append(append(q.buf, begin...), text[:k]...), `":`...), text[k+2:]...)
	return inside
}

func pinoWhole(q *pending) []byte {
	if len(q.buf) > q.first {
		q.buf = append(q.buf, '}')
	}
	return q.buf
}
