package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Cancel detects cancellation_crosstalk: a cancel of one party ended the
// request of another one that has the same id.
type Cancel struct {
	Window  int64
	Cancels []*Cancelling                   // recent, in order, with other requests of their id in flight
	Settled int                             // how many of Cancels are settled, from the front
	Sift    int                             // how many of them have to be settled before the next look for those that are spent
	Lines   []*Cancelling                   // recent cancels of a log, in order
	ByID    map[correlate.Key][]*Cancelling // Cancels by their id, in order
	Waiting []Effect                        // ends in the window of a cancel, until it is over
	Learned int                             // how many of Ends have told how calls of their tool end
	Ends    []*correlate.Request            // requests that ended recently, for the guard against a shutdown
	Usual   map[Called]*Usual
	Doubts  []Doubt // findings that rise if the canceller's own request runs on
}

// Cancelling is one notifications/cancelled.
type Cancelling struct {
	ID       mcp.ID
	Folded   bool
	By       *correlate.Party // nil = unknown
	Exchange *correlate.Exchange
	Own      *correlate.Request // the canceller's own request with this id that was open
	Ref      correlate.Ref
	Reason   string
	Gone     []*correlate.Request // sender unknown: requests with this id whose client had left a moment before
	Log      bool
	Settled  bool // its window is over and the leftovers were matched
}

func newCancel(o Options) Detector {
	return &Cancel{Window: o.CancelWindow, Usual: map[Called]*Usual{}, ByID: map[correlate.Key][]*Cancelling{}}
}

// keepCancels bounds how long and how many cancels are kept.
const (
	keepCancels = 4096
	harSlack    = 2 * int64(1e6)
)

// Observe looks at cancels and at what ends after them.
func (f *Cancel) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	if ev.Time.To != 0 {
		f.settle(m.Domain, ev.Time.To, false, out)
	}
	switch {
	case ev.Kind == event.Message && ev.RPC.Method == mcp.Cancelled && ev.Dir != event.ToClient && ev.RPC.CancelID != "":
		f.cancel(m, out)
	case ev.Kind == event.CancelledBy:
		f.logged(m, out)
	}
	for _, r := range m.Ended {
		if r.Dir == event.ToServer && r.Era != mcp.EraModern {
			f.ended(m, r, out)
		}
	}
}

// End settles every cancel that still waits.
func (f *Cancel) End(d *correlate.Domain, out *Sink) {
	f.settle(d, 1<<62, true, out)
}

// cancel takes a cancel and what was in flight under its id.
func (f *Cancel) cancel(m *correlate.Moment, out *Sink) {
	ev, d := m.Event, m.Domain
	if ev.Exchange.N != 0 && !legacy(m.Exchange) || m.Again {
		return
	}
	c := &Cancelling{
		ID: ev.RPC.CancelID, By: m.Party, Exchange: m.Exchange, Own: m.Cancels, Reason: ev.RPC.Reason, Log: ev.Exchange.N == 0,
		Ref: refOf(ev), Folded: ev.Loss&event.LossIDType != 0,
	}
	if c.Own == nil && f.sent(c) {
		c.Own = justEnded(c.By, c.ID, ev.Time)
	}
	if c.Log {
		if d.Views && slices.ContainsFunc(f.Lines, func(o *Cancelling) bool { return f.alsoTold(o, c) }) {
			return
		}
		if len(f.Lines) >= 256 {
			f.Lines = slices.Delete(f.Lines, 0, 1)
		}
		f.Lines = append(f.Lines, c)
	}
	same := d.Index.Find(correlate.IDKey(correlate.ByID, c.ID))
	if !slices.ContainsFunc(same, func(r *correlate.Request) bool { return f.mayHit(c, r) }) {
		return
	}
	if !c.Log && !f.sent(c) || slices.ContainsFunc(same, func(r *correlate.Request) bool { return correlate.Distinct(r.Party, c.By) && f.mayHit(c, r) }) {
		out.Judged(signals.CancellationCrosstalk)
	}
	for _, r := range same {
		if !f.sent(c) && len(c.Gone) < maxGone && leftBefore(r, ev.Time) && !f.mayHit(c, r) {
			c.Gone = append(c.Gone, r)
		}
		if f.sent(c) && ev.At.Unit == event.UnitEntry && r.Ended() && f.mayHit(c, r) { // HAR: the answer may stand up to 2 ms before the cancel
			f.wait(Effect{Cancel: c, Hit: r})
		}
	}
	if len(f.Cancels) >= keepCancels {
		f.forget(1)
	}
	f.Cancels = append(f.Cancels, c)
	k := correlate.IDKey(correlate.ByID, c.ID)
	f.ByID[k] = append(f.ByID[k], c)
}

const maxGone = 64

// alsoTold reports whether two logs tell of one cancel.
func (f *Cancel) alsoTold(a, b *Cancelling) bool {
	return a.By == b.By && a.By != nil && a.Ref.View != b.Ref.View && a.ID.Fold() == b.ID.Fold() && distance(a.Ref.Time, b.Ref.Time, 0) <= f.Window
}

// mayHit reports whether a cancel may have hit a request that is not its
// sender's own: one with its id that was in flight then.
func (f *Cancel) mayHit(c *Cancelling, r *correlate.Request) bool {
	if r.Dir != event.ToServer || r.Era == mcp.EraModern || r == c.Own || r.Party == c.By && f.sent(c) {
		return false
	}
	return r.InFlight(c.Ref.Time) != correlate.No || c.Ref.At.Unit == event.UnitEntry && r.OpenWithin(c.Ref.Time, harSlack) != correlate.No
}

// forget drops the n oldest cancels.
func (f *Cancel) forget(n int) {
	for _, c := range f.Cancels[:n] {
		k := correlate.IDKey(correlate.ByID, c.ID)
		if f.ByID[k] = f.ByID[k][1:]; len(f.ByID[k]) == 0 { // the oldest of its id
			delete(f.ByID, k)
		}
	}
	f.Cancels = slices.Delete(f.Cancels, 0, n)
	f.Settled = max(0, f.Settled-n)
}

// justEnded returns the party's request with this id that its client had left a
// moment before it sent the cancel, as SDKs do.
func justEnded(p *correlate.Party, id mcp.ID, t event.Time) *correlate.Request {
	if r := p.Recent(id); r != nil && leftBefore(r, t) {
		return r
	}
	return nil
}

// leftBefore reports whether the client of r had left in the second before t.
func leftBefore(r *correlate.Request, t event.Time) bool {
	return r.Fate == correlate.GivenUp && r.Left && t.To-r.End.Time.To < int64(1e9)
}

// sent reports whether the sender of the cancel is known by more than an address.
func (f *Cancel) sent(c *Cancelling) bool { return c.By != nil && c.By.Kind != correlate.ByAddress }
