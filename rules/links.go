package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Links finds where several recordings of one server tell of the same happening, so
// that a finding shows the record of each. It keeps the latest happenings, and those
// that findings rest on. Happenings are told apart by what they name (event.Event.Link)
// and, where that comes again, by their times: what is not certain is not shown.
type Links struct {
	Seen   map[uint64][]Record // by link, in order
	Order  []uint64            // links of Seen that are not pinned, from the oldest at Next on
	Next   int
	Pinned map[uint64]bool // links that findings rest on
	Clocks []Clocks        // once they were asked for
}

// Record is a happening as one recording tells of it.
type Record struct {
	signals.Evidence                  // only At, View, Time, Excerpt and Link are set
	Also             [2]event.Address // further lines of this recording about it
	Forms            [3]uint32        // of the lines, 0 = not known
	Body             uint64           // hash of what a request asks for, 0 = not known
	Answer           mcp.Kind         // of an answer: a result or an error, KindNone = not known
}

const (
	maxLinks   = 1 << 13 // happenings that wait for a finding
	maxPinned  = 1 << 14
	maxRecords = 8  // of one happening, or of several that are named alike
	maxKept    = 64 // of those that findings rest on

	apart = int64(10e9) // ns between the records of one happening, clocks being set right
	near  = int64(5e8)  // of one of several that are named alike
)

// See takes a record of a happening. Of the exchange that made a session it takes the
// initialize request, as findings do.
func (l *Links) See(m *correlate.Moment) {
	ev := m.Event
	if ev.Link == 0 {
		return
	}
	ref := refOf(ev)
	if x := m.Exchange; x != nil && x.Initial != nil && x.Initial.Sent.Link == ref.Link {
		ref = x.Initial.Sent
	}
	told := l.Seen[ref.Link]
	if n := len(told) - 1; n >= 0 && told[n].is(ref.At) {
		return
	}
	if further(told, ev) {
		return
	}
	if told == nil && !l.Pinned[ref.Link] {
		l.remember(ref.Link)
	}
	switch {
	case len(told) < maxRecords || l.Pinned[ref.Link] && len(told) < maxKept:
	case l.Pinned[ref.Link]:
		return // those that a finding rests on came before
	default:
		told = told[:copy(told, told[1:])]
	}
	r := Record{Evidence: signals.Evidence{At: ref.At, View: ref.View, Time: ref.Time, Excerpt: ref.Excerpt, Link: ref.Link}, Forms: [3]uint32{ev.Form}}
	switch {
	case ref.At != ev.At:
	case ev.RPC.Kind == mcp.KindRequest && ev.Loss&(event.LossRedacted|event.LossRequestBody) == 0:
		r.Body = ev.RPC.BodyHash
	case ev.RPC.Kind == mcp.KindResult || ev.RPC.Kind == mcp.KindError:
		r.Answer = ev.RPC.Kind
	}
	l.Seen[ref.Link] = append(told, r)
}

// further adds a line of a log to the record of a line before it that tells of the same
// message a moment earlier in other words, and reports whether there is one.
func further(told []Record, ev *event.Event) bool {
	if ev.Form == 0 {
		return false
	}
	for i := range told {
		r := &told[i]
		if r.View != ev.View || distance(r.Time, ev.Time, 0) > hurry || slices.Contains(r.Forms[:], ev.Form) {
			continue
		}
		for k := range r.Also {
			if r.Also[k] == (event.Address{}) {
				r.Also[k], r.Forms[k+1] = ev.At, ev.Form
				return true
			}
		}
	}
	return false
}

// is reports whether a line or packet is one of a record.
func (r *Record) is(at event.Address) bool { return r.At == at || slices.Contains(r.Also[:], at) }

// remember makes room for one more link.
func (l *Links) remember(link uint64) {
	if l.Seen == nil {
		l.Seen = map[uint64][]Record{}
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

func orNew(m map[uint64][]Record) map[uint64][]Record {
	if m == nil {
		m = map[uint64][]Record{}
	}
	return m
}

// Complete adds to the evidence of a finding the records of other recordings, each
// behind the one that tells of the same. Where one of the two knows the party, both do.
func (l *Links) Complete(f *signals.Finding) {
	var out []signals.Evidence
	stands := func(in []signals.Evidence, o *signals.Evidence) int {
		return slices.IndexFunc(in, func(x signals.Evidence) bool { return sameRecord(&x, o) })
	}
	for i, e := range f.Evidence {
		if stands(out, &e) >= 0 {
			continue
		}
		first := len(out)
		out = append(out, e)
		for _, o := range l.twins(&e) {
			k := stands(f.Evidence, &o)
			switch {
			case stands(out, &o) >= 0:
				continue
			case k >= 0 && out[first].Party == nobody:
				out[first].Party = f.Evidence[k].Party
			case k < 0 && len(out)+len(f.Evidence)-i > maxEvidence:
				continue
			}
			o.Role, o.Party, o.Says = e.Role, out[first].Party, e.Says+elsewhere
			out = append(out, o)
		}
	}
	f.Evidence = out
}

const (
	maxEvidence = 32
	elsewhere   = " (as another recording shows it)"
	nobody      = "?" // alias of a party that a recording does not know
)

// sameRecord reports whether two pieces of evidence are one message: an entry of a HAR
// holds several.
func sameRecord(a, b *signals.Evidence) bool { return a.At == b.At && a.Link == b.Link }
