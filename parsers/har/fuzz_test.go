package har

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/klauspost/compress/gzip"
)

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// FuzzHAR checks that nothing makes the reader panic, hang or lose count, and
// that two readings are equal.
func FuzzHAR(f *testing.F) {
	f.Add(archive(call(base, 9), call(base, 1, "response.status", 0)))
	f.Add(archive(call(base, 9, "_eventSourceMessages", []any{m{"time": 1784499643.1, "data": "{}"}, m{}, 1})))
	f.Add([]byte(`{"log":{"entries":[{"startedDateTime":"2026-07-19T22:20:43Z","request":{"headers":[{"name":"mcp-x"}]}},`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, b := exchangetest.Input(raw), exchangetest.Input(raw)
		one, err := exchangetest.Read(Format, a)
		if err != nil {
			t.Fatal(err)
		}
		two, _ := exchangetest.Read(Format, b)
		if d := cmp.Diff(one, two); d != "" {
			t.Fatal(d)
		}
		s := a.Stats
		if s.Records != s.Used+s.Ignored+s.Malformed || s.Events != int64(len(one)) {
			t.Fatalf("%+v, %d events", s, len(one))
		}
		Format.Sniff(raw, true)
	})
}
