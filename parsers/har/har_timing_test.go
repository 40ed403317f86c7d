package har

import (
	"fmt"
	"io"
	"testing"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

func BenchmarkHAR(b *testing.B) {
	var entries []m
	for i := range 2000 {
		entries = append(entries, call(fmt.Sprintf("2026-07-19T22:%02d:%02d.%03dZ", i/60%60, i%60, i%1000), 40,
			"request.postData.text", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"/srv/doc-%d"}}}`, i, i),
			"response.content.text", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"line one of doc-%d and more words"}]}}`, i, i)))
	}
	raw := archive(entries...)
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
