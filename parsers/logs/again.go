package logs

import "encoding/binary"

// Logs repeat themselves: the same keys, the same messages and nearly the same
// time on line after line. What depends on such bytes alone is remembered here. All of
// it is bounded, and a line is read the same with and without it.

// keyMemo remembers what the keys of pairs name.
type keyMemo struct{ known [256]knownKey }

type knownKey struct {
	n     uint8 // bytes of key in use; 0 = none
	slot  slot
	quiet bool // JSON-RPC under this key was talked about, not exchanged
	key   [40]byte
}

// of returns what a key names.
func (m *keyMemo) of(r *record, key []byte) (s slot, quiet bool) {
	if len(key) == 0 || len(key) > len(m.known[0].key) {
		return slotOfKey(r, key)
	}
	k := &m.known[spread(key)%uint64(len(m.known))]
	if string(k.key[:k.n]) != string(key) {
		k.slot, k.quiet = slotOfKey(r, key)
		k.n = uint8(copy(k.key[:], key))
	}
	return k.slot, k.quiet
}

func slotOfKey(r *record, key []byte) (s slot, quiet bool) {
	path := appendPath(r.path[:0], key)
	return keySlots[string(path)], noRPCInside[string(path)]
}

// spread makes a number of a text that is not empty; different ones mostly have different numbers.
func spread(b []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h, n := uint64(len(b)), len(b)
	switch {
	case n >= 8:
		h = (h ^ binary.LittleEndian.Uint64(b)) * odd
		h ^= binary.LittleEndian.Uint64(b[n/2-4:]) >> 7
		h = (h ^ binary.LittleEndian.Uint64(b[n-8:])) * odd
	case n >= 4:
		h = (h ^ uint64(binary.LittleEndian.Uint32(b)) ^ uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32) * odd
	default:
		h = (h ^ uint64(b[0])<<8 ^ uint64(b[n/2])<<16 ^ uint64(b[n-1])<<24) * odd
	}
	return h >> 40
}

// phraseMemo remembers what short messages say.
type phraseMemo struct{ known [128]knownPhrase }

type knownPhrase struct {
	n      uint8 // bytes of text in use; 0 = none
	text   [72]byte
	phrase phrase
}

// of is readPhrase.
func (m *phraseMemo) of(text []byte) phrase {
	if len(text) < 8 || len(text) > len(m.known[0].text) {
		return readPhrase(text)
	}
	k := &m.known[spread(text)%uint64(len(m.known))]
	if string(k.text[:k.n]) != string(text) {
		k.phrase = readPhrase(text)
		k.n = uint8(copy(k.text[:], text))
	}
	return k.phrase
}

// timeMemo remembers the minute of the time that was read last.
type timeMemo struct {
	head   [len("2026-07-19T22:20:")]byte // "" = none
	set    bool
	minute int64 // seconds since 1970 at its begin, as if it were UTC
}

// parse is parseTime.
func (c *timeMemo) parse(b []byte, offset int) (st stamp, ok bool) {
	const sec = len(c.head)
	if len(b) < sec+2 || b[4] != '-' && b[4] != '/' {
		return parseTime(b, offset)
	}
	if !c.set || string(c.head[:]) != string(b[:sec]) {
		st, ok = parseTime(b, offset)
		if c.set = ok && digits(b, 0, 4); c.set {
			copy(c.head[:], b)
			c.minute = daysFrom1970(number(b, 0, 4), number(b, 5, 2), number(b, 8, 2))*86400 + int64(number(b, 11, 2)*3600+number(b, 14, 2)*60)
		}
		return st, ok
	}
	if !digits(b, sec, 2) || number(b, sec, 2) > 60 {
		return st, false
	}
	frac, i := fraction(b, sec+2)
	east, zoned, i := zone(b, i)
	if !zoned {
		east = offset
	}
	return stamp{ns: (c.minute+int64(number(b, sec, 2)-east))*1e9 + frac, dated: true, zoned: zoned, length: i}, true
}
