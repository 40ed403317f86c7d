package rules

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Crossing detects response_crossing: an exchange received another exchange's
// answer. Pairs of requests under one id wait until both fates are known.
type Crossing struct {
	Pairs   []*Pair                       // not judged yet, in order
	Starved []*correlate.Request          // ended without an answer, until a restart would have shown
	Rivals  map[uint64]*correlate.Request // by Seq of an open request: another party's request under its id that was answered with content that decides nothing
}

// Pair is two requests under one folded id on two exchanges: within one
// session whenever they overlap, across parties once an answer holds something of the other's.
type Pair struct {
	A, B *correlate.Request // B's exchange is where a suspicious answer came; within a session: the later request
	Same bool               // one session

	BGot Got // what the answer on B's exchange holds
	AGot Got
}

// Got is what an answer shows about two requests.
type Got struct {
	Seen    bool
	Foreign bool // holds a marker of the other request that is no value of its own
	Own     bool // holds a value of its own arguments
	Marker  bool // holds a marker of its own
	Rival   bool // holds the other's value of an argument that both have, not its own
	Ref     correlate.Ref
}

const maxPairs = 4096

func newCrossing(o Options) Detector { return &Crossing{Rivals: map[uint64]*correlate.Request{}} }

// Observe opens pairs, reads answers, and judges pairs whose fates are decided.
func (f *Crossing) Observe(m *correlate.Moment, out *Sink) {
	ev := m.Event
	x := m.Exchange
	if x != nil && ev.Kind == event.Message && legacy(x) && ev.Exchange.N != 0 {
		switch {
		case ev.Dir == event.ToServer && ev.RPC.Kind == mcp.KindRequest:
			f.open(m, out)
		case ev.Dir == event.ToClient && (ev.RPC.Kind == mcp.KindResult || ev.RPC.Kind == mcp.KindError):
			f.answer(m, out)
		}
	}
	for _, r := range m.Ended {
		if f.Rivals[r.Seq] == nil {
			continue
		}
		if r.Fate == correlate.Answered {
			delete(f.Rivals, r.Seq)
		} else {
			f.Starved = append(f.Starved, r)
		}
	}
	if len(f.Pairs)+len(f.Starved) > 0 {
		f.settle(m.Domain, ev.Time.To, false, out)
	}
}

// End judges what is left: a request that is merely open at the end of the
// window counts as starved only beside a marker.
func (f *Crossing) End(d *correlate.Domain, out *Sink) { f.settle(d, 1<<62, true, out) }

// judgeable reports whether which answer belongs to the request can be told
// from its exchange: a single request on an exchange of its own, nothing lost.
func judgeable(r *correlate.Request) bool {
	x := r.Exchange
	return x != nil && x.Method == "POST" && len(x.Requests) == 1 && x.Paired() && r.Era != mcp.EraModern && r.Method != mcp.Initialize
}

// open pairs a request with those of the same session that are in flight under its id.
func (f *Crossing) open(m *correlate.Moment, out *Sink) {
	r, d := m.Request, m.Domain
	if d.Paired {
		out.Unassessable(signals.ResponseCrossing, "this recording pairs requests and answers by id, so it cannot show a crossing")
		out.Note(signals.NotePairedByID, m.Event.At)
		return
	}
	if r == nil || !r.Party.IsSession() || d.SSE && m.Exchange.Method == "POST" && r.Exchange.Stream == event.StreamSSE {
		return
	}
	for _, o := range r.Party.Open {
		if o == r || o.ID.Fold() != r.ID.Fold() || o.Exchange == r.Exchange || o.Exchange == nil || !open(o, r) || retry(o, r) {
			continue
		}
		if len(f.Pairs) < maxPairs {
			f.Pairs = append(f.Pairs, &Pair{A: o, B: r, Same: true})
		}
	}
}

// open reports whether o was in flight when r was sent.
func open(o, r *correlate.Request) bool {
	return o.Dir == event.ToServer && o.InFlight(r.Sent.Time) != correlate.No && !orderedEnd(o, r)
}

// orderedEnd reports whether o ended at the very moment r began, as sequential
// re-use of an id does where stamps are coarse.
func orderedEnd(o, r *correlate.Request) bool {
	return o.Ended() && o.End.Time.To <= r.Sent.Time.From
}

// retry reports whether two requests are one that was sent again.
func retry(a, b *correlate.Request) bool {
	return a.Method == b.Method && a.BodyHash != 0 && a.BodyHash == b.BodyHash
}

// answer reads one answer on a POST exchange.
func (f *Crossing) answer(m *correlate.Moment, out *Sink) {
	x, ev := m.Exchange, m.Event
	if x.Stream != event.StreamPost || x.Resumed() || !x.Paired() || x.Loss&event.LossRequestBody != 0 {
		return
	}
	if m.Request == nil {
		f.foreignID(m, out)
		return
	}
	r := m.Request
	if r.ID != ev.RPC.ID && !ev.RPC.ID.Placeholder() && !r.FoldOnly {
		out.Note(signals.NoteIDTypeFolded, ev.At)
	}
	if r.Exchange != x || !judgeable(r) || ev.RPC.Batch {
		return
	}
	if m.Extra {
		f.extra(m, out)
		return
	}
	if ev.RPC.Kind == mcp.KindResult && impossible(r.Method, ev.RPC.Shape) && f.wrongShape(m, out) {
		return
	}
	f.content(m)
	if ev.RPC.Kind == mcp.KindResult && !ev.RPC.IsError && !r.Echo {
		f.rival(m.Domain, r)
	}
}

// rival remembers an answer that decides nothing beside the other parties'
// requests that are in flight under its id, a few of them.
func (f *Crossing) rival(d *correlate.Domain, b *correlate.Request) {
	n := 0
	for _, a := range d.Index.Find(correlate.IDKey(correlate.ByID, b.ID)) {
		if a == b || a.Ended() || a.Party == b.Party && a.Party.IsSession() || retry(a, b) || !judgeable(a) || unbound(a, d) || unbound(b, d) {
			continue
		}
		if f.Rivals[a.Seq] == nil && len(f.Rivals) < maxPairs {
			f.Rivals[a.Seq] = b
		}
		if n++; n == maxRivals {
			return
		}
	}
}

// foreignID judges an answer whose id the exchange did not send.
func (f *Crossing) foreignID(m *correlate.Moment, out *Sink) {
	x, ev, d := m.Exchange, m.Event, m.Domain
	if len(x.Requests) != 1 || ev.RPC.ID.Placeholder() || ev.RPC.Batch || !judgeable(x.Requests[0]) {
		return
	}
	var owner *correlate.Request
	for _, r := range d.Index.Find(correlate.IDKey(correlate.ByID, ev.RPC.ID)) {
		if r.Exchange != x && r.Exchange != nil && r.InFlight(ev.Time) != correlate.No && r.Era != mcp.EraModern {
			if r.Party == x.Party {
				owner = r
				break
			}
			if owner == nil {
				owner = r
			}
		}
	}
	if owner == nil {
		return
	}
	out.Judged(signals.ResponseCrossing)
	b := x.Requests[0]
	out.Report(f.finding(owner, b, here(signals.Victim, ev, x.Party, "an answer to id "+idText(ev.RPC.ID)), signals.Confirmed, "", []string{
		fmt.Sprintf("this exchange asked with id %s only", idText(b.ID)),
		fmt.Sprintf("the answer on it has id %s, which another exchange had in flight", idText(ev.RPC.ID)),
	}))
}

// extra judges more answers than requests with one id on one stream.
func (f *Crossing) extra(m *correlate.Moment, out *Sink) {
	r, d := m.Request, m.Domain
	if m.Event.EventID != "" && m.Exchange.Resumed() {
		return
	}
	var owner *correlate.Request
	for _, o := range d.Index.Find(correlate.IDKey(correlate.ByID, r.ID)) {
		if o != r && o.Exchange != r.Exchange && o.Exchange != nil && o.Overlaps(r) && !retry(o, r) && (o.Party == r.Party || o.Party == nil || r.Party == nil) {
			owner = o
		}
	}
	if owner == nil {
		return
	}
	out.Judged(signals.ResponseCrossing)
	out.Report(f.finding(owner, r, here(signals.Victim, m.Event, r.Party, "a second answer to one request"), signals.Probable,
		"the second answer is not a repetition by the server", []string{
			"one request was sent on this exchange and two answers came",
			"another exchange had a request with the same id in flight",
		}))
}

// wrongShape judges a result that cannot answer its method and fits another request in flight under the same id.
func (f *Crossing) wrongShape(m *correlate.Moment, out *Sink) bool {
	r, d, ev := m.Request, m.Domain, m.Event
	for _, o := range d.Index.Find(correlate.IDKey(correlate.ByID, r.ID)) {
		if o == r || o.Exchange == r.Exchange || o.Dir != event.ToServer || o.Era == mcp.EraModern || !o.Overlaps(r) || !fits(o.Method, ev.RPC.Shape) {
			continue
		}
		if !sharesTransport(o, r, d) {
			continue
		}
		out.Judged(signals.ResponseCrossing)
		out.Report(f.finding(o, r, here(signals.Victim, ev, r.Party, "the answer that cannot be an answer to "+r.Method), signals.Confirmed, "", []string{
			fmt.Sprintf("a result of this shape cannot answer %s", r.Method),
			fmt.Sprintf("it fits %s, in flight under the same id on another exchange", o.Method),
		}))
		f.drop(o, r)
		return true
	}
	return false
}

// sharesTransport reports whether two requests can be confused at all: within
// one domain any two can, but a request bound by a fallback is that rule's matter.
func sharesTransport(a, b *correlate.Request, d *correlate.Domain) bool {
	return !unbound(a, d) && !unbound(b, d)
}

func (f *Crossing) drop(a, b *correlate.Request) {
	f.Pairs = slices.DeleteFunc(f.Pairs, func(p *Pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
}

// content compares an answer with the arguments of the requests under its id.
func (f *Crossing) content(m *correlate.Moment) {
	r, d, ev := m.Request, m.Domain, m.Event
	marks := ev.RPC.Marks
	for _, o := range marked(d, marks) {
		if o == r || o.ID.Fold() != r.ID.Fold() || o.Exchange == r.Exchange || o.Exchange == nil || retry(o, r) || !sharesTransport(o, r, d) {
			continue
		}
		stale := (o.Fate == correlate.GivenUp || o.Fate == correlate.Cut) && orderedEnd(o, r)
		if !stale && !o.Overlaps(r) {
			continue
		}
		f.pair(o, r)
	}
	for _, p := range f.Pairs {
		switch r {
		case p.B:
			p.BGot = got(p.A, r, ev)
		case p.A:
			p.AGot = got(p.B, r, ev)
		}
	}
}

// pair opens a pair across parties if there is none between the two.
func (f *Crossing) pair(a, b *correlate.Request) {
	for _, p := range f.Pairs {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return
		}
	}
	if len(f.Pairs) < maxPairs {
		f.Pairs = append(f.Pairs, &Pair{A: a, B: b, Same: a.Party == b.Party && a.Party.IsSession()})
	}
}

// got reads what an answer to r holds of r and of the other request.
func got(other, r *correlate.Request, ev *event.Event) Got {
	marks := ev.RPC.Marks
	g := Got{Seen: true, Own: r.OwnValue(marks), Ref: correlate.Ref{At: ev.At, Time: ev.Time, Excerpt: ev.Excerpt}}
	for _, m := range other.Markers {
		g.Foreign = g.Foreign || m.Run.In(marks) && !r.HasRun(m.Run)
	}
	for _, m := range r.Markers {
		g.Marker = g.Marker || m.Run.In(marks)
	}
	for _, a := range other.Args {
		if a.Class < event.ArgMedium || !a.Run.In(marks) {
			continue
		}
		for _, b := range r.Args {
			if b.Key == a.Key && b.Run != a.Run && b.Class >= event.ArgMedium && !b.Run.In(marks) && !r.HasRun(a.Run) {
				g.Rival = true
			}
		}
	}
	return g
}

// settle judges the pairs of which both requests ended, or all at the end. Where
// one ended without an answer it waits for a while: after a restart its session is unknown to the server.
func (f *Crossing) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	keep := f.Pairs[:0]
	for _, p := range f.Pairs {
		if !end && !(over(p.A, now) && over(p.B, now)) {
			keep = append(keep, p)
			continue
		}
		f.judge(d, p, out)
	}
	clear(f.Pairs[len(keep):])
	f.Pairs = keep
	n := 0
	for n < len(f.Starved) && (end || over(f.Starved[n], now)) {
		f.across(f.Starved[n], out)
		n++
	}
	f.Starved = slices.Delete(f.Starved, 0, n)
}

// restartShows is how long after a cut a restart of the server may show.
const restartShows = 5 * int64(1e9)

func over(r *correlate.Request, now int64) bool {
	return r.Ended() && (r.Fate == correlate.Answered || r.Fate == correlate.Refused || now-r.End.Time.To > restartShows)
}

// across reports, as possible only, that a call starved while another party's
// call under its id was answered with content that decides nothing.
func (f *Crossing) across(a *correlate.Request, out *Sink) {
	b := f.Rivals[a.Seq]
	delete(f.Rivals, a.Seq)
	if b == nil || !judgeable(a) || !judgeable(b) || starves(a, b.End.Time) != starving || f.waits(a, b) {
		return
	}
	fd := f.finding(a, b, seen(signals.Victim, b.End, b.Party, "the answer on this exchange"), signals.Possible, "", []string{
		"one of two requests with one id starves while the other is answered; the content of the answer decides nothing"})
	fd.Evidence = append(fd.Evidence, seen(signals.Cause, a.End, a.Party, "the other request ends "+a.Fate.String()))
	out.Report(fd)
}

// waits reports whether the two requests are a pair that is judged by its content.
func (f *Crossing) waits(a, b *correlate.Request) bool {
	return slices.ContainsFunc(f.Pairs, func(p *Pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
}

// fate is what became of one request of a pair, seen from the other's answer.
type fate uint8

const (
	served   fate = iota // answered, or refused, or ended by its own wish
	starving             // complete and unanswered when the other's answer came and after
	hanging              // merely open at the end of the window
	unknown              // not recorded
)

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
	if !p.Same && marker && !comparable(b) {
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

// comparable reports whether a request has an argument value that an answer of its own could hold.
func comparable(r *correlate.Request) bool {
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
