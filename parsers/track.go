package parsers

import (
	"cmp"
	"errors"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// track is how far one source has come, and what it owes to the domains that it
// spoke of. It gives its events their place among those of other sources, whether they
// are read from files or come as they happen.
type track struct {
	Inputs  []*source.Input
	View    int32          // where the source stands among all, which decides between equal times
	In      *source.Input  // of the last event
	Last    int64          // the latest time seen, to which earlier stamps are clamped
	At      event.Address  // of the last event
	Domains []event.Domain // the first maxDomains of this source
	Lost    []event.Event  // gaps that named no domain: each domain of the source may have lost something
	Holes   []event.Event  // gaps to yield before the source is read again
}

const (
	maxDomains = 64
	maxLost    = 16
)

// place gives an event its time, domain and view. It reports false for a gap that was
// spread over the domains of the source instead.
func (h *track) place(e *event.Event, domainOf func(source, server, path string) string, joins *Joins) bool {
	h.clamp(e)
	if e.Kind == event.Gap && e.Domain == (event.Domain{}) {
		h.spread(*e)
		return false
	}
	h.rename(e, domainOf)
	joins.place(h, e)
	h.note(e)
	e.View = h.View
	return true
}

// hole returns the next gap that the source owes, nil if there is none.
func (h *track) hole() *event.Event {
	if len(h.Holes) == 0 {
		return nil
	}
	e := &h.Holes[0]
	h.Holes = h.Holes[1:]
	e.View = h.View
	return e
}

// spread gives a gap that names no domain to every domain of its source, also to those still to come.
func (h *track) spread(gap event.Event) {
	h.At = gap.At
	if len(h.Lost) == maxLost {
		h.Lost = h.Lost[1:]
	}
	h.Lost = append(h.Lost, gap)
	for _, d := range h.Domains {
		gap.Domain = d
		h.Holes = append(h.Holes, gap)
	}
}

// clamp makes the times of one source monotone: its order counts, not its stamps.
func (h *track) clamp(e *event.Event) {
	switch t := &e.Time; {
	case t.To == 0:
		t.From, t.To = h.Last, h.Last
		e.Loss |= event.LossTime
	case t.To < h.Last:
		if t.From == t.To {
			t.From = h.Last
		}
		t.To = h.Last
		if in := h.input(e.At.Source); in != nil {
			in.Stats.BackSteps++
		}
	default:
		h.Last = t.To
	}
}

func (h *track) input(index int32) *source.Input {
	if h.In != nil && h.In.Index == index {
		return h.In
	}
	for _, in := range h.Inputs {
		if in.Index == index {
			h.In = in
			return in
		}
	}
	return nil
}

// rename gives an event the domain that the user named for it. The path goes too:
// what was joined by name is one endpoint, whatever its inputs know of paths. A
// record that names no instance belongs to its input (DETECTION §1, domain).
func (h *track) rename(e *event.Event, domainOf func(source, server, path string) string) {
	path, log := "", ""
	if in := h.input(e.At.Source); in != nil {
		path, log = in.Path, cmp.Or(in.Log, in.Path)
		in.Stats.Facts |= event.FactsOf(e)
	}
	if e.Domain.Server == "" {
		e.Domain.Server = log
	}
	if domainOf == nil {
		return
	}
	if name := domainOf(path, e.Domain.Server, e.Domain.Path); name != "" {
		e.Domain = event.Domain{Server: name}
	}
}

// note remembers where a source is, for the gaps it may leave.
func (h *track) note(e *event.Event) {
	h.At = e.At
	if n := len(h.Domains); n > 0 && h.Domains[n-1] == e.Domain {
		return
	}
	for _, d := range h.Domains {
		if d == e.Domain {
			return
		}
	}
	if len(h.Domains) == maxDomains {
		return
	}
	h.Domains = append(h.Domains, e.Domain)
	for _, gap := range h.Lost {
		gap.Domain, gap.Time = e.Domain, e.Time // the gap came before; it is told as soon as the domain is known
		h.Holes = append(h.Holes, gap)
	}
}

// breakOff tells an input that its reading ended early, and leaves a gap in every
// domain that it spoke of: what it would have said is missing from here on.
func (h *track) breakOff(err error) {
	in := h.input(h.At.Source)
	if in == nil {
		in = h.Inputs[0]
		h.At = event.Address{Source: in.Index, Offset: -1}
	}
	in.Stats.Err = err.Error()
	if errors.Is(err, ErrInterrupted) {
		return
	}
	in.Stats.Gaps++
	for _, d := range h.Domains {
		h.Holes = append(h.Holes, event.Event{
			Kind: event.Gap, Domain: d, At: h.At, Time: event.At(h.Last),
			Loss: event.LossTime | event.LossRest, Note: "the input breaks off: " + err.Error(),
		})
	}
}
