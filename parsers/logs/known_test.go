package logs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

// Lines of running text in pieces: what stands in front, and how a message begins and goes on.
var (
	textFronts = []string{" - notes.store - DEBUG - ", " - mcp.server.lowlevel.server - INFO - ", " - LiteLLM - INFO - ", " - a - INFO - ", " INFO notes.app: ", " | INFO     | notes.app:index:12 - ",
		" [info     ] ", " DEBUG ", " - notes.very.long.name.of.a.logger.here - WARNING - ", " ", " - x|y - INFO - ", " - LiteLLM Proxy - DEBUG - "}
	textFirst = []string{"query", "Response", "Session", "Received", "error", "INFO", "DEBUG", "warning:", "Jul", "12", "a.b", "x/y.go:3", "[main]", "notes:", "Dispatching", "Processing", "Request", "- LiteLLM",
		"PASS", "GET", "StreamableHTTP", "Listening", "Terminating", "10:20PM", "2026-07-19", "Created", "-", "|", "send_request.complete", "ValueError:"}
	textMore = []string{"took", "35", "ms", "rows", "of", "type", "CallToolRequest", "sent", "session", "5d0c1f7e9a3b4c6d8e2f10213243a5b6", "created", "closed", "list", "stdio", "stateless", "lasts", "a=1",
		"b=2", "HTTP/1.1", `"POST`, `/mcp`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "{", "]", "=", "|", "<x>", "é", "\t", "\x1b[1m", "new transport with session ID:", "cancelled - duplicate response suppressed", "7", "ended", "listening"}
	textTelling = []string{"Processing request of type CallToolRequest", "- INFO - Processing request of type CallToolRequest", "| Processing request of type CallToolRequest", "rpc_method=tools/call rpc_id=7 progress_token=t",
		"Terminating session: 5d0c1f7e9a3b4c6d8e2f10213243a5b6", "server listening", "Request 7 cancelled - duplicate response suppressed"}
	textTimes    = []string{"2026-07-19 22:20:43,001", "2026-07-19 22:20:44,001", "2026-07-19 22:21:43,001", "2026-07-19 22:20:43", "2026/07/19 22:20:43.001", "2026-07-19T22:20:43.001Z", "2026-13-19 22:20:43,001", "22:20:43", "2026-07-19 22:20:43.001+02:00"}
	uvicornLines = []string{`INFO:     10.0.4.1:40001 - "POST /mcp HTTP/1.1" 200 OK`, `INFO:     10.0.4.2:40002 - "POST /mcp HTTP/1.1" 200 OK`, `INFO:     10.0.4.1:40001 - "POST /mcp HTTP/1.1" 400 Bad Request`,
		`INFO:     10.0.4.1 - "POST /mcp HTTP/1.1" 200 OK`, `INFO:     10.0.4.1: - "POST /mcp HTTP/1.1" 200 OK`, `INFO:     :1 - "POST /mcp HTTP/1.1" 200 OK`, `INFO:     10.0.4.1:1 - "POST /messages/?session_id=0274fa295a6c4800a9fe45f0b85e1c61 HTTP/1.1" 202 Accepted`,
		`INFO:     10.0.4.3:40003 - "GET /mcp HTTP/1.1" 200 OK`, `INFO:     10.0.4.3:40003 - "GET /mcp HTTP/1.1" 200 OK `, `INFO:     10.0.4.3:40003 - "GET /mcp HTTP/1.1" 200`, `INFO:     10.0.4.3:40003 - "GET`, `INFO:     [::1]:40003 - "GET /mcp HTTP/1.1" 200 OK`}
)

// textLines writes a log of a few loggers, whose messages come again or nearly so.
func textLines(rng *rand.Rand) (out []byte) {
	any := func(of []string) string { return of[rng.IntN(len(of))] }
	var said []string
	for range 120 {
		switch rng.IntN(8) {
		case 0:
			out = append(out, any(uvicornLines)...)
		case 1, 2:
			if len(said) > 0 {
				out = append(out, any(textTimes)+any(said)...)
				break
			}
			fallthrough
		default:
			text := any(textFronts[:4])
			if rng.IntN(3) == 0 {
				text = any(textFronts)
			}
			text += any(textFirst)
			if rng.IntN(3) == 0 {
				text += " " + any(textTelling)
			} else {
				for range rng.IntN(6) {
					text += " " + any(textMore)
				}
			}
			said = append(said, text)
			time := textTimes[0]
			if rng.IntN(3) == 0 {
				time = any(textTimes)
			}
			out = append(out, time+text...)
		}
		out = append(out, '\n')
	}
	return out
}

// TestKnownTextsChangeNothing holds that running text is read the same whether its text,
// its prefix or its end was met before.
func TestKnownTextsChangeNothing(t *testing.T) {
	for seed := range uint64(300) {
		b := textLines(rand.New(rand.NewPCG(seed, 4)))
		equalReading(t, inWay(t, b, uint(seed)%ways&^3, uint(seed*7919)))
	}
}

// TestKnownTextsAreFound holds what lines of known loggers show without being looked at whole.
func TestKnownTextsAreFound(t *testing.T) {
	s := newSkimmer(source.Options{})
	const front = " - notes.store - DEBUG - "
	s.look([]byte("2026-07-19 22:20:43,001" + front + "ready"))
	if f := s.p.rec.fronts.of([]byte(front + "ready")); f == nil || !f.plain {
		t.Fatalf("the prefix of %q is not known as plain", front)
	}
	for m, want := range map[string]glance{"query took 35 ms for 110 rows": dull, "Dispatching request of type CallToolRequest": dull, "Processing request of type CallToolRequest": bare,
		"your session 5d0c1f7e9a3b ended": bare, "Request took long": dull, `sent "x"`: unclear, "12 rows": unclear, "Jul 19": unclear} {
		if got := plainMessage([]byte(m)); got != want {
			t.Errorf("%q shows %d, want %d", m, got, want)
		}
	}
	s.look([]byte(uvicornLines[0]))
	if !s.tails.has(uvicornTail([]byte(uvicornLines[1]))) {
		t.Errorf("the end of a uvicorn line is not known again")
	}
}

// TestTellingWords holds what plainMessage looks for before it looks for the words.
func TestTellingWords(t *testing.T) {
	for _, w := range append([][]byte{[]byte("session")}, tellingWords[:]...) {
		if !bytes.Contains(w, []byte("ss")) && !bytes.Contains(w, []byte("st")) {
			t.Errorf("%q has neither ss nor st in it", w)
		}
		if got := plainMessage(append([]byte("word before "), w...)); got != bare {
			t.Errorf("a message with %q shows %d, want %d", w, got, bare)
		}
	}
}
