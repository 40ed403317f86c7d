package tail

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// traffic is wire JSONL of sessions that come one after another; every second one
// subscribes, and each update goes to the one before, too, which did not.
type traffic struct {
	lines []string
	at    time.Time
	n     int
}

func (w *traffic) add(fields map[string]any) {
	w.at = w.at.Add(2 * time.Millisecond)
	fields["ts"] = w.at.Format(time.RFC3339Nano)
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	w.lines = append(w.lines, string(b))
}

func rpc(text string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(text, args...))
}

// call writes a whole exchange.
func (w *traffic) call(client int, session string, request, answer json.RawMessage, gives string) {
	w.n++
	x := fmt.Sprint(w.n)
	conn := fmt.Sprintf("c%d", client)
	h := map[string]string{"content-type": "application/json"}
	if session != "" {
		h["mcp-session-id"] = session
	}
	back := map[string]string{"content-type": "application/json"}
	if gives != "" {
		back["mcp-session-id"] = gives
	}
	w.add(map[string]any{"k": "req", "x": x, "conn": conn, "peer": fmt.Sprintf("10.0.%d.%d:40000", client/250, client%250), "url": "http://10.0.0.1:8080/mcp", "http_method": "POST", "h": h, "body": request})
	w.add(map[string]any{"k": "head", "x": x, "conn": conn, "status": 200, "h": back})
	w.add(map[string]any{"k": "body", "x": x, "conn": conn, "body": answer})
	w.add(map[string]any{"k": "close", "x": x, "conn": conn, "by": "server"})
}

// listen opens the stream of a session.
func (w *traffic) listen(client int, session string) (x string) {
	w.n++
	x = fmt.Sprint(w.n)
	conn := fmt.Sprintf("s%d", client)
	w.add(map[string]any{"k": "req", "x": x, "conn": conn, "peer": fmt.Sprintf("10.0.%d.%d:40001", client/250, client%250), "url": "http://10.0.0.1:8080/mcp", "http_method": "GET", "h": map[string]string{"mcp-session-id": session, "accept": "text/event-stream"}})
	w.add(map[string]any{"k": "head", "x": x, "conn": conn, "status": 200, "h": map[string]string{"content-type": "text/event-stream"}})
	return x
}

func (w *traffic) update(x string, client int, uri string) {
	w.add(map[string]any{"k": "sse", "x": x, "conn": fmt.Sprintf("s%d", client), "data": fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, uri)})
}

// bleeding is traffic of pairs of sessions in which each pair shows one bleed.
func bleeding(pairs int) *traffic {
	w := &traffic{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for p := range pairs {
		var streams [2]string
		uri := fmt.Sprintf("note://%d/plan", p)
		for k := range 2 {
			c := 2*p + k
			id := fmt.Sprintf("session-%06d-abcdef", c)
			w.call(c, "", rpc(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c%d","version":"1"}}}`, c),
				rpc(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`), id)
			streams[k] = w.listen(c, id)
		}
		w.call(2*p, fmt.Sprintf("session-%06d-abcdef", 2*p), rpc(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri), rpc(`{"jsonrpc":"2.0","id":1,"result":{}}`), "")
		w.update(streams[0], 2*p, uri)
		w.update(streams[1], 2*p+1, uri)
	}
	return w
}

func (w *traffic) text() string { return strings.Join(w.lines, "\n") + "\n" }
