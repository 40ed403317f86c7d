package correlate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/isodetect/isodetect/event"
)

// Live finds what a walk over all sessions finds, for any time, while sessions end,
// come back and are forgotten.
func TestLiveFindsWhatAWalkFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := NewState(DefaultLimits())
	d := storm(s, 1)
	made, skipped, back := 0, 0, 0
	for i := range 20_000 {
		d.Now = at(int64(i) * 500)
		switch rng.IntN(6) {
		case 0:
			d.setLive(d.sessionOf(fmt.Sprint("n", made), &event.Event{Time: d.Now}), d.Now)
			made++
		case 1, 2:
			if len(d.Lively) > 0 {
				d.endLive(d.Lively[rng.IntN(1+rng.IntN(len(d.Lively)))], d.Now)
			}
		case 3:
			if len(d.Lively) == 0 {
				continue
			}
			if p := d.Lively[rng.IntN(len(d.Lively))]; !p.Live && rng.IntN(20) == 0 {
				p.LiveTo = event.Time{}
				d.setLive(p, d.Now)
				back++
			}
		}
		when := d.Now
		if rng.IntN(3) == 0 {
			when.From -= rng.Int64N(20 * second)
			when.To = when.From + rng.Int64N(5*second)
		}
		var want []*Party
		for _, p := range d.Lively {
			if p.LiveAt(when) != No {
				want = append(want, p)
			}
		}
		if got := d.Live(when, 0); !slices.Equal(got, want) {
			t.Fatalf("step %d: %d of %d", i, len(got), len(want))
		}
		skipped += d.over.n
	}
	if skipped < 20_000 || back < 50 {
		t.Errorf("%d skipped, %d came back: nothing is proved", skipped, back)
	}
}

// What a tail keeps for each session is bounded by what it is made of.
func TestSizes(t *testing.T) {
	f := func(what string, size, most uintptr) {
		t.Helper()
		if size > most {
			t.Errorf("%s takes %d bytes, at most %d were meant", what, size, most)
		}
	}
	f("a party", unsafe.Sizeof(Party{}), 384)
	f("an exchange", unsafe.Sizeof(Exchange{}), 256)
	f("a connection", unsafe.Sizeof(Conn{}), 80)
	f("a request", unsafe.Sizeof(Request{}), 416)
	f("a subscription", unsafe.Sizeof(Subscription{}), 160)
}
