package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// What logs say about how a session was resolved.

// Naming is a session in one log.
type Naming struct {
	Session string
	View    int32
}

// implicit is how long the request that makes a session may take: for so long another
// log may still tell of it.
const implicit = 5 * int64(1e9)

// resolved judges the server's own word about how it resolved a session.
func (f *Fallback) resolved(m *correlate.Moment, out *Sink) {
	ev, d, bound := m.Event, m.Domain, m.Party
	if bound == nil {
		return
	}
	if d.LiveCount >= 2 {
		out.Judged(signals.FallbackResolution)
	}
	if !fallbackSource(ev.Resolution) {
		return
	}
	live := d.Live(ev.Time, maxLive)
	if !slices.Contains(live, bound) {
		live = append(live, bound)
	}
	if len(live) < 2 {
		out.Note(signals.NoteFallbackOwn, ev.At)
		return
	}
	f.tell(ev.RPC.ID, bound)
	f.reportLog(m, bound, orderedLog(ev, without(live, bound), signals.Confirmed), "the server says that it bound a request to "+bound.Alias+" by fallback", "", out)
}

// fallbackSource reports whether a resolution source means that the session was guessed.
func fallbackSource(s string) bool {
	switch s {
	case "fallback", "latest", "last", "last_used", "newest", "most_recent", "most_recently_created",
		"first", "first_live", "oldest": // the first live session is the more frequent guess in the wild
		return true
	}
	return false
}

// logged judges an access-like log line: what the request asked and what the answer named.
func (f *Fallback) logged(m *correlate.Moment, out *Sink) {
	ev, d := m.Event, m.Domain
	if ev.RPC.Method == mcp.Initialize && ev.Answered.State == event.Present && m.Party != nil {
		f.Named.Put(Naming{m.Party.ID, ev.View}, 1) // this log told how it was made
	}
	if ev.RPC.Era == mcp.EraModern || ev.Asked.State != event.Absent || mcp.NeedsNoSession(ev.RPC.Method) {
		return
	}
	live := d.Live(ev.Time, maxLive)
	if ev.Status >= 400 {
		if mcp.SessionBound(ev.RPC.Method) && d.CreationLines > 0 && len(live) >= 2 {
			out.Judged(signals.FallbackResolution) // the occasion was there, and the server did right
		}
		return
	}
	if ev.Answered.State == event.Present {
		p := m.Party
		if ev.RPC.Method != "" && p.Birth.At == ev.At {
			out.Note(signals.NoteImplicitSession, ev.At)
			return
		}
		line := Naming{p.ID, ev.View} // each log has a line about its initialize
		n, _ := f.Named.Get(line)
		f.Named.Put(line, n+1)
		if n == 0 && p.Birth.View != ev.View && ev.Time.From-p.Birth.Time.To < implicit && ev.RPC.Method != "" {
			out.Note(signals.NoteImplicitSession, ev.At) // the other log's line about the request that made it
			return
		}
		if n == 0 && ev.RPC.Method == "" {
			return // its initialize
		}
		if !p.Born || len(without(live, p)) == 0 {
			return
		}
		if f.told(ev.RPC.ID, p) {
			return
		}
		out.Judged(signals.FallbackResolution)
		f.reportLog(m, p, orderedLog(ev, without(live, p), signals.Confirmed), "a request that named no session was answered in the name of "+p.Alias, "", out)
		return
	}
	if ev.RPC.Method == mcp.ToolsCall && ev.Outcome == event.OutcomeOK && d.CreationLines > 0 && len(live) > 0 {
		out.Judged(signals.FallbackResolution)
		f.reportLog(m, nil, orderedLog(ev, live, signals.Probable), "a tool call without a session succeeded in a log that shows how sessions are made",
			"the server has no stateless branch", out)
	}
}

// tell notes that the server said that it bound a request to a session, and how many of
// those it named no id of.
func (f *Fallback) tell(id mcp.ID, bound *correlate.Party) {
	for _, k := range []string{id.Fold(), anyID} {
		n, _ := f.Told.Get(Hint{Kind: k, Session: bound.ID})
		f.Told.Put(Hint{Kind: k, Session: bound.ID}, n+1)
	}
}

// told takes away one request that was told of, and reports whether there was one: with
// this id, or without one, or any where the id is not known.
func (f *Fallback) told(id mcp.ID, bound *correlate.Party) bool {
	take := func(kind string) bool {
		k := Hint{Kind: kind, Session: bound.ID}
		n, _ := f.Told.Get(k)
		if n > 0 {
			f.Told.Put(k, n-1)
		}
		return n > 0
	}
	if id == "" {
		if !take(anyID) {
			return false
		}
		take("")
		return true
	}
	if !take(id.Fold()) && !take("") {
		return false
	}
	take(anyID)
	return true
}

const anyID = " " // stands for all ids in Fallback.Told

// orderedLog is the strength of a finding that needs another session to be live: one
// less where only stamps of two logs, which allow both orders, say that one is.
func orderedLog(ev *event.Event, others []*correlate.Party, st signals.Strength) signals.Strength {
	if slices.ContainsFunc(others, func(p *correlate.Party) bool { return p.LiveFor(ev) == correlate.Certain }) {
		return st
	}
	return st.Down()
}

func (f *Fallback) reportLog(m *correlate.Moment, bound *correlate.Party, st signals.Strength, summary, assume string, out *Sink) {
	ev, d := m.Event, m.Domain
	from := signals.Party{Alias: "?", Text: logSender(ev), Role: signals.Cause}
	live := d.Live(ev.Time, maxLive)
	parties := []signals.Party{from}
	evidence := []signals.Evidence{here(signals.Cause, ev, nil, "resolved to a session that the request did not name")}
	evidence[0].Party = from.Alias
	if bound != nil {
		parties = append(parties, party(bound, signals.Victim))
		evidence = append(evidence, seen(signals.Victim, *bound.Birth, bound, bound.Alias+" was made here, for its own client"))
	}
	others := without(live, bound)
	for _, p := range others[:min(1, len(others))] {
		parties = append(parties, party(p, signals.Context))
		evidence = append(evidence, seen(signals.Context, *p.Birth, p, p.Alias+" was live as well"))
	}
	if bound == nil {
		parties = candidates(parties, live)
	}
	out.Report(signals.Finding{
		Signal: signals.FallbackResolution, Variant: "log", Strength: st, Era: "legacy", Parties: parties, RequestIDs: idList(ev.RPC.ID),
		Method: ev.RPC.Method, Tool: ev.RPC.Tool, First: ev.Time.From, Last: ev.Time.To, Summary: summary,
		Because: []string{
			summary,
			"another session was live at that moment",
			"so the request may act on, and read from, a session of another client",
		},
		Assumption: assume, Evidence: evidence,
	})
}

func logSender(ev *event.Event) string {
	if ev.Sender.Peer != "" {
		return "sender at " + ev.Sender.Peer
	}
	if ev.Sender.Conn != "" {
		return "sender at " + ev.Sender.Conn
	}
	return "unknown sender"
}
