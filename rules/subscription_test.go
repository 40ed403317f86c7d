package rules

import (
	"fmt"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
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

// Which tokens a session gave is forgotten when it ended long ago and others came. That
// it did not give one is not known then.
func TestTokensOfEndedSessions(t *testing.T) {
	w := newWire()
	for i := range 500 {
		s := fmt.Sprint("s", i)
		w.call("initialize", "0", "", s)
		for _, token := range []string{"1", "3", "5"} {
			x := w.post(event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(token), Token: mcp.ID(token), Method: mcp.ToolsCall}, s)
			w.answer(x, token)
		}
		w.end(s)
		w.at += 1e9
	}
	d := w.eng.State.Domains[0]
	kept := 0
	for _, p := range d.Parties {
		if p.Tokens.Many != nil {
			kept += len(p.Tokens.Many.Runs)
		}
	}
	first := d.Sessions["s0"]
	if kept > 3*80 || !first.Tokens.Forgot() || first.Whole() || !d.Sessions["s499"].Tokens.Has("3") {
		t.Errorf("%d intervals kept; forgot %v, whole %v", kept, first.Tokens.Forgot(), first.Whole())
	}
	w.at += 10e9 // nobody else's request with the token can be meant
	w.call("initialize", "0", "", "other")
	w.post(event.RPC{Kind: mcp.KindRequest, ID: "3", Token: "3", Method: mcp.ToolsCall}, "other")
	w.say(event.Event{Kind: event.Message, Dir: event.ToClient, Answered: event.Named("s0"), RPC: event.RPC{Kind: mcp.KindNotification, Method: mcp.Progress, Token: "3"}})
	if n := len(w.eng.Sinks[0].Findings); n != 0 {
		t.Errorf("%d findings of a session whose tokens were forgotten", n)
	}
}
