package logs

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

// Values of pairs as they come, and as they do not.
var (
	shapeKeys = strings.Fields(`level msg event session_id mcp.session.id method mcp.method tool mcp.tool.name outcome error reason status path remote duration_s
		request_id progressToken uri capabilities target owner pid host trace rows source mode transport msg request`)
	shapeValues = []string{"a", "7", "", `""`, "-", "tools/call", "initialize", "ok", "error", "200", "404", "/mcp", "10.0.0.1:4000", "0.25", "fallback", "stateless",
		"mcp-session-5d0c1f7e-9a3b-4c6d-8e2f-10213243a5b6", "5d0c1f7e9a3b4c6d8e2f10213243a5b6", "c3b8a1d2e4f54a6b9c7d0e1f2a3b4c5d", `"5d0c1f7e9a3b4c6d8e2f10213243a5b6"`,
		`"no such note"`, `"it \"ends\""`, `"{"`, `"x]"`, "{value:3}", "[sampling roots]", "map[a:b c:d]", "'quoted'", "a=b", `a"b`, "a\tb", "a b", "\x1b[1mx\x1b[0m", "é",
		`"POST /mcp HTTP/1.1"`, `"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"`, `"jsonrpc 2.0 is what it is"`, "{", "[", "]", "}", `"a`, `a"`, `"a"b`, "event=request_start", "stdout F", "| x"}
	shapeWords = []string{`"query done"`, "mcp.request", "mcp.tool", `"session created"`, `"session closed"`, "session_resolved", `"rpc recv"`, `"tool call failed"`, `"server listening"`,
		`"progress routed"`, `"http request"`, `"Server ("`, "pool", `"Created new transport with session ID: 5d0c1f7e9a3b4c6d8e2f10213243a5b6"`, `"request cancelled"`}
	shapeTimes = []string{"2026-07-19T22:20:43.001Z", "2026-07-19T22:20:44.5+02:00", "2026-07-20T00:20:43+02:00", "2026-07-19T22:20:43Z", "2026-13-19T22:20:43.001Z", "2026-07-19T22:20:43.001", "22:20:43.001",
		`"2026-07-19T22:20:47.25Z"`, "1784500000.5", "2026-07-19T22:20:43.001Zx", ""}
)

// pairLines writes a log of few shapes with many values.
func pairLines(rng *rand.Rand) []byte {
	any := func(of []string) string { return of[rng.IntN(len(of))] }
	var out []byte
	for range 6 {
		keys := []string{any([]string{"time", "time", "time", "ts", "t", "at"})}
		word, usual := any(shapeWords), any(shapeTimes[:3])
		if rng.IntN(2) == 0 { // lines that tell something where their values are there
			keys, word = append(keys, "msg"), any([]string{"mcp.request", `"session created"`, `"session closed"`, `"http request"`})
			for range 1 + rng.IntN(3) {
				keys = append(keys, any([]string{"mcp.session.id", "session_id", "status", "mcp.method", "outcome"}))
			}
		} else {
			for range 1 + rng.IntN(6) {
				keys = append(keys, any(shapeKeys))
			}
		}
		for range 12 {
			for k, key := range keys {
				v := any(shapeValues)
				switch {
				case k == 0 && rng.IntN(4) > 0:
					v = usual
				case k == 0:
					v = any(shapeTimes)
				case key == "msg" || key == "event":
					if v = word; rng.IntN(8) == 0 {
						v = any(shapeWords)
					}
				case rng.IntN(3) > 0:
					v = shapeValues[rng.IntN(20)] // mostly such as a shape can have
				}
				if k > 0 {
					out = append(out, ' ')
				}
				out = append(out, key+"="+v...)
			}
			if rng.IntN(12) == 0 {
				out = append(out, any([]string{" ", "  x=1", " loose", " {"})...)
			}
			if rng.IntN(6) == 0 {
				out = append(out, any([]string{"\nINFO:mcp.server.streamable_http_manager:Created new transport with session ID: 5d0c1f7e9a3b4c6d8e2f10213243a5b6",
					"\nINFO:     10.0.4.1:40001 - \"POST /mcp HTTP/1.1\" 400 Bad Request"})...)
			}
			out = append(out, '\n')
		}
	}
	return out
}

// TestShapesChangeNothing holds that lines of pairs are read the same whether their
// shape is known or not.
func TestShapesChangeNothing(t *testing.T) {
	for seed := range uint64(300) {
		b := pairLines(rand.New(rand.NewPCG(seed, 3)))
		equalReading(t, inWay(t, b, uint(seed)%ways&^3, uint(seed*7919)))
	}
}

// TestShapesAreFound holds that the lines of the usual writers have shapes, and which
// of them tell nothing.
func TestShapesAreFound(t *testing.T) {
	s := newSkimmer(source.Options{})
	for _, l := range [...]struct {
		text string
		seen glance
	}{
		{`time=2026-07-19T22:20:43.1Z level=DEBUG msg="cache refreshed" entries=3 took=1.2ms`, mute},
		{`time=2026-07-19T22:20:43.1Z level=INFO msg=mcp.tool mcp.tool.name=slow duration_s=0.2 outcome=error error="no such note"`, muteMCP},
		{`time=2026-07-19T22:20:43.1Z level=INFO msg=mcp.request mcp.method=tools/list mcp.session.id=mcp-session-5d0c1f7e duration_s=0.2 outcome=ok`, pairs},
		{`time=2026-07-19T22:20:43.1Z level=INFO msg="session initialized"`, mute},
	} {
		for range 2 {
			if got := s.look([]byte(l.text)); got != l.seen {
				t.Errorf("%s shows %d, want %d", l.text, got, l.seen)
			}
		}
		if s.shape == nil {
			t.Errorf("%s has no shape that is known again", l.text)
		}
	}
}

// TestShapesAreBounded holds that lines of ever new shapes cost no memory without end, and
// that what comes again is still known.
func TestShapesAreBounded(t *testing.T) {
	s := newSkimmer(source.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		s.look([]byte("time=2026-07-19T22:20:43.1Z msg=m" + shapeWord(rng) + " a" + shapeWord(rng) + "=1 b=2"))
	}
	if s.shapes.texts > maxShapes+maxCells || s.shapes.budget > 0 {
		t.Errorf("%d texts are kept and %d is left for more", s.shapes.texts, s.shapes.budget)
	}
}

func shapeWord(rng *rand.Rand) string {
	return string(rune('a'+rng.IntN(26))) + string(rune('a'+rng.IntN(26))) + string(rune('a'+rng.IntN(26)))
}
