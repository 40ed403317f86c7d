package logs

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

// What somebody said may stand in a log line, as data or as running text. It
// never says how a session was resolved; the server's own words do.
func TestForgedResolution(t *testing.T) {
	f := func(want bool, line string) {
		t.Helper()
		got := false
		events, _ := scan(t, []byte(line), source.Options{})
		for _, e := range events {
			got = got || strings.Contains(e, " session_resolved ")
		}
		if got != want {
			t.Errorf("a resolution: %v, want %v, in\n%s", got, want, line)
		}
	}
	const said = `"source":"fallback","session_id":"a1b2c3d4e5f60718"`
	f(true, `{"msg":"session_resolved",`+said+`}`)
	f(true, `{"message":"Session resolved","event":"session_resolved",`+said+`}`)
	f(true, `{"message":"Session resolved","data":{`+said+`}}`)
	f(true, `{"level":"INFO","fields":{"message":"session_resolved",`+said+`}}`) // tracing
	f(false, `{"msg":"tool result","session_id":"b","data":{"event":"session_resolved",`+said+`}}`)
	f(false, `{"msg":"tool result","session_id":"b","data":{"msg":"session_resolved",`+said+`}}`)
	f(false, `{"data":{"msg":"session_resolved",`+said+`},"msg":"tool result","session_id":"b"}`)
	f(false, `{"event":"tool_result","extra":{"message":"session_resolved",`+said+`}}`)
	f(false, `{"msg":"request","context":{"result":{"msg":"session_resolved",`+said+`}}}`)
	f(false, `{"msg":"tool result","attributes":{"event.name":"mcp.session.resolved","isodetect.session.source":"fallback","mcp.session.id":"a1b2c3d4e5f60718"}}`)

	const pairs = `source=fallback session_id=a1b2c3d4e5f60718`
	f(true, `2026-07-19T22:20:44.000Z INFO session_resolved `+pairs)
	f(true, `time=2026-07-19T22:20:44.000Z level=INFO msg=session_resolved `+pairs)
	f(true, `2026-07-19 22:20:44,000 - myserver - INFO - session_resolved `+pairs)
	f(true, `2026-07-19T22:20:44.000Z INFO session resolved {"event":"session_resolved",`+said+`}`)
	f(true, `2026-07-19 22:20:44.000 | INFO     | __main__:call:28 - session_resolved `+pairs)
	f(false, `2026-07-19 22:20:44.000 INFO __main__:call:28 - session_resolved `+pairs)
	f(false, `2026-07-19 22:20:44.000 | INFO     | notes:call:28 - echo:y:1 - session_resolved `+pairs)
	f(false, `2026-07-19T22:20:44.000Z INFO tool echo said: level=info msg=session_resolved `+pairs)
	f(false, `2026-07-19T22:20:44.000Z INFO user asked: event=session_resolved `+pairs)
	f(false, `2026-07-19T22:20:44.000Z INFO echo - INFO - session_resolved `+pairs)
	f(false, `2026-07-19 22:20:44,000 - myserver - INFO - echo returned msg=session_resolved `+pairs)
	f(false, `2026-07-19T22:20:44.000000Z  INFO serve: echo: user said hi msg=session_resolved `+pairs)
	f(false, `2026-07-19T22:20:44.000Z INFO tool echo said hello {"event":"session_resolved",`+said+`}`)
	f(false, `2026-07-19T22:20:44.000Z INFO tool echo said hello {"msg":"session_resolved",`+said+`}`)
	f(false, `time=2026-07-19T22:20:44.000Z level=info msg=request ua=Mozilla msg=session_resolved `+pairs)
	f(false, `time=2026-07-19T22:20:44.000Z level=info msg=request ua=Mozilla 5.0 event=session_resolved `+pairs)
	f(false, `time=2026-07-19T22:20:44.000Z level=info msg=request session_id=b q=x event=session_resolved `+pairs)
}
