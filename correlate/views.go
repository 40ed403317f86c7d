package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Lag is by how much the clock of one recording may be ahead of another's: what it
// tells of a session comes no earlier than that behind the line by which the other
// first knew the session.
type Lag struct {
	From, To int32 // views
	Least    int64 // ns
}

const (
	maxLags  = 64 // of a domain
	maxViews = 8  // of a session
)

// meet compares the clocks of two recordings when the second one tells of a session
// for the first time: that it is made, or used by its own client.
func (d *Domain) meet(p *Party, ev *event.Event) {
	named := ev.Asked.State == event.Present && ev.Asked.ID == p.ID
	if !named && ev.Kind != event.SessionCreated && !(ev.Kind == event.RequestDone && ev.RPC.Method == mcp.Initialize) {
		return // a request that named no session may come at any time
	}
	if ev.View == p.Birth.View || ev.Time.To == 0 || len(p.rare().Views) >= maxViews || slices.Contains(p.Rare.Views, ev.View) {
		return
	}
	p.Rare.Views = append(p.Rare.Views, ev.View)
	least := ev.Time.From - p.Birth.Time.To
	for i := range d.Lags {
		if l := &d.Lags[i]; l.From == p.Birth.View && l.To == ev.View {
			l.Least = min(l.Least, least)
			return
		}
	}
	if len(d.Lags) < maxLags {
		d.Lags = append(d.Lags, Lag{p.Birth.View, ev.View, least})
	}
}

// ahead is how far the clock of view to may be ahead of that of view from, by all that
// is known: 0 where nothing is.
func (d *Domain) ahead(from, to int32) int64 {
	for _, l := range d.Lags {
		if l.From == from && l.To == to {
			return max(0, l.Least)
		}
	}
	return 0
}

// LiveFor is LiveAt for an event of a log. Its own log's order counts before its
// stamps; of another recording the stamps count, less what its clock may be ahead.
func (p *Party) LiveFor(ev *event.Event) Certainty {
	if p.Birth.View == ev.View {
		if p.Live {
			return Certain
		}
		return p.LiveAt(ev.Time)
	}
	t := ev.Time
	t.From -= p.Domain.ahead(p.Birth.View, ev.View)
	live := p.LiveAt(t)
	if p.Birth.Guess || ev.Loss&event.LossTime != 0 {
		return min(live, Perhaps) // a time that was guessed gives no order of two logs
	}
	return live
}

// Whole reports whether a recording lost nothing that shows.
func (d *Domain) Whole() bool {
	return !d.Log && d.Gaps == 0 && d.BodiesLost == 0 && d.Dark == 0 && d.StreamsUnseen == 0 && d.AnswersUnseen == 0 && !d.Paired && d.Evicted == 0 && d.LossFlags&(event.LossSnap|event.LossStart|event.LossRest) == 0
}

// Supplement takes into a domain that several recordings show what one of them shows
// alone: where that one is whole and holds all that any does, nothing is lost.
func (d *Domain) Supplement(alone *Domain, whole bool) {
	if alone.Overlap && !d.Overlap {
		d.Overlap, d.OverlapWhy = true, alone.OverlapWhy
	}
	if whole {
		d.Gaps, d.BodiesLost, d.Paired, d.LossFlags, d.Losses = 0, 0, false, alone.LossFlags, alone.Losses
		d.Dark, d.StreamsUnseen, d.AnswersUnseen = 0, 0, 0
	}
}
