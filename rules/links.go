package rules

import (
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Links finds where several recordings of one server tell of the same happening, so
// that a finding shows the record of each. It keeps the latest happenings, and those
// that findings rest on. Happenings are told apart by what they name (event.Event.Link)
// and, where that comes again, by their times.
type Links struct {
	Seen   map[uint64][]signals.Evidence // by link; only At, View, Time, Excerpt and Link are set
	Order  []uint64                      // links of Seen that are not pinned, from the oldest at Next on
	Next   int
	Pinned map[uint64]bool // links that findings rest on
}

const (
	maxLinks  = 1 << 13 // happenings that wait for a finding
	maxPinned = 1 << 14
	maxTold   = 8 // records of one happening, or of several that are named alike

	apart = int64(10e9) // ns between the records of one happening, clocks being set right
	near  = int64(5e8)  // of one that names no session
)

// See takes a record of a happening. Of the exchange that made a session it takes the
// initialize request, as findings do.
func (l *Links) See(m *correlate.Moment) {
	if m.Event.Link == 0 {
		return
	}
	ref := refOf(m.Event)
	if x := m.Exchange; x != nil && x.Initial != nil && x.Initial.Sent.Link == ref.Link {
		ref = x.Initial.Sent
	}
	told := l.Seen[ref.Link]
	if len(told) > 0 && told[len(told)-1].At == ref.At {
		return
	}
	if told == nil && !l.Pinned[ref.Link] {
		l.remember(ref.Link)
	}
	if len(told) == maxTold {
		told = told[:copy(told, told[1:])]
	}
	l.Seen[ref.Link] = append(told, signals.Evidence{At: ref.At, View: ref.View, Time: ref.Time, Excerpt: ref.Excerpt, Link: ref.Link})
}

// remember makes room for one more link.
func (l *Links) remember(link uint64) {
	if l.Seen == nil {
		l.Seen = map[uint64][]signals.Evidence{}
	}
	if len(l.Order) < maxLinks {
		l.Order = append(l.Order, link)
		return
	}
	if old := l.Order[l.Next]; !l.Pinned[old] {
		delete(l.Seen, old)
	}
	l.Order[l.Next] = link
	l.Next = (l.Next + 1) % maxLinks
}

// Pin keeps what a finding rests on: other recordings may have told of it, or tell of it later.
func (l *Links) Pin(f *signals.Finding) {
	if l.Pinned == nil {
		l.Pinned, l.Seen = map[uint64]bool{}, orNew(l.Seen)
	}
	for i := range f.Evidence {
		if link := f.Evidence[i].Link; link != 0 && len(l.Pinned) < maxPinned {
			l.Pinned[link] = true
		}
	}
}

func orNew(m map[uint64][]signals.Evidence) map[uint64][]signals.Evidence {
	if m == nil {
		m = map[uint64][]signals.Evidence{}
	}
	return m
}

// Complete adds to the evidence of a finding the records of other recordings, each
// behind the one that tells of the same.
func (l *Links) Complete(f *signals.Finding) {
	var out []signals.Evidence
	for _, e := range f.Evidence {
		out = append(out, e)
		if e.Link == 0 {
			continue
		}
		for _, o := range l.twins(&e) {
			stands := func(x signals.Evidence) bool { return x.At == o.At }
			if len(out) < maxEvidence && !slices.ContainsFunc(f.Evidence, stands) && !slices.ContainsFunc(out, stands) {
				o.Role, o.Party, o.Says = e.Role, e.Party, strings.TrimSuffix(e.Says, elsewhere)+elsewhere
				out = append(out, o)
			}
		}
	}
	f.Evidence = out
}

const (
	maxEvidence = 32
	elsewhere   = " (as another recording shows it)"
)

// twins returns the record of each other recording that is nearest in time.
func (l *Links) twins(e *signals.Evidence) []signals.Evidence {
	var out []signals.Evidence
	for _, o := range l.Seen[e.Link] {
		if !twins(e, &o) {
			continue
		}
		i := slices.IndexFunc(out, func(x signals.Evidence) bool { return x.View == o.View })
		switch {
		case i < 0:
			out = append(out, o)
		case distance(o.Time, e.Time) < distance(out[i].Time, e.Time):
			out[i] = o
		}
	}
	slices.SortStableFunc(out, func(a, b signals.Evidence) int { return int(a.View) - int(b.View) })
	return out
}

// twins reports whether two recordings tell of one happening.
func twins(a, b *signals.Evidence) bool {
	limit := apart
	if a.Link&event.LinkBare != 0 {
		limit = near
	}
	return a.Link != 0 && a.Link == b.Link && a.View != b.View && distance(a.Time, b.Time) <= limit
}

// distance is how far two times lie apart at least, 0 where one is not known.
func distance(a, b event.Time) int64 {
	if a.To == 0 || b.To == 0 {
		return 0
	}
	return max(0, a.From-b.To, b.From-a.To)
}
