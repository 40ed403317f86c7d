package mcp

import (
	"encoding/binary"
	"math/bits"

	"github.com/buger/jsonparser"
)

// Members goes over the members of a JSON object in the order of the text, and over
// each key as often as it stands. The text must be valid (RFC 8259): jsonparser, which
// has to expect any, checks more than is needed. In other text it ends early or gives parts that are no
// JSON, but never reads beyond raw.
//
//	for m := MembersOf(raw); m.Next(); {
//
// Key and Value are valid as long as raw is.
type Members struct {
	Key   []byte               // without escapes
	Value []byte               // as it stands; a string without its quotes
	Kind  jsonparser.ValueType // of Value

	raw []byte
	at  int
}

// MembersOf returns the members of the object that raw begins with; none if it begins with something else.
func MembersOf(raw []byte) Members {
	at := spaceEnd(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return Members{}
	}
	return Members{raw: raw, at: at + 1}
}

// Next moves on to the next member and reports whether there is one.
func (m *Members) Next() bool {
	raw, i := m.raw, spaceEnd(m.raw, m.at)
	if i < len(raw) && raw[i] == ',' {
		i = spaceEnd(raw, i+1)
	}
	if i >= len(raw) || raw[i] != '"' {
		m.at = len(raw)
		return false
	}
	end, escaped := TextEnd(raw, i+1)
	m.Key = raw[i+1 : end]
	if escaped {
		m.Key = plainKey(m.Key)
	}
	i = spaceEnd(raw, end+1)
	if i >= len(raw) || raw[i] != ':' {
		m.at = len(raw)
		return false
	}
	i = spaceEnd(raw, i+1)
	if i >= len(raw) {
		m.at = len(raw)
		return false
	}
	switch raw[i] {
	case '"':
		end, _ = TextEnd(raw, i+1)
		m.Kind, m.Value, m.at = jsonparser.String, raw[i+1:end], end+1
		return true
	case '{':
		m.Kind, m.at = jsonparser.Object, containerEnd(raw, i)
	case '[':
		m.Kind, m.at = jsonparser.Array, containerEnd(raw, i)
	case 't', 'f':
		m.Kind, m.at = jsonparser.Boolean, scalarEnd(raw, i)
	case 'n':
		m.Kind, m.at = jsonparser.Null, scalarEnd(raw, i)
	default:
		m.Kind, m.at = jsonparser.Number, scalarEnd(raw, i)
	}
	m.Value = raw[i:m.at]
	return true
}

func plainKey(key []byte) []byte {
	if text, err := jsonparser.Unescape(key, nil); err == nil {
		return text
	}
	return key
}

func spaceEnd(raw []byte, i int) int {
	for i < len(raw) && raw[i] <= ' ' && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return min(i, len(raw))
}

// TextEnd returns where the closing quote of a string stands whose text begins at i, len(raw)
// if it is missing, and whether the text has escapes. It looks at eight bytes at a time.
func TextEnd(raw []byte, i int) (end int, escaped bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for {
		for i+8 <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			quote, slash := w^('"'*ones), w^('\\'*ones)
			if hit := ((quote-ones)&^quote | (slash-ones)&^slash) & highs; hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3 // the lowest set bit marks a quote or a backslash
				break
			}
			i += 8
		}
		switch {
		case i >= len(raw):
			return len(raw), escaped
		case raw[i] == '"':
			return i, escaped
		case raw[i] == '\\':
			escaped = true
			i += 2
		default:
			i++
		}
	}
}

// containerEnd returns the index behind the object or array that begins at i.
func containerEnd(raw []byte, i int) int {
	for depth := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i, _ = TextEnd(raw, i+1)
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(raw)
}

// scalarEnd returns the index behind the number or word that begins at i.
func scalarEnd(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}
