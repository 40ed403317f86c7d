package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Cause is why something is not known.
type Cause uint8

const (
	NotKept     Cause = iota // the recorder, or an export, did not keep it
	BySnap                   // the snap length of the capture
	InGap                    // a gap in the recording
	BeforeStart              // it lies before the recording
	Causes
)

// Losses counts what is not known of a domain, by its cause.
type Losses struct {
	Bodies [Causes]int // of requests and responses
	Heads  [Causes]int // of requests, so that an absent header shows nothing
	Gaps   [Causes]int
	Notes  []string // what recordings other than captures say is missing, the first maxLostNotes
}

const (
	maxLostNotes = 3
	maxLostNote  = 200 // bytes
)

// causeOf is why something of an exchange is lost, as far as it shows until now.
func causeOf(x *Exchange, loss event.Loss) Cause {
	switch loss |= x.Loss; {
	case loss&event.LossSnap != 0:
		return BySnap
	case x.Gapped || x.Conn != nil && x.Conn.Gapped:
		return InGap
	case loss&(event.LossStart|event.LossRequest) != 0:
		return BeforeStart
	}
	return NotKept
}

// lostBody counts a body that was not recorded.
func (d *Domain) lostBody(x *Exchange, loss event.Loss) {
	d.BodiesLost++
	d.Losses.Bodies[causeOf(x, loss)]++
}

// lostGap counts a gap.
func (d *Domain) lostGap(ev *event.Event) {
	d.Gaps++
	switch {
	case ev.Loss&event.LossSnap != 0:
		d.Losses.Gaps[BySnap]++
	default:
		d.Losses.Gaps[InGap]++
	}
	note := mcp.Cut(ev.Note, maxLostNote)
	if ev.At.Unit != event.UnitFrame && note != "" && len(d.Losses.Notes) < maxLostNotes && !slices.Contains(d.Losses.Notes, note) {
		d.Losses.Notes = append(d.Losses.Notes, note)
	}
}
