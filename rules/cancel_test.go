package rules

import (
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

func said(p *correlate.Party, id mcp.ID, end int64) *correlate.Request {
	r := ended(p, correlate.Answered, 1, end)
	r.ID, r.Answer, r.Code = id, mcp.KindError, correlate.CodeRequestCancelled
	return r
}

func TestShutdown(t *testing.T) {
	f := func(name string, want bool, ends ...*correlate.Request) {
		t.Helper()
		c := newCancel(Options{CancelWindow: DefaultCancelWindow}).(*Cancel)
		_, _, q := domain()
		hit := said(q, "7", 1000)
		c.Ends = append(ends, hit)
		if got := c.shutdown(hit); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	_, p, _ := domain()
	cut := func(id mcp.ID, end int64) *correlate.Request {
		r := ended(p, correlate.Cut, 1, end)
		r.ID = id
		return r
	}
	own := func(r *correlate.Request) *correlate.Request { r.OwnCancel = at(900); return r }
	left := func(r *correlate.Request) *correlate.Request { r.Left = true; return r }
	f("nothing else ends", false)
	f("one more", false, said(p, "8", 1000))
	f("two more", true, said(p, "8", 1000), said(p, "9", 1001))
	f("two more are cut", true, cut("8", 1000), cut("9", 1001))
	f("both with the same id", false, said(p, "7", 1000), said(p, `"7"`, 1001))
	f("long before", false, said(p, "8", 500), said(p, "9", 400))
	f("long after", false, said(p, "8", 1500), said(p, "9", 1600))
	f("by their own wish", false, own(said(p, "8", 1000)), own(said(p, "9", 1000)))
	f("their clients left", false, left(cut("8", 1000)), left(cut("9", 1000)))
	f("with results", false, ended(p, correlate.Answered, 1, 1000), ended(p, correlate.Answered, 1, 1000))
}

func TestUnansweredFirst(t *testing.T) {
	_, p, _ := domain()
	f := func(name string, r *correlate.Request, want int) {
		t.Helper()
		if got := unansweredFirst(r); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	own := said(p, "7", 5)
	own.OwnCancel = at(4)
	left := ended(p, correlate.Cut, 1, 5)
	left.Left = true
	f("given up", ended(p, correlate.GivenUp, 1, 5), 0)
	f("its client left", left, 0)
	f("cut", ended(p, correlate.Cut, 1, 5), 1)
	f("cancelled by its own and answered", own, 2)
	f("answered", said(p, "7", 5), 3)
}

func TestLeftBefore(t *testing.T) {
	_, p, _ := domain()
	f := func(name string, fate correlate.Fate, left bool, when int64, want bool) {
		t.Helper()
		r := ended(p, fate, 1, 100)
		r.Left = left
		if got := leftBefore(r, at(when)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f("just now", correlate.GivenUp, true, 105, true)
	f("a second before", correlate.GivenUp, true, 1100, false)
	f("cancelled, not left", correlate.GivenUp, false, 105, false)
	f("answered", correlate.Answered, true, 105, false)
}

func TestWithin(t *testing.T) {
	c := newCancel(Options{CancelWindow: DefaultCancelWindow}).(*Cancel)
	f := func(name string, unit event.Unit, end event.Time, want bool) {
		t.Helper()
		r := &correlate.Request{End: correlate.Ref{At: event.Address{Unit: unit}, Time: end}}
		if got := c.within(&Cancelling{Ref: ref(1000)}, r); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f("before", event.UnitFrame, at(999), false)
	f("at once", event.UnitFrame, at(1000), true)
	f("at the end of the window", event.UnitFrame, at(1500), true)
	f("later", event.UnitFrame, at(1501), false)
	f("HAR, 2 ms before", event.UnitEntry, at(998), true)
	f("HAR, 3 ms before", event.UnitEntry, at(997), false)
	f("an interval around it", event.UnitEntry, event.Time{From: 900 * ms, To: 3000 * ms}, true)
}

// A finding rises only if the canceller's own call gets a result later than the window.
func TestOwnRanOn(t *testing.T) {
	f := func(name string, change func(*correlate.Request), want signals.Strength) {
		t.Helper()
		c := newCancel(Options{CancelWindow: DefaultCancelWindow}).(*Cancel)
		d, p, _ := domain()
		out, own := &Sink{Domain: d}, ended(p, correlate.Answered, 1, 1600)
		fd := &signals.Finding{Strength: signals.Probable}
		c.Doubts = []Doubt{{own, ref(1000), fd}}
		change(own)
		c.ownRanOn(own, out)
		if fd.Strength != want || len(c.Doubts) != 0 {
			t.Errorf("%s: %s, %d doubts left", name, fd.Strength, len(c.Doubts))
		}
	}
	f("it ran on", func(*correlate.Request) {}, signals.Confirmed)
	f("it ended within the window", func(r *correlate.Request) { r.End = ref(1500) }, signals.Probable)
	f("it failed", func(r *correlate.Request) { r.IsError = true }, signals.Probable)
	f("it was given up", func(r *correlate.Request) { r.Fate = correlate.GivenUp }, signals.Probable)
}

// The call of another party that starves, while the cancelled one is answered all the same.
func TestStarvedByACancel(t *testing.T) {
	f := func(name string, want int, change func(c *Cancelling, own, hit *correlate.Request)) {
		t.Helper()
		c := newCancel(Options{CancelWindow: DefaultCancelWindow}).(*Cancel)
		d, p, q := domain()
		out := &Sink{Domain: d}
		own, hit := ended(p, correlate.Answered, 1, 1100), ended(q, correlate.GivenUp, 2, 9000)
		q.LastResult = 5000 * ms
		x := &Cancelling{ID: "1", By: p, Own: own, Ref: ref(1000)}
		change(x, own, hit)
		c.starved(nil, x, hit, out)
		if len(out.Findings) != want {
			t.Errorf("%s: %d findings", name, len(out.Findings))
		}
	}
	f("it starves", 1, func(*Cancelling, *correlate.Request, *correlate.Request) {})
	f("it was answered", 0, func(_ *Cancelling, _, hit *correlate.Request) { hit.Fate = correlate.Answered })
	f("of the same party", 0, func(c *Cancelling, _, hit *correlate.Request) { hit.Party = c.By })
	f("of nobody", 0, func(_ *Cancelling, _, hit *correlate.Request) { hit.Party = nil })
	f("nothing of the canceller's was cancelled", 0, func(c *Cancelling, _, _ *correlate.Request) { c.Own = nil })
	f("the canceller's call failed", 0, func(_ *Cancelling, own, _ *correlate.Request) { own.IsError = true })
	f("it had been answered before the cancel", 0, func(_ *Cancelling, own, _ *correlate.Request) { own.End = ref(900) })
	f("given up within the window", 0, func(_ *Cancelling, _, hit *correlate.Request) { hit.End = ref(1500) })
	f("cancelled by its own within the window", 0, func(_ *Cancelling, _, hit *correlate.Request) { hit.OwnCancel = at(1400) })
	f("cancelled by its own later", 1, func(_ *Cancelling, _, hit *correlate.Request) { hit.OwnCancel = at(8000) })
	f("no call of its party is answered", 0, func(_ *Cancelling, _, hit *correlate.Request) { hit.Party.LastResult = 1 })
}
