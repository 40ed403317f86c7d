package parsers

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// views compares what several sources of one domain tell about the same ids: how
// many they share, and by how much the clocks of their writers differ. It keeps the
// latest ids only, and changes no event.
type views struct {
	seen  map[uint64]sightings
	order []uint64 // keys of seen, from the oldest at next on
	next  int
	pairs map[[2]int32]*pair
}

// sightings is when each of the first few sources told of one thing.
type sightings struct {
	n  int
	by [4]sighting
}

type sighting struct {
	view int32
	end  bool  // the stamp is of the end of what the thing began with
	at   int64 // middle of the time, ns
	half int64 // half its width
}

// pair is what two sources share.
type pair struct {
	deltas []int64 // how much later the second told it
	halves []int64
	mixed  int // deltas in which one stamped a beginning and the other an end; below 0: the first the end
}

const (
	maxSeen   = 1 << 14
	maxPaired = 1 << 10 // deltas of one pair of sources
	maxViews  = 1 << 10 // pairs of sources
	minShared = 3       // ids that two sources have to share before anything is said
	tolerable = 200 * int64(time.Millisecond)
	patience  = 5 * int64(time.Second) // how long an initialize may take
)

// see takes an event with the time that its source gave it.
func (v *views) see(e *event.Event, t event.Time) {
	if t.To == 0 || e.Loss&event.LossTime != 0 {
		return
	}
	key, end := shared(e, e.Domain)
	if key == 0 {
		return
	}
	s, known := v.seen[key]
	for i := range s.n {
		if s.by[i].view == e.View {
			return
		}
	}
	if s.n == len(s.by) {
		return
	}
	now := sighting{view: e.View, end: end, at: t.From + (t.To-t.From)/2, half: (t.To - t.From) / 2}
	for _, o := range s.by[:s.n] {
		v.compare(o, now)
	}
	s.by[s.n] = now
	s.n++
	if !known {
		v.remember(key)
	}
	v.seen[key] = s
}

// remember makes room for one more key.
func (v *views) remember(key uint64) {
	if v.seen == nil {
		v.seen, v.pairs = map[uint64]sightings{}, map[[2]int32]*pair{}
	}
	if len(v.order) < maxSeen {
		v.order = append(v.order, key)
		return
	}
	delete(v.seen, v.order[v.next])
	v.order[v.next] = key
	v.next = (v.next + 1) % maxSeen
}

func (v *views) compare(a, b sighting) {
	if a.view > b.view {
		a, b = b, a
	}
	key := [2]int32{a.view, b.view}
	p := v.pairs[key]
	if p == nil {
		if len(v.pairs) == maxViews {
			return
		}
		p = &pair{}
		v.pairs[key] = p
	}
	if len(p.deltas) == maxPaired {
		return
	}
	p.deltas, p.halves = append(p.deltas, b.at-a.at), append(p.halves, a.half+b.half)
	switch {
	case b.end && !a.end:
		p.mixed++
	case a.end && !b.end:
		p.mixed--
	}
}

// shared is a key of what an event tells that another recording of the same traffic
// tells too, of the same moment: that a session was made or closed, that a request
// came or was answered. end says that the moment is the end of the request that made the session.
func shared(e *event.Event, d event.Domain) (key uint64, end bool) {
	h, who := hash(14695981039346656037), e.Asked
	if who.State != event.Present {
		who = e.Answered // a log names the session that it speaks of
	}
	request := e.Kind == event.Message && e.RPC.Kind == mcp.KindRequest && e.Dir == event.ToServer
	switch asked, answered := e.Asked.State == event.Present, e.Answered.State == event.Present; {
	case e.Kind == event.SessionCreated && answered, e.Kind == event.Head && answered && e.Asked.State == event.Absent:
		return h.of("made", d, e.Answered).sum(), false
	case e.Kind == event.RequestDone && answered && e.Asked.State == event.Absent && (e.RPC.Method == "" || e.RPC.Method == mcp.Initialize):
		return h.of("made", d, e.Answered).sum(), true
	case e.Kind == event.SessionClosed && answered:
		return h.of("closed", d, e.Answered).sum(), false
	case request && e.RPC.Trace != "" && !asked && !answered: // its trace names it where no session does
		return h.of("trace", d, event.Session{}).text(e.RPC.Trace).text(e.RPC.Method).sum(), false
	case e.RPC.ID == "" || !asked && (!answered || e.Exchange.N != 0):
	case request:
		return h.of("asked", d, who).text(string(e.RPC.ID.Fold())).text(e.RPC.Method).sum(), false
	case e.Kind == event.RequestDone, e.Kind == event.Message && e.Dir == event.ToClient && (e.RPC.Kind == mcp.KindResult || e.RPC.Kind == mcp.KindError):
		return h.of("answered", d, who).text(string(e.RPC.ID.Fold())).sum(), false
	}
	return 0, false
}

// conclude tells the inputs what was found. of gives the inputs of a view.
func (v *views) conclude(of func(view int32) *source.Input) {
	keys := make([][2]int32, 0, len(v.pairs))
	for k := range v.pairs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) })
	for _, k := range keys {
		p, a, b := v.pairs[k], of(k[0]), of(k[1])
		if len(p.deltas) < minShared {
			continue
		}
		name := filepath.Base(cmp.Or(a.Log, a.Path))
		b.Stats.Note(fmt.Sprintf("same_input_twice: %d ids of it stand in %s too; what both tell of is one happening, not two", len(p.deltas), name))
		if skew, spread, ok := p.skew(); ok {
			word := "ahead of"
			if skew < 0 {
				word, skew = "behind", -skew
			}
			b.Stats.Note(fmt.Sprintf("its clock is %s %s %s (median of %d shared ids, which differ by %s); orders between the two are no surer than that",
				seconds(skew), word, name, len(p.deltas), seconds(spread)))
		}
	}
}

// skew is how far the second clock is ahead, and by how much the samples differ from
// that. ok is false where the stamps and what happens between them explain it.
func (p *pair) skew() (skew, spread int64, ok bool) {
	skew = median(slices.Clone(p.deltas))
	off := make([]int64, len(p.deltas))
	for i, d := range p.deltas {
		off[i] = max(d-skew, skew-d)
	}
	spread = median(off)
	least := tolerable + median(slices.Clone(p.halves)) + 2*spread
	switch half := len(p.deltas) / 2; {
	case p.mixed > half && skew > 0, p.mixed < -half && skew < 0:
		least += patience // an end is later than a beginning
	}
	return skew, spread, max(skew, -skew) > least
}

func median(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func seconds(ns int64) string { return fmt.Sprintf("%.2f s", float64(ns)/1e9) }

// hash is FNV-1a, whose values do not change from run to run.
type hash uint64

func (h hash) text(s string) hash {
	for i := range len(s) {
		h = (h ^ hash(s[i])) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211
}

func (h hash) sum() uint64 { return max(uint64(h), 1) }

func (h hash) of(what string, d event.Domain, s event.Session) hash {
	return (h.text(what).text(d.Server).text(d.Path).text(d.Epoch).text(s.ID) ^ hash(s.Kind)) * 1099511628211
}
