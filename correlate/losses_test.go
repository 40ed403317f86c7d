package correlate

import (
	"testing"

	"github.com/isodetect/isodetect/event"
)

// Why a body is not known is told by what else its exchange and connection show.
func TestLossesByCause(t *testing.T) {
	f := func(name string, want Cause, opened event.Loss, closed event.Loss, gap *event.Event) {
		t.Helper()
		s := NewState(DefaultLimits())
		base := event.Event{Domain: event.Domain{Server: "http://h", Path: "/mcp"}, Exchange: event.ExchangeID{N: 1}, HTTPMethod: "POST",
			Asked: event.Named("a"), Sender: event.Sender{Conn: "c"}, At: event.Address{Unit: event.UnitFrame}}
		at := int64(0)
		apply := func(ev event.Event) {
			at++
			ev.Time = event.At(at)
			s.Apply(&ev)
		}
		ev := base
		ev.Kind, ev.Loss = event.Opened, opened
		apply(ev)
		if gap != nil {
			g := *gap
			g.Kind, g.Domain = event.Gap, base.Domain
			apply(g)
		}
		ev.Kind, ev.Status, ev.Loss = event.Closed, 200, closed|event.LossResponseBody
		apply(ev)
		var n [Causes]int
		n[want] = 1
		if d := s.Domains[0]; d.Losses.Bodies != n || d.BodiesLost != 1 {
			t.Errorf("%s: %v of %d, want %v", name, d.Losses.Bodies, d.BodiesLost, n)
		}
	}
	f("not kept", NotKept, 0, 0, nil)
	f("cut", BySnap, 0, event.LossSnap, nil)
	f("a connection that began before", BeforeStart, event.LossStart, 0, nil)
	f("an answer to a request that is not there", BeforeStart, event.LossRequest, 0, nil)
	f("a gap in the exchange", InGap, 0, 0, &event.Event{Exchange: event.ExchangeID{N: 1}})
	f("a gap on its connection", InGap, event.LossStart, 0, &event.Event{Sender: event.Sender{Conn: "c"}})
	f("a gap on another connection", NotKept, 0, 0, &event.Event{Sender: event.Sender{Conn: "d"}})
}

// What a recorder says that it lacks is kept, once each and not without end.
func TestLossesNotes(t *testing.T) {
	d := newDomain(event.Domain{}, 1)
	for _, note := range []string{"one", "one", "two", "", "three", "four"} {
		d.lostGap(&event.Event{Note: note})
	}
	d.lostGap(&event.Event{Note: "so many bytes", At: event.Address{Unit: event.UnitFrame}})
	if n := d.Losses.Notes; len(n) != maxLostNotes || n[2] != "three" || d.Gaps != 7 {
		t.Errorf("%q of %d gaps", n, d.Gaps)
	}
}
