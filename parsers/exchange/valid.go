package exchange

import (
	"encoding/binary"
	"math/bits"

	"github.com/isodetect/isodetect/mcp"
)

// Valid reports whether raw is one JSON value (RFC 8259), and whether it is
// nested deeper than mcp.MaxDepth, in which case it is not looked into further. jsonparser only
// scans; what is concluded from a text must first have passed here. It agrees with
// encoding/json.Valid, at several times its speed.
func Valid(raw []byte) (ok, deep bool) {
	var objects [mcp.MaxDepth/64 + 1]uint64 // bit n: level n is an object
	depth := 0
	i := space(raw, 0)
	for {
		// A value begins at i.
		if i >= len(raw) {
			return false, false
		}
		switch c := raw[i]; c {
		case '{', '[':
			if depth == mcp.MaxDepth {
				return false, true
			}
			bit := uint64(1) << (depth & 63)
			objects[depth>>6] &^= bit
			depth++
			i = space(raw, i+1)
			if c == '{' {
				objects[(depth-1)>>6] |= bit
			}
			if i < len(raw) && raw[i] == c+2 { // '}' and ']' stand two behind
				depth--
				i++
				break
			}
			if c == '{' {
				if i = key(raw, i); i < 0 {
					return false, false
				}
			}
			continue
		case '"':
			i = StringEnd(raw, i+1)
		case 't':
			i = literal(raw, i, "true")
		case 'f':
			i = literal(raw, i, "false")
		case 'n':
			i = literal(raw, i, "null")
		default:
			i = numberEnd(raw, i)
		}
		if i < 0 {
			return false, false
		}
		// A value ended before i: close what ends with it.
		for {
			i = space(raw, i)
			if depth == 0 {
				return i == len(raw), false
			}
			if i >= len(raw) {
				return false, false
			}
			object := objects[(depth-1)>>6]>>((depth-1)&63)&1 == 1
			if c := raw[i]; object && c == '}' || !object && c == ']' {
				depth--
				i++
				continue
			}
			if raw[i] != ',' {
				return false, false
			}
			i = space(raw, i+1)
			if object {
				if i = key(raw, i); i < 0 {
					return false, false
				}
			}
			break
		}
	}
}

func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// key reads a key with its colon and returns where its value begins.
func key(raw []byte, i int) int {
	if i >= len(raw) || raw[i] != '"' {
		return -1
	}
	if i = StringEnd(raw, i+1); i < 0 {
		return -1
	}
	i = space(raw, i)
	if i >= len(raw) || raw[i] != ':' {
		return -1
	}
	return space(raw, i+1)
}

// StringEnd returns the index behind the closing quote of a string whose text
// begins at i, -1 if it is no valid string. It looks at eight bytes at a time.
func StringEnd(raw []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for {
		for i+8 <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			quote, slash := w^('"'*ones), w^('\\'*ones)
			// The lowest set bit marks a quote, a backslash or a control character.
			hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-0x20*ones)&^w) & highs
			if hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
			i += 8
		}
		if i >= len(raw) {
			return -1
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1
		case c < 0x20:
			return -1
		case c != '\\':
			i++
			continue
		}
		if i+1 >= len(raw) {
			return -1
		}
		switch raw[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(raw) || !hex4(raw[i+2:i+6]) {
				return -1
			}
			i += 6
		default:
			return -1
		}
	}
}

func hex4(b []byte) bool {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

func literal(raw []byte, i int, word string) int {
	if len(raw)-i < len(word) || string(raw[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// numberEnd returns the index behind a number at i.
func numberEnd(raw []byte, i int) int {
	if i < len(raw) && raw[i] == '-' {
		i++
	}
	switch {
	case i < len(raw) && raw[i] == '0':
		i++
	default:
		if i = digits(raw, i); i < 0 {
			return -1
		}
	}
	if i < len(raw) && raw[i] == '.' {
		if i = digits(raw, i+1); i < 0 {
			return -1
		}
	}
	if i < len(raw) && (raw[i] == 'e' || raw[i] == 'E') {
		i++
		if i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		return digits(raw, i)
	}
	return i
}

// digits returns the index behind one or more digits, -1 if there is none.
func digits(raw []byte, i int) int {
	from := i
	for i < len(raw) && raw[i] >= '0' && raw[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
