package rules

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Which records of two recordings tell of one happening.

// Clocks is how far the stamps of two recordings are apart.
type Clocks struct {
	From, To int32 // views
	Known    bool  // there are happenings enough to tell
	Skew     int64 // how much later To tells of what both tell of, ns
	Spread   int64 // by how much that varies
}

const (
	minClocks = 3           // happenings that both recordings have to tell of
	hurry     = int64(10e6) // ns by which the stamps of one happening may differ anyhow
)

// twins returns the record of each other recording that certainly tells of the same.
func (l *Links) twins(e *signals.Evidence) []signals.Evidence {
	var views []int32
	for _, o := range l.Seen[e.Link] {
		if o.View != e.View && !slices.Contains(views, o.View) {
			views = append(views, o.View)
		}
	}
	slices.Sort(views)
	var out []signals.Evidence
	for _, v := range views {
		if o := l.twin(e, v); o != nil {
			out = append(out, o.Evidence)
		}
	}
	return out
}

// same reports whether two recordings certainly tell of one happening.
func (l *Links) same(a, b *signals.Evidence) bool {
	if a.Link == 0 || a.Link != b.Link || a.View == b.View {
		return false
	}
	o := l.twin(a, b.View)
	return o != nil && o.is(b.At)
}

// twin returns the record by which another recording tells of the same, nil where there is
// none, or one of several and the times do not say which. Each must be the only one near the other.
func (l *Links) twin(e *signals.Evidence, view int32) *Record {
	if e.Link == 0 {
		return nil
	}
	own := Record{Evidence: *e}
	for _, r := range l.Seen[e.Link] {
		if r.View == e.View && r.is(e.At) {
			own = r
		}
	}
	c := l.clocks(e.View, view)
	limit, exact := apart, hurry+4*c.Spread
	switch {
	case e.Link&event.LinkOnce != 0:
		return l.nearest(&own, view)
	case e.Link&event.LinkTimed != 0:
		limit = near
	case c.Known:
		limit = min(apart, near+exact)
	}
	if o := l.only(&own, view, c.Skew, limit); o != nil || !c.Known {
		return o
	}
	return l.only(&own, view, c.Skew, exact)
}

// nearest returns the record of a view that is nearest in time to one of what happens once.
func (l *Links) nearest(r *Record, view int32) (best *Record) {
	told := l.Seen[r.Link]
	for i := range told {
		if o := &told[i]; o.View == view && distance(r.Time, o.Time, 0) <= apart && (best == nil || distance(r.Time, o.Time, 0) < distance(r.Time, best.Time, 0)) {
			best = o
		}
	}
	return best
}

// only returns the record of a view that lies within a limit of r, if it is the only one
// and r the only one within the limit of it.
func (l *Links) only(r *Record, view int32, skew, limit int64) *Record {
	o := l.alone(r, view, skew, limit)
	if o == nil {
		return nil
	}
	if back := l.alone(o, r.View, -skew, limit); back != nil && back.At != r.At {
		return nil // r itself may be forgotten, but no other may stand there
	} else if back == nil && l.count(o, r.View, -skew, limit) > 0 {
		return nil
	}
	return o
}

// alone returns the one record of a view that lies within a limit of r and may tell of the same.
func (l *Links) alone(r *Record, view int32, skew, limit int64) (one *Record) {
	told := l.Seen[r.Link]
	for i := range told {
		if o := &told[i]; o.View == view && r.mayBe(o) && distance(r.Time, o.Time, skew) <= limit {
			if one != nil && !one.beside(o) {
				return nil
			}
			one = o
		}
	}
	return one
}

func (l *Links) count(r *Record, view int32, skew, limit int64) (n int) {
	for _, o := range l.Seen[r.Link] {
		if o.View == view && r.mayBe(&o) && distance(r.Time, o.Time, skew) <= limit {
			n++
		}
	}
	return n
}

// mayBe reports whether what two records hold may be the same.
func (r *Record) mayBe(o *Record) bool {
	return (r.Body == 0 || o.Body == 0 || r.Body == o.Body) && (r.Answer == mcp.KindNone || o.Answer == mcp.KindNone || r.Answer == o.Answer)
}

// beside reports whether two records stand at one place: a HAR keeps all messages of a stream in one entry.
func (r *Record) beside(o *Record) bool {
	return r.At.Unit == event.UnitEntry && o.At.Unit == event.UnitEntry && r.At.Source == o.At.Source && r.At.N == o.At.N
}

// clocks compares the stamps of two recordings over what each of them tells of once.
func (l *Links) clocks(from, to int32) Clocks {
	for _, c := range l.Clocks {
		if c.From == from && c.To == to {
			return c
		}
	}
	var deltas []int64
	for link, told := range l.Seen {
		if link&(event.LinkTimed|event.LinkOnce) != 0 {
			continue
		}
		var a, b *Record
		n := 0
		for i := range told {
			switch told[i].View {
			case from:
				a, n = &told[i], n+1
			case to:
				b, n = &told[i], n+1
			}
		}
		if n == 2 && a != nil && b != nil && a.Time.To != 0 && a.Time.From == a.Time.To && b.Time.To != 0 && b.Time.From == b.Time.To {
			deltas = append(deltas, b.Time.To-a.Time.To)
		}
	}
	c := Clocks{From: from, To: to}
	if c.Known = len(deltas) >= minClocks; c.Known {
		c.Skew = middle(deltas)
		for i, d := range deltas {
			deltas[i] = max(d-c.Skew, c.Skew-d)
		}
		c.Spread = middle(deltas)
	}
	l.Clocks = append(l.Clocks, c)
	return c
}

func middle(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// distance is how far two times lie apart at least, where the clock of b is skew ns ahead; 0
// where one is not known.
func distance(a, b event.Time, skew int64) int64 {
	if a.To == 0 || b.To == 0 {
		return 0
	}
	return max(0, a.From-(b.To-skew), b.From-skew-a.To)
}
