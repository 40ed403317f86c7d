package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// What a pair of requests under one id proves.

// fate is what became of one request of a pair, seen from the other's answer.
type fate uint8

// starves says whether a waits in vain while the other exchange was answered at t.
func starves(a *correlate.Request, t event.Time) fate {
	switch a.Fate {
	case correlate.Answered:
		return served
	case correlate.Refused:
		if a.Status >= 500 {
			return starving
		}
		return served
	case correlate.Lost:
		return unknown
	case correlate.Cut, correlate.GivenUp:
		if a.Party.IsSession() && a.Party.Expired {
			return served // the server restarted or forgot the session
		}
	case correlate.Open:
		if !judgeable(a) || a.Party != nil && !a.Party.Complete(event.ToClient, a.Sent.Time.From) {
			return unknown
		}
		return hanging
	}
	if a.Exchange == nil || a.Exchange.Loss&event.LossResponseBody != 0 {
		return unknown
	}
	if a.OwnCancel != (event.Time{}) && a.OwnCancel.To <= t.To {
		return served // it had been cancelled before
	}
	if a.End.Time.To < t.From {
		return served // it had been given up before
	}
	return starving
}

// judge weighs one pair.
func (f *Crossing) judge(d *correlate.Domain, p *Pair, out *Sink) {
	if !judgeable(p.A) || !judgeable(p.B) {
		if p.Same {
			out.Unassessable(signals.ResponseCrossing, "an id is in flight twice in a session, but which answer belongs to which request cannot be told")
		}
		return
	}
	a, b, g, back := p.A, p.B, p.BGot, p.AGot
	if !g.Foreign && !g.Rival && (back.Foreign || back.Rival) || !b.Ended() || b.Fate != correlate.Answered && a.Fate == correlate.Answered {
		a, b, g, back = b, a, back, g
	}
	if b.Fate == correlate.Refused && b.Status < 500 || a.Fate == correlate.Refused && a.Status < 500 || refusedID(a) || refusedID(b) {
		if p.Same {
			out.Judged(signals.ResponseCrossing)
			out.Note(signals.NoteRefusedDuplicate, b.Sent.At)
		}
		return
	}
	if b.Fate != correlate.Answered {
		if p.Same {
			out.Unassessable(signals.ResponseCrossing, "an id is in flight twice in a session and neither request was answered in view")
		}
		return
	}
	out.Judged(signals.ResponseCrossing)
	if g.Apt && lists(b.Method) {
		g.Foreign, g.Rival = false, false
	}
	if g.Apt && !g.Foreign && !p.Same {
		return
	}
	stale := orderedEnd(a, b) && a.Fate != correlate.Answered
	st, assume, because := f.weigh(p, a, b, g, back, stale)
	if st == signals.None {
		return
	}
	fd := f.finding(a, b, seen(signals.Victim, b.End, b.Party, "the answer on this exchange"), st, assume, because)
	if stale {
		fd.Variant = "stale_request"
	}
	if a.Ended() && a.Fate != correlate.Answered {
		fd.Evidence = append(fd.Evidence, seen(signals.Cause, a.End, a.Party, "the other request ends "+a.Fate.String()))
	} else if back.Seen {
		fd.Evidence = append(fd.Evidence, seen(signals.Cause, a.End, a.Party, "the answer on the other exchange"))
	}
	out.Report(fd)
}

// refusedID reports whether the request was refused because its id was in flight.
func refusedID(r *correlate.Request) bool {
	return r.Fate == correlate.Answered && r.Answer == mcp.KindError && (r.Status == 400 || r.Status == 409 || r.Code == codeInvalidRequest)
}

const codeInvalidRequest = -32600

// weigh decides what a pair proves.
func (f *Crossing) weigh(p *Pair, a, b *correlate.Request, g, back Got, stale bool) (signals.Strength, string, []string) {
	marker := g.Foreign && !g.Own
	if !p.Same && marker && !canCompare(b) {
		marker = false
	}
	lot := starves(a, b.End.Time)
	swap := back.Foreign && !back.Marker
	holds := fmt.Sprintf("the answer holds a value that only the %s carried, and none of its own arguments", call(a))
	switch {
	case stale && g.Foreign && !g.Own:
		return signals.Probable, "the later call does not return that value by itself", []string{
			fmt.Sprintf("the %s had been given up and never answered", call(a)), holds, "so the late answer went to the next request with this id"}
	case marker && (lot == starving || lot == hanging || swap):
		return signals.Confirmed, "", []string{holds, starveText(a, lot, swap)}
	case marker && lot == unknown:
		return signals.Probable, "the other exchange, whose end is not recorded, did not get that answer too", []string{holds}
	case lot == starving && g.Rival:
		return signals.Probable, "the answer would name the value of its own request", []string{
			"the answer holds the other request's value of an argument that both have, not its own", starveText(a, lot, swap)}
	case p.Same && lot == starving && !g.Own && !g.Marker:
		return signals.Probable, "the answer that came is the one of the request that waits: its content decides nothing", []string{
			"two requests with one id were in flight in one session, and only one answer came", starveText(a, lot, swap)}
	case g.Foreign:
		return signals.Possible, "", []string{"the answer holds a value of the other request, but both were served, or it holds its own values too"}
	}
	return signals.None, "", nil
}

// canCompare reports whether a request has an argument value that an answer of its own could hold.
func canCompare(r *correlate.Request) bool {
	return slices.ContainsFunc(r.Args, func(a event.Arg) bool { return a.Class >= event.ArgMedium })
}

func starveText(a *correlate.Request, lot fate, swap bool) string {
	switch {
	case swap:
		return fmt.Sprintf("the %s got the answer of this one in exchange", call(a))
	case lot == hanging:
		return fmt.Sprintf("the %s is still unanswered at the end of the recording", call(a))
	}
	return fmt.Sprintf("the %s was never answered", call(a))
}

// finding makes the finding of an answer on b's exchange that belongs to a.
func (f *Crossing) finding(a, b *correlate.Request, answer signals.Evidence, st signals.Strength, assume string, because []string) signals.Finding {
	variant := "shared_transport"
	cause, victim := conversation(a, signals.Cause), conversation(b, signals.Victim)
	if a.Party == b.Party && a.Party.IsSession() {
		variant = "shared_session"
		cause, victim = half(a, "a", signals.Cause), half(b, "b", signals.Victim)
		if b.Seq < a.Seq {
			cause, victim = half(a, "b", signals.Cause), half(b, "a", signals.Victim)
		}
	}
	if variant == "shared_transport" && !correlate.Distinct(a.Party, b.Party) && st > signals.Probable {
		// Two exchanges of unknown or one sender: the crossing is as sure, the parties are not.
		assume = ""
	}
	answer.Party = victim.Alias
	first := seen(signals.Cause, a.Sent, a.Party, "the request whose answer it is")
	first.Party = cause.Alias
	second := seen(signals.Victim, b.Sent, b.Party, "the request of this exchange")
	second.Party = victim.Alias
	chain := append([]string{fmt.Sprintf("%s and %s were both sent under the id %s, on two exchanges", call(a), call(b), idText(b.ID))}, because...)
	chain = append(chain, "so answers are routed by the bare id, not by the exchange that asked")
	return signals.Finding{
		Signal: signals.ResponseCrossing, Variant: variant, Strength: st, Era: "legacy", Parties: []signals.Party{cause, victim},
		RequestIDs: ids(a, b), Method: b.Method, Tool: b.Tool, First: min(a.Sent.Time.From, b.Sent.Time.From), Last: answer.Time.To,
		Summary:    fmt.Sprintf("the %s of %s received the answer to the %s of %s", call(b), victim.Alias, call(a), cause.Alias),
		Because:    chain,
		Assumption: assume, Evidence: []signals.Evidence{first, second, answer},
	}
}

// conversation names the party of a request, known or not.
func conversation(r *correlate.Request, role signals.Role) signals.Party {
	if r.Party != nil {
		return party(r.Party, role)
	}
	return signals.Party{Alias: "?", Text: senderText(r.Exchange), Role: role}
}

// half names one of two conversations of a session.
func half(r *correlate.Request, which string, role signals.Role) signals.Party {
	p := party(r.Party, role)
	p.Alias += "·" + which
	return p
}

const (
	served   fate = iota // answered, or refused, or ended by its own wish
	starving             // complete and unanswered when the other's answer came and after
	hanging              // merely open at the end of the window
	unknown              // not recorded
)
