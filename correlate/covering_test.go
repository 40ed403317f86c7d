package correlate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The index yields, in order, every subscriber that a walk over all of them finds,
// while sessions subscribe, end, come back and forget their oldest subscriptions.
func TestSubscribingFindsWhatAWalkFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	texts := []string{"", "/", "a", "a/", "a//", "a/b", "a/b/", "a/b?c", "a/b#c", "a/bc", "x:/a", "X:/a/b", "{n}", "a/{n}", "a/{+n}", "a/{n}/b", "a/b{?q}", "a/%62", "x:/{n}/b"}
	uri := func() string {
		if rng.IntN(3) == 0 {
			return fmt.Sprintf("a/%d", rng.IntN(200))
		}
		return texts[rng.IntN(len(texts))]
	}
	s := NewState(DefaultLimits())
	d := storm(s, 1)
	found, pruned, made := 0, false, 0
	for i := range 8_000 {
		d.Now = at(int64(i) * 500)
		switch rng.IntN(40) {
		case 0, 1:
			p := d.sessionOf(fmt.Sprint("n", made), &event.Event{Time: d.Now})
			made++
			d.setLive(p, d.Now)
		case 2, 3:
			if len(d.Lively) > 0 {
				d.endLive(d.Lively[rng.IntN(len(d.Lively))], d.Now)
			}
		default:
			p := d.Sessions[fmt.Sprint("n", made-1-rng.IntN(min(made, 3)+1))]
			if rng.IntN(3) == 0 {
				p = d.Sessions["n0"] // it forgets its oldest
			}
			if p != nil && made > 0 {
				d.subscribe(&Request{Party: p, Method: mcp.Subscribe, URI: uri(), Seq: uint64(i)}, &event.Event{Time: d.Now})
			}
		}
		u := NewURI(uri())
		covers := func(p *Party) bool {
			return slices.ContainsFunc(p.Subs, func(s Subscription) bool { return s.URI.Covers(u) })
		}
		var want, got []*Party
		for _, p := range d.Subscribers {
			if covers(p) {
				want = append(want, p)
			}
		}
		yielded := 0
		for p := range d.Subscribing(u) {
			if yielded++; covers(p) {
				got = append(got, p)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d, %q: %d of %d subscribers, or in another order", i, u.Text, len(got), len(want))
		}
		if yielded > 2*len(want)+len(d.Subscribers)/4+20 {
			t.Fatalf("step %d, %q: %d looked at for %d", i, u.Text, yielded, len(want))
		}
		found += len(want)
		pruned = pruned || d.SubsMade > uint32(len(d.Subscribers))
	}
	if found < 10_000 || !pruned || d.Evicted == 0 {
		t.Errorf("found %d, pruned %v, %d evicted: nothing is proved", found, pruned, d.Evicted)
	}
	for _, p := range d.Subscribers {
		d.Covering.clear(p)
	}
	if len(d.Covering.Under) != 0 || d.Covering.Templates != 0 {
		t.Errorf("%d keys and %d templates are left", len(d.Covering.Under), d.Covering.Templates)
	}
}
