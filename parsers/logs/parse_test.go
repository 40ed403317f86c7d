package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// TestSession holds the three states of a session key apart (DETECTION §1).
func TestSession(t *testing.T) {
	f := func(pair, want string) {
		t.Helper()
		line := `{"msg":"rpc request","method":"tools/call","id":1` + pair + `}`
		events, _ := scan(t, []byte(line), source.Options{})
		got := "nothing"
		if len(events) == 1 {
			got = strings.TrimSuffix(strings.TrimPrefix(events[0], "1 message "), " loss=time")
			got, _, _ = strings.Cut(got, "dir=")
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s gives %q, want %q", line, got, want)
		}
	}
	f(``, "")
	f(`,"session_id":"a"`, "answered=a")
	f(`,"session_id":""`, "asked=absent")
	f(`,"session_id":"-"`, "asked=absent")
	f(`,"session_id":null`, "asked=absent")
	f(`,"session_id":"undefined"`, "asked=absent")
	f(`,"session_id":"None"`, "asked=absent")
	f(`,"session_id":"<nil>"`, "asked=absent")
	f(`,"session_id":"<MISSING>"`, "asked=absent")
	f(`,"session_id":"(none)"`, "asked=absent")
	f(`,"session_id":true`, "")
	f(`,"session_id":{"x":1}`, "")
	f(`,"mcp.session.id":"m","session_id":"a"`, "answered=m")
	f(`,"SessionID":"a"`, "answered=a")
	f(`,"mcp":{"session":{"id":"a"}}`, "answered=a")
	f(`,"context":{"mcpSessionId":"a"}`, "answered=a")
	f(`,"args":{"session_id":"a"}`, "")
	f(`,"upstream_session_id":"a"`, "")
	f(`,"presented":"p","session_id":"a"`, "asked=p answered=a")
	f(`,"header":"","resolved":"a"`, "asked=absent answered=a")
	f(`,"session_id":"a","session_id":"b"`, "answered=b")
	f(`,"session_id":"\u0061"`, "answered=a")
}

// TestBody holds which JSON-RPC text in a record counts as a message.
func TestBody(t *testing.T) {
	f := func(member, want string) {
		t.Helper()
		events, _ := scan(t, []byte(`{"msg":"frame","mcp_session_id":"a",`+member+`}`), source.Options{})
		got := strings.Join(events, "|")
		got = strings.ReplaceAll(strings.ReplaceAll(got, "1 message answered=a ", ""), " loss=time", "")
		if got != want {
			t.Errorf("%s gives %q, want %q", member, got, want)
		}
	}
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`
	quoted := strings.ReplaceAll(call, `"`, `\"`)
	f(`"body":`+call, "dir=client→server kind=request method=tools/call id=7 tool=t")
	f(`"raw":"`+quoted+`"`, "dir=client→server kind=request method=tools/call id=7 tool=t")
	f(`"raw":"<- `+quoted+`"`, "dir=client→server kind=request method=tools/call id=7 tool=t")
	f(`"raw":"`+quoted[:80]+`"`, "")
	f(`"arguments":`+call, "")
	f(`"text":"`+quoted+`"`, "")
	f(`"http":{"request":{"body":`+call+`}}`, "dir=client→server kind=request method=tools/call id=7 tool=t")
	f(`"payload":{"outer":`+call+`}`, "")
	f(`"response":{"jsonrpc":"2.0","id":"7","error":{"code":-32800,"message":"cancelled"}}`, `dir=server→client kind=error id="7" code=-32800 error=cancelled`)
	f(`"body":{"jsonrpc":"2.0","id":{},"method":"ping"}`, "kind=request method=ping loss=id-type")
	f(`"body":{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"tools":[]}}`, "dir=server→client kind=request method=sampling/createMessage id=0 caps=sampling,sampling.tools")
	f(`"body":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"0","reason":"r"}}`, `1 message asked=a answered=a kind=notification method=notifications/cancelled cancels="0" reason=r`)
}

// TestEvidence holds that a bare session key alone says nothing about MCP.
func TestEvidence(t *testing.T) {
	f := func(log string, want int) {
		t.Helper()
		if events, _ := scan(t, []byte(log), source.Options{}); len(events) != want {
			t.Errorf("%d events, want %d, of %s\n%s", len(events), want, log, strings.Join(events, "\n"))
		}
	}
	web := `{"msg":"http request","session_id":"a","method":"POST","path":"/login","status":200}` + "\n"
	f(web, 0)
	f(web+`{"msg":"rpc request","session_id":"a","method":"tools/list","id":1}`+"\n"+web, 2)
	f(`{"msg":"subscribed","session_id":"a","uri":"news://x"}`, 0)
	f(`{"msg":"request cancelled","session_id":"a","request_id":1}`, 0)
	f(`{"msg":"request cancelled","mcp_session_id":"a","request_id":1}`, 1)
	f(`{"msg":"cannot create session","session_id":"a"}`, 0)
	f(`{"msg":"session created","session_id":""}`, 0)
	f(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 0)
}

func TestStats(t *testing.T) {
	log := "{\"msg\":\"session created\",\"session_id\":\"a\",\"time\":\"2026-07-19 22:20:43\"}\nplain\n{\"msg\":\"session clo\n\n{\n}\n{\"a\":[{]}}\n"
	_, s := scan(t, []byte(log), source.Options{AssumeUTCOffset: 3600})
	if got := fmt.Sprint(s.Records, s.Used, s.Ignored, s.Malformed, s.Events, s.Bytes == int64(len(log))); got != "7 1 4 2 1 true" {
		t.Errorf("stats are %s", got)
	}
	if len(s.Problems) != 2 || s.Problems[0].At.N != 3 || s.Problems[0].At.Offset != int64(strings.Index(log, `{"msg":"session clo`)) {
		t.Errorf("problems are %+v", s.Problems)
	}
	if s.First != 1784496043e9 || s.Last != s.First {
		t.Errorf("times are %d to %d", s.First, s.Last)
	}
	if len(s.Notes) != 1 {
		t.Errorf("times without a zone are not noted: %q", s.Notes)
	}
	if _, s := scan(t, []byte(log), source.Options{ZoneGiven: true}); len(s.Notes) != 0 {
		t.Errorf("times in a given zone are noted: %q", s.Notes)
	}
}

func TestExcerpt(t *testing.T) {
	line := `{"msg":"session created","session_id":"a","pad":"` + strings.Repeat("é", 400) + `"}`
	p := newParser(&source.Stats{}, source.Options{})
	if f, _ := p.line([]byte(line), event.Address{}); f != used {
		t.Fatal("line is not used")
	}
	ex := p.queue[0].Excerpt
	if len(ex) > event.MaxExcerpt || len(ex) < event.MaxExcerpt-1 || !strings.HasPrefix(line, ex) || strings.ContainsRune(ex, '\uFFFD') {
		t.Errorf("excerpt of %d bytes: %q", len(ex), ex[len(ex)-10:])
	}
}

func TestSniff(t *testing.T) {
	f := func(head, want string) {
		t.Helper()
		best, name := 0, ""
		for _, format := range Formats() {
			if s := format.Sniff([]byte(head), true); s > best {
				best, name = s, format.Name
			}
		}
		if name != want {
			t.Errorf("%.60q is taken for %q at %d, want %q", head, name, best, want)
		}
	}
	for file, want := range map[string]string{"native.jsonl": "native", "slog.jsonl": "jsonlines", "pino.jsonl": "jsonlines", "winston.jsonl": "jsonlines",
		"slog.logfmt": "logfmt", "text.log": "text"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		f(string(b), want)
	}
	f(`{"log":{"version":"1.2","creator":{},"entries":[]}}`, "text")
	f(`{"schema":"isodetect/wire/v1"}`+"\n"+`{"ts":"2026-07-19T22:20:00Z","k":"req","x":"1"}`, "text")
	f("\x00\x01\x02\x00\x00\x00\x00\xff", "")
	f("INFO caf\xe9 ferm\xe9: 12 notes written to the shelf today\n", "text") // Windows-1252
	f("\x89PNG\r\n\x1a\n\xff\xd8\xff\xe0", "")
	f("", "")
}

// TestAllocations holds that lines that carry nothing cost no allocation.
func TestAllocations(t *testing.T) {
	f := func(line string) {
		t.Helper()
		p := newParser(&source.Stats{}, source.Options{})
		p.mcp = true
		b := []byte(line)
		run := func() {
			p.queue = p.queue[:0]
			if f, why := p.line(b, event.Address{}); f != ignored {
				t.Fatalf("line is not ignored: %s %s", line, why)
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%v allocations for %s", n, line)
		}
	}
	f(`{"time":"2026-07-19T22:20:43.472113Z","level":"INFO","msg":"db query","table":"notes","rows":12,"ms":1.5,"ctx":{"user":"u1","trace":"0af7651916cd43dd8448eb211c80319c"}}`)
	f(`{"level":30,"time":1784499643472,"pid":4242,"hostname":"h","sessionId":"5d0c1f7e9a3b4c6d8e2f10213243a5b6","msg":"SSE stream opened"}`)
	f(`time=2026-07-19T22:20:43.472Z level=INFO msg="db query" table=notes rows=12 user="a \"b\""`)
	f(`2026-07-19 22:20:43,472 - app.db - INFO - query of 12 rows took 1.5 ms`)
	f("\x1b[34mINFO\x1b[0m query of 12 rows took 1.5 ms")
	f(`127.0.0.1 - - [19/Jul/2026:22:20:43 +0000] "POST /mcp HTTP/1.1" 200 228 "-" "agent"`)
}

// TestReadSizes holds that the events do not depend on how the bytes arrive.
func TestReadSizes(t *testing.T) {
	b, err := os.ReadFile("testdata/pino.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := scan(t, b, source.Options{})
	in := &source.Input{}
	r := newReader(io.NopCloser(iotest.OneByteReader(bytes.NewReader(b))), in, source.Options{})
	for i := 0; ; i++ {
		e, err := r.Next()
		if err == io.EOF {
			if i != len(want) {
				t.Errorf("%d events, want %d", i, len(want))
			}
			return
		}
		if err != nil || i >= len(want) || describe(e) != want[i] {
			t.Fatalf("event %d differs: %v", i, err)
		}
	}
}

// FuzzLine holds that no line breaks the parser and that every record is counted.
func FuzzLine(f *testing.F) {
	logs, _ := filepath.Glob("testdata/*[lgt]")
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		_, s := scan(t, log, source.Options{})
		if s.Records != s.Used+s.Ignored+s.Malformed {
			t.Fatalf("%d records are not %d + %d + %d", s.Records, s.Used, s.Ignored, s.Malformed)
		}
		for _, format := range Formats() {
			if n := format.Sniff(log, true); n < 0 || n > 100 {
				t.Fatalf("%s scores %d", format.Name, n)
			}
		}
	})
}

// FuzzReadJSON compares the walker with encoding/json: valid objects are read,
// and with the same values.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"msg":"a\"b","session_id":"x\\","id":-1.5e3,"n":{"a":[1,{"b":"]"}]},"t":true}`))
	f.Add([]byte(`{"msg" : "\u00e9" , "id":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.TrimSpace(b)
		if len(b) == 0 || b[0] != '{' || bytes.Count(b, []byte("{"))+bytes.Count(b, []byte("[")) > 500 {
			return
		}
		var r record
		r.reset()
		ok := r.readJSON(b)
		var want map[string]any
		if json.Unmarshal(b, &want) != nil {
			return // the walker is lenient inside nested values
		}
		if !ok {
			t.Fatalf("valid object is refused: %s", b)
		}
		flat := true
		for k, v := range want {
			switch v.(type) {
			case map[string]any:
				flat = false
			}
			if s := keySlots[string(appendPath(nil, []byte(k)))]; s == slotMessage && k != "msg" {
				flat = false
			}
		}
		if text, is := want["msg"].(string); is && flat && bytes.Count(b, []byte(`"msg"`)) == 1 {
			if got := r.text(r.get(slotMessage)); string(got) != text && !strings.ContainsRune(text, '\uFFFD') {
				t.Fatalf("msg is %q, want %q", got, text)
			}
		}
	})
}

// benchLines makes a log like the ones measured elsewhere: lines of 600 bytes,
// one in three without a session, the others with a JSON-RPC body as object or text.
func benchLines(n int) []byte {
	var b bytes.Buffer
	pad := strings.Repeat("the quick brown fox jumps over the lazy dog ", 7)
	for i := range n {
		session := fmt.Sprintf("5d0c1f7e9a3b4c6d8e2f1021324%05x", i%500)
		head := fmt.Sprintf(`{"time":"2026-07-19T22:%02d:%02d.%06dZ","level":"INFO","logger":"app.mcp","pid":4242,"instance":"notes-0","trace_id":"0af7651916cd43dd8448eb211c80319c"`, i/60%60, i%60, i%1000000)
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"report","arguments":{"text":"%s"},"_meta":{"progressToken":%d}}}`, i%100, pad[:200], i%100)
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, `%s,"msg":"db query","table":"notes","rows":%d,"sql":"%s"}`+"\n", head, i, pad)
		case 1:
			fmt.Fprintf(&b, `%s,"msg":"rpc recv","session_id":"%s","direction":"in","body":%s}`+"\n", head, session, call)
		case 2:
			raw, _ := json.Marshal(call)
			fmt.Fprintf(&b, `%s,"msg":"rpc recv","session_id":"%s","direction":"in","raw":%s}`+"\n", head, session, raw)
		}
	}
	return b.Bytes()
}

func BenchmarkJSONLines(b *testing.B) { benchmark(b, benchLines(20000)) }

func BenchmarkLogfmt(b *testing.B) {
	line := `time=2026-07-19T22:20:43.472Z level=INFO msg="rpc recv" session=5d0c1f7e9a3b4c6d8e2f10213243a5b6 kind=request rpc_method=tools/call rpc_id=7 tool=report remote=10.0.4.7:1234` + "\n"
	benchmark(b, bytes.Repeat([]byte(line), 20000))
}

func benchmark(b *testing.B, log []byte) {
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		in := &source.Input{}
		r := newReader(io.NopCloser(bytes.NewReader(log)), in, source.Options{})
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		if in.Stats.Malformed > 0 || in.Stats.Used == 0 {
			b.Fatalf("log is not read: %+v", in.Stats)
		}
	}
}

// TestHugeLines holds that a line of 64 MiB is read, and that a longer one is
// counted, located and passed over.
func TestHugeLines(t *testing.T) {
	f := func(over int, want string) {
		t.Helper()
		before, begins, ends := `{"msg":"session created","mcp_session_id":"b"}`+"\n", `{"msg":"session created","mcp_session_id":"a","pad":"`, `"}`
		pad := io.LimitReader(endless('x'), int64(source.MaxRecord+over-len(begins)-len(ends)))
		in := &source.Input{}
		r := newReader(io.NopCloser(io.MultiReader(strings.NewReader(before+begins), pad, strings.NewReader(ends+"\n"+before))), in, source.Options{})
		got := ""
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got += e.Answered.ID
		}
		s := &in.Stats
		got += fmt.Sprintf(" %d %d %d", s.Records, s.Used, s.Malformed)
		for _, p := range s.Problems {
			got += fmt.Sprintf(" line %d at %d: %s", p.At.N, p.At.Offset, p.Text)
		}
		if got != want {
			t.Errorf("a line %d bytes over the limit: %q, want %q", over, got, want)
		}
	}
	f(0, "bab 3 3 0")
	f(1, "bb 3 2 1 line 2 at 47: line is longer than 64 MiB and was skipped")
}

// endless yields one byte again and again.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}
