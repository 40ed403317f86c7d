package rules

import (
	"slices"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// That a party lacks its progress shows nothing where it may have come on a stream that
// is not in view, unless the server sends progress with the answer.
func TestLackingBesideUnseenStream(t *testing.T) {
	f := func(name string, unseen, onGet, want bool) {
		t.Helper()
		w := newWire()
		call := func(session string) uint64 {
			return w.post(event.RPC{Kind: mcp.KindRequest, ID: "5", Method: mcp.ToolsCall, Tool: "t", Token: "5"}, session)
		}
		w.call(mcp.Initialize, "0", "", "a")
		w.call(mcp.Initialize, "0", "", "b")
		stream, hidden := w.listen("a"), w.listen("b")
		w.say(event.Event{Kind: event.Head, Exchange: event.ExchangeID{N: stream}, Status: 200})
		end := event.Event{Kind: event.Closed, Exchange: event.ExchangeID{N: hidden}}
		if unseen {
			end.Loss = event.LossResponseBody
		}
		w.say(end)
		a, b := call("a"), call("b")
		on := a
		if onGet {
			on = stream
		}
		for _, v := range []float64{1, 10, 2, 11, 3, 12} {
			w.say(event.Event{Kind: event.Message, Exchange: event.ExchangeID{N: on}, Dir: event.ToClient,
				RPC: event.RPC{Kind: mcp.KindNotification, Method: mcp.Progress, Token: "5", Progress: v, HasProgress: true}})
		}
		w.answer(a, "5")
		w.answer(b, "5")
		w.eng.End()
		got := slices.ContainsFunc(w.eng.Sinks[0].Findings, func(f *signals.Finding) bool { return f.Variant == "interleaved" })
		if got != want {
			t.Errorf("%s: found %v", name, got)
		}
	}
	f("all is in view", false, true, true)
	f("the other's stream is not in view", true, true, false)
	f("nor is it, but progress comes with the answer", true, false, true)
}
