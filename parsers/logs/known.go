package logs

import "bytes"

// What a line shows by itself is mostly shown by its text behind the time, which comes
// again or is of a logger that was read before.

// textMemo remembers what lines show with a time in front of a text that was read before.
type textMemo struct{ known [256]knownText }

type knownText struct {
	n    uint8   // bytes of text in use; 0 = none
	time [3]byte // of what form and length the time was
	seen glance
	text [120]byte
}

// at returns where a text behind a time is remembered, nil if it is too long for that.
func (m *textMemo) at(text []byte) *knownText {
	if len(text) == 0 || len(text) > len(m.known[0].text) {
		return nil
	}
	return &m.known[spread(text)%uint64(len(m.known))]
}

func (k *knownText) is(text []byte, time [3]byte) bool {
	return string(k.text[:k.n]) == string(text) && k.time == time
}

func (k *knownText) keep(text []byte, time [3]byte, seen glance) {
	k.n, k.time, k.seen = uint8(copy(k.text[:], text)), time, seen
}

// timed looks at a line that begins with a digit, which may be the time of a text that
// was read before, or of a logger whose prefix is known.
func (s *skimmer) timed(b []byte) glance {
	st, ok := s.p.rec.clock.parse(b, s.p.opt.AssumeUTCOffset)
	if !ok || !st.dated || st.length < len("2026-07-19 22:20:43") || st.length == len(b) {
		return s.text(b)
	}
	rest, time := b[st.length:], [3]byte{b[4], b[10], byte(st.length)}
	k := s.texts.at(rest)
	if k != nil && k.is(rest, time) {
		return k.seen
	}
	if b[4] == '-' && b[10] == ' ' {
		if f := s.p.rec.fronts.of(rest); f != nil && f.plain && st.length+int(f.n) >= 40 {
			if g := plainMessage(rest[f.n:]); g != unclear {
				return g
			}
		}
	}
	seen := s.text(b)
	if k != nil && (seen == dull || seen == bare) {
		k.keep(rest, time, seen)
	}
	return seen
}

// plainBytes are those of messages that no form claims and that hold no pairs. It is read only.
var plainBytes = func() (is [256]bool) {
	for c := ' '; c <= '~'; c++ {
		is[c] = !bytes.ContainsRune([]byte(`"[]{}=|`), c)
	}
	return is
}()

// plainMessage says what a line shows by its message, behind a time and a plain
// prefix of a logger; unclear where the whole line has to be looked at.
func plainMessage(m []byte) glance {
	word := 0
	for word < len(m) && 'a' <= m[word]|0x20 && m[word]|0x20 <= 'z' {
		word++
	}
	if word < 4 || word < len(m) && m[word] != ' ' || level(m[:word]) { // what stands in front of a message may go on
		return unclear
	}
	known, before := false, byte(0)
	for _, c := range m {
		if !plainBytes[c] {
			return unclear
		}
		known = known || before == 's' && (c == 's' || c == 't')
		before = c
	}
	if t := templateOf(m); t != nil {
		return t.glance()
	}
	if known && telling(m) { // every word that tells has ss or st in it (TestTellingWords)
		return bare
	}
	return dull
}

// glance says what a line shows whose message is written by the template.
func (t *template) glance() glance {
	if t.read == nil {
		return dull
	}
	return bare
}

// tails remembers how lines of uvicorn end that tell nothing by themselves: verb, path and status.
type tails struct {
	next  uint8
	known [4][]byte
}

const maxTail = 256

// uvicornTail returns a line of uvicorn behind its address, nil if it is none as its
// own formatter writes them.
func uvicornTail(b []byte) []byte {
	const level, behind = `INFO:     `, ` - `
	if !bytes.HasPrefix(b, []byte(level)) || len(b) > maxTail {
		return nil
	}
	i := len(level)
	for i < len(b) && (isDigit(b[i]) || b[i] == '.' || b[i] == ':') {
		i++
	}
	if i == len(level) || !isDigit(b[i-1]) || !bytes.HasPrefix(b[i:], []byte(behind+`"`)) {
		return nil
	}
	return b[i:]
}

func (t *tails) has(tail []byte) bool {
	for _, k := range t.known {
		if len(k) > 0 && string(k) == string(tail) {
			return true
		}
	}
	return false
}

func (t *tails) keep(tail []byte) {
	t.known[t.next] = append(t.known[t.next][:0], tail...)
	t.next = (t.next + 1) % uint8(len(t.known))
}
