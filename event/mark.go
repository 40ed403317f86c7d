package event

import "slices"

// Marks let content be compared without keeping bodies: a mark is a 64-bit hash
// of a value. Text and numbers hash by their text, so that 4711 and "4711" are one mark.

// MarkText returns the mark of a text: the hash of its tokens joined by one
// blank, at most MarkGram of them, so that a text of many words is found by its beginning.
func MarkText(s string) uint64 {
	h, n := uint64(offset64), 0
	Tokens(s, func(tok string) bool {
		h = join(h, hash(tok))
		n++
		return n < MarkGram
	})
	if n == 0 {
		return 0
	}
	return h
}

// MarkGram is how many tokens of a text make one mark.
const MarkGram = 4

// AddMarks appends the marks of every whole token of s and of every run of 2 to
// MarkGram tokens, and stops at max. It reports whether all fitted.
func AddMarks(dst []uint64, s string, max int) (_ []uint64, all bool) {
	var ring [MarkGram]uint64
	n := 0
	all = true
	Tokens(s, func(tok string) bool {
		ring[n%MarkGram] = hash(tok)
		n++
		for k := 1; k <= MarkGram && k <= n; k++ {
			if len(dst) >= max {
				all = false
				return false
			}
			h := uint64(offset64)
			for i := n - k; i < n; i++ {
				h = join(h, ring[i%MarkGram])
			}
			dst = append(dst, h)
		}
		return true
	})
	return dst, all
}

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
		tok := s[i:j]
		for len(tok) > 0 && punctuation(tok[len(tok)-1]) {
			tok = tok[:len(tok)-1]
		}
		for len(tok) > 0 && punctuation(tok[0]) {
			tok = tok[1:]
		}
		if tok != "" && !f(tok) {
			return
		}
		i = j
	}
}

func divides(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '=', 0:
		return true
	}
	return false
}

func punctuation(c byte) bool {
	switch c {
	case '.', ':', '!', '?', '*':
		return true
	}
	return false
}

// SortMarks sorts marks and drops duplicates in place.
func SortMarks(m []uint64) []uint64 {
	slices.Sort(m)
	return slices.Compact(m)
}

// HasMark reports whether sorted marks hold v.
func HasMark(m []uint64, v uint64) bool {
	_, ok := slices.BinarySearch(m, v)
	return ok
}

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

// join mixes a token's hash into a run of tokens.
func join(h, tok uint64) uint64 {
	h = (h ^ tok) * prime64
	return h ^ h>>29
}
