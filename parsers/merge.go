package parsers

import (
	"container/heap"
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// Source is one reader with the inputs that it reads.
type Source struct {
	source.Reader
	Inputs []*source.Input
}

// Reader opens the formats of all inputs and merges their events by event time.
// What a format cannot open is told by its inputs.
func (s *Set) Reader() *Merged { return merge(s.sources(), s.opt.DomainOf, s.joins) }

func (s *Set) sources() []Source {
	var out []Source
	groups, logs := map[string]bool{}, map[*rotated]bool{}
	for _, m := range s.Members {
		if m.Format == nil || m.Err != nil || m.SameAs != "" || groups[m.Format.Name] || logs[m.rotated] {
			continue
		}
		members := []*Member{m}
		if m.Format.Group {
			groups[m.Format.Name] = true
			members = s.ofFormat(m.Format)
		} else if m.rotated != nil {
			logs[m.rotated] = true
			members = m.rotated.files
		}
		in := make([]*source.Input, len(members))
		for i, g := range members {
			in[i] = g.Input
		}
		r, err := m.Format.Open(in, s.opt)
		if err != nil {
			for _, g := range members {
				g.Err, g.Stats.Err = err, err.Error()
			}
			continue
		}
		out = append(out, Source{Reader: r, Inputs: in})
	}
	return out
}

func (s *Set) ofFormat(f *source.Format) (out []*Member) {
	for _, m := range s.Members {
		if m.Format == f && m.Err == nil {
			out = append(out, m)
		}
	}
	return out
}

// Merged yields the events of several sources in one order: by event time, then
// by source, then by position in the source. It is a source.Reader.
type Merged struct {
	heads    heads
	all      []*head
	last     *head // whose event was returned by the call before
	domainOf func(source, server, path string) string
	joins    *Joins // nil = nothing is joined
	views    views
	several  bool // sources to compare
	ended    bool
}

// head is the next event of one source, which stays valid until the source is read again.
type head struct {
	source.Reader
	track
	ahead int64 // ns by which its clock is ahead of that of the recording it is joined with
	e     *event.Event
}

// Merge merges sources. domainOf, if not nil, names the domain of what an input
// says about a server and path; "" leaves it as it is.
func Merge(sources []Source, domainOf func(source, server, path string) string) *Merged {
	return merge(sources, domainOf, nil)
}

func merge(sources []Source, domainOf func(source, server, path string) string, joins *Joins) *Merged {
	m := &Merged{domainOf: domainOf, joins: joins, several: len(sources) > 1}
	for i, s := range sources {
		h := &head{Reader: s.Reader, track: track{Inputs: s.Inputs, View: int32(i)}, ahead: joins.ahead(s.Inputs[0].Path)}
		joins.tell(s.Inputs)
		for _, in := range s.Inputs {
			in.Ahead = h.ahead
		}
		m.all = append(m.all, h)
		if m.advance(h) {
			m.heads = append(m.heads, h)
		}
	}
	heap.Init(&m.heads)
	return m
}

// Next returns the next event, valid until the following call, and io.EOF at the
// end. A source that breaks off is told by its input and leaves gaps behind.
func (m *Merged) Next() (*event.Event, error) {
	if m.last != nil {
		if m.advance(m.last) {
			heap.Fix(&m.heads, 0)
		} else {
			heap.Pop(&m.heads)
		}
		m.last = nil
	}
	if len(m.heads) == 0 {
		if !m.ended {
			m.ended = true
			m.views.conclude(func(view int32) *source.Input { return m.all[view].Inputs[0] })
		}
		return nil, io.EOF
	}
	m.last = m.heads[0]
	return m.last.e, nil
}

// Close closes every source.
func (m *Merged) Close() error {
	var errs []error
	for _, h := range m.all {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// advance reads the next event of a source and reports whether there is one.
func (m *Merged) advance(h *head) bool {
	for {
		if h.e = h.hole(); h.e != nil {
			m.joins.mark(h, h.e)
			return true
		}
		if h.Reader == nil {
			return false
		}
		e, err := h.Reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.breakOff(err)
			}
			h.Reader.Close()
			h.Reader = nil
			continue
		}
		said := e.Time
		if !h.place(e, m.domainOf, m.joins) {
			continue
		}
		if m.several {
			m.views.see(e, said)
		}
		h.e = e
		m.joins.mark(h, e)
		return true
	}
}

// Close closes a source that was not read to its end.
func (h *head) Close() error {
	if h.Reader == nil {
		return nil
	}
	return h.Reader.Close()
}

// heads is a heap of sources by (time, order).
type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if a, b := h[i].e.Time.To, h[j].e.Time.To; a != b {
		return a < b
	}
	return h[i].View < h[j].View
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
