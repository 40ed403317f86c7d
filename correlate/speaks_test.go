package correlate

import (
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Only what was read, and is not MCP, is without MCP: what could not be read may be it.
func TestWithoutMCP(t *testing.T) {
	opened := event.Event{Kind: event.Opened, HTTPMethod: "POST", Asked: event.Session{State: event.Absent}}
	rpc := func(dir event.Dir, kind mcp.Kind, method string) event.Event {
		return event.Event{Kind: event.Message, Dir: dir, RPC: event.RPC{Kind: kind, ID: "1", Method: method}}
	}
	with := func(e event.Event, change func(*event.Event)) event.Event { change(&e); return e }
	head := event.Event{Kind: event.Head, Status: 200, Answered: event.Session{State: event.Absent}}
	closed := event.Event{Kind: event.Closed, Status: 200}
	f := func(name string, want bool, events ...event.Event) {
		t.Helper()
		s := NewState(DefaultLimits())
		for i := range events {
			ev := &events[i]
			ev.Time, ev.Domain = event.At(int64(i+1)), event.Domain{Server: "http://h", Path: "/x"}
			if ev.Kind < event.SessionCreated {
				ev.Exchange = event.ExchangeID{N: 1}
			}
			s.Apply(ev)
		}
		if got := s.Domains[0].WithoutMCP(); got != want {
			t.Errorf("%s: without MCP %v, want %v", name, got, want)
		}
	}
	call, result := rpc(event.ToServer, mcp.KindRequest, "eth_call"), rpc(event.ToClient, mcp.KindResult, "")
	f("a page", true, opened, head, closed)
	f("another protocol in JSON-RPC", true, opened, call, head, result, closed)
	f("a call of MCP", false, opened, rpc(event.ToServer, mcp.KindRequest, mcp.ToolsCall), head, result, closed)
	f("an answer to what is not in view", false, opened, head, result, closed)
	f("a notification on a stream", false, opened, head, rpc(event.ToClient, mcp.KindNotification, mcp.Progress), closed)
	f("a session asked", false, with(opened, func(e *event.Event) { e.Asked = event.Named("a") }), head, closed)
	f("a session answered", false, opened, with(head, func(e *event.Event) { e.Answered = event.Named("a") }), closed)
	f("a revision", false, with(opened, func(e *event.Event) { e.Revision = "2025-06-18" }), head, closed)
	f("a body that was not recorded", false, opened, head, with(closed, func(e *event.Event) { e.Loss = event.LossResponseBody }))
	f("a head that was cut", false, with(opened, func(e *event.Event) { e.Loss = event.LossHeaders }), head, closed)
	f("a gap", false, opened, head, event.Event{Kind: event.Gap}, closed)
	f("a log", false, event.Event{Kind: event.SessionCreated, Answered: event.Named("a")})
}
