package rules

import (
	"fmt"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// BenchmarkSubscribers judges updates where very many sessions are subscribed: each to
// a resource of its own, or all to one.
func BenchmarkSubscribers(b *testing.B) {
	f := func(name string, sessions, updates int, uri func(session int) string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				eng := subscribed(sessions, uri)
				for i := range updates {
					eng.Apply(update(i, sessions, uri(i%sessions)))
				}
			}
		})
	}
	own := func(session int) string { return fmt.Sprintf("note://%d/plan", session) }
	template := func(session int) string { return fmt.Sprintf("note://%d/{plan}", session) }
	one := func(int) string { return "note://all" }
	f("50000_of_their_own", 50_000, 50_000, own)
	f("50000_templates", 50_000, 50_000, template)
	f("20000_of_one", 20_000, 1_000, one)
}

// subscribed is an engine that saw sessions come and subscribe.
func subscribed(sessions int, uri func(session int) string) *Engine {
	eng := NewEngine(Options{})
	n, at := uint64(0), int64(1e18)
	say := func(e event.Event) {
		at += 1e6
		e.Time, e.Domain, e.At.N = event.At(at), event.Domain{Server: "http://h"}, at
		eng.Apply(&e)
	}
	call := func(method, uri string, asked, answered event.Session) {
		n++
		id := event.ExchangeID{N: n}
		say(event.Event{Kind: event.Opened, Exchange: id, HTTPMethod: "POST", Stream: event.StreamPost, Asked: asked})
		say(event.Event{Kind: event.Message, Exchange: id, Dir: event.ToServer, RPC: event.RPC{Kind: mcp.KindRequest, ID: "1", Method: method, URI: uri, CapsKnown: true}})
		say(event.Event{Kind: event.Head, Exchange: id, Status: 200, Answered: answered})
		say(event.Event{Kind: event.Message, Exchange: id, Dir: event.ToClient, RPC: event.RPC{Kind: mcp.KindResult, ID: "1"}})
		say(event.Event{Kind: event.Closed, Exchange: id, By: event.ByServer})
	}
	for i := range sessions + 1 { // the last one subscribes to nothing
		id := event.Named(fmt.Sprint("s", i))
		call(mcp.Initialize, "", event.Session{State: event.Absent}, id)
		if i < sessions {
			call(mcp.Subscribe, uri(i), id, event.Session{})
		}
		say(event.Event{Kind: event.Opened, Exchange: event.ExchangeID{N: uint64(1<<32 + i)}, HTTPMethod: "GET", Stream: event.StreamGet, Asked: id})
	}
	return eng
}

// update is an update that reaches the session which subscribed to nothing.
func update(i, sessions int, uri string) *event.Event {
	return &event.Event{
		Kind: event.Message, Time: event.At(1001e15 + int64(i)), Domain: event.Domain{Server: "http://h"}, Exchange: event.ExchangeID{N: uint64(1<<32 + sessions)},
		Dir: event.ToClient, At: event.Address{N: int64(i)}, RPC: event.RPC{Kind: mcp.KindNotification, Method: mcp.ResourceUpdated, URI: uri},
	}
}
