package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/mcp"
)

// readJSON takes a line apart that is one JSON object. It returns false for a
// line that is none, or has more than white space behind it.
func (r *record) readJSON(b []byte) bool {
	end, ok := r.object(b, 0, 0, 0)
	r.settle()
	return ok && len(bytes.TrimSpace(b[end:])) == 0
}

// object reads the members of the object that begins at b[i]; prefix is how much
// of r.path leads to it. It returns where the object ends.
func (r *record) object(b []byte, i, prefix, depth int) (end int, ok bool) {
	start, rpc := i, false
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for first := true; ; first = false {
		if i >= len(b) || b[i] != '"' {
			return i, false
		}
		keyEnd := stringEnd(b, i)
		if keyEnd < 0 {
			return i, false
		}
		key := b[i+1 : keyEnd-1]
		if i = space(b, keyEnd); i >= len(b) || b[i] != ':' {
			return i, false
		}
		i = space(b, i+1)
		at := i
		if i, ok = r.member(b, i, key, prefix, depth); !ok {
			return i, false
		}
		if string(key) == "jsonrpc" && b[at] == '"' {
			rpc = true
		} else if first && depth == 0 && string(key) == "isodetect" && b[at] == '"' {
			r.native, r.version = true, value{b[at+1 : i-1], formString}
		}
		if i = space(b, i); i >= len(b) {
			return i, false
		}
		switch b[i] {
		case ',':
			i = space(b, i+1)
		case '}':
			if rpc {
				r.bare = r.bare || depth == 0
				r.addBody(b[start:i+1], r.path[:prefix])
			}
			return i + 1, true
		default:
			return i, false
		}
	}
}

// member reads one value and files it under what its key names.
func (r *record) member(b []byte, i int, key []byte, prefix, depth int) (end int, ok bool) {
	if i >= len(b) {
		return i, false
	}
	path := appendPath(r.path[:prefix], key)
	s := r.recent.slotOf(path)
	if b[i] == '{' && depth < maxNested && descends(s) {
		n := len(path)
		if s == slotThrough {
			n = prefix
			r.level++
			end, ok = r.object(b, i, n, depth+1)
			r.level--
			return end, ok
		}
		return r.object(b, i, n, depth+1)
	}
	end, f := valueEnd(b, i)
	if f == formNone {
		return i, false
	}
	v := value{b[i:end], f}
	switch {
	case f == formString:
		v.raw = b[i+1 : end-1]
		r.findBody(v, path)
	case (f == formObject || f == formArray) && bytes.Index(v.raw, []byte(`jsonrpc"`)) > 0:
		r.addBody(v.raw, path)
	}
	if s > slotInside {
		r.set(s, key, v)
	}
	return end, true
}

// maxNested is how deep nested objects are searched for keys.
const maxNested = 5

// descends reports whether the members of an object under this key are looked
// at. An object that is itself the value (an id of Go, a set of capabilities) is kept whole.
func descends(s slot) bool {
	switch s {
	case slotNone, slotRequestID, slotRPCID, slotID, slotCaps, slotCapsConsulted, slotCancelID, slotToken, slotRPCMethod, slotMethod, slotVendor, slotSuccess:
		return false
	}
	return true
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns where the string that begins at b[i] ends, behind its quote, or -1.
func stringEnd(b []byte, i int) int {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k
		slashes := 0
		for b[j-1-slashes] == '\\' && j-1-slashes > i {
			slashes++
		}
		j++
		if slashes%2 == 0 {
			return j
		}
	}
}

// valueEnd returns where the value that begins at b[i] ends and what it is;
// formNone for broken text. Inside nested values only brackets and strings are
// checked: what is read of them later is checked then.
func valueEnd(b []byte, i int) (int, form) {
	switch c := b[i]; {
	case c == '"':
		if end := stringEnd(b, i); end > 0 {
			return end, formString
		}
	case c == '{':
		return nestedEnd(b, i, formObject)
	case c == '[':
		return nestedEnd(b, i, formArray)
	case c == '-' || '0' <= c && c <= '9':
		j := i + 1
		for j < len(b) && (b[j] >= '0' && b[j] <= '9' || b[j] == '.' || b[j] == 'e' || b[j] == 'E' || b[j] == '+' || b[j] == '-') {
			j++
		}
		return j, formNumber
	default:
		for _, lit := range [...]string{"true", "false", "null"} {
			if len(b)-i >= len(lit) && string(b[i:i+len(lit)]) == lit {
				return i + len(lit), formLiteral
			}
		}
	}
	return i, formNone
}

// nestedEnd finds the bracket that closes b[i].
func nestedEnd(b []byte, i int, f form) (int, form) {
	var open [mcp.MaxDepth]byte
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return 0, formNone
			}
			continue
		case '{', '[':
			if depth == len(open) {
				return i, formNone
			}
			open[depth] = b[i] + 2 // the closing bracket in ASCII
			depth++
		case '}', ']':
			if depth--; depth < 0 || open[depth] != b[i] {
				return i, formNone
			}
			if depth == 0 {
				return i + 1, f
			}
		}
		i++
	}
	return i, formNone
}
