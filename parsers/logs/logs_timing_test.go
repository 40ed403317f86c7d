package logs

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// The logs of the benchmarks are written as the real ones are: among the lines of
// sessions and requests stand many that carry nothing.

// timedLog is a log for benchmarks: row i of it.
type timedLog struct {
	name string
	row  func(i int) string
}

var timedLogs = []timedLog{
	{"python", func(i int) string {
		at := fmt.Sprintf("2026-07-19 %02d:%02d:%02d,%03d", i/3600%24, i/60%60, i%60, i*7%1000)
		switch id := fmt.Sprintf("%08x9a3b4c6d8e2f102132%06x", i*2654435761%(1<<32), i%200); i % 12 {
		case 0:
			return at + " - mcp.server.streamable_http_manager - INFO - Created new transport with session ID: " + id
		case 1, 5, 9:
			return fmt.Sprintf(`INFO:     10.0.4.%d:%d - "POST /mcp HTTP/1.1" 200 OK`, i%250, 40000+i%20000)
		case 2, 6:
			return at + " - mcp.server.lowlevel.server - INFO - Processing request of type CallToolRequest"
		case 3, 7, 10:
			return at + " - mcp.server.lowlevel.server - DEBUG - Response sent"
		case 4, 8:
			return at + fmt.Sprintf(" - notes.app - INFO - indexed %d documents in %d ms for the nightly job", i%90, i%7)
		}
		return at + " - httpx - DEBUG - send_request_headers.complete return_value=None"
	}},
	{"slog", func(i int) string {
		at := fmt.Sprintf("time=2026-07-19T%02d:%02d:%02d.%03dZ level=", i/3600%24, i/60%60, i%60, i*7%1000)
		switch id := fmt.Sprintf("K7DS66NZHYOQWO4I5M7VNVA%03d", i%200); i % 6 {
		case 0:
			return at + `INFO msg="MCP method started" method=tools/call session_id=` + id + fmt.Sprintf(" has_params=true request_id={value:%d}", i)
		case 1:
			return at + `INFO msg="MCP method completed" method=tools/call session_id=` + id + fmt.Sprintf(" duration_ms=%d", i%90)
		case 2:
			return at + fmt.Sprintf(`DEBUG msg="cache refreshed" entries=%d took=1.2ms`, i%40)
		case 3:
			return at + fmt.Sprintf(`INFO msg="resource subscribed" uri=file:///a/%d session_id=%s request_id={value:%d}`, i%30, id, i)
		case 4:
			return at + fmt.Sprintf(`DEBUG msg="query done" sql="select * from notes where id=?" rows=%d`, i%9)
		}
		return at + fmt.Sprintf(`INFO msg="resource updated notification sent" uri=file:///a/%d subscriber_count=%d`, i%30, i%4)
	}},
	{"jsonlines", func(i int) string {
		at := fmt.Sprintf(`{"time":"2026-07-19T%02d:%02d:%02d.%03dZ","level":"INFO","logger":"mcp.transport",`, i/3600%24, i/60%60, i%60, i*7%1000)
		switch id := fmt.Sprintf("5d0c1f7e9a3b4c6d8e2f10213%07x", i%200); i % 3 {
		case 0:
			return at + fmt.Sprintf(`"msg":"message received","session_id":"%s","direction":"in","body":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"/srv/doc-%d"}}}}`, id, i, i)
		case 1:
			return at + fmt.Sprintf(`"msg":"message sent","session_id":"%s","direction":"out","raw":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"words of doc-%d\"}]}}"}`, id, i-1, i)
		}
		return at + fmt.Sprintf(`"msg":"query done","statement":"select id, title, body from notes where board = $1","rows":%d,"wait_us":%d}`, i%200, i%900)
	}},
	{"nginx", func(i int) string {
		at := fmt.Sprintf(`[19/Jul/2026:%02d:%02d:%02d +0000]`, i/3600%24, i/60%60, i%60)
		return fmt.Sprintf(`10.0.4.%d - - %s "POST /mcp HTTP/1.1" 200 %d "-" "python-httpx/0.28.1"`, i%250, at, 200+i%4000)
	}},
	{"rich", func(i int) string {
		switch i % 4 {
		case 0:
			return fmt.Sprintf("[07/19/26 %02d:%02d:%02d] INFO     Processing request of type            server.py:720", i/3600%24, i/60%60, i%60)
		case 1:
			return "                             CallToolRequest"
		case 2:
			return "                    DEBUG    Response sent                          server.py:780"
		}
		return fmt.Sprintf(`INFO:     10.0.4.%d:%d - "POST /mcp HTTP/1.1" 200 OK`, i%250, 40000+i%20000)
	}},
	{"tracing", func(i int) string {
		at := fmt.Sprintf("2026-07-19T%02d:%02d:%02d.%06dZ ", i/3600%24, i/60%60, i%60, i*7%1000000)
		if i%2 == 0 {
			return at + fmt.Sprintf(" INFO serve_inner: rmcp::service: received request id=%d request=CallToolRequest", i)
		}
		return at + fmt.Sprintf("DEBUG notes::store: refreshed %d boards", i%40)
	}},
}

func (l *timedLog) bytes(rows int) []byte {
	var s strings.Builder
	for i := range rows {
		s.WriteString(l.row(i))
		s.WriteByte('\n')
	}
	return []byte(s.String())
}

func BenchmarkRead(b *testing.B) {
	for i := range timedLogs {
		l := &timedLogs[i]
		b.Run(l.name, func(b *testing.B) {
			raw := l.bytes(20_000)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				events = readThrough(b, raw)
			}
			b.ReportMetric(float64(events), "events/op")
		})
	}
}

func readThrough(tb testing.TB, raw []byte) (events int) {
	tb.Helper()
	r, err := open([]*source.Input{exchangetest.Input(raw)}, source.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); err == io.EOF {
			return events
		} else if err != nil {
			tb.Fatal(err)
		}
		events++
	}
}
