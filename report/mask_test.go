package report

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// masked returns excerpts as a finding with them shows them.
func masked(reveal bool, tokens []string, excerpts ...string) []string {
	f := signals.Finding{
		Signal: signals.TokenCollision, Strength: signals.Confirmed, Tokens: tokens,
		Parties: []signals.Party{{Alias: "S1", Session: sessionA}, {Alias: "S2·a", Session: sessionB}},
	}
	for _, e := range excerpts {
		f.Evidence = append(f.Evidence, signals.Evidence{Excerpt: e})
	}
	r := Build(&verdict.Result{Findings: []signals.Finding{f}}, nil, Options{Reveal: reveal})
	var out []string
	for _, e := range r.Findings[0].Evidence {
		out = append(out, e.Excerpt)
	}
	return out
}

func TestExcerpt(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := masked(false, []string{"7"}, in)[0]; got != want {
			t.Errorf("excerpt of\n  %s\ngot\n  %s\nwant\n  %s", in, got, want)
		}
	}
	// A request: what the protocol fixes stands, values do not.
	f(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello","n":12,"deep":{"list":["x",3,true,null]}},"_meta":{"progressToken":7}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"‹…›","n":‹…›,"deep":{"list":["‹…›",‹…›,true,null]}},"_meta":{"progressToken":7}}}`)
	// Key order as SDKs write it, and a text cut anywhere.
	f(`{"result":{"content":[{"type":"text","text":"balance of acme: 4711"}]},"jsonrpc":"2.0","id":0}`,
		`{"result":{"content":[{"type":"text","text":"‹…› of ‹…›"}]},"jsonrpc":"2.0","id":0}`)
	f(`{"params":{"arguments":{"a":"one tw`, `{"params":{"arguments":{"a":"‹…›`)
	f(`{"params":{"arguments":{"a":12`, `{"params":{"arguments":{"a":‹…›`)
	f(`{"params":{"arguments":{"a":"x\`, `{"params":{"arguments":{"a":"‹…›`)
	// How a request ended stands, what it was about does not.
	f(`{"error":{"code":-32800,"message":"request 'pay-4711' cancelled by user"},"id":"a"}`,
		`{"error":{"code":-32800,"message":"request '‹…›' cancelled by user"},"id":"a"}`)
	f(`{"method":"notifications/cancelled","params":{"requestId":3,"reason":"MCP error -32001: Request timed out"}}`,
		`{"method":"notifications/cancelled","params":{"requestId":3,"reason":"MCP error -32001: Request timed out"}}`)
	f(`{"method":"notifications/resources/updated","params":{"uri":"note://alice/diary"}}`,
		`{"method":"notifications/resources/updated","params":{"uri":"note://‹…›"}}`)
	f(`{"method":"notifications/progress","params":{"progressToken":"7","progress":0.5,"total":1}}`,
		`{"method":"notifications/progress","params":{"progressToken":"7","progress":0.5,"total":1}}`)
	f(`{"params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"probe","version":"1"}}}`,
		`{"params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"probe","version":"1"}}}`)
	// The head of an HTTP message.
	f("POST /mcp HTTP/1.1\r\nauthorization: Basic YWxpY2U6c2VjcmV0\r\nCookie: a=b; c=d\r\nX-Api-Key: k-123\r\nAccept: */*\r\n\r\n",
		`POST /mcp HTTP/1.1\r\nauthorization: ‹secret›\r\nCookie: ‹secret›\r\nX-Api-Key: ‹secret›\r\nAccept: */*\r\n\r\n`)
	f("GET /sse?sessionId="+sessionA+"&token=abc HTTP/1.1", "GET /sse?sessionId=‹S1·9b4123› HTTP/1.1"[:len("GET /sse?sessionId=")]+"‹S1·9b4123›&token=‹secret› HTTP/1.1")
	// An event of a stream.
	f("event: message\nid: 3\ndata: {\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"salary\"}]}}\n\n",
		`event: message\nid: 3\ndata: {"result":{"content":[{"type":"text","text":"‹…›"}]}}\n\n`)
	// Log lines.
	f(`time=2026-11-30T12:00:00Z level=INFO msg="tool call" session=`+sessionB+` tool=echo args="map[text:secret]" token=7 password=hunter2`,
		`time=2026-11-30T12:00:00Z level=INFO msg="tool call" session=‹S2·dce8a9› tool=echo args="‹…›]" token=7 password=‹secret›`)
	f(`{"headers":[{"name":"Mcp-Session-Id","value":"`+sessionA+`"},{"name":"X","value":"y"}]}`, `{"headers":[{"name":"Mcp-Session-Id","value":"‹S1·9b4123›"},{"name":"X","value":"‹…›"}]}`)
	f(`level=INFO args=map[text:two words n:5] id=3`, `level=INFO args=‹…›] id=3`)
	f(`{"level":"info","msg":"call","mcp.session.id":"`+sessionB+`","api_key":"k","args":{"text":"private"},"body":"{\"params\":{\"arguments\":{\"q\":\"private\"}}}"}`,
		`{"level":"info","msg":"call","mcp.session.id":"‹S2·dce8a9›","api_key":"‹secret›","args":{"text":"‹…›"},"body":"{\"params\":{\"arguments\":{\"q\":\"‹…›\"}}}"}`)
	f(`12:00 router: sending {"method":"notifications/message","params":{"level":"info","data":"for bob only"}} to `+sessionA,
		`12:00 router: sending {"method":"notifications/message","params":{"level":"info","data":"‹…›"}} to ‹S1·9b4123›`)
	f("session "+sessionA[:20], "session ‹S1·9b4123›") // cut by the end of the excerpt
	f("plain words stay", "plain words stay")
	f("", "")
}

func TestExcerptEqualValuesEqualLabels(t *testing.T) {
	got := masked(false, nil,
		`{"params":{"arguments":{"doc":"contract-9","n":4711,"own":"mine"}}}`,
		`{"result":{"content":[{"type":"text","text":"read contract-9 and 4711 for \"contract-9\""}]}}`)
	if want := `{"params":{"arguments":{"doc":"‹v1›","n":‹v2›,"own":"‹…›"}}}`; got[0] != want {
		t.Errorf("got %s, want %s", got[0], want)
	}
	if want := `{"result":{"content":[{"type":"text","text":"‹…› ‹v1› ‹…› ‹v2› for \"‹v1›\""}]}}`; got[1] != want {
		t.Errorf("got %s, want %s", got[1], want)
	}
}

func TestExcerptNeverShowsCredentials(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"
	f := func(in, hidden string) {
		t.Helper()
		for _, reveal := range []bool{false, true} {
			if got := masked(reveal, nil, in, in)[0]; strings.Contains(got, hidden) {
				t.Errorf("reveal %v: %q shows %q", reveal, got, hidden)
			}
		}
	}
	f("Authorization: Bearer "+jwt, "eyJ")
	f(`{"headers":{"Authorization":"Bearer opaque-credential"}}`, "opaque")
	f(`{"headers":{"X-Authorization":"Custom qqq"}}`, "qqq")
	f("Proxy-Authorization: Custom qqq\r\nA: b", "qqq")
	f(`{"headers":[{"name":"Authorization","value":"Bearer opaque-credential"}]}`, "opaque")
	f(`{"headers":[{"name":"Cookie","value":"sid=abcdefgh"}]}`, "abcdefgh")
	f(`{"params":{"arguments":{"password":"hunter2","api_key":["a1b2c3d4"]}}}`, "hunter2")
	f(`{"params":{"arguments":{"api_key":["a1b2c3d4"]}}}`, "a1b2c3d4")
	f(`{"params":{"arguments":{"api_key":{"v":12345678}}}}`, "12345678")
	f(`{"msg":"login with `+jwt+`"}`, "eyJ")
	f(`msg="calling https://bob:pa55word@host/x"`, "pa55word")
	f(`url=https://host/x?access_token=abcdef123456&a=b`, "abcdef123456")
	f(`set-cookie: sid=abc; Path=/`, "abc")
	f(`client_secret=zzzyyyxxx`, "zzzyyyxxx")
	f(`refreshToken: rrrrrrrrr`, "rrrrrrrrr")
	f(`"Cookie":"a=b","x":1`, "a=b")
	f("{\"body\":\"{\\\"password\\\":\\\"hunter2\\\"}\"}", "hunter2")
	f(`key is sk-ant-abcdefghijklmnop`, "abcdefghijklmnop")
	f(`authorization=ApiKey qqq123 tool=x`, "qqq123")
	f(`Authorization: Token token="qqq123"`, "qqq123")
	f(`authorization=AWS4-HMAC-SHA256 Credential=x, Signature=qqq123`, "qqq123")
	f(`cookie=a=b; sid=qqq123 tool=x`, "qqq123")
	f(`headers={'x-api-key': 'qqq123', 'cookie': 'sid=zzz987'}`, "qqq123")
	f(`headers={'x-api-key': 'qqq123', 'cookie': 'sid=zzz987'}`, "zzz987")
	f(`headers=[(b'authorization', b'ApiKey qqq123')]`, "qqq123")
	f(`headers=[("x-api-key", "qqq123")]`, "qqq123")
	f(`{"rawHeaders":["X-Api-Key","qqq123","Accept","*/*"]}`, "qqq123")
	f(`{"headers":[["x-api-key","qqq123"]]}`, "qqq123")
	f(`{"headers":[{"value":"qqq123","name":"X-Api-Key"}]}`, "qqq123")
	f(`{"key":"x-api-key","value":"qqq123"}`, "qqq123")
	f(`{"x-auth":"qqq123","cf-access-jwt-assertion":"qqq123","api_key_v2":"qqq123","passwordHash":"qqq123","secrets":{"a":"qqq123"},"tokens":["qqq123"]}`, "qqq123")
	f(`user=x pass=qqq123`, "qqq123")
	f(`url=/mcp?X-Amz-Signature=qqq123`, "qqq123")
	f(`url=/mcp%3Fapi_key%3Dqqq123`, "qqq123")
	f(`url=/cb#access_token=qqq123`, "qqq123")
	f(`url=http://qqq123@host/mcp`, "qqq123")
	f(`key hf_abcdefghijklmnopqrst`, "abcdefghij")
}

// A session id that belongs to no party of a finding is one all the same.
func TestExcerptHidesOtherSessions(t *testing.T) {
	const other = "0badc0de77aa4b1e9f00123456789abc"
	for _, in := range []string{
		"previous session " + other + " expired", "old_session_id=" + other, "GET /sse?sessionId=" + other,
		`{"uri":"https://h/x?session_id=` + other + `"}`, `[("mcp-session-id", "` + other + `")]`,
	} {
		if got := masked(false, nil, in)[0]; strings.Contains(got, other) || !strings.Contains(got, digest6(other)) && !strings.Contains(in, "uri") {
			t.Errorf("%s shows as %s", in, got)
		}
	}
	if got := masked(false, nil, "session internationalization started")[0]; got != "session internationalization started" {
		t.Errorf("a word was taken for an id: %s", got)
	}
}

func TestReveal(t *testing.T) {
	in := `{"params":{"arguments":{"text":"hello"}},"session":"` + sessionA + `"}`
	if got := masked(true, nil, in)[0]; got != in {
		t.Errorf("got %s, want it as it was", got)
	}
}

func TestExcerptIsSafeAndShort(t *testing.T) {
	f := func(in string) {
		t.Helper()
		for _, reveal := range []bool{false, true} {
			got := masked(reveal, nil, in)[0]
			if len(got) > event.MaxExcerpt {
				t.Errorf("%q: %d bytes", got, len(got))
			}
			if escape(got) != got {
				t.Errorf("%q holds something that a terminal obeys", got)
			}
		}
	}
	f("\x1b[2J\x1b]0;title\x07 \u202eevil\u2066 \u200b \x00 \xff\xfe")
	f(`{"params":{"arguments":{"text":"\u001b[31m\u202e"}}}`)
	f("tool=\x1b[31m name=\u202e\U000e0041")
	f(strings.Repeat("\x1b", 512))
	f(strings.Repeat("é", 256))
	f(strings.Repeat("[", 512))
	f(strings.Repeat(`{"a":`, 100))
	f(strings.Repeat(`"`, 512))
	f(strings.Repeat(`{"params":{"arguments":{"a":"x y z 1 2 3"}}}`, 12))
}

func TestEscape(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain – ‹v1› 日本", "plain – ‹v1› 日本")
	f("a\tb\r\nc\x1b[2J\x00\x7f\u0085", `a\tb\r\nc\x1b[2J\u0000\u007f\u0085`)
	f("\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`)
	f("\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`)
	f("\u200b\u200e\u200f\u061c\ufeff\u2028\u2060\u00ad", `\u200b\u200e\u200f\u061c\ufeff\u2028\u2060\u00ad`)
	f("\U000e0041", `\U000e0041`)
	f("a\xff\xc3", `a\xff\xc3`)
}

func FuzzExcerpt(f *testing.F) {
	res, _ := incident()
	for _, fi := range res.Findings {
		for _, e := range fi.Evidence {
			f.Add(e.Excerpt)
		}
	}
	f.Add(`{"a":"b\`)
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), event.MaxExcerpt)]
		got := masked(false, nil, s, s)
		if got[0] != got[1] {
			t.Errorf("equal excerpts differ: %q and %q", got[0], got[1])
		}
		if len(got[0]) > event.MaxExcerpt || escape(got[0]) != got[0] {
			t.Errorf("%q is not fit to print", got[0])
		}
	})
}
