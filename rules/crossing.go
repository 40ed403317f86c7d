package rules

import (
	"fmt"

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
	if ev.Kind == event.Routed && (ev.RPC.Kind == mcp.KindResult || ev.RPC.Kind == mcp.KindError) {
		f.delivered(m, out)
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

// retry reports whether two requests are one that was sent again, or may be one that
// two recordings show.
func retry(a, b *correlate.Request) bool {
	return a.MayBe(b) || a.Method == b.Method && a.BodyHash != 0 && a.BodyHash == b.BodyHash
}

// answer reads one answer on a POST exchange.
func (f *Crossing) answer(m *correlate.Moment, out *Sink) {
	x, ev := m.Exchange, m.Event
	if x.Stream != event.StreamPost || x.Resumed || !x.Paired() || x.Loss&event.LossRequestBody != 0 {
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
		f.rival(m.Domain, r, ev.RPC.Shape)
	}
}

// rival remembers an answer that decides nothing beside the other parties'
// requests that are in flight under its id, a few of them.
func (f *Crossing) rival(d *correlate.Domain, b *correlate.Request, shape event.Shape) {
	n := 0
	for _, a := range d.Index.Find(correlate.IDKey(correlate.ByID, b.ID)) {
		if a == b || a.Ended() || a.Party == b.Party && a.Party.IsSession() || retry(a, b) || !judgeable(a) || unbound(a, d) || unbound(b, d) || apt(b.Method, a.Method, shape) {
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
	if m.Event.EventID != "" && m.Exchange.Resumed {
		return
	}
	var owner *correlate.Request
	for _, o := range d.Index.Find(correlate.IDKey(correlate.ByID, r.ID)) {
		if o != r && o.Exchange != r.Exchange && o.Exchange != nil && o.Overlaps(r) && !retry(o, r) && (o.Party == r.Party || o.Party == nil || r.Party == nil) && !apt(r.Method, o.Method, m.Event.RPC.Shape) {
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
