package logs

import (
	"bytes"
	"encoding/binary"
)

// Most lines of a log have one of a few prefixes behind their time, such as
// " - mcp.server - INFO - ". What was found to be one is known again by its bytes.

// fronts remembers prefixes, in sets by how they begin: one logger writes several levels.
type fronts struct{ sets [16]frontSet }

type frontSet struct {
	next  uint8 // which is given up for a new one
	known [4]front
}

// front is a prefix: the bytes between the time of a line and its message.
type front struct {
	n       uint8 // bytes of text in use; 0 = none
	pieces  uint8
	leveled bool
	plain   bool // there is a level in it, and nothing by which a form would claim a line
	text    [120]byte
}

// at returns where a prefix that begins like b is remembered.
func (f *fronts) at(b []byte) *frontSet {
	if len(b) < 16 {
		return nil
	}
	h := (binary.LittleEndian.Uint64(b) ^ binary.LittleEndian.Uint64(b[8:])>>3) * 0x9e3779b97f4a7c15
	return &f.sets[h>>60]
}

// of returns the prefix that b begins with, or nil.
func (f *fronts) of(b []byte) *front {
	if set := f.at(b); set != nil {
		return set.of(b)
	}
	return nil
}

// of returns the prefix that b begins with, or nil.
func (s *frontSet) of(b []byte) *front {
	for i := range s.known {
		if f := &s.known[i]; f.n > 0 && len(b) > int(f.n) && string(b[:f.n]) == string(f.text[:f.n]) {
			return f
		}
	}
	return nil
}

// keep remembers text, of which no piece depends on what stands behind it.
func (s *frontSet) keep(text []byte, pieces int, leveled bool) {
	f := &s.known[s.next]
	if len(text) > len(f.text) {
		return
	}
	s.next = (s.next + 1) % uint8(len(s.known))
	f.n, f.pieces, f.leveled = uint8(copy(f.text[:], text)), uint8(pieces), leveled
	f.plain = leveled && bytes.IndexFunc(text, func(c rune) bool { return c > '~' || !plainBytes[c] }) < 0
}

// settled reports whether a word of a prefix is one, or none, whatever stands behind
// the blank after it: it can not begin a time, and is no name that counts only in
// front of certain words.
func settled(w []byte) bool {
	if bytes.IndexByte(w, ' ') >= 0 || 'A' <= w[0] && w[0] <= 'Z' && len(w) <= 3 { // Jul 19 …
		return false
	}
	return !mentionsSession(w)
}
