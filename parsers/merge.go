package parsers

import (
	"cmp"
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
func (s *Set) Reader() *Merged { return Merge(s.sources(), s.opt.DomainOf) }

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
	views    views
	several  bool // sources to compare
	ended    bool
}

// head is the next event of one source, which stays valid until the source is read again.
type head struct {
	Source
	order   int
	in      *source.Input // of the last event
	e       *event.Event
	last    int64 // the latest time seen, to which earlier stamps are clamped
	at      event.Address
	domains []event.Domain // the first maxDomains of this source
	lost    []event.Event  // gaps that named no domain: each domain of the source may have lost something
	holes   []event.Event  // gaps to yield before the source is read again
}

const (
	maxDomains = 64
	maxLost    = 16
)

// Merge merges sources. domainOf, if not nil, names the domain of what an input
// says about a server and path; "" leaves it as it is.
func Merge(sources []Source, domainOf func(source, server, path string) string) *Merged {
	m := &Merged{domainOf: domainOf, several: len(sources) > 1}
	for i, s := range sources {
		h := &head{Source: s, order: i}
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
			m.views.conclude(func(view int32) []*source.Input { return m.all[view].Inputs })
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
		if len(h.holes) > 0 {
			h.e, h.holes = &h.holes[0], h.holes[1:]
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
		h.clamp(e)
		if e.Kind == event.Gap && e.Domain == (event.Domain{}) {
			h.spread(*e)
			continue
		}
		m.rename(h, e)
		h.note(e)
		e.View = int32(h.order)
		if m.several {
			m.views.see(e, said)
		}
		h.e = e
		return true
	}
}

// spread gives a gap that names no domain to every domain of its source, also to those still to come.
func (h *head) spread(gap event.Event) {
	h.at = gap.At
	if len(h.lost) == maxLost {
		h.lost = h.lost[1:]
	}
	h.lost = append(h.lost, gap)
	for _, d := range h.domains {
		gap.Domain = d
		h.holes = append(h.holes, gap)
	}
}

// Close closes a source that was not read to its end.
func (h *head) Close() error {
	if h.Reader == nil {
		return nil
	}
	return h.Reader.Close()
}

// clamp makes the times of one source monotone: its order counts, not its stamps.
func (h *head) clamp(e *event.Event) {
	switch t := &e.Time; {
	case t.To == 0:
		t.From, t.To = h.last, h.last
		e.Loss |= event.LossTime
	case t.To < h.last:
		if t.From == t.To {
			t.From = h.last
		}
		t.To = h.last
		if in := h.input(e.At.Source); in != nil {
			in.Stats.BackSteps++
		}
	default:
		h.last = t.To
	}
}

func (h *head) input(index int32) *source.Input {
	if h.in != nil && h.in.Index == index {
		return h.in
	}
	for _, in := range h.Inputs {
		if in.Index == index {
			h.in = in
			return in
		}
	}
	return nil
}

// rename gives an event the domain that the user named for it. The path goes too:
// what was joined by name is one endpoint, whatever its inputs know of paths. A
// record that names no instance belongs to its input (DETECTION §1, domain).
func (m *Merged) rename(h *head, e *event.Event) {
	path, log := "", ""
	if in := h.input(e.At.Source); in != nil {
		path, log = in.Path, cmp.Or(in.Log, in.Path)
		in.Stats.Facts |= event.FactsOf(e)
	}
	if e.Domain.Server == "" {
		e.Domain.Server = log
	}
	if m.domainOf == nil {
		return
	}
	if name := m.domainOf(path, e.Domain.Server, e.Domain.Path); name != "" {
		e.Domain = event.Domain{Server: name}
	}
}

// note remembers where a source is, for the gaps it may leave.
func (h *head) note(e *event.Event) {
	h.at = e.At
	if n := len(h.domains); n > 0 && h.domains[n-1] == e.Domain {
		return
	}
	for _, d := range h.domains {
		if d == e.Domain {
			return
		}
	}
	if len(h.domains) == maxDomains {
		return
	}
	h.domains = append(h.domains, e.Domain)
	for _, gap := range h.lost {
		gap.Domain, gap.Time = e.Domain, e.Time // the gap came before; it is told as soon as the domain is known
		h.holes = append(h.holes, gap)
	}
}

// breakOff tells an input that its reading ended early, and leaves a gap in every
// domain that it spoke of: what it would have said is missing from here on.
func (h *head) breakOff(err error) {
	in := h.input(h.at.Source)
	if in == nil {
		in = h.Inputs[0]
		h.at = event.Address{Source: in.Index, Offset: -1}
	}
	in.Stats.Err = err.Error()
	if errors.Is(err, ErrInterrupted) {
		return
	}
	in.Stats.Gaps++
	for _, d := range h.domains {
		h.holes = append(h.holes, event.Event{
			Kind: event.Gap, Domain: d, At: h.at, Time: event.At(h.last),
			Loss: event.LossTime, Note: "the input breaks off: " + err.Error(),
		})
	}
}

// heads is a heap of sources by (time, order).
type heads []*head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if a, b := h[i].e.Time.To, h[j].e.Time.To; a != b {
		return a < b
	}
	return h[i].order < h[j].order
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
