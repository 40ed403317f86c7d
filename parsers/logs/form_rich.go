package logs

import (
	"bytes"
	"unicode/utf8"
)

// The console handler of rich, which fastmcp and FastMCP log through by default,
// lays a record out as a table (FORMATS A2, checked against rich 13):
//
//	[07/19/26 22:20:43] INFO     Created new transport  streamable_http_manager.py:301
//	                             with session ID:
//	                             5d0c1f7e9a3b4c6d8e2f10
//	                             213243a5b6
//
// The time is blank where it equals that of the row before. A word that is wider
// than the column is folded in its middle, so that a session id takes two rows.

const richLevel = 8 // columns of the level

// richBegins takes the first row of a record: time or blanks, a level, text, and
// the file that logged it at the right.
func richBegins(p *parser, q *pending, line []byte) bool {
	at := 0 // of the level
	switch {
	case line[0] == '[' && len(line) > 20:
		st, ok := parseTime(line[1:], 0)
		if !ok || 1+st.length+1 >= len(line) || line[1+st.length] != ']' || line[2+st.length] != ' ' {
			return false
		}
		at = st.length + 3
	case len(p.forms.richTime) > 0 && len(line) > len(p.forms.richTime):
		at = len(p.forms.richTime)
		if len(bytes.TrimLeft(line[:at], " ")) > 0 {
			return false
		}
	default:
		return false
	}
	if len(line) < at+richLevel+1 || line[at] == ' ' {
		return false
	}
	name := bytes.TrimRight(line[at:at+richLevel], " ")
	if line[at+richLevel] != ' ' || bytes.IndexByte(name, ' ') >= 0 || !level(name) {
		return false
	}
	if line[0] == '[' {
		p.forms.richTime = append(p.forms.richTime[:0], line[:at]...)
	}
	q.buf = append(append(append(q.buf, p.forms.richTime...), name...), ' ')
	q.column = at + richLevel + 1
	q.take(line)
	return true
}

// take adds the first row, without the file at its right.
func (q *pending) take(line []byte) {
	text := line[q.column:]
	row := bytes.TrimRight(text, " ")
	if k := bytes.LastIndexByte(row, ' '); k > 0 && sourceFile(row[k+1:]) {
		q.width = utf8.RuneCount(row[:k])
		row = bytes.TrimRight(row[:k], " ")
	}
	q.row = utf8.RuneCount(row)
	q.buf = append(q.buf, row...)
}

// sourceFile reports module.py:123.
func sourceFile(w []byte) bool {
	k := bytes.LastIndexByte(w, ':')
	return k > 1 && k+1 < len(w) && digits(w, k+1, len(w)-k-1) && bytes.IndexByte(w[:k], '.') > 0
}

// richMore takes a further row of text.
func richMore(q *pending, line []byte) belongs {
	if len(line) <= q.column || len(bytes.TrimLeft(line[:q.column], " ")) > 0 {
		return another
	}
	row := bytes.TrimRight(line[q.column:], " ")
	if q.over || len(row) == 0 {
		return inside
	}
	if row[0] >= utf8.RuneSelf { // the frame of a traceback
		q.over = true
		return inside
	}
	if row[0] == ' ' && q.width > 0 && q.row < q.width { // an indented row of a text that has several lines
		row = bytes.TrimLeft(row, " ")
	}
	if !q.folded(row) {
		q.buf = append(q.buf, ' ')
	}
	q.row = utf8.RuneCount(row)
	q.buf = append(q.buf, row...)
	return inside
}

// folded reports whether the last word goes on in this row: it fills the column
// and either is alone there or makes an id with what follows.
func (q *pending) folded(row []byte) bool {
	if q.width == 0 || q.row != q.width {
		return false
	}
	from := bytes.LastIndexByte(q.buf, ' ') + 1
	head, tail := q.buf[from:], row
	if k := bytes.IndexByte(row, ' '); k >= 0 {
		tail = row[:k]
	}
	if idShape(head) {
		return false
	}
	var both [64]byte
	if len(head)+len(tail) <= len(both) && idShape(append(append(both[:0], head...), tail...)) {
		return true
	}
	return len(head) >= q.width || len(tail) >= q.width && wordOfID(head) && wordOfID(tail)
}

// idShape reports a text that is a session id by its form (FORMATS 1.2): 32 hex
// digits, a UUID, or 26 letters and digits of base32.
func idShape(b []byte) bool {
	b = bytes.TrimRight(b, ".,:;")
	if k := bytes.IndexByte(b, ':'); k > 0 && k+1 < len(b) {
		b = b[k+1:]
	}
	switch len(b) {
	case 26:
		for _, c := range b {
			if !(c >= 'A' && c <= 'Z' || c >= '2' && c <= '7') {
				return false
			}
		}
		return true
	case 32, 36:
		hex := 0
		for i, c := range b {
			switch {
			case isDigit(c), 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
				hex++
			case c == '-' && len(b) == 36 && (i == 8 || i == 13 || i == 18 || i == 23):
			default:
				return false
			}
		}
		return hex == 32
	}
	return false
}

// wordOfID reports a piece of a session id.
func wordOfID(b []byte) bool {
	for _, c := range b {
		if !idByte(c) {
			return false
		}
	}
	return len(b) > 0
}
