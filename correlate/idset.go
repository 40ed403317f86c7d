package correlate

import (
	"slices"
	"strconv"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// IDSet remembers which ids or tokens a party ever gave. Numbers that count up,
// as those of every SDK do, cost one interval; other ids cost a hash each, up to
// a bound after which the set says that it Forgot.
type IDSet struct {
	Lo, N int64    // the numbers Lo … Lo+N-1, where Many is nil
	Many  *ManyIDs // nil while one interval holds all there is
}

// ManyIDs is a set that one interval does not hold.
type ManyIDs struct {
	Runs   []Run    // sorted, disjoint, not adjacent
	Other  []uint64 // hashes of ids that are no small numbers, in order of arrival
	Forgot bool     // the bound was hit: absence proves nothing any more
}

// Run is a closed interval of numbers.
type Run struct{ Lo, Hi int64 }

const (
	maxRuns  = 256
	maxOther = 1024
)

// Add puts an id into the set, folded.
func (s *IDSet) Add(id mcp.ID) {
	n, ok := number(id)
	switch {
	case !ok:
		s.many().name(event.Hash(id.Fold()))
	case s.Many != nil:
		s.Many.number(n)
	case s.N == 0:
		s.Lo, s.N = n, 1
	case n >= s.Lo && n < s.Lo+s.N:
	case n == s.Lo+s.N:
		s.N++
	case n == s.Lo-1:
		s.Lo, s.N = n, s.N+1
	default:
		s.many().number(n)
	}
}

// many returns the set in the form that holds anything.
func (s *IDSet) many() *ManyIDs {
	if s.Many == nil {
		s.Many = &ManyIDs{}
		if s.N > 0 {
			s.Many.Runs = []Run{{s.Lo, s.Lo + s.N - 1}}
		}
	}
	return s.Many
}

func (s *ManyIDs) name(h uint64) {
	if slices.Contains(s.Other, h) {
		return
	}
	if len(s.Other) >= maxOther {
		s.Other = append(s.Other[:0], s.Other[1:]...)
		s.Forgot = true
	}
	s.Other = append(s.Other, h)
}

func (s *ManyIDs) number(n int64) {
	i, found := s.place(n)
	if found {
		return
	}
	left := i > 0 && s.Runs[i-1].Hi == n-1
	right := i < len(s.Runs) && s.Runs[i].Lo == n+1
	switch {
	case left && right:
		s.Runs[i-1].Hi = s.Runs[i].Hi
		s.Runs = slices.Delete(s.Runs, i, i+1)
	case left:
		s.Runs[i-1].Hi = n
	case right:
		s.Runs[i].Lo = n
	default:
		s.Runs = slices.Insert(s.Runs, i, Run{n, n})
		if len(s.Runs) > maxRuns {
			s.Runs = slices.Delete(s.Runs, 0, 1)
			s.Forgot = true
		}
	}
}

// place returns where the interval of n stands or belongs, and whether it holds n.
func (s *ManyIDs) place(n int64) (int, bool) {
	if last := len(s.Runs) - 1; last < 0 || s.Runs[last].Hi < n {
		return last + 1, false // mostly the largest so far
	}
	return slices.BinarySearchFunc(s.Runs, n, func(r Run, n int64) int {
		switch {
		case r.Hi < n:
			return -1
		case r.Lo > n:
			return 1
		}
		return 0
	})
}

// Has reports whether the id was added, folded.
func (s *IDSet) Has(id mcp.ID) bool {
	n, ok := number(id)
	switch {
	case s.Many == nil:
		return ok && n >= s.Lo && n < s.Lo+s.N
	case !ok:
		return slices.Contains(s.Many.Other, event.Hash(id.Fold()))
	}
	_, found := s.Many.place(n)
	return found
}

// Max returns the largest number added; ok is false if there is none.
func (s *IDSet) Max() (int64, bool) {
	switch {
	case s.Many == nil:
		return s.Lo + s.N - 1, s.N > 0
	case len(s.Many.Runs) == 0:
		return 0, false
	}
	return s.Many.Runs[len(s.Many.Runs)-1].Hi, true
}

// number reads an id that counts. Names are told by their first byte: an error of strconv costs more.
func number(id mcp.ID) (int64, bool) {
	text := id.Fold()
	if text == "" || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= 1<<62 {
		return 0, false
	}
	return n, true
}

// Empty reports whether nothing was added.
func (s *IDSet) Empty() bool { return s.N == 0 && s.Many == nil }

// Names reports whether an id was added that is no number.
func (s *IDSet) Names() bool { return s.Many != nil && len(s.Many.Other) > 0 }

// Forgot reports whether more was added than is remembered: absence proves nothing any more.
func (s *IDSet) Forgot() bool { return s.Many != nil && s.Many.Forgot }
