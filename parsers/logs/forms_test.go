package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// logOf reads a log and returns its events in one text.
func logOf(t *testing.T, log string) string {
	t.Helper()
	events, s := scan(t, []byte(log), source.Options{})
	if s.Records != s.Used+s.Ignored+s.Malformed {
		t.Errorf("%d records are not %d used + %d ignored + %d malformed of\n%s", s.Records, s.Used, s.Ignored, s.Malformed, log)
	}
	return strings.ReplaceAll(strings.Join(events, " | "), " loss=time", "")
}

const (
	idA = "5d0c1f7e9a3b4c6d8e2f10213243a5b6"
	idB = "5d0c1f7e-9a3b-4c6d-8e2f-10213243a5b6"
)

// TestRichFolding holds that rows are joined as they were folded, for any width of
// the text and any place of the id in it.
func TestRichFolding(t *testing.T) {
	f := func(width int, message, want string) {
		t.Helper()
		for _, cut := range [...]bool{false, true} {
			got := logOf(t, richRecord(message, width, cut))
			if _, got, _ = strings.Cut(got, "22:20:43 "); got != want {
				t.Errorf("%d columns, filling %t: %q, want %q of\n%s", width, cut, got, want, richRecord(message, width, cut))
			}
		}
	}
	for width := 16; width <= 60; width++ {
		f(width, "Created new transport with session ID: "+idA, "answered="+idA)
		f(width, "Created new transport with session ID: "+idB, "answered="+idB)
		f(width, "Terminating session: "+idA, "answered="+idA)
	}
	f(30, "Processing request of type ListResourceTemplatesRequest", "dir=client→server kind=request method=resources/templates/list")
}

// richRecord lays a message out as rich does, at a width of the text column. Newer
// versions put a word that is too wide into a row of its own, older ones fill the row (cut).
func richRecord(message string, width int, cut bool) string {
	var rows []string
	row := ""
	for _, w := range strings.Fields(message) {
		if row != "" && len(row)+1+len(w) <= width {
			row += " " + w
			continue
		}
		if row != "" && (!cut || len(w) <= width || len(row)+2 > width) {
			rows, row = append(rows, row), ""
		}
		if row != "" {
			n := width - len(row) - 1
			rows, row, w = append(rows, row+" "+w[:n]), "", w[n:]
		}
		for len(w) > width {
			rows, w = append(rows, w[:width]), w[width:]
		}
		row = w
	}
	rows = append(rows, row)
	var b strings.Builder
	for i, r := range rows {
		if i == 0 {
			fmt.Fprintf(&b, "[07/19/26 22:20:43] INFO     %-*s streamable_http_manager.py:301\n", width, r)
		} else {
			fmt.Fprintf(&b, "%29s%-*s                               \n", "", width, r)
		}
	}
	return b.String()
}

// TestAccessKeys holds what the fields mean that operators add by names of their own.
func TestAccessKeys(t *testing.T) {
	f := func(tail, want string) {
		t.Helper()
		got := logOf(t, `10.0.4.8 - - [19/Jul/2026:22:20:43 +0000] "POST /mcp HTTP/1.1" 200 239 "-" "a/1" `+tail)
		got = strings.TrimPrefix(got, "1 request_done t=22:20:43 moment=end ")
		if got = strings.TrimSuffix(got, " http=POST status=200 ua=a/1"); got != want {
			t.Errorf("%s gives %q, want %q", tail, got, want)
		}
	}
	f(`sid="-" osid="`+idA+`"`, "asked=absent answered="+idA)
	f(`sid= osid=`+idA, "asked=absent answered="+idA)
	f(`mcp_sid=x1 resp_sid=-`, "asked=x1 answered=absent")
	f(`http_mcp_session_id=- sent_http_mcp_session_id=`+idA, "asked=absent answered="+idA)
	f(`req_session="" upstream_session=`+idA, "asked=absent answered="+idA)
	f(`sid=`+idA, "answered="+idA)
	f(`sid=-`, "asked=absent")
	f(`session_in=- session_out=`+idA, "asked=absent answered="+idA)
	f(`sid=- rpc=tools/call id=7`, "asked=absent method=tools/call id=7 http=POST status=200 ua=a/1 loss=id-type")
	f(`sid=- m=- id=-`, "asked=absent")
	f(`pv="2026-07-28" m=tools/call`, "method=tools/call revision=2026-07-28 era=modern")
	f(`rt=0.151 "quoted sid=forged"`, "")
	f(`cookie="sid=forged; x=1"`, "")
	f(``, "")
}

// TestAccessTimes holds which moment a stamp means and how exact it is.
func TestAccessTimes(t *testing.T) {
	f := func(line, from, width string, moment event.Moment) {
		t.Helper()
		p := newParser(&source.Stats{}, source.Options{})
		if got, _ := p.line([]byte(line), event.Address{}); got != used {
			t.Fatalf("line is not used: %s", line)
		}
		e := &p.queue[0]
		if got := time.Unix(0, e.Time.From).UTC().Format("15:04:05.999999999"); got != from || fmt.Sprint(time.Duration(e.Time.To-e.Time.From)) != width || e.Time.Moment != moment {
			t.Errorf("%s is at %s + %v, moment %d", line, got, time.Duration(e.Time.To-e.Time.From), e.Time.Moment)
		}
	}
	f(`10.0.4.8 - - [19/Jul/2026:22:20:43 +0200] "POST /mcp HTTP/1.1" 200 9 "-" "a" sid=x`, "20:20:43", "999.999999ms", event.MomentEnd)
	f(`[2026-07-19T22:20:43.689Z] "POST /mcp HTTP/1.1" 200 - 68 239 151 150 "-" "a" "9f" "h" "1:2" sid=x`, "22:20:43.84", "0s", event.MomentEnd)
	f(`10.0.4.8:1 [19/Jul/2026:22:20:43.689] f b/s 0/0/0/2/155 200 9 - - ---- 1/1/0/0/0 0/0 {x123|a} {x123} "POST /mcp HTTP/1.1"`, "22:20:43.844", "0s", event.MomentEnd)
	f(`1796002231.15 INFO:     127.0.0.1:1 - "POST /messages/?session_id=x HTTP/1.1" 202 Accepted`, "01:30:31.15", "0s", event.MomentFirstByte)
	f("2026-07-19T22:20:43.840113Z\tinfo\trequest http.method=POST http.status=200 mcp.session.id=x duration=1ms", "22:20:43.840113", "0s", event.MomentEnd)
	f(`[07/19/26 22:20:43] session created 5d0c1f7e9a3b4c6d8e2f10213243a5b6`, "22:20:43", "999.999999ms", event.MomentExact)
	f(`{"time":"2026-07-19T22:20:43Z","msg":"session created","session_id":"a"}`, "22:20:43", "999.999999ms", event.MomentExact)
	f(`{"time":1784499643,"msg":"session created","session_id":"a"}`, "22:20:43", "999.999999ms", event.MomentExact)
}

// TestCaptures holds where HAProxy's captured session headers are found.
func TestCaptures(t *testing.T) {
	f := func(captures, want string) {
		t.Helper()
		p := newParser(&source.Stats{}, source.Options{})
		for i, c := range strings.Split(captures, " ; ") {
			p.queue = p.queue[:0]
			p.line([]byte(`10.0.4.8:1 [19/Jul/2026:22:20:43.689] f b/s 0/0/0/2/155 200 9 - - ---- 1/1/0/0/0 0/0 `+c+` "POST /mcp HTTP/1.1"`), event.Address{N: int64(i)})
		}
		got := "nothing"
		if len(p.queue) > 0 {
			got = fmt.Sprintf("%d %s, %d %s", p.queue[0].Asked.State, p.queue[0].Asked.ID, p.queue[0].Answered.State, p.queue[0].Answered.ID)
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", captures, got, want)
		}
	}
	f(`{x123|a} {x123}`, "2 x123, 2 x123")
	f(`{|a} {`+idA+`}`, "1 , 2 "+idA)
	f(`{a|} {text/html|`+idA+`}`, "1 , 2 "+idA)
	f(`{a|x123} {b|x123} ; {a|} {b|y1}`, "1 , 2 y1")
	f(`{|} {`+idA+`}`, "nothing")
	f(`{|a} {text/event-stream}`, "nothing")
	f(`{`+idA+`}`, "nothing")
}

// TestDoubled holds that a line that a collector wrote twice is no second request.
func TestDoubled(t *testing.T) {
	f := func(log string, want int) {
		t.Helper()
		if events, s := scan(t, []byte(log), source.Options{}); len(events) != want || s.Records != s.Used+s.Ignored {
			t.Errorf("%d events, want %d, of %s", len(events), want, log)
		}
	}
	line := `10.0.4.7 - - [19/Jul/2026:22:20:40 +0000] "POST /mcp HTTP/1.1" 200 239 "-" "a/1" sid="-" osid="` + idA + `"` + "\n"
	f(line+line, 1)
	f(line+strings.Replace(line, ":40 ", ":41 ", 1), 2)
	call := strings.Replace(line, "sid=", "m=tools/call sid=", 1)
	f(call+call, 2)
}

// TestJoin holds which lines make one record, and where it stands.
func TestJoin(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		if got := logOf(t, log); got != want {
			t.Errorf("%q\ngives %q\nwant  %q", log, got, want)
		}
	}
	call := "Request body: {\n  jsonrpc: '2.0',\n  id: 7,\n  method: 'tools/call',\n  params: { name: 't' }\n}\n"
	f(call, "1 message dir=client→server kind=request method=tools/call id=7 tool=t")
	f(strings.TrimSuffix(call, "}\n"), "")                                                                // torn at the end
	f("Request body: {\n  jsonrpc: '2.0',\nsession created "+idB+"\n", "3 session_created answered="+idB) // torn by another writer
	f("session created "+idB+" {\n", "1 session_created answered="+idB)                                   // an object that never comes
	f("Request body: {\r\n  jsonrpc: '2.0', id: 7, method: 'ping'\r\n}\r\n", "1 message dir=client→server kind=request method=ping id=7")
	f("Traceback (most recent call last):\n  File \"a.py\"\nValueError: session created "+idB+"\n", "")
	f("Traceback (most recent call last):\n  File \"a.py\"\nINFO: session created "+idB+"\n", "3 session_created answered="+idB)
	f("java.lang.IllegalStateException: session created "+idB+"\n\tat a.b\n", "")
	f("info: A.B[1]\n      Server (n 1), Client (c 1) method 'tools/list' request handler called.\n", "1 message dir=client→server kind=request method=tools/list client=c 1")
	f("  2026-11-30T01:32:04.345726Z  INFO rmcp: create new session, session_id: \""+idB+"\"\n    at src/main.rs:6\n\n", "1 session_created t=01:32:04.345726 answered="+idB)
	f("Session initialized with ID: "+idB+"\n"+call, "1 session_created answered="+idB+" | 2 message dir=client→server kind=request method=tools/call id=7 tool=t")
	deep := "Request body: " + strings.Repeat("{ a: {\n", 100) + strings.Repeat(" }\n", 200)
	f(deep, "")
	f("\x1b[0m\x1b[0m\n\x1b[2m \x1b[0m\n", "") // nothing but colours
	f("Request body: {\n"+strings.Repeat("  a: 1,\n", maxRows+10)+"}\n", "")
}

// TestStreams holds that records of several writers do not run into each other.
func TestStreams(t *testing.T) {
	p := newParser(&source.Stats{}, source.Options{})
	call := strings.Split("Request body: {\n  jsonrpc: '2.0', method: 'ping',\n  id: %d\n}", "\n")
	for _, line := range call {
		for i := range 3 * maxStreams {
			p.forms.stream = fmt.Sprint(i % maxStreams)
			if strings.Contains(line, "%d") && i >= maxStreams {
				break
			}
			if i < maxStreams {
				text := line
				if strings.Contains(line, "%d") {
					text = fmt.Sprintf(line, i)
				}
				p.inner([]byte(text), event.Address{N: int64(i)})
			}
		}
	}
	if len(p.queue) != maxStreams {
		t.Fatalf("%d events, want %d", len(p.queue), maxStreams)
	}
	for i := range p.queue {
		if want := fmt.Sprint(p.queue[i].At.N); string(p.queue[i].RPC.ID) != want {
			t.Errorf("record of stream %s has the id %s", want, p.queue[i].RPC.ID)
		}
	}
}

// TestInspect holds how printed objects are read.
func TestInspect(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		j := inspect{in: []byte(in)}
		got := "broken"
		if j.value(0) {
			got = string(j.out)
			if got != "" && !json.Valid(j.out) {
				t.Errorf("%s gives %s, which is no JSON", in, got)
			}
		}
		if got != want {
			t.Errorf("%s gives %s, want %s", in, got, want)
		}
	}
	f(`{ a: 'x', 'b-c': "it's", d: `+"`q`"+` }`, `{"a":"x","b-c":"it's","d":"q"}`)
	f(`{ a: [Object], b: [Array], c: 1 }`, `{"c":1}`)
	f(`{ clientInfo: { name: 'x' }, capabilities: { roots: [Object], sampling: {} } }`, `{"clientInfo":{"name":"x"}}`)
	f(`{ capabilities: { sampling: {} }, x: [Object] }`, `{"capabilities":{"sampling":{}}}`)
	f(`{ a: undefined, b: null, c: -0, d: 12n, e: 1.5e3 }`, `{"a":null,"b":null,"c":-0,"d":12,"e":1.5e3}`)
	f(`{ a: [ 1, 2, ... 3 more items ], [length]: 5, [Symbol(x)]: 1 }`, `{"a":[1,2]}`)
	f("{\n  a: 'one' +\n    'two'\n}", `{"a":"onetwo"}`)
	f(`{ f: [Function: g], s: Symbol(q), d: 2026-07-19T22:20:43.472Z, n: NaN }`, `{}`)
	f(`<ref *1> Message { id: '7', self: [Circular *1] }`, `{"id":"7"}`)
	f(`{ q: 'a"b\'c\n' }`, `{"q":"a\"b'c\n"}`)
	f(`{ "jsonrpc": "2.0", "p": {} }`, `{"jsonrpc":"2.0","p":{}}`)
	f(`{ a: 'x`, "broken")
	f(`{ a 'x' }`, "broken")
	f(`{`, "broken")
}

// TestPythonRefused holds that a creation whose request was refused does not stay.
func TestPythonRefused(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		if got := logOf(t, log); got != want {
			t.Errorf("%q gives %q, want %q", log, got, want)
		}
	}
	created := "INFO:mcp.server.streamable_http_manager:Created new transport with session ID: "
	access := `INFO:     10.0.4.7:1 - "POST /mcp HTTP/1.1" `
	f(created+"a1\n", "")
	f(created+idA+"\n"+access+"200 OK\n", "1 session_created answered="+idA)
	f(created+idA+"\n"+access+"400 Bad Request\n", "1 session_created answered="+idA+" | 2 session_closed answered="+idA+" | 2 request_done outcome=error http=POST status=400")
	f(created+idA+"\n"+access+"200 OK\n"+access+"400 Bad Request\n", "1 session_created answered="+idA)
	f(created+idA+"\n"+created+idB+"\n"+access+"400 Bad Request\n", "1 session_created answered="+idA+" | 2 session_created answered="+idB)
}

// TestSilentServers holds that what a healthy server leaves out is not taken for absent.
func TestSilentServers(t *testing.T) {
	pad := strings.Repeat("x", 8<<20)
	for _, log := range []string{
		"time=2026-07-19T22:20:43.472Z level=INFO msg=\"Session registered\" sessionID=" + idB + "\ntime=2026-07-19T22:20:44.472Z level=INFO msg=\"Tool called\" tool=query args=\"" + pad + "\"\n",
		`{"time":"2026-07-19T22:20:43.472Z","level":"INFO","msg":"Session registered","sessionID":"` + idB + `"}` + "\n" + `{"time":"2026-07-19T22:20:43.472Z","level":"INFO","msg":"Tool called","tool":"query","args":"` + pad + `"}` + "\n",
	} {
		if got := logOf(t, log); got != "1 session_created t=22:20:43.472 answered="+idB {
			t.Errorf("log gives %q", got)
		}
	}
}

// TestFormsKnown holds that every form has its fixture and is recognised in it.
func TestFormsKnown(t *testing.T) {
	seen := map[string]bool{}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".golden") {
			continue
		}
		b, err := os.ReadFile("testdata/" + entry.Name())
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			p := newParser(&source.Stats{}, source.Options{})
			if line = bytes.TrimRight(line, "\n"); len(line) == 0 || line[0] == '{' {
				continue
			}
			p.text(line)
			if p.forms.last > 0 {
				seen[textForms[p.forms.last-1].name] = true
			}
		}
	}
	for _, f := range textForms {
		if !seen[f.name] {
			t.Errorf("no line in testdata is of the form %s", f.name)
		}
		if f.checked != "real" && f.checked != "docs" || f.title == "" {
			t.Errorf("form %s is not described", f.name)
		}
	}
}

// FuzzLog holds that no log of several lines breaks the joining, and that every
// line of it is counted.
func FuzzLog(f *testing.F) {
	for _, name := range []string{"rich_folded.log", "console.log", "dotnet.log", "tracing_pretty.log", "clients.log", "python.log", "proxies.log"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		_, s := scan(t, log, source.Options{})
		if s.Records != s.Used+s.Ignored+s.Malformed || s.Ignored < 0 {
			t.Fatalf("%d records are not %d + %d + %d", s.Records, s.Used, s.Ignored, s.Malformed)
		}
	})
}

// FuzzInspect holds that what is read of a printed object is JSON.
func FuzzInspect(f *testing.F) {
	f.Add([]byte(`{ a: 'x', b: [ 1, [Object], ... 2 more items ], c: undefined, d: { "e": -1.5 } }`))
	f.Add([]byte("{\n  a: 'x\\x41' +\n 'y',\n Map(1) { 'a' => 1 } }"))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := inspect{in: b}
		if j.value(0) && len(j.out) > 0 && !json.Valid(j.out) && json.Valid(bytes.ToValidUTF8(j.out, []byte("?"))) {
			t.Fatalf("%q gives %q", b, j.out)
		}
	})
}

// TestPythonPosts holds that a body at DEBUG belongs to the session whose POST it
// is, and to none where that cannot be told.
func TestPythonPosts(t *testing.T) {
	f := func(lines, want string) {
		t.Helper()
		log := ""
		for _, l := range strings.Split(lines, " ") {
			switch l {
			case "A", "B":
				log += "DEBUG:mcp.server.sse:Parsed session ID: " + map[string]string{"A": idB, "B": "c3b8a1d2-e4f5-4a6b-9c7d-0e1f2a3b4c5d"}[l] + "\n"
			case "lost":
				log += "WARNING:mcp.server.sse:Could not find session for ID: " + idB + "\n"
			default:
				log += `DEBUG:mcp.server.sse:Received JSON: b'{"jsonrpc":"2.0","id":` + l + `,"method":"ping"}'` + "\n"
			}
		}
		got := ""
		for _, e := range strings.Split(logOf(t, log), " | ") {
			if _, e, is := strings.Cut(e, " message "); is {
				id, _, _ := strings.Cut(e, "dir=")
				got += strings.NewReplacer("answered="+idA+" ", "A", "answered=c3b8a1d2e4f54a6b9c7d0e1f2a3b4c5d ", "B").Replace(id) + e[strings.Index(e, "id=")+3:] + " "
			}
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%s gives %q, want %q", lines, got, want)
		}
	}
	f("A 1 B 2", "A1 B2")
	f("A A 1 2", "A1 A2")
	f("A B 1 2 A 3", "1 2 A3")
	f("A B 1 A 2 3 B 4", "1 2 3 B4")
	f("1", "1")
	f("A lost B 1", "B1")
	f("A lost 1", "1")
}
