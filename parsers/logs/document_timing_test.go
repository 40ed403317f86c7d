package logs

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

func BenchmarkExport(b *testing.B) {
	var s strings.Builder
	s.WriteString("[\n")
	for i := 20000; i > 0; i-- {
		fmt.Fprintf(&s, "  {\n    \"insertId\": \"%d\",\n    \"logName\": \"projects/p/logs/stdout\",\n    \"resource\": {\n      \"labels\": {\n        \"pod_name\": \"p-0\"\n      }\n    },\n    \"textPayload\": \"nothing about it, line %d\",\n    \"timestamp\": \"2026-07-19T23:%02d:%02d.%03dZ\"\n  }%s\n",
			i, i, i/1000%60, i/20%60, i%1000, strings.Repeat(",", min(1, i-1)))
	}
	s.WriteString("]\n")
	text := []byte(s.String())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		in := &source.Input{Opener: exchangetest.Bytes(text)}
		r, err := openDocument([]*source.Input{in}, source.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF || in.Stats.Records != 20000 {
			b.Fatal(err, in.Stats.Records)
		}
	}
}
