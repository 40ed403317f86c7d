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

// newPython writes what python-sdk logs at DEBUG through logging with an asctime
// format, and the access lines of uvicorn among it.
func newPython(w io.Writer) writer {
	return newTextWriter(w, func(t *textWriter, h *happening) {
		x := h.x
		say := func(logger, level, format string, args ...any) {
			t.put(time.Unix(0, h.at).UTC().Format("2006-01-02 15:04:05,000")+" - "+logger+" - "+level+" - "+format+"\n", args...)
		}
		switch {
		case h.what == opened && x.answers:
			say("mcp.server.streamable_http_manager", "INFO", "Created new transport with session ID: %s", x.s.id)
		case h.what == opened && x.verb == "DELETE":
			say("mcp.server.streamable_http", "INFO", "Terminating session: %s", x.s.id)
		case h.what == opened && pythonTypes[x.method()] != "":
			say("mcp.server.lowlevel.server", "INFO", "Processing request of type %s", pythonTypes[x.method()])
			say("notes.store", "DEBUG", "query took %d ms for %d rows", t.rng.IntN(40), t.rng.IntN(200))
		case h.what == headed:
			text := map[int]string{200: "200 OK", 202: "202 Accepted"}[x.status]
			t.put("INFO:     %s:%d - \"%s /mcp HTTP/1.1\" %s\n", address(x.c.ip), x.c.port, x.verb, text)
		case h.what == closed && pythonTypes[x.method()] != "":
			say("mcp.server.lowlevel.server", "DEBUG", "Response sent")
			say("httpx", "DEBUG", "send_request_headers.complete return_value=None")
			if t.rng.IntN(2) == 0 {
				say("notes.index", "INFO", "indexed %d documents for the nightly job", t.rng.IntN(90))
			}
		}
	})
}

// newSlog writes what a go-sdk server logs through slog's text handler with a
// middleware that logs every request, and lines of its own.
func newSlog(w io.Writer) writer {
	return newTextWriter(w, func(t *textWriter, h *happening) {
		x := h.x
		say := func(level, msg, format string, args ...any) {
			t.put("time="+time.Unix(0, h.at).UTC().Format("2006-01-02T15:04:05.000Z")+" level="+level+` msg="`+msg+`" `+format+"\n", args...)
		}
		m := x.method()
		switch {
		case h.what == opened && x.answers:
			say("INFO", "session created", "session_id=%s", x.s.id)
		case h.what == opened && pythonTypes[m] != "":
			say("INFO", "MCP method started", "method=%s session_id=%s has_params=true", m, x.s.id)
			say("DEBUG", "query done", "rows=%d took=%d.%dms", t.rng.IntN(200), t.rng.IntN(40), t.rng.IntN(10))
		case h.what == closed && x.verb == "DELETE":
			say("INFO", "session closed", "session_id=%s", x.s.id)
		case h.what == closed && pythonTypes[m] != "":
			say("INFO", "MCP method completed", "method=%s session_id=%s duration_ms=%d", m, x.s.id, (h.at-x.at)/1e6)
			say("DEBUG", "cache refreshed", "entries=%d hits=%d", t.rng.IntN(90), t.rng.IntN(900))
			if t.rng.IntN(2) == 0 {
				say("DEBUG", "pool", "free=%d wait_us=%d", t.rng.IntN(16), t.rng.IntN(900))
			}
		}
	})
}
