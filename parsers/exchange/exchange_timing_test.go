package exchange

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

func BenchmarkStream(b *testing.B) {
	text := strings.Repeat("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":7,\"progress\":1,\"message\":\"copied one of many files\"}}\n\n", 400)
	var stats source.Stats
	bl := New(0, &stats)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		x := bl.Open(Request{Method: "GET", Target: "/mcp"})
		x.Head(Response{Status: 200, Header: header("content-type", "text/event-stream")})
		for i := 0; i < len(text); i += 1448 {
			x.Data(event.At(1), event.Address{}, []byte(text[i:min(i+1448, len(text))]))
			for bl.Pop() != nil {
			}
		}
		x.Close(event.At(2), event.Address{}, event.ByServer, 0)
		for bl.Pop() != nil {
		}
	}
}
