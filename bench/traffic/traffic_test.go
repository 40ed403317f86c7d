package traffic

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func generate(t *testing.T, name string, o Options) []byte {
	t.Helper()
	for _, f := range Formats() {
		if f.Name == name {
			var b bytes.Buffer
			n, err := f.Write(&b, o)
			if err != nil {
				t.Fatalf("cannot write %s: %s", name, err)
			}
			if n != int64(b.Len()) {
				t.Fatalf("%s: %d bytes reported, %d written", name, n, b.Len())
			}
			return b.Bytes()
		}
	}
	t.Fatalf("no format %q", name)
	return nil
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, f := range Formats() {
		o := Options{Seed: 3, Sessions: 20, Bytes: 200_000}
		a, b := generate(t, f.Name, o), generate(t, f.Name, o)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: one seed gave two outputs", f.Name)
		}
		o.Seed = 4
		if bytes.Equal(a, generate(t, f.Name, o)) {
			t.Errorf("%s: two seeds gave one output", f.Name)
		}
		if n := int64(len(a)); n < o.Bytes || n > o.Bytes*2 {
			t.Errorf("%s: %d bytes for a wish of %d", f.Name, n, o.Bytes)
		}
	}
}

func TestLinesAreJSONInOrder(t *testing.T) {
	for name, key := range map[string]string{"log": "time", "wire": "ts"} {
		last, n := "", 0
		for line := range strings.Lines(string(generate(t, name, Options{Seed: 1, Sessions: 20, Bytes: 300_000}))) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%s: %s in %s", name, err, line)
			}
			if at, ok := m[key].(string); ok {
				if at < last {
					t.Fatalf("%s: %s comes after %s", name, at, last)
				}
				last, n = at, n+1
			}
		}
		if n < 100 {
			t.Fatalf("%s: only %d lines with a time", name, n)
		}
	}
}

// The log must keep the shape that its figures are quoted for.
func TestLogShape(t *testing.T) {
	out := generate(t, "log", Options{Seed: 1, Sessions: 500, Bytes: 2_000_000})
	lines, without, raw, nested := 0, 0, 0, 0
	for line := range bytes.Lines(out) {
		lines++
		if !bytes.Contains(line, []byte(`"session_id"`)) {
			without++
		}
		if bytes.Contains(line, []byte(`"raw":"`)) {
			raw++
		}
		if bytes.Contains(line, []byte(`"body":{`)) {
			nested++
		}
	}
	if mean := len(out) / lines; mean < 350 || mean > 700 {
		t.Errorf("a line has %d bytes on average; want 350 to 700", mean)
	}
	if share := 100 * without / lines; share < 25 || share > 45 {
		t.Errorf("%d %% of the lines say nothing about a session; want about a third", share)
	}
	if raw < nested*9/10 || nested < raw*9/10 {
		t.Errorf("%d messages as text and %d as objects; want halves", raw, nested)
	}
}

func TestHARParses(t *testing.T) {
	var har struct {
		Log struct {
			Entries []struct {
				Request  struct{ PostData struct{ Text string } }
				Response struct{ Content struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(generate(t, "har", Options{Seed: 1, Sessions: 20, Bytes: 300_000}), &har); err != nil {
		t.Fatalf("cannot parse HAR: %s", err)
	}
	answered := 0
	for _, e := range har.Log.Entries {
		if strings.Contains(e.Request.PostData.Text, `"id"`) && strings.Contains(e.Response.Content.Text, `"id"`) {
			answered++
		}
	}
	if answered < 50 {
		t.Fatalf("only %d of %d entries hold a request and its answer", answered, len(har.Log.Entries))
	}
}

// The records of the capture must add up to its bytes, and every frame hold the
// lengths that its IPv4 header tells.
func TestCaptureReads(t *testing.T) {
	capture := generate(t, "pcap", Options{Seed: 1, Sessions: 20, Bytes: 300_000})
	rest, frames, posts, events := capture[24:], 0, 0, 0
	for len(rest) > 0 {
		n := int(binary.LittleEndian.Uint32(rest[8:]))
		if len(rest) < 16+n {
			t.Fatalf("frame %d of %d bytes is cut at %d", frames+1, n, len(rest)-16)
		}
		frame := rest[16 : 16+n]
		if total := int(binary.BigEndian.Uint16(frame[16:])); total != n-14 || checksum(frame[14:34]) != 0 {
			t.Fatalf("frame %d: IPv4 length %d in %d bytes, checksum %#x", frames+1, total, n, checksum(frame[14:34]))
		}
		posts += bytes.Count(frame, []byte("POST /mcp HTTP/1.1"))
		events += bytes.Count(frame, []byte("event: message"))
		frames++
		rest = rest[16+n:]
	}
	if posts < 50 || events < 50 {
		t.Fatalf("%d frames hold %d requests and %d events; want at least 50 of each", frames, posts, events)
	}
}

// The text logs must keep the shape that their figures are quoted for.
func TestTextShape(t *testing.T) {
	f := func(name, session, request, noise string) {
		t.Helper()
		out := generate(t, name, Options{Seed: 1, Sessions: 100, Bytes: 1_500_000})
		lines, sessions, requests, others := 0, 0, 0, 0
		for line := range bytes.Lines(out) {
			lines++
			switch {
			case bytes.Contains(line, []byte(session)):
				sessions++
			case bytes.Contains(line, []byte(request)):
				requests++
			case bytes.Contains(line, []byte(noise)):
				others++
			}
		}
		if sessions < 100 || requests*100 < lines*10 || others*100 < lines*10 {
			t.Errorf("%s: of %d lines %d are about sessions, %d about requests, %d of one kind of noise", name, lines, sessions, requests, others)
		}
	}
	f("python", "Created new transport with session ID: ", "Processing request of type ", "httpx - DEBUG")
	f("slog", "mcp.method=initialize", "msg=mcp.request", `msg="cache refreshed"`)
}

// A crowd has the sessions, calls, streams and ends that were asked for, in its span.
func TestCrowd(t *testing.T) {
	var b bytes.Buffer
	wire := Formats()[1]
	if _, err := wire.Crowd(&b, Crowd{Seed: 1, Sessions: 100, Calls: 3, Streams: true, Leave: 10, Span: time.Minute}); err != nil {
		t.Fatal(err)
	}
	f := func(what string, want int) {
		t.Helper()
		if got := strings.Count(b.String(), what); got != want {
			t.Errorf("%s: %d times, want %d", what, got, want)
		}
	}
	f(`"method":"initialize"`, 100)
	f(`"method":"resources/read"`, 300)
	f(`"http_method":"GET"`, 100)
	f(`"http_method":"DELETE"`, 10)
	f(`"k":"close"`, 100+100+300+10) // initialize, initialized, calls, ends: no stream
	last := ""
	for line := range strings.Lines(b.String()) {
		if at, _, ok := strings.Cut(strings.TrimPrefix(line, `{"ts":"`), `"`); ok && strings.HasPrefix(line, `{"ts"`) {
			if at < last {
				t.Fatalf("%s comes after %s", at, last)
			}
			last = at
		}
	}
	if first := "2026-07-19T22:20:5"; last < first || last > "2026-07-19T22:21:05" {
		t.Errorf("it ends at %s", last)
	}
}
