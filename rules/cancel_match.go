package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Cancels whose sender is not known, and calls that stay silent.

// settle matches, once the window of a cancel is over, cancels whose sender is
// not known against the requests that ended, and drops old cancels.
func (f *Cancel) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	over := 0
	for over < len(f.Waiting) && (end || now-f.Waiting[over].Hit.End.Time.To > f.Window+harSlack) {
		f.learn(f.Waiting[over].Cancel.Ref.Time.From)
		f.effect(f.Waiting[over], out)
		over++
	}
	if over > 0 {
		f.Waiting = slices.Delete(f.Waiting, 0, over)
	}
	for ; f.Settled < len(f.Cancels); f.Settled++ {
		c := f.Cancels[f.Settled]
		if !end && now-c.Ref.Time.To <= f.Window+harSlack {
			break
		}
		if !c.Settled && !f.sent(c) && !c.Log {
			f.learn(c.Ref.Time.From)
			f.match(d, c, out)
		}
		c.Settled = true
	}
	if end {
		for _, c := range f.Cancels {
			f.silent(d, c, out)
		}
		return
	}
	n := 0
	for n < f.Settled && now-f.Cancels[n].Ref.Time.To > 15*minute {
		n++
	}
	if n > 0 {
		f.forget(n)
	}
	if f.Settled >= max(f.Sift, minSift) && d.Intervals == 0 && !d.Views {
		f.sift(d)
	}
}

const minSift = 64

// sift forgets the settled cancels that are spent, so that what stays is as much as is in flight.
func (f *Cancel) sift(d *correlate.Domain) {
	kept, settled := f.Cancels[:0], 0
	for i, c := range f.Cancels {
		if i < f.Settled && f.spent(d, c) {
			k := correlate.IDKey(correlate.ByID, c.ID)
			if list := slices.DeleteFunc(f.ByID[k], func(o *Cancelling) bool { return o == c }); len(list) > 0 {
				f.ByID[k] = list
			} else {
				delete(f.ByID, k)
			}
			continue
		}
		if i < f.Settled {
			settled++
		}
		kept = append(kept, c)
	}
	clear(f.Cancels[len(kept):])
	f.Cancels, f.Settled, f.Sift = kept, settled, 2*settled
}

// spent reports whether a cancel whose window is over can show nothing any more: no
// request is open that it may have hit, and those that ended in its window have told
// how calls end.
func (f *Cancel) spent(d *correlate.Domain, c *Cancelling) bool {
	if slices.ContainsFunc(f.Ends[f.Learned:], func(r *correlate.Request) bool { return r.End.Time.From <= c.Ref.Time.To+f.Window }) {
		return false
	}
	return !slices.ContainsFunc(d.Index.Find(correlate.IDKey(correlate.ByID, c.ID)), func(r *correlate.Request) bool {
		return !r.Ended() && f.mayHit(c, r)
	})
}

// match pairs the cancels of one id whose senders are unknown, or known by
// address only, with the requests of that id that ended in the window, one to
// one: those whose client left or that ended without an answer first. What is
// left over and says cancelled was ended by another party's cancel.
func (f *Cancel) match(d *correlate.Domain, c *Cancelling, out *Sink) {
	var group []*Cancelling
	for _, o := range f.ByID[correlate.IDKey(correlate.ByID, c.ID)] {
		if o.ID.Fold() == c.ID.Fold() && !o.Settled && !f.sent(o) && !o.Log && o.Ref.Time.From <= c.Ref.Time.To+f.Window {
			group = append(group, o)
			o.Settled = true
		}
	}
	var ended []*correlate.Request
	seen := map[*correlate.Request]bool{}
	add := func(r *correlate.Request) {
		if !seen[r] {
			seen[r] = true
			ended = append(ended, r)
		}
	}
	same := d.Index.Find(correlate.IDKey(correlate.ByID, c.ID))
	for _, o := range group {
		for _, r := range same {
			if !seen[r] && r.Ended() && f.within(o, r) && f.mayHit(o, r) {
				add(r)
			}
		}
		for _, r := range o.Gone {
			add(r)
		}
		if o.Own != nil && o.Own.Ended() && f.within(o, o.Own) {
			add(o.Own)
		}
	}
	slices.SortStableFunc(ended, func(a, b *correlate.Request) int { return unansweredFirst(a) - unansweredFirst(b) })
	if len(ended) <= len(group) {
		return
	}
	for _, r := range ended[len(group):] {
		u := f.Usual[calledBy(r)]
		if !r.SaysCancelled() || u != nil && u.Cancelled || r.OwnCancel != (event.Time{}) || f.shutdown(r) {
			continue
		}
		out.Report(f.finding(c, r, "cancelled", signals.Probable,
			"the client of this call did not cancel it: more calls with this id ended than cancels were sent",
			fmt.Sprintf("%d calls with this id ended on %d cancels, and this one says that it was cancelled", len(ended), len(group))))
	}
}

func unansweredFirst(r *correlate.Request) int {
	switch {
	case r.Left || r.Fate == correlate.GivenUp:
		return 0
	case r.Fate != correlate.Answered:
		return 1
	case r.OwnCancel != (event.Time{}):
		return 2
	}
	return 3
}

// silent reports a request that stays silent to the end of the window after a cancel of its id.
func (f *Cancel) silent(d *correlate.Domain, c *Cancelling, out *Sink) {
	if !f.sent(c) || c.Own != nil || c.Log {
		return
	}
	for _, r := range d.Index.Find(correlate.IDKey(correlate.ByID, c.ID)) {
		if r.Ended() || !f.mayHit(c, r) || r.Party == nil || !correlate.Distinct(r.Party, c.By) || !r.Party.Complete(event.ToClient, r.Sent.Time.From) {
			continue
		}
		out.Report(f.finding(c, r, "silenced", signals.Possible, "the call would have been answered by now", "it stays silent from then to the end of the recording"))
	}
}
