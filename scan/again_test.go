package scan_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
)

// Lines of one log about one message are one happening, whatever their number; two lines
// of one form are two messages.
func TestLinesAboutOneMessageCountOnce(t *testing.T) {
	const a, b = "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "1b2c3d4e5f60718293a4b5c6d7e8f90a"
	line := func(ms int, msg, id, rest string) string {
		return fmt.Sprintf(`{"time":"2026-07-19T22:20:43.%03dZ","level":"INFO","msg":"%s","session_id":"%s"%s}`+"\n", ms, msg, id, rest)
	}
	uri := `,"uri":"file:///a/notes.md"`
	made := line(0, "session_created", a, `,"capabilities":[]`) + line(1, "session_created", b, `,"capabilities":["sampling"]`)
	send := func(ms int) string {
		return line(ms, "rpc send", b, `,"kind":"notification","rpc_method":"notifications/resources/updated"`+uri)
	}
	sent := func(ms int) string { return line(ms, "resource update sent", b, uri) }
	ask := func(ms int, id string) string {
		return line(ms, "rpc send", a, `,"kind":"request","rpc_method":"sampling/createMessage"`+id)
	}
	cancels := func(lines ...string) string {
		return line(20, "rpc recv", a, `,"kind":"request","rpc_method":"tools/call","rpc_id":2`) +
			line(21, "rpc recv", b, `,"kind":"request","rpc_method":"tools/call","rpc_id":2`) + strings.Join(lines, "") +
			line(33, "request cancelled", b, `,"request_id":"2","tool":"search"`)
	}
	updates := func(lines ...string) string {
		return line(10, "subscription", a, `,"op":"resources/subscribe"`+uri) + strings.Join(lines, "")
	}
	fell := func(ms int, rest string) string {
		return fmt.Sprintf(`{"time":"2026-07-19T22:20:43.%03dZ","level":"INFO","msg":"session_resolved","source":"fallback","session_id":"%s"%s}`+"\n", ms, b, rest)
	}
	over := func(ms int) string {
		return fmt.Sprintf(`{"time":"2026-07-19T22:20:43.%03dZ","level":"INFO","req":{"method":"POST","url":"/mcp","headers":{"host":"10.0.0.5"}},"res":{"statusCode":200,"headers":{"mcp-session-id":"%s"}},"responseTime":40,"msg":"request completed"}`+"\n", ms, b)
	}
	f := func(signal string, want int, text string) {
		t.Helper()
		path := put(t, filepath.Join(t.TempDir(), "server.log"), []byte(made+text))
		res := run(t, scan.Options{Paths: []string{path}})
		got := 0
		for _, f := range res.Findings {
			if f.Signal.Name == signal && f.Strength >= signals.Probable {
				got += f.Count
			}
		}
		if got != want {
			t.Errorf("%s ×%d, want ×%d, of\n%s", signal, got, want, text)
		}
	}
	bleed := "subscription_bleed"
	f(bleed, 1, updates(send(20), sent(20)))
	f(bleed, 1, updates(sent(20), send(22)))
	f(bleed, 2, updates(send(20), sent(20), send(21), sent(21)))
	f(bleed, 2, updates(send(20), send(21), sent(22), sent(23)))
	f(bleed, 2, updates(send(20), send(20)))  // of one form
	f(bleed, 2, updates(send(20), sent(120))) // not a moment later
	f(bleed, 1, updates(send(20), sent(20), line(20, "notification delivered", b, `,"rpc_method":"notifications/resources/updated"`+uri)))

	native := func(ms int, name, id, rest string) string {
		return fmt.Sprintf(`{"isodetect":"1","event.name":"%s","time":"2026-07-19T22:20:43.%03dZ","mcp.session.id":"%s"%s}`+"\n", name, ms, id, rest)
	}
	born, resource := made, `,"mcp.resource.uri":"file:///a/notes.md"`
	made = native(0, "mcp.session.created", a, "") + native(1, "mcp.session.created", b, "") + native(10, "mcp.subscription.added", a, resource)
	update := native(20, "mcp.message.sent", b, `,"isodetect.rpc.kind":"notification","mcp.method.name":"notifications/resources/updated"`+resource)
	f(bleed, 1, update+native(20, "mcp.subscription.delivered", b, resource))
	f(bleed, 2, update+update)
	made = born

	drift := "capability_drift"
	named := line(20, "server request", a, `,"rpc_method":"sampling/createMessage","rpc_id":"1"`)
	f(drift, 1, named+ask(20, `,"rpc_id":1`))
	f(drift, 2, named+ask(20, `,"rpc_id":1`)+ask(21, `,"rpc_id":2`))

	cancel := func(msg, rest string) string { return line(32, msg, a, rest) }
	f("cancellation_crosstalk", 1, cancels(cancel("rpc recv", `,"kind":"notification","rpc_method":"notifications/cancelled","cancel_request_id":2`)))
	f("cancellation_crosstalk", 1, cancels(cancel("rpc recv", `,"kind":"notification","rpc_method":"notifications/cancelled","cancel_request_id":2`), cancel("cancel received", `,"request_id":"2"`)))

	fallback := "fallback_resolution"
	own := fmt.Sprintf(`{"time":"2026-07-19T22:20:43.005Z","level":"INFO","req":{"method":"POST","url":"/mcp","headers":{"host":"10.0.0.5","mcp-session-id":"%s"}},"res":{"statusCode":200,"headers":{"mcp-session-id":"%s"}},"responseTime":4,"msg":"request completed"}`+"\n", b, b) +
		over(6) // the first line of a request without a session is that of the initialize
	f(fallback, 1, own+fell(50, "")+over(90))
	f(fallback, 2, own+fell(50, "")+fell(60, "")+over(90)+over(91))
	f(fallback, 2, own+fell(50, "")+over(90)+over(91))
	f(fallback, 1, own+fell(50, `,"rpc_id":"7"`)+over(90))
}
