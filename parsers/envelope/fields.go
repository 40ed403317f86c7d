package envelope

import (
	"bytes"

	"github.com/buger/jsonparser"
)

// fields is a JSON object taken apart at its outermost level. Values are as they
// stand: strings with their quotes.
type fields struct {
	at      [keys]uint32
	gen     uint32
	value   [keys][]byte
	members int
	known   int // members that are an envelope's, and no logger's
}

// read takes an object apart and reports whether it is one, to its end. The last
// of members of the same name counts.
func (f *fields) read(b []byte) bool {
	f.gen++
	if f.gen == 0 {
		*f = fields{gen: 1}
	}
	f.members, f.known = 0, 0
	own := false
	end, ok := members(b, 0, func(k, v []byte) bool {
		if f.members++; f.known == 0 && loggers(k) {
			own = true
			return false
		}
		if id := keyOf(k); id != keyNone {
			if id != keyTime && id != keyTimestamp && id != keyMessage && id < keyMoment {
				f.known++
			}
			f.at[id], f.value[id] = f.gen, v
		}
		return true
	})
	return ok && !own && len(bytes.TrimSpace(b[end:])) == 0
}

// loggers reports a member that the loggers of programs write and no envelope has
// in front of its own: most lines are known by their first or second member.
func loggers(k []byte) bool {
	switch string(k) {
	case "level", "msg", "levelname", "lvl", "isodetect", "jsonrpc":
		return true
	}
	return false
}

func (f *fields) has(k key) bool { return f.at[k] == f.gen }

// get is the value of a member as it stands, nil if it is not there.
func (f *fields) get(k key) []byte {
	if f.at[k] == f.gen {
		return f.value[k]
	}
	return nil
}

// text is the inside of a string member, escapes left in; ok is false for others.
func (f *fields) text(k key) (s []byte, ok bool) { return quoted(f.get(k)) }

// name is a string member for use as a name: nil if it is none.
func (f *fields) name(k key) []byte {
	s, _ := f.text(k)
	return s
}

// quoted is the inside of a JSON string.
func quoted(v []byte) ([]byte, bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, false
	}
	return v[1 : len(v)-1], true
}

// scalar is a string without its quotes, or a number; nil for anything else.
func scalar(v []byte) []byte {
	if s, ok := quoted(v); ok {
		return s
	}
	if len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') {
		return v
	}
	return nil
}

// members calls f for each member of the object that begins at b[i], until f
// returns false. end is where it stopped; ok is false if the object is broken.
func members(b []byte, i int, f func(k, v []byte) bool) (end int, ok bool) {
	if i >= len(b) || b[i] != '{' {
		return i, false
	}
	if i = space(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return i, false
		}
		j := stringEnd(b, i)
		if j < 0 {
			return i, false
		}
		k := b[i+1 : j-1]
		if i = space(b, j); i >= len(b) || b[i] != ':' {
			return i, false
		}
		i = space(b, i+1)
		if j = valueEnd(b, i); j < 0 {
			return i, false
		}
		if !f(k, b[i:j]) {
			return j, true
		}
		if i = space(b, j); i >= len(b) {
			return i, false
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// elements calls f for each element of an array and reports whether it was one.
func elements(b []byte, f func(v []byte)) bool {
	if len(b) == 0 || b[0] != '[' {
		return false
	}
	i := space(b, 1)
	for i < len(b) && b[i] != ']' {
		j := valueEnd(b, i)
		if j < 0 {
			return false
		}
		f(b[i:j])
		if i = space(b, j); i < len(b) && b[i] == ',' {
			i = space(b, i+1)
		}
	}
	return i < len(b)
}

// member is the value that stands under a path of keys, nil if there is none.
func member(b []byte, path ...string) (found []byte) {
	for _, name := range path {
		found = nil
		_, _ = members(b, 0, func(k, v []byte) bool {
			if string(k) == name {
				found = v
			}
			return true
		})
		b = found
	}
	return found
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is where the string ends that begins at b[i], behind its quote, or -1.
func stringEnd(b []byte, i int) int {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k
		n := j - 1
		for n > i && b[n] == '\\' {
			n--
		}
		j++
		if (j-n)%2 == 0 { // an even number of backslashes stands in front
			return j
		}
	}
}

// valueEnd is where the value ends that begins at b[i], or -1. Inside nested values
// only brackets and strings are looked at: who reads them checks the rest.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		for depth := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				if i = stringEnd(b, i) - 1; i < 0 {
					return -1
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return -1
	}
	j := i
	for j < len(b) && (b[j] == '-' || b[j] == '+' || b[j] == '.' || '0' <= b[j] && b[j] <= '9' || 'a' <= b[j] && b[j] <= 'z' || b[j] == 'E') {
		j++
	}
	if j == i {
		return -1
	}
	return j
}

// unescape undoes the escapes of a JSON string in the room of dst, which it grows.
func unescape(dst *[]byte, raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	if cap(*dst) < len(raw) {
		*dst = make([]byte, 0, 2*len(raw))
	}
	out, err := jsonparser.Unescape(raw, (*dst)[:cap(*dst)])
	if err != nil {
		return raw
	}
	return out
}
