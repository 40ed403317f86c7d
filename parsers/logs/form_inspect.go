package logs

import (
	"bytes"
	"unicode/utf8"
)

// Node prints objects with util.inspect (FORMATS A5): over several lines where
// they are wider than 72 columns, with bare keys, strings in three kinds of quotes,
// and [Object] for what is nested too deep. Read as JSON, what was left out is left
// out: it is unknown, not empty.

// inspectBegins takes a line that ends with the bracket of an object.
func inspectBegins(_ *parser, q *pending, line []byte) bool {
	end := len(line) - 1
	if end < 0 || line[end] != '{' && line[end] != '[' || end > 0 && line[end-1] != ' ' && line[end-1] != '\t' && line[end-1] != '=' && line[end-1] != ':' {
		return false
	}
	if line[end] == '[' && end == 0 {
		return false // an array of records, each of which is read alone
	}
	line = bytes.TrimLeft(line, " \t")
	q.buf = append(q.buf, line...)
	q.first, q.open, q.depth = len(q.buf), len(q.buf)-1, 1
	return true
}

// inspectMore takes the lines of the object: indented ones and the closing bracket.
func inspectMore(q *pending, line []byte) belongs {
	if len(line) == 0 || bytes.IndexByte([]byte(" \t}])"), line[0]) < 0 {
		return another
	}
	q.buf = append(append(q.buf, '\n'), line...)
	q.depth += brackets(line)
	if q.depth <= 0 {
		return last
	}
	return inside
}

// brackets counts how many more brackets are opened than closed outside of strings.
func brackets(line []byte) (n int) {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '{' || c == '[' || c == '(':
			n++
		case c == '}' || c == ']' || c == ')':
			n--
		}
	}
	return n
}

// inspectWhole is the text in front of the object and the object as JSON; the
// first line alone where the object is broken.
func inspectWhole(q *pending) []byte {
	n := len(q.buf)
	j := inspect{in: q.buf[q.open:n], out: q.buf}
	j.out = append(j.out, q.buf[:q.open]...)
	if !j.value(0) {
		return q.buf[:q.first]
	}
	q.buf = j.out
	return q.buf[n:]
}

// inspect turns what util.inspect prints, and indented JSON, into JSON on one line.
type inspect struct {
	in, out []byte
	i       int
	cut     int // values that were not printed
}

const maxInspect = 64

func (j *inspect) space() {
	for j.i < len(j.in) && (j.in[j.i] == ' ' || j.in[j.i] == '\n' || j.in[j.i] == '\t' || j.in[j.i] == '\r') {
		j.i++
	}
}

// value writes the value at j.i. It writes nothing for one that was not printed.
func (j *inspect) value(depth int) bool {
	j.space()
	if j.i >= len(j.in) || depth > maxInspect {
		return false
	}
	switch c := j.in[j.i]; c {
	case '{':
		return j.members('{', '}', depth)
	case '[':
		if j.placeholder() {
			return true
		}
		return j.members('[', ']', depth)
	case '\'', '"', '`':
		return j.text(c)
	}
	return j.word(depth)
}

// placeholder passes over [Object], [Array], [Circular *1], [Function: name], [Getter].
func (j *inspect) placeholder() bool {
	rest := j.in[j.i:]
	if len(rest) < 3 || rest[1] < 'A' || rest[1] > 'Z' {
		return false
	}
	end := bytes.IndexByte(rest[:min(len(rest), 256)], ']')
	if end < 0 || bytes.IndexByte(rest[:end], '\n') >= 0 || bytes.IndexByte(rest[:end], ',') >= 0 {
		return false
	}
	j.i += end + 1
	j.cut++
	return true
}

// members writes an object or an array, without the members that were not printed.
// Capabilities of which not all were printed are left out as a whole: read as a
// set, they would say that the others were not declared.
func (j *inspect) members(open, closing byte, depth int) bool {
	j.i++
	j.out = append(j.out, open)
	for n := 0; ; {
		j.space()
		if j.i >= len(j.in) {
			return false
		}
		switch c := j.in[j.i]; {
		case c == closing:
			j.i++
			j.out = append(j.out, closing)
			return true
		case c == ',':
			j.i++
			continue
		case bytes.HasPrefix(j.in[j.i:], []byte("... ")): // ... 3 more items
			for j.i < len(j.in) && j.in[j.i] != '\n' && j.in[j.i] != ',' && j.in[j.i] != closing {
				j.i++
			}
			continue
		}
		at := len(j.out)
		if n > 0 {
			j.out = append(j.out, ',')
		}
		keep := true
		if open == '{' {
			var ok bool
			if keep, ok = j.key(); !ok {
				return false
			}
		}
		before, cut := len(j.out), j.cut
		if !j.value(depth + 1) {
			return false
		}
		if j.cut > cut && bytes.HasSuffix(j.out[at:before], []byte(`"capabilities":`)) {
			keep = false
		}
		if len(j.out) == before || !keep {
			j.out = j.out[:at]
			continue
		}
		n++
	}
}

// key writes a key with its colon. keep is false for keys that are no strings.
func (j *inspect) key() (keep, ok bool) {
	keep = true
	switch c := j.in[j.i]; {
	case c == '\'' || c == '"':
		if !j.text(c) {
			return false, false
		}
	case c == '[': // [Symbol(x)]: , [length]:
		end := bytes.IndexByte(j.in[j.i:], ']')
		if end < 0 {
			return false, false
		}
		j.i += end + 1
		j.out, keep = append(j.out, `""`...), false
	default:
		start := j.i
		for j.i < len(j.in) && (keyByte(j.in[j.i]) || j.in[j.i] == '$' || j.in[j.i] >= utf8.RuneSelf) {
			j.i++
		}
		if j.i == start {
			return false, false
		}
		j.out = append(append(append(j.out, '"'), j.in[start:j.i]...), '"')
	}
	j.space()
	if j.i >= len(j.in) || j.in[j.i] != ':' {
		return false, false
	}
	j.i++
	j.out = append(j.out, ':')
	return keep, true
}

// text writes a string, and those that are added to it on further lines.
func (j *inspect) text(quote byte) bool {
	j.out = append(j.out, '"')
	for {
		if !j.quoted(quote) {
			return false
		}
		at := j.i
		j.space()
		if j.i < len(j.in) && j.in[j.i] == '+' {
			j.i++
			j.space()
			if j.i < len(j.in) && (j.in[j.i] == '\'' || j.in[j.i] == '"' || j.in[j.i] == '`') {
				quote = j.in[j.i]
				continue
			}
		}
		j.i = at
		j.out = append(j.out, '"')
		return true
	}
}

// quoted copies what stands between two quotes, with the escapes of JSON.
func (j *inspect) quoted(quote byte) bool {
	for j.i++; j.i < len(j.in); j.i++ {
		switch c := j.in[j.i]; {
		case c == quote:
			j.i++
			return true
		case c == '\\' && j.i+1 < len(j.in):
			j.i++
			switch e := j.in[j.i]; e {
			case 'n', 'r', 't', 'b', 'f', '\\', '"', '/', 'u':
				j.out = append(j.out, '\\', e)
			case 'x':
				j.out = append(j.out, `\u00`...)
			default:
				j.out = append(j.out, e)
			}
		case c == '"':
			j.out = append(j.out, '\\', '"')
		case c < ' ':
			j.out = append(j.out, ' ')
		default:
			j.out = append(j.out, c)
		}
	}
	return false
}

// word writes a number or literal. A class name stands in front of its object;
// dates, functions and symbols are left out.
func (j *inspect) word(depth int) bool {
	if bytes.HasPrefix(j.in[j.i:], []byte("<ref *")) {
		k := bytes.IndexByte(j.in[j.i:], '>')
		if k < 0 {
			return false
		}
		j.i += k + 1
		return j.value(depth + 1)
	}
	start := j.i
	for j.i < len(j.in) && bytes.IndexByte([]byte(" \n\t,}]{["), j.in[j.i]) < 0 {
		j.i++
	}
	w := j.in[start:j.i]
	if len(w) == 0 {
		return false
	}
	switch string(w) {
	case "true", "false", "null":
		j.out = append(j.out, w...)
		return true
	case "True":
		j.out = append(j.out, "true"...)
		return true
	case "False":
		j.out = append(j.out, "false"...)
		return true
	case "undefined", "None":
		j.out = append(j.out, "null"...)
		return true
	}
	if _, f := valueEnd(w, 0); f == formNumber && (isDigit(w[len(w)-1]) || w[len(w)-1] == 'n') && (isDigit(w[0]) || len(w) > 1 && isDigit(w[1])) {
		if end, _ := valueEnd(w, 0); end == len(w) || w[end] == 'n' {
			j.out = append(j.out, w[:end]...)
		}
		return true
	}
	at := j.i
	j.space()
	if j.i < len(j.in) && (j.in[j.i] == '{' || j.in[j.i] == '[') {
		if w[0] >= 'A' && w[0] <= 'Z' { // Name { … }
			return j.value(depth + 1)
		}
	}
	j.i = at
	return true
}
