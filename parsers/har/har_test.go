package har

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	f := func(name string) {
		t.Helper()
		raw, err := os.ReadFile("testdata/" + name + ".har")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := exchangetest.Read(Format, exchangetest.Input(raw))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines, "\n") + "\n"
		path := "testdata/" + name + ".golden"
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
			t.Errorf("%s: %s", name, d)
		}
	}
	f("subscriptions")
	f("playwright")
}

type m = map[string]any

// call returns an entry of a POST with a JSON body; change replaces members by
// path, such as "response.content.text"; nil removes one.
func call(start string, ms float64, change ...any) m {
	e := m{
		"startedDateTime": start, "time": ms,
		"request": m{
			"method": "POST", "url": "http://h/mcp", "httpVersion": "HTTP/1.1", "bodySize": 40,
			"headers":  []any{m{"name": "accept", "value": "application/json, text/event-stream"}},
			"postData": m{"mimeType": "application/json", "text": `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		},
		"response": m{
			"status": 200, "headers": []any{m{"name": "content-type", "value": "application/json"}},
			"content": m{"size": 36, "mimeType": "application/json", "text": `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
		"timings": m{"blocked": -1, "send": 1, "wait": 2, "receive": ms - 3},
	}
	for i := 0; i+1 < len(change); i += 2 {
		at, keys := e, strings.Split(change[i].(string), ".")
		for _, k := range keys[:len(keys)-1] {
			at = at[k].(m)
		}
		if k := keys[len(keys)-1]; change[i+1] == nil {
			delete(at, k)
		} else {
			at[k] = change[i+1]
		}
	}
	return e
}

func archive(entries ...m) []byte {
	b, err := json.MarshalIndent(m{"log": m{"version": "1.2", "creator": m{"name": "test"}, "entries": entries}}, "", " ")
	if err != nil {
		panic(err)
	}
	return b
}

// read returns the events of an archive.
func read(t *testing.T, raw []byte) (all []event.Event, stats *source.Stats) {
	t.Helper()
	in := exchangetest.Input(raw)
	r, err := Format.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		all = append(all, *e)
	}
	s := &in.Stats
	if s.Records != s.Used+s.Ignored+s.Malformed || s.Events != int64(len(all)) {
		t.Errorf("counts do not add up: %+v, %d events", s, len(all))
	}
	return all, s
}

// short writes events as "entry kind", answers with their id.
func short(all []event.Event) string {
	var s []string
	for _, e := range all {
		k := e.Kind.String()
		if e.Kind == event.Message {
			k = e.RPC.Kind.String() + " " + string(e.RPC.ID) + e.RPC.Method
		}
		s = append(s, fmt.Sprintf("%d %s", e.At.N, k))
	}
	return strings.Join(s, ", ")
}

const base = "2026-07-19T22:20:43.000Z"

func TestTimeOrder(t *testing.T) {
	raw := archive(
		call("2026-07-19T22:20:43.010Z", 5),
		call("2026-07-19T22:20:43.000Z", 100),
		call("2026-07-19T22:20:43.015Z", 5),
	)
	all, _ := read(t, raw)
	want := "1 opened, 1 request 1ping, 1 head, 0 opened, 0 request 1ping, 0 head, " +
		"2 opened, 2 request 1ping, 0 result 1, 0 closed, 2 head, 2 result 1, 2 closed, 1 result 1, 1 closed"
	if got := short(all); got != want {
		t.Errorf("order\n%s, want\n%s", got, want)
	}
	for i := 1; i < len(all); i++ {
		if all[i].Time.To < all[i-1].Time.To {
			t.Errorf("event %d goes back in time", i)
		}
	}
}

func TestHeadsComeBeforeStartsAndStartsBeforeEnds(t *testing.T) {
	// The first has its head, the second its start, the third its end at 43.010.
	all, _ := read(t, archive(
		call("2026-07-19T22:20:43.007Z", 50),
		call("2026-07-19T22:20:43.010Z", 50),
		call("2026-07-19T22:20:43.000Z", 10),
	))
	want := "2 opened, 2 request 1ping, 2 head, 0 opened, 0 request 1ping, 0 head, 1 opened, 1 request 1ping, 2 result 1, 2 closed"
	if got := short(all); !strings.HasPrefix(got, want) {
		t.Errorf("order\n%s, want\n%s", got, want)
	}
}

func TestEventSourceTimeAfterTheEndIsClamped(t *testing.T) {
	e := call(base, 1000, "_eventSourceMessages", []any{m{"time": 1784499644.002, "data": `{"jsonrpc":"2.0","id":1,"result":{}}`}})
	all, _ := read(t, archive(e, call("2026-07-19T22:20:44.001Z", 9)))
	if got := short(all); !strings.HasPrefix(got, "0 opened, 0 request 1ping, 0 head, 0 result 1, 0 closed, 1 opened") || all[3].Time.To != all[4].Time.To {
		t.Errorf("order %s", got)
	}
}

func TestMoments(t *testing.T) {
	f := func(e m, first, end int64, sure bool) {
		t.Helper()
		raw, _ := json.Marshal(e)
		var x entry
		if err := parseEntry(exchange.New(0, new(source.Stats)), raw, 0, &x); err != nil {
			t.Fatal(err)
		}
		a, b, ok := x.moments()
		if a-x.start != first || b-x.start != end || ok != sure {
			t.Errorf("%s: first byte %d, end %d, sure %v; want %d %d %v", raw, a-x.start, b-x.start, ok, first, end, sure)
		}
	}
	const ms = 1e6
	f(call(base, 10), 3*ms, 10*ms, true)
	f(call(base, 10, "timings", m{"blocked": 1, "dns": 2, "connect": 3, "ssl": 2, "send": 1, "wait": 1}), 8*ms, 10*ms, true)
	f(call(base, 2, "timings", m{"wait": 5}), 2*ms, 2*ms, true)
	f(call(base, 10, "timings", nil), 0, 10*ms, false)
	f(call(base, 10, "timings", m{"wait": nil, "send": nil}), 0, 10*ms, false)
	f(call(base, 10, "timings", m{"wait": -1, "send": -1}), 0, 10*ms, false)
	f(call(base, 10, "time", nil), 3*ms, 10*ms, true)
	f(call(base, 10, "time", -1), 3*ms, 10*ms, true)
}

func TestTimes(t *testing.T) {
	f := func(s string, want int64) {
		t.Helper()
		got, ok := parseTime(s, 3600)
		if (want == 0) == ok || got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
	const sec = 1784499643 // 2026-07-19T22:20:43Z
	f("2026-07-19T22:20:43.689Z", sec*1e9+689e6)
	f("2026-07-19T22:20:43.689123+00:00", sec*1e9+689123e3)
	f("2026-07-20T00:20:43.689+02:00", sec*1e9+689e6)
	f("2026-07-20T00:20:43.689+0200", sec*1e9+689e6)
	f("2026-07-19T22:20:43.6891234Z", sec*1e9+689123400)
	f("2026-07-19T22:20:43Z", sec*1e9)
	f("2026-07-19 22:20:43Z", sec*1e9)
	f("2026-07-19T23:20:43", sec*1e9)
	f("", 0)
	f("0001-01-01T00:00:00Z", 0)
	f("yesterday", 0)
}

func TestAnswerThatEndsAPostStream(t *testing.T) {
	const stream = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n" +
		"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
	f := func(text string, wantPoint ...bool) {
		t.Helper()
		all, _ := read(t, archive(call(base, 50,
			"response.headers", []any{m{"name": "Content-Type", "value": "text/event-stream"}},
			"response.content", m{"size": 1, "text": text})))
		var points []bool
		for _, e := range all {
			if e.Kind == event.Message && e.Dir == event.ToClient {
				points = append(points, e.Time.From == e.Time.To)
			}
		}
		if d := cmp.Diff(wantPoint, points); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
	f(stream, false, true)
	f(stream+stream, false, false, false, true)
	f("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n", false, true)
	f("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", false, false)
}

func TestEventSourceMessagesHaveTheirTimes(t *testing.T) {
	msg := func(sec float64, id string) m {
		return m{"time": sec, "eventName": "message", "eventId": "e" + id, "data": `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`}
	}
	const sec = 1784499643
	long := call(base, 1000, "_eventSourceMessages", []any{msg(sec+0.2, "1"), msg(sec+0.9, "2"), msg(sec+9999, "3")},
		"response.headers", []any{m{"name": "content-type", "value": "text/event-stream"}}, "response.content", m{"size": 5})
	all, stats := read(t, archive(long, call("2026-07-19T22:20:43.500Z", 10)))
	want := "0 opened, 0 request 1ping, 0 head, 0 result 1, 1 opened, 1 request 1ping, 1 head, 1 result 1, 1 closed, 0 result 2, 0 result 3, 0 closed"
	if got := short(all); got != want {
		t.Errorf("order\n%s, want\n%s", got, want)
	}
	at := func(e event.Event) float64 { return float64(e.Time.To)/1e9 - sec }
	if d := at(all[3]) - 0.2; d > 1e-6 || d < -1e-6 || all[3].EventID != "e1" {
		t.Errorf("first message at %v", at(all[3]))
	}
	if e := all[10]; e.Time.From == e.Time.To && at(e) != 1 {
		t.Errorf("a time outside the exchange is used: %v", at(e))
	}
	if last := all[11]; last.Loss != 0 || last.Bytes <= 0 {
		t.Errorf("closed: %+v, notes %v", last, stats.Notes)
	}
}

func TestBodiesThatWereNotRecorded(t *testing.T) {
	f := func(e m, loss event.Loss, bytes int64) {
		t.Helper()
		all, stats := read(t, archive(e))
		last := all[len(all)-1]
		if last.Kind != event.Closed || last.Loss != loss || last.Bytes != bytes || len(stats.Problems) != 0 {
			t.Errorf("%v: closed with loss %b and %d bytes, want %b and %d (%v)", e, last.Loss, last.Bytes, loss, bytes, stats.Problems)
		}
	}
	lost := event.LossResponseBody
	f(call(base, 9), 0, 36)
	f(call(base, 9, "response.content", m{"size": 0, "text": ""}), 0, 0)
	f(call(base, 9, "response.content", m{"size": 7, "text": ""}), lost, -1)
	f(call(base, 9, "response.content", m{"size": 7}), lost, -1)
	f(call(base, 9, "response.content", m{"size": 0}), lost, -1)
	f(call(base, 9, "response.content", m{"size": 7, "text": json.RawMessage("null")}), lost, -1)
	f(call(base, 9, "response.content", nil), lost, -1)
	f(call(base, 9, "response.content", m{"size": 0}, "response.status", 202), 0, 0)
	f(call(base, 9, "response.status", 0), 0, 0)
	f(call(base, 9, "response", nil), 0, 0)
	f(call(base, 9, "response.status", -1), event.LossHeaders, 0)
	f(call(base, 9, "request.postData", nil), event.LossRequestBody, 36)
	f(call(base, 9, "request.postData", nil, "request.bodySize", -1), event.LossRequestBody, 36)
	f(call(base, 9, "request.postData", nil, "request.bodySize", 0), 0, 36)
	f(call(base, 9, "request.postData.text", ""), event.LossRequestBody, 36)
}

func TestSpellingsOfBodies(t *testing.T) {
	f := func(e m, want string) {
		t.Helper()
		all, stats := read(t, archive(e))
		var got []string
		for _, x := range all {
			if x.Kind == event.Message && x.Dir == event.ToClient {
				got = append(got, x.Excerpt)
			}
		}
		if strings.Join(got, " ") != want || len(stats.Problems) != 0 {
			t.Errorf("messages %q, want %q; problems %v", got, want, stats.Problems)
		}
	}
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"t":"héllo ✓"}}`
	b64 := base64.StdEncoding.EncodeToString
	gz := gzipped(t, answer)
	coding := []any{m{"name": "content-type", "value": "application/json"}, m{"name": "Content-Encoding", "value": "gzip"}}
	stream := func(value string) []any { return []any{m{"name": "content-type", "value": value}} }
	f(call(base, 9, "response.content", m{"size": 9, "text": answer}), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": b64([]byte(answer)), "encoding": "base64"}), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": answer}, "response.headers", coding), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": b64([]byte(answer)), "encoding": "base64"}, "response.headers", coding), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": b64(gz), "encoding": "base64"}, "response.headers", coding), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": "data: " + answer + "\n\n"}, "response.headers", stream("text/event-stream")), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": "data: " + garbled(answer) + "\n\n"}, "response.headers", stream("text/event-stream")), answer)
	f(call(base, 9, "response.content", m{"size": 9, "text": "data: " + garbled(answer) + "\n\n"}, "response.headers", stream("text/event-stream;charset=utf-8")), garbled(answer))
}

// garbled decodes UTF-8 as windows-1252.
func garbled(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		for r := rune(0); r < 0x2200; r++ {
			if b, ok := cp1252(r); ok && b == c {
				out.WriteRune(r)
				break
			}
		}
	}
	return out.String()
}

func TestIgnoredEntries(t *testing.T) {
	plain := []any{m{"name": "content-type", "value": "text/html"}}
	page := call(base, 9, "request.headers", []any{}, "request.postData", nil, "response.headers", plain, "response.content", m{"text": "<html>", "mimeType": "text/html"})
	all, stats := read(t, archive(page, call(base, 9, "request.method", "OPTIONS"), call(base, 9)))
	if stats.Ignored != 2 || stats.Used != 1 || all[0].At.N != 2 {
		t.Errorf("%+v", stats)
	}
	_, stats = read(t, archive(call(base, 9, "connection", "5"), call(base, 9, "connection", "5", "_fetchedViaServiceWorker", true), call(base, 9, "connection", "6")))
	if stats.Ignored != 1 || stats.Used != 2 || len(stats.Notes) != 1 {
		t.Errorf("an exchange that stands twice: %+v", stats)
	}
}

func TestAddressFindsTheEntry(t *testing.T) {
	raw := archive(call(base, 9), call(base, 8, "request.url", "http://h/other"))
	all, _ := read(t, raw)
	for _, e := range all {
		var x struct{ Request struct{ URL string } }
		if err := json.NewDecoder(strings.NewReader(string(raw[e.At.Offset:]))).Decode(&x); err != nil || !strings.HasSuffix(x.Request.URL, e.Domain.Path) {
			t.Errorf("at byte %d stands %q (%v), want %s", e.At.Offset, x.Request.URL, err, e.Domain.Path)
		}
	}
}

func TestServerAndConnection(t *testing.T) {
	f := func(want, conn string, change ...any) {
		t.Helper()
		all, _ := read(t, archive(call(base, 9, change...)))
		if e := all[0]; e.Domain.Server != want || e.Sender.Conn != conn || e.Sender.Peer != "" {
			t.Errorf("%v: %q %q, want %q %q", change, e.Domain.Server, e.Sender.Conn, want, conn)
		}
	}
	f("http://h", "")
	f("https://h:8443[10.0.0.1]", "443", "request.url", "https://H:8443/mcp", "serverIPAddress", "10.0.0.1", "connection", "443")
	f("https://h[2001:db8::1]", "7", "request.url", "https://h:443/mcp", "serverIPAddress", "[2001:db8::1]", "_connectionId", 7)
	// A request that failed has no address: it belongs to the one server of its origin.
	all, _ := read(t, archive(call(base, 9, "serverIPAddress", "10.0.0.1"), call(base, 8, "response.status", 0)))
	for _, e := range all {
		if e.Domain.Server != "http://h[10.0.0.1]" {
			t.Errorf("entry %d is of %q", e.At.N, e.Domain.Server)
		}
	}
}

func TestWritersThatLoseThings(t *testing.T) {
	f := func(raw string, loss event.Loss, note string) {
		t.Helper()
		all, stats := read(t, []byte(raw))
		if len(all) == 0 || all[0].Loss&loss != loss || len(stats.Notes) != 1 || !strings.Contains(stats.Notes[0], note) {
			t.Errorf("loss %b of %d events, notes %v; want %b %q", all[0].Loss, len(all), stats.Notes, loss, note)
		}
	}
	one := string(archive(call(base, 9, "request.headers", []any{})))
	f(strings.Replace(one, `"name": "test"`, `"name": "mcpsnoop"`, 1), event.LossPairing|event.LossHeaders, "paired_by_id")
	f(strings.Replace(one, `"name": "test"`, `"name": "mcp-reticle"`, 1), event.LossPairing, "paired_by_id")
	f(strings.Replace(one, "HTTP/1.1", "JSON-RPC/2.0", 1), event.LossPairing, "paired_by_id")
	f(strings.Replace(one, `"name": "test"`, `"name": "Insomnia REST Client"`, 1), event.LossTime, "time of the export")
	f(string(archive(call(base, 1), call(base, 2, "request.url", "http://h/y"), call(base, 3, "request.url", "http://h/x"))), event.LossTime, "one time")
}

func TestEndpointIsKnownFromTheFirstByte(t *testing.T) {
	sse := call(base, 1000, "request.method", "GET", "request.url", "http://h/sse", "request.postData", nil,
		"response.headers", []any{m{"name": "content-type", "value": "text/event-stream"}},
		"response.content", m{"size": 9, "text": ": hi\r\n\r\nevent: endpoint\r\ndata: /message?sessionId=abc\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"})
	all, stats := read(t, archive(sse, call("2026-07-19T22:20:43.500Z", 9, "request.url", "http://h/message?sessionId=abc", "response.status", 202, "response.content", m{"size": 0, "text": ""})))
	want := "0 opened, 0 head, 0 endpoint, 1 opened, 1 request 1ping, 1 head, 1 closed, 0 result 1, 0 closed"
	if got := short(all); got != want {
		t.Errorf("order\n%s, want\n%s; %v", got, want, stats.Problems)
	}
	if all[2].Answered != event.Named("abc") || all[3].Asked != event.Named("abc") || all[7].Stream != event.StreamSSE {
		t.Errorf("sessions %+v %+v", all[2].Answered, all[3].Asked)
	}
}

func TestCutFile(t *testing.T) {
	raw := archive(call(base, 9), call("2026-07-19T22:20:44.000Z", 9))
	second := strings.LastIndex(string(raw), `"response"`)
	all, stats := read(t, raw[:second])
	if stats.Records != 2 || stats.Used != 1 || stats.Malformed != 1 || stats.Gaps != 1 {
		t.Errorf("%+v", stats)
	}
	if all[0].Kind != event.Gap || len(all) != 6 || stats.Problems[0].At.N != 1 {
		t.Errorf("%s; problems %v", short(all), stats.Problems)
	}
}

func TestMalformedEntries(t *testing.T) {
	f := func(bad, want string) {
		t.Helper()
		raw := strings.Replace(string(archive(call(base, 9))), `"entries": [`, `"entries": [`+bad+`,`, 1)
		_, stats := read(t, []byte(raw))
		if stats.Malformed != 1 || stats.Used != 1 || !strings.Contains(stats.Problems[0].Text, want) {
			t.Errorf("%s: %+v, want %q", bad, stats, want)
		}
	}
	f(`{}`, "startedDateTime")
	f(`{"startedDateTime":"never"}`, "startedDateTime")
	f(`{"startedDateTime":x}`, "no valid JSON")
	f(`17`, "no JSON object")
	f(`"text } ] "`, "no JSON object")
	f(`{"a":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}`, "nested deeper")
}

func TestUnusualFiles(t *testing.T) {
	f := func(raw string, records int64, problems int) {
		t.Helper()
		_, stats := read(t, []byte(raw))
		if stats.Records != records || len(stats.Problems) != problems {
			t.Errorf("%.60q: %d records, problems %v; want %d and %d", raw, stats.Records, stats.Problems, records, problems)
		}
	}
	one := string(archive(call(base, 9)))
	f("\xEF\xBB\xBF"+one, 1, 0)
	f(one+"\n\n", 1, 0)
	f(`{"a":[1,{"entries":[{}]}],`+one[1:], 1, 0)
	f(strings.Replace(one, `"log": {`, `"log": {"pages": [{"entries":[]}],`, 1), 1, 0)
	f(`{"log":{"entries":null}}`, 0, 0)
	f(`{"log":{}}`, 0, 0)
	f(`{}`, 0, 0)
	f(``, 0, 1)
	f(`{"log":`, 0, 1)
	f(`not json`, 0, 1)
}

func TestSniff(t *testing.T) {
	f := func(head string, want bool) {
		t.Helper()
		if got := Format.Sniff([]byte(head), true) > 50; got != want {
			t.Errorf("%.60q: recognised %v, want %v", head, got, want)
		}
	}
	f(string(archive()), true)
	f("\xEF\xBB\xBF \n"+string(archive()), true)
	f(`{"log":{"version":"1.2","creator":`, true)
	f(`{"log":"text","creator":1}`, false)
	f(`{"level":"info"}`, false)
	f(``, false)
}
