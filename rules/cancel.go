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

// Cancel detects cancellation_crosstalk: a cancel of one party ended the
// request of another one that has the same id.
type Cancel struct {
	Window  int64
	Cancels []*Cancelling            // recent, in order, with other requests of their id in flight
	Settled int                      // how many of Cancels are settled, from the front
	Lines   []*Cancelling            // recent cancels of a log, in order
	Hits    map[uint64][]*Cancelling // Cancels by the Seq of the other requests they may have hit
	Waiting []Effect                 // ends in the window of a cancel, until it is over
	Learned int                      // how many of Ends have told how calls of their tool end
	Ends    []*correlate.Request     // requests that ended recently, for the guard against a shutdown
	Usual   map[string]*Usual
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
	Others   []*correlate.Request // other requests with this id in flight then
	Gone     []*correlate.Request // sender unknown: requests with this id whose client had left a moment before
	Log      bool
	Settled  bool // its window is over and the leftovers were matched
}

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

// Doubt is a finding whose canceller had a request of that id open too.
type Doubt struct {
	Own     *correlate.Request
	Cancel  correlate.Ref
	Finding *signals.Finding
}

func newCancel(o Options) Detector {
	return &Cancel{Window: o.CancelWindow, Usual: map[string]*Usual{}, Hits: map[uint64][]*Cancelling{}}
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
	if ev.Exchange.N != 0 && !legacy(m.Exchange) {
		return
	}
	c := &Cancelling{
		ID: ev.RPC.CancelID, By: m.Party, Exchange: m.Exchange, Own: m.Cancels, Reason: ev.RPC.Reason, Log: ev.Exchange.N == 0,
		Ref: correlate.Ref{At: ev.At, Time: ev.Time, Excerpt: ev.Excerpt}, Folded: ev.Loss&event.LossIDType != 0,
	}
	if c.Own == nil && f.sent(c) {
		c.Own = justEnded(c.By, c.ID, ev.Time)
	}
	for _, r := range d.Index.Find(correlate.IDKey(correlate.ByID, c.ID)) {
		if r.Dir != event.ToServer || r.Era == mcp.EraModern || r == c.Own || r.Party == c.By && f.sent(c) {
			continue
		}
		if r.InFlight(ev.Time) != correlate.No || ev.At.Unit == event.UnitEntry && r.OpenWithin(ev.Time, harSlack) != correlate.No {
			c.Others = append(c.Others, r)
		} else if !f.sent(c) && leftBefore(r, ev.Time) {
			c.Gone = append(c.Gone, r)
		}
	}
	if c.Log {
		if len(f.Lines) >= 256 {
			f.Lines = slices.Delete(f.Lines, 0, 1)
		}
		f.Lines = append(f.Lines, c)
	}
	if len(c.Others) == 0 {
		return
	}
	if !c.Log && !f.sent(c) || slices.ContainsFunc(c.Others, func(r *correlate.Request) bool { return correlate.Distinct(r.Party, c.By) }) {
		out.Judged(signals.CancellationCrosstalk)
	}
	if len(f.Cancels) >= keepCancels {
		f.forget(1)
	}
	f.Cancels = append(f.Cancels, c)
	for _, r := range c.Others {
		f.Hits[r.Seq] = append(f.Hits[r.Seq], c)
	}
	for _, r := range c.Others { // HAR: the answer may stand up to 2 ms before the cancel
		if r.Ended() && f.sent(c) {
			f.wait(Effect{Cancel: c, Hit: r})
		}
	}
}

// forget drops the n oldest cancels.
func (f *Cancel) forget(n int) {
	for _, c := range f.Cancels[:n] {
		for _, r := range c.Others {
			f.Hits[r.Seq] = slices.DeleteFunc(f.Hits[r.Seq], func(o *Cancelling) bool { return o == c })
			if len(f.Hits[r.Seq]) == 0 {
				delete(f.Hits, r.Seq)
			}
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

// ended takes a request whose fate was decided, and holds it against the recent cancels.
func (f *Cancel) ended(m *correlate.Moment, r *correlate.Request, out *Sink) {
	f.remember(r)
	for _, c := range f.Hits[r.Seq] {
		if c.Log == (r.Exchange != nil) {
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
	key := r.Method + " " + r.Tool
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
	u.Results++
	u.Fastest = min(u.Fastest, r.End.Time.To-r.Sent.Time.From)
}

// near reports whether a cancel of that id stands in the window before the end of r.
func (f *Cancel) near(r *correlate.Request) bool {
	return slices.ContainsFunc(f.Hits[r.Seq], func(c *Cancelling) bool { return f.within(c, r) })
}

// shutdown reports whether requests with other ids were ended around the same
// moment by nobody's own wish: everything ends together.
func (f *Cancel) shutdown(r *correlate.Request) bool {
	n := 0
	for _, e := range f.Ends {
		if at := e.End.Time.To; doomed(e) && e.ID.Fold() != r.ID.Fold() && at > r.End.Time.To-f.Window && at < r.End.Time.To+f.Window {
			n++
		}
	}
	return n >= 2
}

// effect judges a request of another party that ended in the window after a cancel.
func (f *Cancel) effect(e Effect, out *Sink) {
	c, r := e.Cancel, e.Hit
	if r.Party == nil || !correlate.Distinct(r.Party, c.By) || r.OwnCancel != (event.Time{}) || r.Left || f.shutdown(r) {
		return
	}
	if r.Party.IsSession() && (r.Party.Expired || c.Log && !r.Party.Live) {
		return // the whole session ended, its calls with it
	}
	har := r.End.At.Unit == event.UnitEntry
	u := f.Usual[r.Method+" "+r.Tool]
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

// settle matches, once the window of a cancel is over, cancels whose sender is
// not known against the requests that ended, and drops old cancels.
func (f *Cancel) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	over := 0
	for over < len(f.Waiting) && (end || now-f.Waiting[over].Hit.End.Time.To > f.Window+harSlack) {
		f.learn(f.Waiting[over].Cancel.Ref.Time.From)
		f.effect(f.Waiting[over], out)
		over++
	}
	f.Waiting = slices.Delete(f.Waiting, 0, over)
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
			f.silent(c, out)
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
}

// match pairs the cancels of one id whose senders are unknown, or known by
// address only, with the requests of that id that ended in the window, one to
// one: those whose client left or that ended without an answer first. What is
// left over and says cancelled was ended by another party's cancel.
func (f *Cancel) match(d *correlate.Domain, c *Cancelling, out *Sink) {
	var group []*Cancelling
	for _, o := range f.Cancels {
		if o.ID.Fold() == c.ID.Fold() && !o.Settled && !f.sent(o) && !o.Log && o.Ref.Time.From <= c.Ref.Time.To+f.Window {
			group = append(group, o)
			o.Settled = true
		}
	}
	var ended []*correlate.Request
	for _, o := range group {
		for _, r := range o.Others {
			if !slices.Contains(ended, r) && r.Ended() && f.within(o, r) {
				ended = append(ended, r)
			}
		}
		for _, r := range o.Gone {
			if !slices.Contains(ended, r) {
				ended = append(ended, r)
			}
		}
		if o.Own != nil && o.Own.Ended() && f.within(o, o.Own) && !slices.Contains(ended, o.Own) {
			ended = append(ended, o.Own)
		}
	}
	slices.SortStableFunc(ended, func(a, b *correlate.Request) int { return unansweredFirst(a) - unansweredFirst(b) })
	if len(ended) <= len(group) {
		return
	}
	for _, r := range ended[len(group):] {
		u := f.Usual[r.Method+" "+r.Tool]
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
func (f *Cancel) silent(c *Cancelling, out *Sink) {
	if !f.sent(c) || c.Own != nil || c.Log {
		return
	}
	for _, r := range c.Others {
		if r.Ended() || r.Party == nil || !correlate.Distinct(r.Party, c.By) || !r.Party.Complete(event.ToClient, r.Sent.Time.From) {
			continue
		}
		out.Report(f.finding(c, r, "silenced", signals.Possible, "the call would have been answered by now", "it stays silent from then to the end of the recording"))
	}
}

func (f *Cancel) finding(c *Cancelling, r *correlate.Request, variant string, st signals.Strength, assume, how string) signals.Finding {
	by := signals.Party{Alias: "?", Text: senderText(c.Exchange), Role: signals.Cause}
	if c.By != nil {
		by = party(c.By, signals.Cause)
	}
	hit := signals.Party{Alias: "?", Text: senderText(r.Exchange), Role: signals.Victim}
	if r.Party != nil {
		hit = party(r.Party, signals.Victim)
	}
	own := fmt.Sprintf("%s had no request %s in flight itself", name(c.By), idText(c.ID))
	if c.Own != nil {
		own = fmt.Sprintf("the cancel was meant for the %s of %s itself", call(c.Own), name(c.By))
	} else if c.By == nil {
		own = "the sender of the cancel names no session"
	}
	ev := []signals.Evidence{
		seen(signals.Victim, r.Sent, r.Party, "the request that was hit"),
		seen(signals.Cause, c.Ref, c.By, "the cancel"),
	}
	if r.Ended() {
		ev = append(ev, seen(signals.Victim, r.End, r.Party, how))
	}
	if c.Own != nil {
		ev = append(ev, seen(signals.Context, c.Own.Sent, c.By, "the request that the cancel was meant for"))
	}
	last := c.Ref.Time.To
	if r.Ended() {
		last = max(last, r.End.Time.To)
	}
	return signals.Finding{
		Signal: signals.CancellationCrosstalk, Variant: variant, Strength: st, Era: "legacy", Parties: []signals.Party{by, hit},
		RequestIDs: ids(r, c.Own), Method: r.Method, Tool: r.Tool, First: c.Ref.Time.From, Last: last,
		Summary: fmt.Sprintf("a cancel of id %s by %s hit the %s of %s", idText(c.ID), name(c.By), call(r), name(r.Party)),
		Because: []string{
			fmt.Sprintf("%s had %s in flight", name(r.Party), call(r)),
			fmt.Sprintf("%s cancelled id %s; %s", name(c.By), idText(c.ID), own),
			fmt.Sprintf("the request of %s ended then though its client neither cancelled it nor left: %s", name(r.Party), how),
			"so the table of running requests is keyed by the request id without the session",
		},
		Assumption: assume, Evidence: ev,
	}
}

// logged judges a log line that says a request was cancelled.
func (f *Cancel) logged(m *correlate.Moment, out *Sink) {
	ev, d, b := m.Event, m.Domain, m.Party
	if b == nil || ev.RPC.ID == "" && ev.RPC.CancelID == "" {
		return
	}
	id := ev.RPC.CancelID
	if id == "" {
		id = ev.RPC.ID
	}
	ref := correlate.Ref{At: ev.At, Time: ev.Time, Excerpt: ev.Excerpt}
	if ev.Asked.State == event.Present && ev.Answered.State == event.Present {
		if a := d.Sessions[ev.Asked.ID]; a != nil && a != b {
			out.Judged(signals.CancellationCrosstalk)
			f.reportLog(id, a, b, ref, ref, signals.Confirmed, "", out)
		}
		return
	}
	if ev.Answered.State != event.Present || m.Request != nil {
		return // a request that the log shows: judged as an end like any other
	}
	var by *Cancelling
	for _, c := range f.Lines {
		if c.ID.Fold() != id.Fold() || ev.Time.To-c.Ref.Time.To > f.Window {
			continue
		}
		if c.By == b {
			return // its own cancel
		}
		by = c
	}
	if r := b.Recent(id); r != nil && r.OwnCancel != (event.Time{}) {
		return
	}
	if by != nil && by.By != nil {
		out.Judged(signals.CancellationCrosstalk)
		f.reportLog(id, by.By, b, by.Ref, ref, signals.Probable, "the request was not cancelled for another reason", out)
	}
}

func (f *Cancel) reportLog(id mcp.ID, a, b *correlate.Party, cancel, effect correlate.Ref, st signals.Strength, assume string, out *Sink) {
	ev := []signals.Evidence{seen(signals.Cause, cancel, a, "the cancel")}
	if effect.At != cancel.At {
		ev = append(ev, seen(signals.Victim, effect, b, "the server cancels a request of "+b.Alias))
	}
	ev = append(ev, seen(signals.Context, b.Birth, b, "first line about "+b.Alias))
	out.Report(signals.Finding{
		Signal: signals.CancellationCrosstalk, Variant: "log", Strength: st, Era: "legacy",
		Parties:    []signals.Party{party(a, signals.Cause), party(b, signals.Victim)},
		RequestIDs: idList(id), Method: mcp.Cancelled, First: cancel.Time.From, Last: effect.Time.To,
		Summary: fmt.Sprintf("by the server's own log, a cancel of id %s by %s cancelled the request %s of %s", idText(id), a.Alias, idText(id), b.Alias),
		Because: []string{
			a.Alias + " cancelled this id",
			fmt.Sprintf("right after, the server cancelled the request with this id of %s, which did not ask for it", b.Alias),
			"so the table of running requests is keyed by the request id without the session",
		},
		Assumption: assume, Evidence: ev,
	})
}
