// Package mcp holds the Model Context Protocol as values: JSON-RPC messages,
// typed ids, revisions and eras, capability and method tables. It does no I/O.
package mcp

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// ID is a JSON-RPC id or a progress token as raw JSON text: `7` is a number and
// `"7"` a string, and the two differ (JSON-RPC 2.0 §4; MCP revisions 2024-11-05
// to 2026-07-28, "Requests"). The empty ID means "no id"; `0` and `""` (in quotes) are values.
type ID string

// NullID is the id of an error that answers nothing in particular.
const NullID ID = "null"

// MaxIDLen bounds an id in bytes. Longer ids are cut by NewID, so that a hostile
// id cannot hold memory; two ids that share their first MaxIDLen bytes become equal.
const MaxIDLen = 256

// NewID makes an ID of the raw JSON text of a value: a number, a string with its
// quotes, or null. Strings whose escapes spell plain text are unescaped, so that
// "\u0061" and "a" are one id. Anything else (object, array, boolean) gives "".
func NewID(raw []byte) ID {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		if len(raw) < 2 || raw[len(raw)-1] != '"' {
			return ""
		}
		return StringID(Unescape(raw[1 : len(raw)-1]))
	case c == '-' || (c >= '0' && c <= '9'):
		return ID(cutBytes(normalNumber(raw), MaxIDLen))
	case string(raw) == "null":
		return NullID
	}
	return ""
}

// StringID makes the ID of a JSON string from its unescaped text.
func StringID(text string) ID {
	return ID(`"` + cut(text, MaxIDLen) + `"`)
}

// normalNumber drops a zero fraction, so that 7 and 7.0 are one id (RFC 8259 §6
// leaves it to the implementations, and every JSON library in use makes them equal).
func normalNumber(raw []byte) []byte {
	if i := bytes.IndexByte(raw, '.'); i > 0 {
		frac := bytes.TrimRight(raw[i+1:], "0")
		if len(frac) == 0 {
			return raw[:i]
		}
	}
	return raw
}

// IsString reports whether the id is a JSON string.
func (id ID) IsString() bool { return len(id) > 1 && id[0] == '"' }

// Fold returns the id as the text that a server sees which keys its tables by
// String(id) or %v: `7` and `"7"` fold to 7.
func (id ID) Fold() string {
	if id.IsString() {
		return string(id[1 : len(id)-1])
	}
	return string(id)
}

// Placeholder reports whether an answer with this id answers nothing in
// particular: no id, null, or the text that python-sdk 1.x puts there.
func (id ID) Placeholder() bool {
	return id == "" || id == NullID || id == `"server-error"`
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func cutBytes(b []byte, n int) []byte {
	if len(b) > n {
		return b[:n]
	}
	return b
}

// Cut shortens s to at most n bytes at a rune boundary and copies it, so that a
// short piece of a long text does not keep the whole text in memory.
func Cut(s string, n int) string { return strings.Clone(cut(s, n)) }
