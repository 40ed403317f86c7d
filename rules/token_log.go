package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Router lines of a log.

// Route is a router line: progress of Origin with Token went to Target.
type Route struct {
	Token          mcp.ID
	Origin, Target string
	Ref            correlate.Ref
}

// routed judges a router line of a log.
func (f *Token) routed(m *correlate.Moment, out *Sink) {
	ev, d, target := m.Event, m.Domain, m.Party
	if target == nil {
		return
	}
	if holder := f.loggedHolder(m); holder != nil && target.Born {
		if m.Again {
			return
		}
		f.reportLog(m, holder, "the progress line names a target session that is none of those whose requests carry the token", out)
		return
	}
	if ev.Origin.State != event.Present {
		f.loggedPoint(m, out)
		return
	}
	now := Route{Token: ev.RPC.Token, Origin: ev.Origin.ID, Target: target.ID, Ref: refOf(ev)}
	for _, o := range f.Routes {
		if o.Token == now.Token && o.Target == now.Target && o.Origin != now.Origin && now.Ref.Time.To-o.Ref.Time.To < minute {
			origin := now.Origin
			if origin == target.ID {
				origin = o.Origin
			}
			if from := d.Sessions[origin]; from != nil && target.Born {
				f.reportRoute(m, from, o, now, out)
			}
			break
		}
	}
	if len(f.Routes) >= 256 {
		f.Routes = slices.Delete(f.Routes, 0, 1)
	}
	f.Routes = append(f.Routes, now)
}

// loggedPoint keeps what a line says was sent to a session that gave the token
// itself: the series of two sessions may have been mixed. Lines of one second
// have no order, and of lines that say the same the first counts.
func (f *Token) loggedPoint(m *correlate.Moment, out *Sink) {
	ev := m.Event
	if ev.Kind != event.Message || !ev.RPC.HasProgress || orderless(ev.Time) || !m.Party.Tokens.Has(ev.RPC.Token) {
		return
	}
	var own *correlate.Request
	for _, r := range m.Domain.Index.Find(correlate.IDKey(correlate.ByToken, ev.RPC.Token)) {
		if r.Party != m.Party || r.Era == mcp.EraModern || r.OpenWithin(ev.Time, correlate.Grace) == correlate.No {
			continue
		}
		if own != nil {
			return // either may be meant
		}
		own = r
	}
	if own == nil {
		return
	}
	if own.Tool != "" {
		f.Reports.Put(own.Tool, true)
	}
	s := f.series(own)
	if s == nil {
		return
	}
	if len(s.Rivals) > 0 && len(s.Points) == 0 {
		out.Judged(signals.TokenCollision)
	}
	for i := range s.Points {
		if p := &s.Points[i]; p.Value == ev.RPC.Progress && p.Total == ev.RPC.Total && p.Text == skeleton(ev.RPC.ProgressMsg) {
			return
		}
	}
	f.point(own, ev, true)
}

// loggedHolder returns the request of another session that carries the token,
// where the log shows tokens with requests and the target's carry none of it.
func (f *Token) loggedHolder(m *correlate.Moment) *correlate.Request {
	if given := &m.Party.Tokens; given.Has(m.Event.RPC.Token) || given.Forgot() {
		return nil
	}
	var holder *correlate.Request
	for _, r := range m.Domain.Index.Find(correlate.IDKey(correlate.ByToken, m.Event.RPC.Token)) {
		if r.OpenWithin(m.Event.Time, correlate.Grace) == correlate.No || r.Party == nil || r.Party == m.Party {
			continue
		}
		if holder != nil && holder.Party != r.Party {
			return nil
		}
		holder = r
	}
	return holder
}

func (f *Token) reportLog(m *correlate.Moment, b *correlate.Request, why string, out *Sink) {
	ev, a := m.Event, m.Party
	st, assume := broadcast(ev, signals.Confirmed)
	out.Judged(signals.TokenCollision)
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "log", Strength: st, Assumption: assume, Era: "legacy",
		Parties:    []signals.Party{party(a, signals.Cause), party(b.Party, signals.Victim)},
		RequestIDs: ids(b), Tokens: tokens(ev.RPC.Token), Method: b.Method, Tool: b.Tool, First: ev.Time.From, Last: ev.Time.To,
		Summary: fmt.Sprintf("the server sent progress for token %s of %s to %s", ev.RPC.Token, name(b.Party), name(a)),
		Because: []string{why, "so the progress router is not keyed by session and token together"},
		Evidence: []signals.Evidence{
			seen(signals.Victim, b.Sent, b.Party, "the request that carries the token"),
			here(signals.Cause, ev, a, "the progress is sent to "+a.Alias),
			seen(signals.Context, *a.Birth, a, a.Alias+" is created here"),
		},
	})
}

// reportRoute reports two lines by which progress of a and of another session went to a.
func (f *Token) reportRoute(m *correlate.Moment, from *correlate.Party, other, now Route, out *Sink) {
	ev, a := m.Event, m.Party
	shows := func(r Route) signals.Evidence {
		switch r.Origin {
		case a.ID:
			return seen(signals.Cause, r.Ref, a, "its own progress goes there too")
		case from.ID:
			return seen(signals.Victim, r.Ref, from, "its progress goes to "+a.Alias)
		}
		return seen(signals.Context, r.Ref, nil, "progress of a third session goes there")
	}
	out.Judged(signals.TokenCollision)
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: "log", Strength: signals.Confirmed, Era: "legacy",
		Parties: []signals.Party{party(a, signals.Cause), party(from, signals.Victim)},
		Tokens:  tokens(ev.RPC.Token), Method: mcp.ToolsCall, First: other.Ref.Time.From, Last: ev.Time.To,
		Summary:  fmt.Sprintf("the server sent the progress of %s and %s for token %s to one stream, that of %s", name(from), name(a), ev.RPC.Token, name(a)),
		Because:  []string{"the router lines name two origins and one target for one token", "so the progress router is keyed by the token alone"},
		Evidence: []signals.Evidence{shows(other), shows(now)},
	})
}
