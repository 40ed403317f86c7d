package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// What happened to other requests after a cancel.

// Effect is a request that ended in the window after a cancel. It waits for the
// end of the window: a shutdown ends everything together, and the canceller's own request may end too.
type Effect struct {
	Cancel *Cancelling
	Hit    *correlate.Request
	Closed bool // the server closed its stream
}

// Usual is how the uncancelled calls of one tool end.
type Usual struct {
	Results   int
	Errors    int
	Fastest   int64
	Cancelled bool // it said cancelled without a cancel
}

// Called is what calls are compared by.
type Called struct{ Method, Tool string }

func calledBy(r *correlate.Request) Called { return Called{r.Method, r.Tool} }

// Doubt is a finding whose canceller had a request of that id open too.
type Doubt struct {
	Own     *correlate.Request
	Cancel  correlate.Ref
	Finding *signals.Finding
}

// ended takes a request whose fate was decided, and holds it against the recent cancels.
func (f *Cancel) ended(m *correlate.Moment, r *correlate.Request, out *Sink) {
	f.remember(r)
	for _, c := range f.ByID[correlate.IDKey(correlate.ByID, r.ID)] {
		if c.Log == (r.Exchange != nil) || !f.mayHit(c, r) {
			continue
		}
		if f.within(c, r) && f.sent(c) && r.Party != nil && r.Party.Kind != correlate.ByAddress {
			f.wait(Effect{c, r, m.Event.Kind == event.Closed && r.Exchange != nil && r.Exchange.By == event.ByServer})
		} else if f.sent(c) {
			f.starved(m, c, r, out)
		}
	}
	f.ownRanOn(r, out)
}

func (f *Cancel) wait(e Effect) {
	if len(f.Waiting) < keepCancels {
		f.Waiting = append(f.Waiting, e)
	}
}

// within reports whether the request ended in the window after the cancel.
func (f *Cancel) within(c *Cancelling, r *correlate.Request) bool {
	end, at := r.End.Time, c.Ref.Time
	slack := int64(0)
	if r.End.At.Unit == event.UnitEntry {
		slack = harSlack
	}
	return end.To+slack >= at.From && end.From <= at.To+f.Window
}

func (f *Cancel) remember(r *correlate.Request) {
	if len(f.Ends) >= 256 {
		f.learn(f.Ends[127].End.Time.To)
		f.Ends = slices.Delete(f.Ends, 0, 128)
		f.Learned = max(0, f.Learned-128)
	}
	f.Ends = append(f.Ends, r)
}

// learn takes the requests that ended up to a time into account. A log may tell
// only after the answer that it was a cancelled one, so this waits.
func (f *Cancel) learn(until int64) {
	for f.Learned < len(f.Ends) && f.Ends[f.Learned].End.Time.To <= until {
		f.usual(f.Ends[f.Learned])
		f.Learned++
	}
}

// doomed reports whether a request was cancelled or cut, and not by its own party.
func doomed(r *correlate.Request) bool {
	return r.OwnCancel == (event.Time{}) && !r.Left && (r.SaysCancelled() || r.Fate == correlate.Cut)
}

// usual learns how the calls of a tool end that nobody cancelled.
func (f *Cancel) usual(r *correlate.Request) {
	if r.Fate != correlate.Answered || r.OwnCancel != (event.Time{}) || f.near(r) {
		return
	}
	key := calledBy(r)
	u := f.Usual[key]
	if u == nil {
		if len(f.Usual) >= 4096 {
			return
		}
		u = &Usual{Fastest: 1 << 62}
		f.Usual[key] = u
	}
	if r.SaysCancelled() {
		u.Cancelled = true
	}
	if r.Answer == mcp.KindError || r.IsError {
		u.Errors++
		return
	}
	if r.Answer == mcp.KindNone {
		return // a log says that it is over, and not how
	}
	u.Results++
	u.Fastest = min(u.Fastest, r.End.Time.To-r.Sent.Time.From)
}

// near reports whether a cancel of that id stands in the window before the end of r.
func (f *Cancel) near(r *correlate.Request) bool {
	return slices.ContainsFunc(f.ByID[correlate.IDKey(correlate.ByID, r.ID)], func(c *Cancelling) bool { return f.within(c, r) && f.mayHit(c, r) })
}

// shutdown reports whether requests with other ids were ended around the same
// moment by nobody's own wish: everything ends together.
func (f *Cancel) shutdown(r *correlate.Request) bool {
	n := 0
	for _, e := range f.Ends {
		if at := e.End.Time.To; at > r.End.Time.To-f.Window && at < r.End.Time.To+f.Window && doomed(e) && e.ID.Fold() != r.ID.Fold() {
			n++
		}
	}
	return n >= 2
}

// effect judges a request of another party that ended in the window after a cancel.
func (f *Cancel) effect(e Effect, out *Sink) {
	c, r := e.Cancel, e.Hit
	if r.Succeeded() {
		return // an ordinary answer is no effect
	}
	if r.Party == nil || !correlate.Distinct(r.Party, c.By) || r.OwnCancel != (event.Time{}) || r.Left || f.shutdown(r) {
		return
	}
	if r.Party.IsSession() && (r.Party.Expired || c.Log && !r.Party.Live) {
		return // the whole session ended, its calls with it
	}
	har := r.End.At.Unit == event.UnitEntry
	u := f.Usual[calledBy(r)]
	quotes := len(c.Reason) >= 4 && strings.Contains(r.ErrorText, c.Reason)
	says := r.SaysCancelled() && (u == nil || !u.Cancelled || quotes)
	ownOpen := c.Own != nil
	st, variant, assume := signals.None, "cancelled", ""
	var how string
	switch {
	case c.Log && says:
		f.reportLog(c.ID, c.By, r.Party, c.Ref, r.End, signals.Probable, "the request was not cancelled for another reason", out)
	case c.Log:
	case r.Fate == correlate.Cut && e.Closed:
		st, variant, how = signals.Probable, "silenced", "the server closed its stream without an answer right after"
		assume = "the server had no other reason to close the stream"
	case says && (!ownOpen || quotes):
		st, how = signals.Confirmed, "it answers that it was cancelled"
		if quotes {
			how += ", with the reason that " + name(c.By) + " gave"
		}
	case says:
		st, how = signals.Probable, "it answers that it was cancelled"
		assume = fmt.Sprintf("it did not end for the same cause as the request %s of %s", idText(c.ID), name(c.By))
	case r.Fate == correlate.Answered && (r.Answer == mcp.KindError || r.IsError):
		unlike := u != nil && u.Results >= 3 && u.Errors == 0
		sooner := u != nil && u.Results >= 5 && 2*(r.End.Time.To-r.Sent.Time.From) < u.Fastest
		if unlike && sooner || (unlike || sooner) && !ownOpen {
			st, variant, how = signals.Probable, "ended", "it ends with an error, unlike the other calls of this tool"
			if sooner {
				how = "it ends with an error in less than half the time of the fastest other call of this tool"
			}
			assume = "the error has no cause of its own"
		}
	}
	if st == signals.None {
		return
	}
	if har && st > signals.Probable {
		st, assume = signals.Probable, "the answer came after the cancel: a HAR has no time for it but the end of its entry"
	}
	fd := out.Report(f.finding(c, r, variant, st, assume, how))
	if ownOpen && says && !quotes && !har && fd.Strength < signals.Confirmed {
		f.Doubts = append(f.Doubts, Doubt{c.Own, c.Ref, fd})
		if len(f.Doubts) > 256 {
			f.Doubts = slices.Delete(f.Doubts, 0, 1)
		}
	}
}

// ownRanOn confirms a finding when the canceller's own request gets a result later than the window.
func (f *Cancel) ownRanOn(r *correlate.Request, out *Sink) {
	for i := 0; i < len(f.Doubts); i++ {
		d := f.Doubts[i]
		if d.Own != r {
			continue
		}
		if r.Succeeded() && r.End.Time.From > d.Cancel.Time.To+f.Window {
			out.Raise(d.Finding, signals.Confirmed, "the request that the cancel was meant for ran on and got its result")
		}
		f.Doubts = slices.Delete(f.Doubts, i, i+1)
		i--
	}
}

// starved judges a request that got no answer until its client gave up, while
// the request that the cancel was meant for was answered all the same.
func (f *Cancel) starved(m *correlate.Moment, c *Cancelling, r *correlate.Request, out *Sink) {
	if r.Fate != correlate.GivenUp || r.Party == nil || !correlate.Distinct(r.Party, c.By) || c.Own == nil || !c.Own.Succeeded() {
		return
	}
	if c.Own.End.Time.To < c.Ref.Time.From || r.End.Time.From <= c.Ref.Time.To+f.Window {
		return
	}
	if r.OwnCancel != (event.Time{}) && r.OwnCancel.From <= c.Ref.Time.To+f.Window || !othersAnswered(r) {
		return
	}
	out.Report(f.finding(c, r, "silenced", signals.Probable, "the silence has no cause of its own",
		fmt.Sprintf("it got no answer until its client gave up, while the cancelled request of %s was answered with a result", name(c.By))))
}

// othersAnswered reports whether other calls of the same party were answered after r was sent.
func othersAnswered(r *correlate.Request) bool {
	return r.Party.LastResult > r.Sent.Time.From
}
