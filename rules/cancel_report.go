package rules

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

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
	if b == nil || ev.RPC.ID == "" && ev.RPC.CancelID == "" || m.Again && ev.Asked.State != event.Present {
		return
	}
	id := ev.RPC.CancelID
	if id == "" {
		id = ev.RPC.ID
	}
	ref := refOf(ev)
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
		st := signals.Probable
		if d.Views && correlate.Before(by.Ref.Time, ev.Time) != correlate.Certain {
			st = signals.Possible // another log may hold the order, and a cancel of its own
		}
		out.Judged(signals.CancellationCrosstalk)
		f.reportLog(id, by.By, b, by.Ref, ref, st, "the request was not cancelled for another reason", out)
	}
}

func (f *Cancel) reportLog(id mcp.ID, a, b *correlate.Party, cancel, effect correlate.Ref, st signals.Strength, assume string, out *Sink) {
	ev := []signals.Evidence{seen(signals.Cause, cancel, a, "the cancel")}
	if effect.At != cancel.At {
		ev = append(ev, seen(signals.Victim, effect, b, "the server cancels a request of "+b.Alias))
	}
	ev = append(ev, seen(signals.Context, *b.Birth, b, "first line about "+b.Alias))
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
