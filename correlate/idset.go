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
	if !ok {
		h := event.Hash(id.Fold())
		if slices.Contains(s.Other, h) {
			return
		}
		if len(s.Other) >= maxOther {
			s.Other = append(s.Other[:0], s.Other[1:]...)
			s.Forgot = true
		}
		s.Other = append(s.Other, h)
		return
	}
	i, found := slices.BinarySearchFunc(s.Runs, n, func(r Run, n int64) int {
		switch {
		case r.Hi < n:
			return -1
		case r.Lo > n:
			return 1
		}
		return 0
	})
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

// Has reports whether the id was added, folded.
func (s *IDSet) Has(id mcp.ID) bool {
	n, ok := number(id)
	if !ok {
		return slices.Contains(s.Other, event.Hash(id.Fold()))
	}
	for _, r := range s.Runs {
		if n >= r.Lo && n <= r.Hi {
			return true
		}
	}
	return false
}

// Max returns the largest number added; ok is false if there is none.
func (s *IDSet) Max() (int64, bool) {
	if len(s.Runs) == 0 {
		return 0, false
	}
	return s.Runs[len(s.Runs)-1].Hi, true
}

func number(id mcp.ID) (int64, bool) {
	n, err := strconv.ParseInt(id.Fold(), 10, 64)
	if err != nil || n < 0 || n >= 1<<62 {
		return 0, false
	}
	return n, true
}

// Empty reports whether nothing was added.
func (s *IDSet) Empty() bool { return len(s.Runs) == 0 && len(s.Other) == 0 }
