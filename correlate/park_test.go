package correlate

import (
	"fmt"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// An address from which only an initialize came is no party any more once the answer
// named the session, and has its number again when something else comes from it.
func TestPark(t *testing.T) {
	s, n := NewState(DefaultLimits()), uint64(0)
	say := func(e event.Event) *Moment {
		n++
		e.Time, e.Domain, e.At.N = at(int64(n)), event.Domain{Server: "http://h"}, int64(n)
		return s.Apply(&e)
	}
	post := func(x int, method, asked string) *Party {
		from := event.Sender{Peer: fmt.Sprint("10.0.0.", x), Conn: fmt.Sprintf("10.0.0.%d:99", x)}
		say(event.Event{Kind: event.Opened, Exchange: event.ExchangeID{N: uint64(x)}, HTTPMethod: "POST", Asked: event.Named(asked), Sender: from})
		return say(event.Event{Kind: event.Message, Exchange: event.ExchangeID{N: uint64(x)}, Dir: event.ToServer, RPC: event.RPC{Kind: mcp.KindRequest, ID: "0", Method: method}}).Party
	}
	head := func(x int, names string) {
		say(event.Event{Kind: event.Head, Exchange: event.ExchangeID{N: uint64(x)}, Status: 200, Answered: event.Named(names)})
	}
	closed := func(x int) {
		say(event.Event{Kind: event.Closed, Exchange: event.ExchangeID{N: uint64(x)}, By: event.ByServer})
	}
	f := func(what string, others, parties int) {
		t.Helper()
		if d := s.Domains[0]; len(d.Others) != others || len(d.Parties) != parties {
			t.Errorf("%s: %d without a session of %d parties, want %d of %d", what, len(d.Others), len(d.Parties), others, parties)
		}
	}
	first := post(1, mcp.Initialize, "")
	f("before the answer", 1, 1)
	head(1, "a")
	f("after it", 0, 1)
	closed(1)
	second := post(2, mcp.ToolsCall, "")
	head(2, "")
	closed(2)
	f("a call without a session", 1, 2)
	again := post(1, mcp.ToolsCall, "")
	if again == first || again.Alias != "P1" || second.Alias != "P2" || Distinct(again, s.Domains[0].Sessions["a"]) || !Distinct(second, s.Domains[0].Sessions["a"]) {
		t.Errorf("%s came first, again as %s; then %s", first.Alias, again.Alias, second.Alias)
	}
	closed(1)
	post(2, mcp.Initialize, "")
	head(2, "b")
	closed(2)
	f("an initialize where a call came from before", 2, 4)
	post(3, mcp.Initialize, "")
	say(event.Event{Kind: event.Gap, Exchange: event.ExchangeID{N: 3}, Dir: event.ToServer, Sender: event.Sender{Conn: "10.0.0.3:99"}})
	head(3, "c")
	f("part of what came from there is missing", 3, 6)
}
