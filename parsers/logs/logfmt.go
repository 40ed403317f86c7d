package logs

import (
	"bytes"
)

// readPairs takes the key=value pairs of a line apart, from b[i:] on, and
// returns the running text in front of the first pair and how many pairs there
// are. It reads the dialects of slog, logrus, structlog and Go programs that
// print lists and maps; free text between pairs is passed over.
func (r *record) readPairs(b []byte, i int) (lead []byte, pairs int) {
	r.textual = true
	start, lead := i, nil
	for i < len(b) {
		if b[i] == ' ' || b[i] == '\t' {
			i++
			continue
		}
		word := i
		for i < len(b) && keyByte(b[i]) {
			i++
		}
		if i == word || i >= len(b) || b[i] != '=' {
			i = passOver(b, i)
			r.loose = r.loose || pairs > 0
			continue
		}
		if pairs == 0 {
			lead = b[start:word]
		}
		pairs++
		end, v := pairValue(b, i+1)
		r.pair(b[word:i], v)
		i = end
	}
	if pairs == 0 {
		lead = b[start:]
	}
	return bytes.TrimSpace(lead), pairs
}

// pairTaker is shown the pairs of running text as they stand.
type pairTaker interface{ pair(key []byte, v value) }

// pair files one pair under what its key names.
func (r *record) pair(key []byte, v value) {
	if r.watch != nil && !r.loose {
		r.watch.pair(key, v)
	}
	s, quiet := r.again.of(r, key)
	if v.form == formString && !quiet && len(v.raw) >= 20 && bytes.Contains(v.raw, []byte(`jsonrpc`)) {
		r.findBody(v, appendPath(r.path[:0], key))
	}
	if s <= slotInside || r.loose && (s == slotMessage || s == slotEvent) {
		return
	}
	r.set(s, key, v)
}

// passOver skips a word of running text. A quoted text is skipped whole: what
// looks like a pair inside it is somebody's text.
func passOver(b []byte, i int) int {
	if i < len(b) && b[i] == '"' {
		if end := quoteEnd(b, i); end > 0 {
			return end
		}
	}
	for i < len(b) && b[i] != ' ' && b[i] != '\t' {
		i++
	}
	return i
}

func keyByte(c byte) bool { return keyBytes[c] }

// keyBytes are the bytes of a key. It is read only.
var keyBytes = func() (is [256]bool) {
	for c := range is {
		b := byte(c)
		is[c] = 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '.' || b == '-' || b == '@' || b == '/'
	}
	return is
}()

// pairValue reads the value at b[i:]: quoted, a list or map in brackets, or up to the next blank.
func pairValue(b []byte, i int) (end int, v value) {
	if i >= len(b) {
		return i, value{nil, formBare}
	}
	switch c := b[i]; c {
	case '"':
		if end := quoteEnd(b, i); end > 0 {
			return end, value{b[i+1 : end-1], formString}
		}
	case '\'':
		if k := bytes.IndexByte(b[i+1:], '\''); k >= 0 {
			return i + k + 2, value{b[i+1 : i+1+k], formBare}
		}
	case '[', '{':
		if end := bracketEnd(b, i); end > 0 {
			return end, value{b[i:end], formBare}
		}
	}
	end = i
	for end < len(b) {
		switch c := b[end]; {
		case c > '[' || c > ' ' && c < '[':
		case c == ' ' || c == '\t':
			return end, value{b[i:end], formBare}
		case c == '[' && end-i <= 8: // map[a:b c:d]
			if k := bracketEnd(b, end); k > 0 {
				end = k
				continue
			}
		}
		end++
	}
	return end, value{b[i:end], formBare}
}

// quoteEnd is stringEnd with a look at what follows: a quote in the middle of a
// bare word ends nothing.
func quoteEnd(b []byte, i int) int {
	end := stringEnd(b, i)
	if end > 0 && end < len(b) && keyByte(b[end]) {
		return -1
	}
	return end
}

// bracketEnd finds the bracket that closes b[i], without a look at quotes, or -1.
func bracketEnd(b []byte, i int) int {
	open, closing := b[i], b[i]+2
	depth := 0
	for ; i < len(b); i++ {
		switch b[i] {
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
