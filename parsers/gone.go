package parsers

import (
	"cmp"
	"slices"

	"github.com/isodetect/isodetect/parsers/source"
)

// maxPast is of how many sources that are over the inputs are remembered, so that what
// was told of them can still be named.
const maxPast = 4096

// Gone says that a source is over: its file is gone, and no other will be written at its
// place. What it still held back is read, and nothing waits for it any more.
func (l *Live) Gone(index int32) {
	i, found := l.place(index)
	if !found {
		return
	}
	s := l.Sources[i]
	if s.Feeder != nil {
		s.Feeder.End(s.Line)
		l.drain(s)
	}
	s.Feeder, s.Quiet, s.Gone = nil, true, true
	l.retire()
}

// retire takes the sources that are over off those that are read, once their events were taken.
func (l *Live) retire() {
	l.Sources = slices.DeleteFunc(l.Sources, func(s *Fed) bool {
		if !s.Gone || s.Head < len(s.Wait) {
			return false
		}
		s.Input.Stats.Problems = nil
		at, _ := slices.BinarySearchFunc(l.Past, s.Index, byIndex)
		l.Past = slices.Insert(l.Past, at, s.Input)
		return true
	})
	for len(l.Past) > maxPast {
		add(&l.Forgot, &l.Past[0].Stats)
		l.Past = slices.Delete(l.Past, 0, 1)
	}
}

func byIndex(in *source.Input, index int32) int { return cmp.Compare(in.Index, index) }

// Totals is the counters of all sources together, also of those that are over.
func (l *Live) Totals() source.Stats {
	sum := l.Forgot
	for _, in := range l.Past {
		add(&sum, &in.Stats)
	}
	for _, s := range l.Sources {
		add(&sum, &s.Input.Stats)
	}
	return sum
}

func add(sum, s *source.Stats) {
	sum.Bytes += s.Bytes
	sum.Records += s.Records
	sum.Used += s.Used
	sum.Ignored += s.Ignored
	sum.Malformed += s.Malformed
	sum.Events += s.Events
	sum.Gaps += s.Gaps
	sum.Late += s.Late
}
