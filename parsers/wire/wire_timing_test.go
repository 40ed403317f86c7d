package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

func BenchmarkWire(b *testing.B) {
	var s strings.Builder
	for i := range 2000 {
		ts := fmt.Sprintf("2026-07-19T22:%02d:%02d.000Z", i/60%60, i%60)
		fmt.Fprintf(&s, `{"ts":%q,"k":"req","x":"e%d","conn":"c1","peer":"10.0.0.5:1","url":"http://10.0.0.1:8080/mcp","http_method":"POST","h":{"mcp-session-id":"S1"},"body":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"/srv/doc-%d"}}}}`+"\n", ts, i, i, i)
		fmt.Fprintf(&s, `{"ts":%q,"k":"head","x":"e%d","status":200,"h":{"content-type":"text/event-stream"}}`+"\n", ts, i)
		fmt.Fprintf(&s, `{"ts":%q,"k":"sse","x":"e%d","data":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"line one of doc-%d and more words\"}]}}"}`+"\n", ts, i, i, i)
		fmt.Fprintf(&s, `{"ts":%q,"k":"close","x":"e%d","by":"server"}`+"\n", ts, i)
	}
	raw := []byte(s.String())
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Format.Open([]*source.Input{exchangetest.Input(raw)}, source.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}
