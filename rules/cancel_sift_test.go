package rules

import (
	"fmt"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Cancels that can show nothing any more are forgotten, however many come; the one
// that a call still waits behind is not.
func TestSpentCancelsAreForgotten(t *testing.T) {
	w := newWire()
	for _, s := range []string{"a", "b"} {
		w.call(mcp.Initialize, "0", "", s)
	}
	const hit = "7"
	silent := w.ask(mcp.ToolsCall, hit, "b") // it will never be answered
	meant := w.ask(mcp.ToolsCall, hit, "a")
	w.cancel(hit, "a")
	w.answer(meant, hit) // all the same
	for i := range 2000 {
		id := fmt.Sprint(100 + i)
		x := w.ask(mcp.ToolsCall, id, "a")
		other := w.ask(mcp.ToolsCall, id, "b")
		w.cancel(id, "a")
		w.answer(x, id)
		w.answer(other, id)
	}
	f := w.eng.Sinks[0].Detectors[3].(*Cancel)
	if len(f.Cancels) > 3*minSift || f.Settled > len(f.Cancels) {
		t.Errorf("%d cancels kept, %d settled", len(f.Cancels), f.Settled)
	}
	n := 0
	for _, list := range f.ByID {
		n += len(list)
	}
	if n != len(f.Cancels) {
		t.Errorf("%d cancels by their id, %d in order", n, len(f.Cancels))
	}
	w.call(mcp.ToolsCall, "8", "b", "")
	w.say(event.Event{Kind: event.Closed, Exchange: event.ExchangeID{N: silent}, By: event.ByClient})
	w.eng.End()
	found := false
	for _, fd := range w.eng.Sinks[0].Findings {
		found = found || fd.Variant == "silenced" && fd.RequestIDs[0] == hit
	}
	if !found {
		t.Errorf("the call that starved is not found: %d findings", len(w.eng.Sinks[0].Findings))
	}
}
