package rules

import (
	"fmt"
	"testing"

	"github.com/isodetect/isodetect/mcp"
)

// BenchmarkSubscribers judges updates where very many sessions are subscribed: each to
// a resource of its own, or all to one.
func BenchmarkSubscribers(b *testing.B) {
	f := func(name string, sessions, updates int, uri func(session int) string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := subscribed(sessions, uri)
				for i := range updates {
					w.update(w.last, uri(i%sessions)) // at the one that subscribed to nothing
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

// subscribed is traffic of a server that saw sessions come and subscribe.
func subscribed(sessions int, uri func(session int) string) *wire {
	w := newWire()
	for i := range sessions + 1 { // the last one subscribes to nothing
		s := fmt.Sprint("s", i)
		w.call(mcp.Initialize, "0", "", s)
		if i < sessions {
			w.subscribe("1", s, uri(i))
		}
		w.listen(s)
	}
	return w
}
