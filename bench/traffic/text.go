package traffic

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// textWriter writes the log of a server as lines of text, each with the others of
// its program around it: about half of them are about something else.
type textWriter struct {
	w      *bufio.Writer
	rng    *rand.Rand
	happen func(t *textWriter, h *happening)
	err    error
}

func (t *textWriter) put(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func newTextWriter(w io.Writer, happen func(t *textWriter, h *happening)) writer {
	return textHappenings{&textWriter{w: bufio.NewWriterSize(w, 1<<16), rng: rand.New(rand.NewPCG(7, 7)), happen: happen}}
}

type textHappenings struct{ t *textWriter }

func (w textHappenings) happen(h *happening) error {
	w.t.happen(w.t, h)
	return w.t.err
}

func (w textHappenings) done() error { return w.t.w.Flush() }

// method is the JSON-RPC method of what the client sent, "" for a DELETE.
func (x *exchange) method() string {
	_, tail, _ := strings.Cut(x.send, `"method":"`)
	name, _, _ := strings.Cut(tail, `"`)
	return name
}

var pythonTypes = map[string]string{"tools/call": "CallToolRequest", "resources/read": "ReadResourceRequest", "resources/subscribe": "SubscribeRequest"}

// newPython writes what python-sdk 1.x logs at DEBUG through logging with an asctime
// format, and the access lines of uvicorn among it, as parsers/logs/testdata/tools/python-asctime.log
// has them; an application logs beside it.
func newPython(w io.Writer) writer {
	return newTextWriter(w, func(t *textWriter, h *happening) {
		x := h.x
		say := func(logger, level, format string, args ...any) {
			t.put(time.Unix(0, h.at).UTC().Format("2006-01-02 15:04:05,000")+" - "+logger+" - "+level+" - "+format+"\n", args...)
		}
		const manager, transport, server = "mcp.server.streamable_http_manager", "mcp.server.streamable_http", "mcp.server.lowlevel.server"
		request := pythonTypes[x.method()]
		switch {
		case h.what == opened && x.answers:
			say(manager, "INFO", "Created new transport with session ID: %s", x.s.id)
		case h.what == opened && x.verb == "DELETE":
			say(transport, "INFO", "Terminating session: %s", x.s.id)
		case h.what == opened:
			say(manager, "DEBUG", "Session already exists, handling request directly")
		case h.what == headed:
			text := map[int]string{200: "200 OK", 202: "202 Accepted"}[x.status]
			t.put("INFO:     %s:%d - \"%s /mcp HTTP/1.1\" %s\n", address(x.c.ip), x.c.port, x.verb, text)
			if request == "" {
				return
			}
			say(server, "DEBUG", "Received message: <mcp.shared.session.RequestResponder object at 0x%012x>", 0x7fef00000000+t.rng.IntN(1<<28)<<4)
			say(server, "INFO", "Processing request of type %s", request)
			say(server, "DEBUG", "Dispatching request of type %s", request)
			say("notes.store", "DEBUG", "query took %d ms for %d rows", t.rng.IntN(40), t.rng.IntN(200))
		case h.what == closed && request != "":
			say(server, "DEBUG", "Response sent")
			say(transport, "DEBUG", "Closing SSE writer")
			say("httpx", "DEBUG", "send_request_headers.complete return_value=None")
			if t.rng.IntN(2) == 0 {
				say("notes.index", "INFO", "indexed %d documents for the nightly job", t.rng.IntN(90))
			}
		}
	})
}

// newSlog writes what a mcp-go server logs through slog's text handler, as
// parsers/logs/testdata/tools/mcpgo-text.log has it; an application logs beside it.
func newSlog(w io.Writer) writer {
	return newTextWriter(w, func(t *textWriter, h *happening) {
		x := h.x
		say := func(level, msg, format string, args ...any) {
			t.put("time="+time.Unix(0, h.at).UTC().Format("2006-01-02T15:04:05.000Z")+" level="+level+` msg=`+msg+` `+format+"\n", args...)
		}
		m := x.method()
		took := float64(h.at-x.at) / 1e9
		switch {
		case h.what == closed && x.answers:
			say("INFO", "mcp.request", "mcp.method=initialize mcp.session.id=mcp-session-%s duration_s=%.6g outcome=ok", uuid(x.s.id), took)
		case h.what == opened && pythonTypes[m] != "":
			say("DEBUG", `"query done"`, "table=notes rows=%d took=%d.%dms pool_free=%d", t.rng.IntN(200), t.rng.IntN(40), t.rng.IntN(10), t.rng.IntN(16))
		case h.what == closed && pythonTypes[m] != "":
			if m == "tools/call" {
				say("INFO", "mcp.tool", "mcp.tool.name=search_notes duration_s=%.6g outcome=ok", took)
			}
			say("INFO", "mcp.request", "mcp.method=%s mcp.session.id=mcp-session-%s mcp.protocol.version=2025-06-18 duration_s=%.6g outcome=ok", m, uuid(x.s.id), took)
			say("DEBUG", `"cache refreshed"`, "entries=%d hits=%d misses=%d evicted=%d", t.rng.IntN(90), t.rng.IntN(900), t.rng.IntN(90), t.rng.IntN(9))
			if t.rng.IntN(2) == 0 {
				say("DEBUG", `"stored event"`, `stream=notes bytes=%d path=/var/lib/notes/%08x.seg`, t.rng.IntN(9000), t.rng.Uint32())
			}
		}
	})
}

// uuid writes the 32 hexadecimal digits of a session id as a UUID.
func uuid(id string) string {
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
