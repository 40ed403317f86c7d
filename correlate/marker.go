package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
)

// Argument values that may show where an answer went.

// remember keeps the marks that occurred in a message.
func (d *Domain) remember(marks []uint64) {
	for _, v := range marks {
		if event.Telling(v) {
			d.Seen.Add(v)
		}
	}
}

// markers finds the argument values of a request that occurred nowhere before
// it: one of their tokens is new in the domain. A value that occurs again is a
// marker of nobody.
func (d *Domain) markers(r *Request) {
	for i := range r.Args {
		run, anchor := r.Args[i].Run, -1
		for k, v := range run {
			if v == 0 || !event.Telling(v) {
				continue
			}
			if d.Seen.Has(v) {
				d.unmark(v, r)
			} else if anchor < 0 {
				anchor = k
			}
		}
		if anchor < 0 || r.Args[i].Class != event.ArgMarker {
			continue
		}
		if m := (Marker{run, anchor}); !slices.Contains(r.Markers, m) {
			r.Markers = append(r.Markers, m)
		}
	}
	for i := range r.Args {
		d.remember(r.Args[i].Run[:])
	}
}

// unmark takes the markers with this anchor off every other request: it occurred again.
func (d *Domain) unmark(v uint64, by *Request) {
	k := MarkKey(v)
	if !d.Index.MayHold(v) {
		return
	}
	for _, o := range slices.Clone(d.Index.Find(k)) {
		if o == by {
			continue
		}
		o.Markers = slices.DeleteFunc(o.Markers, func(m Marker) bool { return m.Run[m.Anchor] == v })
		d.Index.remove(k, o)
	}
}
