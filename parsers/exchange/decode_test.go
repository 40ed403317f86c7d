package exchange

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

func encoder(t testing.TB, coding string, w io.Writer) flusher {
	t.Helper()
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewWriter(w)
	case "deflate":
		return zlib.NewWriter(w)
	case "raw":
		f, err := flate.NewWriter(w, 6)
		if err != nil {
			t.Fatal(err)
		}
		return f
	case "br":
		return brotli.NewWriter(w)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func compress(t testing.TB, coding, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := encoder(t, coding, &buf)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestEncodedStreamGivesEveryFlushedMessage(t *testing.T) {
	f := func(name, coding string) {
		t.Helper()
		b := New(0, &source.Stats{})
		x := b.Open(Request{Method: "GET"})
		x.Head(Response{Status: 200, Header: header("content-type", "text/event-stream", "content-encoding", name)})
		drain(b)
		var buf bytes.Buffer
		w := encoder(t, coding, &buf)
		for _, id := range []string{"1", "2", "3"} {
			if _, err := io.WriteString(w, "data: "+answer(id)+"\n\n"); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			for _, c := range buf.Bytes() {
				x.Data(event.At(1), event.Address{}, []byte{c})
			}
			buf.Reset()
			if got := ids(drain(b)); got != id {
				t.Errorf("%s: after flush %s messages %q", name, id, got)
			}
		}
		x.Close(event.At(2), event.Address{}, event.ByClient, 0)
		if e := b.Pop(); e.Loss != 0 {
			t.Errorf("%s: a client that leaves is no loss: %d", name, e.Loss)
		}
	}
	f("gzip", "gzip")
	f("X-Gzip", "gzip")
	f("deflate", "deflate")
	f("deflate", "raw")
	f("br", "br")
	f("zstd", "zstd")
}

func TestEncodingsOnTopOfEachOther(t *testing.T) {
	inner := compress(t, "gzip", answer("1"))
	all, stats := coded("application/json", "gzip, br", compress(t, "br", string(inner)), 3, 9)
	if ids(all) != "1" || len(stats.Problems) != 0 {
		t.Errorf("messages %q, problems %v", ids(all), stats.Problems)
	}
}

func TestCorruptEncoding(t *testing.T) {
	f := func(coding string, raw []byte, want string) {
		t.Helper()
		all, stats := coded("application/json", coding, raw)
		if len(stats.Problems) != 1 || !strings.Contains(stats.Problems[0].Text, want) {
			t.Errorf("%s: problems %v, want %q", coding, stats.Problems, want)
		}
		if all[len(all)-1].Loss&event.LossResponseBody == 0 {
			t.Errorf("%s: loss is not marked", coding)
		}
	}
	f("gzip", []byte("this is no gzip at all"), "cannot decode")
	f("br, gzip", compress(t, "gzip", "\xff\xff\xff\xff this is no brotli"), "cannot decode")
	f("zstd", []byte("this is no zstd at all"), "cannot decode")
	f("compress", []byte("x"), `"compress" is not known`)
	f("br,br,br,br", []byte("x"), "on top of each other")
}

func TestInflatingBomb(t *testing.T) {
	var buf bytes.Buffer
	w := encoder(t, "zstd", &buf)
	blank := bytes.Repeat([]byte("\n"), 1<<20)
	for range 200 {
		if _, err := w.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if buf.Len() > 150<<10 {
		t.Fatalf("the bomb has %d bytes: no bomb", buf.Len())
	}
	all, stats := coded("text/event-stream", "zstd", append([]byte(nil), buf.Bytes()...))
	last := all[len(all)-1]
	if last.Bytes > source.MaxInflated+1<<20 {
		t.Errorf("%d bytes were inflated", last.Bytes)
	}
	if len(stats.Problems) != 1 || !strings.Contains(stats.Problems[0].Text, "times over") {
		t.Errorf("problems %v", stats.Problems)
	}
}

func TestEncodedRequestBody(t *testing.T) {
	var stats source.Stats
	b := New(0, &stats)
	x := b.Open(Request{Method: "POST", Header: header("content-encoding", "gzip")})
	x.RequestBody(event.At(1), event.Address{}, compress(t, "gzip", `{"jsonrpc":"2.0","id":1,"method":"ping"}`), 0)
	x = b.Open(Request{Method: "POST", Header: header("content-encoding", "gzip")})
	x.RequestBody(event.At(1), event.Address{}, []byte("plain text, not gzip"), 0)
	all := drain(b)
	if len(all) != 3 || all[1].RPC.Method != mcpPing || len(stats.Problems) != 1 {
		t.Errorf("%d events, problems %v", len(all), stats.Problems)
	}
}

const mcpPing = "ping"

// FuzzSplit checks that any split of a body gives the same events.
func FuzzSplit(f *testing.F) {
	f.Add("text/event-stream", "", []byte("id: 1\ndata: "+answer("1")+"\r\n\r\ndata: x\n\n"), uint8(3), uint16(9))
	f.Add("application/json", "", []byte("["+answer("1")+","+answer("2")+"]"), uint8(1), uint16(4))
	f.Add("", "gzip", compress(f, "gzip", answer("1")), uint8(5), uint16(11))
	f.Add("", "br", compress(f, "br", "data: "+answer("1")+"\n\n"), uint8(2), uint16(5))
	f.Add("text/plain", "deflate", compress(f, "raw", answer("1")), uint8(1), uint16(2))
	f.Add("", "zstd", compress(f, "zstd", answer("1")), uint8(7), uint16(13))
	f.Fuzz(func(t *testing.T, contentType, coding string, raw []byte, step uint8, first uint16) {
		if len(raw) > 1<<12 {
			return
		}
		whole, a := coded(contentType, coding, raw)
		splits := []int{int(first)}
		for i := int(first); step > 0 && i < len(raw); i += int(step) {
			splits = append(splits, i)
		}
		pieces, b := coded(contentType, coding, raw, splits...)
		if corrupt(a) || corrupt(b) {
			return // how much a library gives before it sees the damage depends on what it was fed
		}
		if len(whole) != len(pieces) || len(a.Problems) != len(b.Problems) {
			t.Fatalf("whole: %d events %v; split: %d events %v", len(whole), a.Problems, len(pieces), b.Problems)
		}
		for i := range whole {
			if describe(whole[i]) != describe(pieces[i]) {
				t.Fatalf("event %d\nwhole %s\nsplit %s", i, describe(whole[i]), describe(pieces[i]))
			}
		}
	})
}

func corrupt(s source.Stats) bool {
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Text, "cannot decode") {
			return true
		}
	}
	return false
}
