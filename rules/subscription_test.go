package rules

import (
	"fmt"
	"testing"
)

// What a session subscribed to is forgotten when it ended long ago and others came,
// and what reaches it nevertheless is not judged then: that it never subscribed cannot be known.
func TestSubscriptionsOfEndedSessions(t *testing.T) {
	w := newWire()
	w.call("initialize", "0", "", "live")
	w.subscribe("1", "live", "x:/live")
	for i := range 500 {
		s := fmt.Sprint("s", i)
		w.call("initialize", "0", "", s)
		w.subscribe("1", s, "x:/live")
		w.end(s)
		w.at += 1e9
	}
	d := w.eng.State.Domains[0]
	kept := 0
	for _, p := range d.Parties {
		kept += len(p.Subs)
	}
	if kept > 80 || len(d.Subscribers) > 80 || len(d.Covering.Under) != 1 {
		t.Errorf("%d subscriptions of %d subscribers kept under %d keys", kept, len(d.Subscribers), len(d.Covering.Under))
	}
	w.update(w.listen("s0"), "x:/live")
	if n := len(w.eng.Sinks[0].Findings); n != 0 {
		t.Errorf("%d findings of a session whose subscription was forgotten", n)
	}
	w.call("initialize", "0", "", "other")
	w.update(w.listen("other"), "x:/live")
	if n := len(w.eng.Sinks[0].Findings); n != 1 {
		t.Errorf("%d findings of a session that never subscribed", n)
	}
}
