package exchange

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// drain copies the queued events.
func drain(b *Builder) (all []event.Event) {
	for e := b.Pop(); e != nil; e = b.Pop() {
		all = append(all, *e)
	}
	return all
}

func header(pairs ...string) (h []Header) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h = append(h, Header{Name: pairs[i], Value: pairs[i+1]})
	}
	return h
}

func TestOpenedSession(t *testing.T) {
	f := func(target string, h []Header, loss event.Loss, want event.Session, flaws int) {
		t.Helper()
		var stats source.Stats
		b := New(0, &stats)
		b.Open(Request{Method: "POST", Target: target, Header: h, Loss: loss})
		e := b.Pop()
		if e == nil || e.Kind != event.Opened || e.Asked != want {
			t.Errorf("%s %v: asked %+v, want %+v", target, h, e.Asked, want)
		}
		if len(stats.Problems) != flaws {
			t.Errorf("%s %v: problems %v, want %d", target, h, stats.Problems, flaws)
		}
	}
	absent, unknown := event.Session{State: event.Absent}, event.Session{}
	f("/mcp", nil, 0, absent, 0)
	f("/mcp", nil, event.LossHeaders, unknown, 0)
	f("/mcp", header("Mcp-Session-Id", "s1"), 0, event.Named("s1"), 0)
	f("/mcp", header("MCP-SESSION-ID", " s1 "), event.LossHeaders, event.Named("s1"), 0)
	f("/mcp", header("mcp-session-id", ""), 0, absent, 0)
	f("/mcp", header("mcp-session-id", "undefined"), 0, absent, 0)
	f("/mcp", header("mcp-session-id", "null"), 0, absent, 0)
	f("/mcp", header("mcp-session-id", "s1, s1"), 0, event.Named("s1"), 0)
	f("/mcp", header("mcp-session-id", "s1", "Mcp-Session-Id", "s1"), 0, event.Named("s1"), 0)
	f("/mcp", header("mcp-session-id", "s1", "Mcp-Session-Id", "s2"), 0, unknown, 1)
	f("/mcp", header("mcp-session-id", "s1, s2"), 0, unknown, 1)
	f("/mcp", header("mcp-session-id", "a,b"), 0, event.Named("a,b"), 0)
	f("/mcp", header("mcp-session-id", "[REDACTED]"), 0, unknown, 0)
	f("/message?sessionId=x%2By", nil, 0, event.Named("x+y"), 0)
	f("/message?a=1&session_id=x", nil, 0, event.Named("x"), 0)
	f("/message?sessionid=x", nil, event.LossHeaders, event.Named("x"), 0)
	f("/message?Session-ID=x", nil, 0, event.Named("x"), 0)
	f("/message?sessionId=", nil, 0, absent, 0)
	f("/message?sessionId=x", header("mcp-session-id", "h"), 0, event.Named("h"), 0)
	f("/message?session=x", nil, 0, absent, 0)
}

func TestLongSessionIDsStayDistinct(t *testing.T) {
	b := New(0, &source.Stats{})
	long := strings.Repeat("a", 4000)
	b.Open(Request{Header: header("mcp-session-id", long+"1")})
	b.Open(Request{Header: header("mcp-session-id", long+"2")})
	all := drain(b)
	one, two := all[0].Asked.ID, all[1].Asked.ID
	if one == two || len(one) > maxName+8 {
		t.Errorf("ids of 4001 bytes give %d bytes, equal: %v", len(one), one == two)
	}
}

func TestOpenedDomain(t *testing.T) {
	f := func(target, want string) {
		t.Helper()
		b := New(0, &source.Stats{})
		b.Open(Request{Method: "POST", Target: target, Server: "http://10.0.0.1:80"})
		if got := b.Pop().Domain; got.Path != want || got.Server != "http://10.0.0.1:80" {
			t.Errorf("%q: %+v, want path %q", target, got, want)
		}
	}
	f("/mcp", "/mcp")
	f("/mcp/", "/mcp")
	f("/mcp/?x=1", "/mcp")
	f("/mcp#frag", "/mcp")
	f("/", "/")
	f("", "/")
	f("http://other:99/a/mcp/?y", "/a/mcp")
	f("http://other", "/")
	f("/redirect?to=http://x/y", "/redirect")
}

func TestSender(t *testing.T) {
	// {"iss":"https://idp","sub":"alice"}
	const jwt = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkcCIsInN1YiI6ImFsaWNlIn0.sig"
	f := func(h []Header, want func(event.Sender) bool) {
		t.Helper()
		b := New(0, &source.Stats{})
		b.Open(Request{Header: h, Conn: "c", Peer: "p"})
		e := b.Pop()
		if !want(e.Sender) {
			t.Errorf("%v: sender %+v", h, e.Sender)
		}
		for _, x := range h {
			if len(x.Value) > 8 && strings.Contains(e.Sender.Principal+e.Sender.Cookie+e.Excerpt, x.Value[len(x.Value)-8:]) {
				t.Errorf("credential %q is kept: %+v", x.Value, e)
			}
		}
	}
	principal := func(want string) func(event.Sender) bool {
		return func(s event.Sender) bool { return s.Principal == want && s.Conn == "c" && s.Peer == "p" }
	}
	key := func(s event.Sender) bool {
		return strings.HasPrefix(s.Principal, "key:") && len(s.Principal) == len("key:")+16
	}
	f(nil, principal(""))
	f(header("Authorization", "Bearer "+jwt), principal("sub:https://idp|alice"))
	f(header("x-api-key", "0123456789abcdef", "authorization", "bearer "+jwt), principal("sub:https://idp|alice"))
	f(header("authorization", "Bearer opaque-0123456789"), key)
	f(header("X-API-Key", "opaque-0123456789"), key)
	f(header("authorization", "Bearer ***"), principal(""))
	f(header("authorization", "Bearer [REDACTED]"), principal(""))
	f(header("cookie", "theme=dark; AWSALB=secret-value-1; sid=secret-value-2"), func(s event.Sender) bool {
		return strings.HasPrefix(s.Cookie, "AWSALB=") && !strings.Contains(s.Cookie, "sid") && len(s.Cookie) == len("AWSALB=")+16
	})
	f(header("cookie", "my_sticky=secret-value-1; route=secret-value-2"), func(s event.Sender) bool {
		return strings.HasPrefix(s.Cookie, "my_sticky=") && strings.Contains(s.Cookie, "; route=")
	})
	same := func(a, b string) bool {
		p, _ := principalOf(a)
		q, _ := principalOf(b)
		return p == q
	}
	if !same("Bearer abc", "abc") || same("Bearer abc", "Bearer abd") {
		t.Error("the hash of a credential must tell credentials apart, and nothing else")
	}
}

func principalOf(v string) (string, bool) { return principal(v) }

// body runs one response body through an exchange, split at the given places.
func body(contentType, text string, splits ...int) ([]event.Event, source.Stats) {
	return coded(contentType, "", []byte(text), splits...)
}

func coded(contentType, coding string, raw []byte, splits ...int) ([]event.Event, source.Stats) {
	var stats source.Stats
	b := New(0, &stats)
	x := b.Open(Request{Method: "POST", Target: "/mcp", Time: event.At(1)})
	h := header("content-type", contentType)
	if coding != "" {
		h = append(h, Header{Name: "Content-Encoding", Value: coding})
	}
	x.Head(Response{Time: event.At(2), Status: 200, Header: h})
	from := 0
	for _, s := range splits {
		if s > from && s <= len(raw) {
			x.Data(event.At(3), event.Address{N: 3}, raw[from:s])
			from = s
		}
	}
	x.Data(event.At(3), event.Address{N: 3}, raw[from:])
	x.Close(event.At(4), event.Address{N: 4}, event.ByServer, 0)
	return drain(b), stats
}

// ids lists the ids of the messages of a response.
func ids(all []event.Event) string {
	var s []string
	for _, e := range all {
		if e.Kind == event.Message && e.Dir == event.ToClient {
			s = append(s, string(e.RPC.ID)+e.RPC.Method)
		}
	}
	return strings.Join(s, " ")
}

func answer(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func TestResponseBodies(t *testing.T) {
	f := func(contentType, text, want string) {
		t.Helper()
		for split := 0; split <= len(text); split++ {
			all, _ := body(contentType, text, split)
			if got := ids(all); got != want {
				t.Fatalf("%q %q split at %d: messages %q, want %q", contentType, text, split, got, want)
			}
			if last := all[len(all)-1]; last.Kind != event.Closed || last.Bytes != int64(len(text)) {
				t.Fatalf("%q %q: closed with %d bytes, want %d", contentType, text, last.Bytes, len(text))
			}
		}
	}
	const js, sse = "application/json", "text/event-stream"
	f(js, answer("1"), "1")
	f(js, " \r\n"+answer(`"a"`)+"\n", `"a"`)
	f(js, "\xEF\xBB\xBF"+answer("1"), "1")
	f(js, "["+answer("2")+","+answer("1")+"]", "2 1")
	f(js, `{"jsonrpc":"2.0","id":1,"result":{"t":"}\"]{\\"}}`, "1")
	f(js, `{"error":"unauthorized"}`, "")
	f(js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`, "null")
	f("application/problem+json", answer("1"), "1")
	f("", answer("1"), "1")
	f("text/plain", "["+answer("1")+"]", "1")
	f("text/html", "<html>{}</html>", "")
	f("text/plain", "Accepted", "")
	f("text/plain", "data: "+answer("1")+"\n\n", "1")
	f("", "event: message\ndata: "+answer("1")+"\n\n", "1")
	f("", "id: 4\ndata: "+answer("1")+"\n\n", "1")
	f(sse, "data: "+answer("1")+"\n\n", "1")
	f(sse, "data:"+answer("1")+"\r\n\r\ndata: "+answer("2")+"\r\rdata: "+answer("3")+"\n\n", "1 2 3")
	f(sse, "\xEF\xBB\xBFdata: "+answer("1")+"\n\n", "1")
	f(sse, ": ok\n\nevent: prime\nid: 1\ndata: \n\nretry: 5\n\ndata: "+answer("1")+"\n\n", "1")
	f(sse, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\ndata:\"result\":{}}\n\n", "1")
	f(sse, "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\r\ndata:\"result\":{}}\r\n\r\n", "1")
	f(sse, "data: "+answer("1")+"\n", "1")
	f(sse, "data: "+answer("1"), "1")
	f(sse, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res", "")
	f(sse, "data: [DONE]\n\ndata: ping\n\ndata\n\ndata: "+answer("1")+"\n\n", "1")
	f("text/event-stream; charset=utf-8", "data: "+answer("1")+"\n\n", "1")
	f("TEXT/Event-Stream;", "data: "+answer("1")+"\n\n", "1")
}

func TestBrokenBodiesAreLocated(t *testing.T) {
	f := func(contentType, text, want string) {
		t.Helper()
		all, stats := body(contentType, text)
		if len(stats.Problems) != 1 || !strings.Contains(stats.Problems[0].Text, want) || stats.Problems[0].At.N != 3 {
			t.Errorf("%.60q: problems %v, want one with %q at line 3", text, stats.Problems, want)
		}
		if all[len(all)-1].Loss&event.LossResponseBody == 0 {
			t.Errorf("%.60q: loss is not marked", text)
		}
	}
	f("application/json", `{"jsonrpc":"2.0","id":1,"result":{x}}`, "no valid JSON")
	f("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{x}}\n\n", "no valid JSON")
	deep := strings.Repeat("[", mcp.MaxDepth+1) + strings.Repeat("]", mcp.MaxDepth+1)
	f("application/json", `{"jsonrpc":"2.0","id":1,"result":`+deep+`}`, "nested deeper")
}

func TestAnswerIsQueuedWithItsLastByte(t *testing.T) {
	f := func(contentType, text string) {
		t.Helper()
		b := New(0, &source.Stats{})
		x := b.Open(Request{Method: "POST"})
		x.Head(Response{Status: 200, Header: header("content-type", contentType)})
		drain(b)
		x.Data(event.At(5), event.Address{N: 5}, []byte(text[:len(text)-1]))
		if all := drain(b); len(all) != 0 {
			t.Errorf("%s: %d events before the last byte", contentType, len(all))
		}
		x.Data(event.At(6), event.Address{N: 6}, []byte(text[len(text)-1:]))
		all := drain(b)
		if len(all) != 1 || all[0].Time != event.At(6) || all[0].At.N != 6 {
			t.Errorf("%s: after the last byte %+v", contentType, all)
		}
	}
	f("application/json", answer("1"))
	f("text/event-stream", "data: "+answer("1")+"\n\n")
}

func TestGapInAStream(t *testing.T) {
	var stats source.Stats
	b := New(0, &stats)
	x := b.Open(Request{Method: "GET", Target: "/mcp"})
	x.Head(Response{Status: 200, Header: header("content-type", "text/event-stream")})
	x.Data(event.At(1), event.Address{}, []byte("data: "+answer("1")+"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,"))
	x.Gap(event.At(2), event.Address{}, event.ToClient, "lost")
	x.Data(event.At(3), event.Address{}, []byte("\"x\":1}\n\ndata: "+answer("3")+"\n\n"))
	x.Close(event.At(4), event.Address{}, event.ByClient, 0)
	all := drain(b)
	if got := ids(all); got != "1 3" {
		t.Errorf("messages around a gap: %q, want 1 3", got)
	}
	if len(stats.Problems) != 0 || stats.Gaps != 1 {
		t.Errorf("problems %v, gaps %d", stats.Problems, stats.Gaps)
	}
	if last := all[len(all)-1]; last.Loss&event.LossResponseBody == 0 || last.By != event.ByClient {
		t.Errorf("closed: %+v", last)
	}
}

func TestEndpoint(t *testing.T) {
	f := func(get, data, session, path string) {
		t.Helper()
		b := New(0, &source.Stats{})
		x := b.Open(Request{Method: "GET", Target: get, Server: "s"})
		x.Head(Response{Status: 200, Header: header("content-type", "text/event-stream")})
		x.Data(event.Time{From: 5, To: 9}, event.Address{}, []byte("event: endpoint\ndata: "+data+"\n\ndata: "+answer("1")+"\n\n"))
		all := drain(b)
		e, m := all[2], all[3]
		if e.Kind != event.Endpoint || e.Answered != event.Named(session) || e.Note != path || e.Time != event.At(5) {
			t.Errorf("%s: %v %+v note %q at %v, want %q %q", data, e.Kind, e.Answered, e.Note, e.Time, session, path)
		}
		if m.Stream != event.StreamSSE || m.RPC.Era != mcp.EraLegacy || m.Domain.Path != e.Domain.Path {
			t.Errorf("%s: message %+v", data, m)
		}
		b.Open(Request{Method: "POST", Target: resolve("/a/sse", data), Server: "s"})
		if p := b.Pop(); p.Asked != event.Named(session) {
			t.Errorf("%s: a POST there asks %+v, want %q", data, p.Asked, session)
		}
	}
	f("/a/sse", "/message?sessionId=abc", "abc", "/message")
	f("/a/sse", "https://h/message/?session_id=abc", "abc", "/message")
	f("/a/sse", "messages/?sessionid=abc", "abc", "/a/messages")
	f("/a/sse", "?sessionId=abc", "abc", "/a/sse")
	f("/a/sse", "/post/9b1deb4d3b7d4bad9bdd", "9b1deb4d3b7d4bad9bdd", "/post/9b1deb4d3b7d4bad9bdd")
	f("/a/sse", "/post?token=abc", "/post?token=abc", "/post")
}

func TestOrderAndCounts(t *testing.T) {
	var stats source.Stats
	b := New(3, &stats)
	x := b.Open(Request{Method: "POST", Target: "/mcp", Time: event.At(10)})
	x.RequestBody(event.At(11), event.Address{}, []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`), 0)
	x.Head(Response{Status: 200, Header: header("content-type", "application/json", "Mcp-Session-Id", "new")})
	x.Data(event.At(13), event.Address{}, []byte(answer("1")))
	x.Close(event.At(14), event.Address{}, event.ByServer, event.LossSnap)
	all := drain(b)
	var kinds []string
	for _, e := range all {
		kinds = append(kinds, e.Kind.String()+" "+e.Dir.String())
		if e.Exchange != (event.ExchangeID{Source: 3, N: 1}) {
			t.Errorf("exchange %+v", e.Exchange)
		}
	}
	want := []string{"opened unknown", "message client→server", "message client→server", "head unknown", "message server→client", "closed unknown"}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}
	if !all[1].RPC.Batch || all[4].RPC.Batch {
		t.Error("batch is marked wrongly")
	}
	if all[4].Answered != event.Named("new") || all[0].Answered.State != event.Unknown {
		t.Error("the session of the answer is known from the head on")
	}
	if all[5].Loss != event.LossSnap || all[5].Bytes != int64(len(answer("1"))) || all[5].Status != 200 {
		t.Errorf("closed %+v", all[5])
	}
	if stats.Events != 6 || stats.First != 10 || stats.Last != 14 {
		t.Errorf("stats %+v", stats)
	}
}

func TestBodyThatWasNotRecorded(t *testing.T) {
	b := New(0, &source.Stats{})
	x := b.Open(Request{Method: "POST"})
	x.Head(Response{Status: 200, Loss: event.LossHeaders})
	x.Close(event.Time{}, event.Address{}, event.ByUnknown, event.LossResponseBody)
	all := drain(b)
	if all[1].Answered.State != event.Unknown {
		t.Error("a cut head says nothing about the session")
	}
	if all[2].Bytes != -1 {
		t.Errorf("bytes %d, want -1", all[2].Bytes)
	}
}
