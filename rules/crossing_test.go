package rules

import (
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

func TestImpossible(t *testing.T) {
	f := func(method string, s event.Shape, isImpossible, doesFit bool) {
		t.Helper()
		if impossible(method, s) != isImpossible || fits(method, s) != doesFit {
			t.Errorf("%s with shape %b: impossible %v, fits %v", method, s, impossible(method, s), fits(method, s))
		}
	}
	f(mcp.ToolsCall, event.ShapeContent, false, true)
	f(mcp.ToolsCall, event.ShapeTask, false, true)
	f(mcp.ToolsCall, event.ShapeTools, true, false)
	f(mcp.ToolsCall, event.ShapeTools|event.ShapeContent, false, true)
	f(mcp.ToolsCall, event.ShapeEmpty, false, false) // servers answer with empty or vendor objects
	f(mcp.ToolsCall, event.ShapeOther, false, false)
	f(mcp.ToolsList, event.ShapeContent, true, false)
	f(mcp.ToolsList, event.ShapeInitialize, true, false)
	f(mcp.Initialize, event.ShapeInitialize, false, true)
	f(mcp.ResourcesTempl, event.ShapeResources, false, true)
	f(mcp.ResourcesRead, event.ShapeResources, true, false)
	f(mcp.Ping, event.ShapeContent, true, false)
	f(mcp.Ping, event.ShapeEmpty, false, false) // fits for no reason of its own
	f("vendor/x", event.ShapeTools, false, false)
}

func TestStarves(t *testing.T) {
	f := func(name string, r correlate.Fate, want fate, change func(*correlate.Request)) {
		t.Helper()
		_, p, _ := domain()
		a := ended(p, r, 10, 50)
		change(a)
		if got := starves(a, at(30)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	none := func(*correlate.Request) {}
	f("answered", correlate.Answered, served, none)
	f("a 4xx", correlate.Refused, served, func(a *correlate.Request) { a.Status = 409 })
	f("a 5xx", correlate.Refused, starving, func(a *correlate.Request) { a.Status = 502 })
	f("lost", correlate.Lost, unknown, none)
	f("given up later", correlate.GivenUp, starving, none)
	f("given up before", correlate.GivenUp, served, func(a *correlate.Request) { a.End = ref(29) })
	f("given up at that moment", correlate.GivenUp, starving, func(a *correlate.Request) { a.End = ref(30) })
	f("cancelled before", correlate.GivenUp, served, func(a *correlate.Request) { a.OwnCancel = at(20) })
	f("cancelled later", correlate.GivenUp, starving, func(a *correlate.Request) { a.OwnCancel = at(40) })
	f("cut", correlate.Cut, starving, none)
	f("cut by a restart", correlate.Cut, served, func(a *correlate.Request) { a.Party.Expired = true })
	f("given up after a restart", correlate.GivenUp, served, func(a *correlate.Request) { a.Party.Expired = true })
	f("a restart and an address", correlate.Cut, starving, func(a *correlate.Request) {
		a.Party.Expired, a.Party.Kind = true, correlate.ByAddress
	})
	f("its body was not recorded", correlate.GivenUp, unknown, func(a *correlate.Request) { a.Exchange.Loss = event.LossResponseBody })
	f("of a log", correlate.GivenUp, unknown, func(a *correlate.Request) { a.Exchange = nil })
	f("open", correlate.Open, hanging, none)
	f("open, with a hole", correlate.Open, unknown, func(a *correlate.Request) { a.Party.Lose(event.ToClient, 20*ms) })
	f("open, of nobody", correlate.Open, hanging, func(a *correlate.Request) { a.Party = nil })
	f("open, its answers cannot be told apart", correlate.Open, unknown, func(a *correlate.Request) { a.Exchange.Requests = append(a.Exchange.Requests, a) })
}

func TestRefusedID(t *testing.T) {
	f := func(want bool, fate correlate.Fate, kind mcp.Kind, status, code int) {
		t.Helper()
		if got := refusedID(&correlate.Request{Fate: fate, Answer: kind, Status: int32(status), Code: code}); got != want {
			t.Errorf("%s %s %d %d: %v", fate, kind, status, code, got)
		}
	}
	f(true, correlate.Answered, mcp.KindError, 400, -32000)
	f(true, correlate.Answered, mcp.KindError, 409, -32000)
	f(true, correlate.Answered, mcp.KindError, 200, -32600)
	f(false, correlate.Answered, mcp.KindError, 200, -32603)
	f(false, correlate.Answered, mcp.KindResult, 400, 0)
	f(false, correlate.GivenUp, mcp.KindError, 400, 0)
}

// DETECTION §3, response_crossing: what the contents of two answers and the fate of the other call prove.
func TestWeigh(t *testing.T) {
	f := func(name string, same bool, fate correlate.Fate, g, back Got, want signals.Strength, change ...func(a, b *correlate.Request)) {
		t.Helper()
		_, p, q := domain()
		if same {
			q = p
		}
		a, b := ended(p, fate, 10, 50), ended(q, correlate.Answered, 12, 30)
		b.Args = []event.Arg{{Key: 1, Class: event.ArgMedium}}
		for _, c := range change {
			c(a, b)
		}
		stale := orderedEnd(a, b) && a.Fate != correlate.Answered
		got, _, because := new(Crossing).weigh(&Pair{A: a, B: b, Same: same}, a, b, g, back, stale)
		if got != want || (got != signals.None) != (len(because) > 0) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	foreign, own, nothing := Got{Foreign: true}, Got{Foreign: true, Own: true}, Got{}
	f("a marker, and the other starves", false, correlate.GivenUp, foreign, nothing, signals.Confirmed)
	f("a marker, and the other hangs", false, correlate.Open, foreign, nothing, signals.Confirmed)
	f("a swap", false, correlate.Answered, foreign, Got{Foreign: true}, signals.Confirmed)
	f("the other got its own as well", false, correlate.Answered, foreign, Got{Foreign: true, Marker: true}, signals.Possible)
	f("both were served", false, correlate.Answered, foreign, nothing, signals.Possible)
	f("beside its own values", false, correlate.GivenUp, own, nothing, signals.Possible)
	f("the other's end is not recorded", false, correlate.Lost, foreign, nothing, signals.Probable)
	f("across parties and nothing of its own to compare", false, correlate.GivenUp, foreign, nothing, signals.Possible, func(_, b *correlate.Request) { b.Args = nil })
	f("in one session that is not needed", true, correlate.GivenUp, foreign, nothing, signals.Confirmed, func(_, b *correlate.Request) { b.Args = nil })
	f("values of three characters count only", false, correlate.GivenUp, foreign, nothing, signals.Possible, func(_, b *correlate.Request) { b.Args[0].Class = event.ArgShort })
	f("the other's value of one argument", false, correlate.GivenUp, Got{Rival: true}, nothing, signals.Probable)
	f("that value, and the other was served", false, correlate.Answered, Got{Rival: true}, nothing, signals.None)
	f("one session, one starves, nothing to see", true, correlate.GivenUp, nothing, nothing, signals.Probable)
	f("one session, and it holds its own value", true, correlate.GivenUp, Got{Own: true}, nothing, signals.None)
	f("one session, and it holds its own marker", true, correlate.GivenUp, Got{Marker: true}, nothing, signals.None)
	f("across parties, nothing to see", false, correlate.GivenUp, nothing, nothing, signals.None)
	f("one session, open at the end", true, correlate.Open, nothing, nothing, signals.None)
	f("one session, both served", true, correlate.Answered, nothing, nothing, signals.None)
	before := func(a, b *correlate.Request) { a.End, b.Sent, b.End = ref(20), ref(25), ref(60) }
	f("stale: a marker of what was given up before", false, correlate.GivenUp, foreign, nothing, signals.Probable, before)
	f("stale, beside its own values", false, correlate.GivenUp, own, nothing, signals.Possible, before)
	f("stale, nothing to see", false, correlate.GivenUp, nothing, nothing, signals.None, before)
}

// args makes argument values that are markers of their request.
func args(r *correlate.Request, values ...string) *correlate.Request {
	for i, v := range values {
		run := event.RunOf(v)
		r.Args = append(r.Args, event.Arg{Key: uint64(i), Run: run, Class: event.ArgMarker})
		r.Markers = append(r.Markers, correlate.Marker{Run: run})
	}
	return r
}

func TestGot(t *testing.T) {
	f := func(text string, want Got) {
		t.Helper()
		_, p, q := domain()
		a, b := args(ended(p, correlate.Open, 1, 0), "INV-20931"), args(ended(q, correlate.Open, 2, 0), "INV-77104")
		ev := &event.Event{}
		ev.RPC.Marks, _ = event.AddMarks(nil, text, 100)
		got := got(a, b, ev)
		got.Ref, got.Seen = correlate.Ref{}, false
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	f("INV-20931: 120.00 EUR", Got{Foreign: true, Rival: true})
	f("INV-77104: 80.00 EUR", Got{Own: true, Marker: true})
	f("INV-20931, INV-77104", Got{Foreign: true, Own: true, Marker: true})
	f("INV-209310", Got{})
	f("", Got{})
}

// TestDelivered holds when an answer that a log says went to a session is foreign there.
func TestDelivered(t *testing.T) {
	f := func(name, want string, change func(a, b *correlate.Party, m *correlate.Moment)) {
		t.Helper()
		d, a, b := domain()
		for i, p := range []*correlate.Party{a, b} {
			p.Born, p.BornAt, p.InitOrder = true, at(1), int32(i+1)
		}
		r := &correlate.Request{Seq: 1, Dir: event.ToServer, ID: mcp.NewID([]byte("7")), Method: mcp.ToolsCall, Party: a, Sent: ref(10)}
		d.Index.Entries = map[correlate.Key][]*correlate.Request{correlate.IDKey(correlate.ByID, r.ID): {r}}
		m := &correlate.Moment{Domain: d, Party: b, Event: &event.Event{Kind: event.Routed, Time: at(20), Dir: event.ToClient, Answered: event.Named(b.ID)}}
		m.Event.RPC.Kind, m.Event.RPC.ID = mcp.KindResult, r.ID
		change(a, b, m)
		out := &Sink{Domain: d}
		newCrossing(Options{}).Observe(m, out)
		got := ""
		for _, fd := range out.Findings {
			got += fd.Strength.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	type P = *correlate.Party
	f("by the log's word", "confirmed", func(_, _ P, _ *correlate.Moment) {})
	f("by the relay's habit", "probable", func(_, _ P, m *correlate.Moment) { m.Event.Resolution = "broadcast" })
	f("a second answer", "probable", func(_, b P, m *correlate.Moment) {
		m.Request, m.Extra = &correlate.Request{ID: m.Event.RPC.ID, Party: b}, true
	})
	f("its own answer", "", func(_, b P, m *correlate.Moment) { m.Request = &correlate.Request{ID: m.Event.RPC.ID, Party: b} })
	f("its birth is not in view", "", func(_, b P, _ *correlate.Moment) { b.Born = false })
	f("another id", "", func(_, _ P, m *correlate.Moment) { m.Event.RPC.ID = mcp.NewID([]byte("8")) })
	f("an id of another type", "", func(_, _ P, m *correlate.Moment) { m.Event.RPC.ID = mcp.StringID("7") })
	f("nobody asked yet", "", func(_, _ P, m *correlate.Moment) { m.Event.Time = at(5) })
	f("the answer of another line", "", func(a, _ P, m *correlate.Moment) {
		r := m.Domain.Index.Find(correlate.IDKey(correlate.ByID, m.Event.RPC.ID))[0]
		r.Fate, r.End = correlate.Answered, ref(15)
		r.End.At.N = 3
	})
}
