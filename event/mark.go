package event

// Marks let content be compared without keeping bodies. A mark is the 64-bit hash
// of one whole token of a text; numbers count by their text, so that 4711 and
// "4711" are one mark. The marks of a message stand in the order of its text, with
// a 0 behind each scalar, so that a value of several words is found as a run.

// MarkGram is how many tokens of a value are compared: a longer text is found by its beginning.
const MarkGram = 4

// Run is the marks of the first MarkGram tokens of a value, filled up with 0.
type Run [MarkGram]uint64

// RunOf returns the run of a text; it is zero for a text without any token.
func RunOf(s string) (r Run) {
	i := 0
	for n := range r {
		if r[n], i = nextMark(s, i); r[n] == 0 {
			break
		}
	}
	return r
}

// AddMarks appends the marks of the tokens of s and a 0, and stops at max. It
// reports whether all fitted.
func AddMarks(dst []uint64, s string, max int) (_ []uint64, all bool) {
	for i := 0; ; {
		m := uint64(0)
		if m, i = nextMark(s, i); m == 0 || len(dst)+1 >= max {
			return append(dst, 0), m == 0
		}
		dst = append(dst, m)
	}
}

// nextMark returns the mark of the first token of s that begins at i or behind it,
// and where to look on; 0 if there is none. It hashes while it looks for the end,
// so that it reads the text once.
func nextMark(s string, i int) (m uint64, next int) {
	for i < len(s) {
		if divides(s[i]) {
			i++
			continue
		}
		from, h := i, uint64(offset64)
		for ; i < len(s) && !divides(s[i]); i++ {
			h = (h ^ uint64(s[i])) * prime64
		}
		tok := s[from:i]
		if punctuation(tok[0]) || punctuation(tok[len(tok)-1]) {
			if tok = stripped(tok); tok == "" {
				continue
			}
			h = hash(tok)
		}
		return markOf(h, len(tok)), i
	}
	return 0, i
}

// At reports whether the run stands in marks from index i on.
func (r Run) At(marks []uint64, i int) bool {
	for k, v := range r {
		if v == 0 {
			return k > 0
		}
		if i+k >= len(marks) || marks[i+k] != v {
			return false
		}
	}
	return true
}

// In reports whether the run stands in marks.
func (r Run) In(marks []uint64) bool {
	for i, v := range marks {
		if v == r[0] && r.At(marks, i) {
			return true
		}
	}
	return false
}

// markOf makes a mark of the hash of a token of n bytes. The lowest bit tells whether it is long enough to be
// remembered, see Telling; a mark is never 0.
func markOf(h uint64, n int) uint64 {
	h |= 3
	if n < 4 {
		h &^= 1
	}
	return h
}

// Telling reports whether a mark is of a token of four bytes or more: shorter
// ones occur everywhere and tell nothing.
func Telling(mark uint64) bool { return mark&1 != 0 }

// Tokens calls f for each whole token of s until f returns false. Tokens are
// divided by white space, quotes, brackets and , ; | = and stripped of
// sentence punctuation at their ends. f must not keep tok beyond the life of s.
func Tokens(s string, f func(tok string) bool) {
	for i := 0; i < len(s); {
		for i < len(s) && divides(s[i]) {
			i++
		}
		j := i
		for j < len(s) && !divides(s[j]) {
			j++
		}
		if tok := stripped(s[i:j]); tok != "" && !f(tok) {
			return
		}
		i = j
	}
}

// stripped returns a token without the punctuation at its ends.
func stripped(tok string) string {
	for len(tok) > 0 && punctuation(tok[len(tok)-1]) {
		tok = tok[:len(tok)-1]
	}
	for len(tok) > 0 && punctuation(tok[0]) {
		tok = tok[1:]
	}
	return tok
}

// What a byte does to a token.
const (
	dividing  = 1
	sentences = 2
)

var classes = [256]uint8{
	' ': dividing, '\t': dividing, '\n': dividing, '\r': dividing, '"': dividing, '\'': dividing, '`': dividing,
	'(': dividing, ')': dividing, '[': dividing, ']': dividing, '{': dividing, '}': dividing, '<': dividing, '>': dividing,
	',': dividing, ';': dividing, '|': dividing, '=': dividing, 0: dividing,
	'.': sentences, ':': sentences, '!': sentences, '?': sentences, '*': sentences,
}

func divides(c byte) bool { return classes[c] == dividing }

func punctuation(c byte) bool { return classes[c] == sentences }

const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func hash(s string) uint64 {
	h := uint64(offset64)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * prime64
	}
	return h
}

// Hash is the hash that marks, argument keys and body hashes use (FNV-1a, 64 bits).
func Hash(s string) uint64 { return hash(s) }
