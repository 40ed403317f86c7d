package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/subscriptions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := exchangetest.Read(Format, exchangetest.Input(raw))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines, "\n") + "\n"
	const path = "testdata/subscriptions.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
	crlf := "\xEF\xBB\xBF" + strings.TrimRight(strings.ReplaceAll(string(raw), "\n", "\r\n"), "\r\n")
	again, err := exchangetest.Read(Format, exchangetest.Input([]byte(crlf)))
	if err != nil || len(again) != len(lines) {
		t.Errorf("with BOM, CRLF and no last newline: %d events and error %v, want %d", len(again), err, len(lines))
	}
}

func TestTestdataIsOfTheSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile("wire.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	f := func(line string, ok bool) {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v, want valid = %v", line, err, ok)
		}
	}
	raw, err := os.ReadFile("testdata/subscriptions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		f(line, true)
	}
	for _, line := range strings.Split(strings.TrimSpace(everyKind), "\n") {
		f(line, true)
	}
	f(`{"k":"req","ts":"2026-07-19T22:20:43Z","x":"a"}`, false)
	f(`{"k":"close","ts":"yesterday","x":"a"}`, false)
	f(`{"k":"body","ts":"2026-07-19T22:20:43Z","x":"a","body":{},"body_text":"{}"}`, false)
	f(`{"k":"other","ts":"2026-07-19T22:20:43Z","x":"a"}`, false)
	f(`{"schema":"isodetect/wire/v2"}`, false)
}

const everyKind = `
{"schema":"isodetect/wire/v1","creator":"test"}
{"k":"req","ts":"2026-07-19T22:20:43.000000001Z","x":"a","conn":"c1","peer":"10.0.0.5:1","url":"http://10.0.0.1/mcp","http_method":"POST","h":{"accept":["application/json","text/event-stream"],"mcp-session-id":"S1"},"body_text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}
{"k":"head","ts":"2026-07-19T22:20:44+00:00","x":"a","status":200,"h":{"content-type":"text/event-stream"}}
{"k":"body","ts":"2026-07-19T22:20:44.1Z","x":"a","body_b64":"ZGF0YTogeyJqc29ucnBjIjoiMi4wIiwibWV0aG9kIjoibm90aWZpY2F0aW9ucy94In0KCg=="}
{"k":"gap","ts":"2026-07-19T22:20:44.2Z","x":"a","dir":"server","missing":"ring buffer overflow"}
{"k":"gap","ts":"2026-07-19T22:20:44.2Z","conn":"c1"}
{"k":"sse","ts":"2026-07-19T22:20:44.3Z","x":"a","id":"7","event":"message","data":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
{"k":"close","ts":"2026-07-19T22:20:44.4Z","x":"a","by":"client"}
`

// read returns kinds and directions of the events of some lines.
func read(t *testing.T, text string) (events []string, stats *source.Stats) {
	t.Helper()
	in := exchangetest.Input([]byte(text))
	r, err := Format.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		s := fmt.Sprintf("%d %s", e.At.N, e.Kind)
		switch e.Kind {
		case event.Message:
			s += " " + string(e.RPC.ID) + e.RPC.Method
		case event.Closed:
			s += " by " + e.By.String()
		case event.Gap:
			s += " " + e.Dir.String()
		}
		events = append(events, s)
	}
	s := &in.Stats
	if s.Records != s.Used+s.Ignored+s.Malformed {
		t.Errorf("records %d, used %d, ignored %d, malformed %d", s.Records, s.Used, s.Ignored, s.Malformed)
	}
	return events, s
}

func TestEveryKind(t *testing.T) {
	events, stats := read(t, strings.TrimSpace(everyKind))
	want := []string{"2 opened", "2 message 1ping", "3 head", "4 message notifications/x", "5 gap server→client", "6 gap unknown", "7 message 1", "8 closed by client"}
	if d := cmp.Diff(want, events); d != "" {
		t.Error(d)
	}
	if stats.Used != 7 || stats.Ignored != 1 || stats.Gaps != 2 || len(stats.Problems) != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestMalformedLinesAreLocated(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		text := "\n" + line + "\n" + `{"k":"close","x":"z"}` + "\n"
		_, stats := read(t, text)
		if stats.Malformed != 1 || !strings.Contains(stats.Problems[0].Text, want) {
			t.Errorf("%s: %d malformed, %v; want %q", line, stats.Malformed, stats.Problems, want)
			return
		}
		if at := stats.Problems[0].At; at.N != 2 || at.Offset != 1 {
			t.Errorf("%s: located at %+v, want line 2, byte 1", line, at)
		}
	}
	f(`not json`, "no JSON object")
	f(`{"k":"req","x":`, "no valid JSON")
	f(`{"k":"what","x":"a"}`, "want req, head")
	f(`{"x":"a"}`, "no k of")
	f(`{"k":"req","url":"http://a/"}`, "no x")
	f(`{"k":"req","x":"a","ts":"12:00"}`, "want RFC 3339")
	f(`{"k":"body","x":"a","body_b64":"%%%"}`, "body_b64")
	f(`{"k":"head","x":"a","status":"ok"}`, "status is")
	f(`{"schema":"isodetect/wire/v9"}`, "this program reads")
	f(`{"k":"req","x":"a","body":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}`, "nested deeper")
}

func TestUnknownExchange(t *testing.T) {
	events, stats := read(t, `{"k":"sse","x":"q","ts":"2026-07-19T22:20:44Z","data":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}`)
	if d := cmp.Diff([]string{"1 opened", "1 message 1", "1 closed by window"}, events); d != "" {
		t.Error(d)
	}
	if stats.Used != 1 || len(stats.Problems) != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestReusedExchange(t *testing.T) {
	const req = `{"k":"req","x":"a","ts":"2026-07-19T22:20:44Z","url":"http://h/mcp","http_method":"GET","h":{}}` + "\n"
	events, stats := read(t, req+req)
	if d := cmp.Diff([]string{"1 opened", "2 closed by unknown", "2 opened", "2 closed by window"}, events); d != "" {
		t.Error(d)
	}
	if len(stats.Problems) != 1 {
		t.Errorf("problems %v", stats.Problems)
	}
}

func TestStampsAreMonotone(t *testing.T) {
	_, stats := read(t, `{"k":"req","x":"a","ts":"2026-07-19T22:20:44Z","url":"http://h/mcp","http_method":"GET","h":{}}
{"k":"close","x":"a","ts":"2026-07-19T22:20:43Z"}`)
	if stats.BackSteps != 1 || stats.First != stats.Last {
		t.Errorf("back-steps %d, span %d", stats.BackSteps, stats.Last-stats.First)
	}
}

func TestWhatWasNotRecorded(t *testing.T) {
	f := func(line string, want event.Loss) {
		t.Helper()
		r, err := Format.Open([]*source.Input{exchangetest.Input([]byte(line))}, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Next()
		if err != nil || e.Loss != want {
			t.Errorf("%s: loss %b and error %v, want %b", line, e.Loss, err, want)
		}
	}
	f(`{"k":"req","x":"a","http_method":"POST","url":"http://h/","h":{},"body":{}}`, 0)
	f(`{"k":"req","x":"a","http_method":"POST","url":"http://h/","h":{}}`, event.LossRequestBody)
	f(`{"k":"req","x":"a","http_method":"POST","url":"http://h/","body":{}}`, event.LossHeaders)
	f(`{"k":"req","x":"a","http_method":"GET","url":"http://h/","h":{}}`, 0)
}

func TestSplitURL(t *testing.T) {
	f := func(url, server, target string) {
		t.Helper()
		if s, p := splitURL(url); s != server || p != target {
			t.Errorf("%q: %q %q, want %q %q", url, s, p, server, target)
		}
	}
	f("http://10.0.0.1:8080/mcp?x=1", "http://10.0.0.1:8080", "/mcp?x=1")
	f("http://Host/mcp", "http://host:80", "/mcp")
	f("https://[::1]/mcp", "https://[::1]:443", "/mcp")
	f("https://u:p@h:1", "https://h:1", "")
	f("/mcp", "", "/mcp")
}

func TestHostOf(t *testing.T) {
	f := func(peer, want string) {
		t.Helper()
		if got := hostOf(peer); got != want {
			t.Errorf("%q: %q, want %q", peer, got, want)
		}
	}
	f("10.0.0.5:40001", "10.0.0.5")
	f("[2001:db8::1]:5", "2001:db8::1")
	f("2001:db8::1", "2001:db8::1")
	f("client.example:5", "client.example")
	f("", "")
}

func TestSniff(t *testing.T) {
	f := func(head string, all bool, want bool) {
		t.Helper()
		if got := Format.Sniff([]byte(head), all) > 50; got != want {
			t.Errorf("%.80q: recognised %v, want %v", head, got, want)
		}
	}
	f(`{"schema":"isodetect/wire/v1"}`+"\n", false, true)
	f("\xEF\xBB\xBF\n"+`{"ts":"…","k":"req","x":"a"}`, true, true)
	f(`{"k":"req","x":"a","body_text":"`+strings.Repeat("a", 1000), false, true)
	f(`{"level":"info","msg":"x"}`+"\n", true, false)
	f(`{"k":"v","x":1}`+"\n", true, false)
	f(`{"log":{"entries":[]}}`, true, false)
	f("", true, false)
}

// FuzzWire checks that nothing makes the reader panic, hang or lose count.
func FuzzWire(f *testing.F) {
	f.Add([]byte(strings.TrimSpace(everyKind)))
	f.Add([]byte(`{"k":"req","x":"a","url":"://","h":{"a":[1]},"body":[[]]}` + "\n" + `{"k":"body","x":"a","body":"x"}`))
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
		if s.Records != s.Used+s.Ignored+s.Malformed || s.Events != int64(len(one)) || s.Bytes > int64(len(raw)) {
			t.Fatalf("%+v", s)
		}
		Format.Sniff(raw, true)
		Format.Sniff(bytes.TrimSpace(raw), false)
	})
}
