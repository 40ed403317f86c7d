package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/correlate/snapshot"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// encodedStream is a recording of an event stream that is compressed, cut into pieces.
func encodedStream(t *testing.T, messages, size int) (lines []string) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range messages {
		fmt.Fprintf(z, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%d,\"progress\":1}}\n\n", i)
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	lines = append(lines,
		`{"ts":"2026-07-19T22:20:01Z","k":"req","x":"1","url":"http://10.0.0.1:8080/mcp","http_method":"GET","h":{"mcp-session-id":"aaaa-1111"}}`,
		`{"ts":"2026-07-19T22:20:01Z","k":"head","x":"1","status":200,"h":{"content-type":"text/event-stream","content-encoding":"gzip"}}`)
	for b := packed.Bytes(); len(b) > 0; b = b[min(size, len(b)):] {
		lines = append(lines, fmt.Sprintf(`{"ts":"2026-07-19T22:20:02Z","k":"body","x":"1","body_b64":"%s"}`, base64.StdEncoding.EncodeToString(b[:min(size, len(b))])))
	}
	return append(lines, `{"ts":"2026-07-19T22:20:03Z","k":"close","x":"1","by":"client"}`)
}

// kept is a feeder as a snapshot keeps it.
type kept struct {
	In     *source.Input
	Feeder source.Feeder
}

func (k *kept) restored(t *testing.T) *kept {
	t.Helper()
	var b bytes.Buffer
	known := snapshot.Known{Types: Known()}
	if err := snapshot.Write(&b, k, known); err != nil {
		t.Fatal(err)
	}
	var out kept
	if err := snapshot.Read(&b, &out, known); err != nil {
		t.Fatal(err)
	}
	out.Feeder.Resume(out.In, source.Options{})
	return &out
}

// told feeds lines and writes the events down; the feeder is restored before the lines at cuts.
func told(t *testing.T, lines []string, cut func(i int) bool) (string, *source.Stats) {
	t.Helper()
	in := &source.Input{Path: "x"}
	f, err := follow(in, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{in, f}
	var out []string
	for i, l := range lines {
		if cut(i) {
			k = k.restored(t)
		}
		k.Feeder.Feed([]byte(l), event.Address{N: int64(i) + 1})
		for e := k.Feeder.Next(); e != nil; e = k.Feeder.Next() {
			out = append(out, exchangetest.Line(e))
		}
	}
	return strings.Join(out, "\n"), &k.In.Stats
}

// An encoded body is read on after the feeder was put away in its middle.
func TestEncodedBodyGoesOn(t *testing.T) {
	never := func(int) bool { return false }
	for _, size := range []int{1, 7, 60, 1 << 20} {
		lines := encodedStream(t, 5, size)
		want, stats := told(t, lines, never)
		if strings.Count(want, "message") < 5 {
			t.Fatalf("in pieces of %d:\n%s", size, want)
		}
		got, again := told(t, lines, func(i int) bool { return size > 1 || i%9 == 0 })
		if got != want {
			t.Errorf("in pieces of %d:\n%s\nwant\n%s", size, got, want)
		}
		if fmt.Sprint(*again) != fmt.Sprint(*stats) {
			t.Errorf("counted %+v, want %+v", *again, *stats)
		}
	}
}

// Of what is too large to be kept, the rest is given up with a located problem.
func TestLargeEncodedBodyIsGivenUp(t *testing.T) {
	lines := encodedStream(t, 40000, 4<<10)
	if len(lines) < 80 {
		t.Fatalf("only %d pieces", len(lines))
	}
	got, stats := told(t, lines, func(i int) bool { return i == len(lines)-2 })
	if strings.Count(got, "message") < 38000 || len(stats.Problems) != 1 || !strings.Contains(stats.Problems[0].Text, "started anew") {
		t.Errorf("%d messages, %+v", strings.Count(got, "message"), stats.Problems)
	}
}
