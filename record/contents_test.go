package record

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/isodetect/isodetect/event"
)

func mustParse(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil {
		u = &url.URL{Path: raw}
	}
	return u
}

const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`

func jwt(iss, sub, more string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(`{"alg":"RS256"}`)) + "." + b64([]byte(fmt.Sprintf(`{"iss":%q,"sub":%q,"jti":%q}`, iss, sub, more))) + ".SIGNATURE-OF-" + more
}

func TestCredentialsAreHashed(t *testing.T) {
	secrets := []string{"top-secret-1", "top-secret-2", "SIGNATURE-OF", "cookie-value", "query-value", "form-value", "answer-value", "user:pa55", "fresh-value"}
	p, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Add("Set-Cookie", "route=fresh-value; Path=/; HttpOnly")
		w.Header().Set("Location", "https://user:pa55@idp.example/cb?code=query-value&session_id=S1")
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"answer-value","expires_in":3600,"a\"b":{"c":[1]}}`)
	}, Options{})
	c := client(t)
	f := func(method, target, mime, body string, head ...string) {
		t.Helper()
		q, _ := http.NewRequest(method, p.url+target, strings.NewReader(body))
		q.Header.Set("Content-Type", mime)
		for i := 0; i < len(head); i += 2 {
			q.Header.Add(head[i], head[i+1])
		}
		res, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	const mcpType = "application/json"
	f("POST", "/mcp", mcpType, call, "Authorization", "Bearer top-secret-1", "Mcp-Session-Id", "S1")
	f("POST", "/mcp", mcpType, call, "X-Api-Key", "top-secret-1")
	f("POST", "/mcp", mcpType, call, "Authorization", "Bearer top-secret-2", "Proxy-Authorization", "Basic top-secret-1")
	f("POST", "/mcp", mcpType, call, "Authorization", "Bearer "+jwt("https://idp.example", "alice", "one"))
	f("POST", "/mcp", mcpType, call, "Authorization", "Bearer "+jwt("https://idp.example", "alice", "two"))
	f("POST", "/mcp", mcpType, call, "Cookie", "AWSALB=cookie-value; other=cookie-value")
	f("POST", "/mcp?api_key=query-value&sessionId=S1", mcpType, call, "X-Auth-Token", "top-secret-2", "Referer", s.URL+"/?token=query-value")
	f("POST", "/token", "application/x-www-form-urlencoded", "grant_type=refresh_token&refresh_token=form-value")

	text := p.rec.String()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q stands in the recording", secret)
		}
	}
	for _, kept := range []string{`"Mcp-Session-Id":"S1"`, "sessionId=S1", "session_id=S1", `"route=hashed:`, "Path=/; HttpOnly", "grant_type=refresh_token", `"expires_in":3600`, `"a\"b":{"c":[1]}`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is missing in the recording:\n%s", kept, text)
		}
	}
	var who []string
	var cookie string
	for _, e := range p.rec.events(t) {
		if e.Kind == event.Opened {
			who = append(who, e.Sender.Principal)
			cookie += e.Sender.Cookie
		}
	}
	if who[0] == "" || who[0] != who[1] || who[0] == who[2] {
		t.Errorf("equal credentials must stay equal, others not: %q", who[:3])
	}
	if who[3] != "sub:https://idp.example|alice" || who[4] != who[3] {
		t.Errorf("the subject of a JWT is lost: %q", who[3:5])
	}
	if !strings.HasPrefix(cookie, "AWSALB=") {
		t.Errorf("affinity cookie: %q", cookie)
	}
}

func TestReveal(t *testing.T) {
	p, _ := serve(t, func(http.ResponseWriter, *http.Request) {}, Options{Reveal: true})
	q, _ := http.NewRequest("GET", p.url+"/?token=T1", nil)
	q.Header.Set("Authorization", "Bearer T2")
	res, err := client(t).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	p.rec.wait(t, 1, "token=T1", "Bearer T2")
}

func TestEncodedBodies(t *testing.T) {
	packed := func(coding, text string) []byte {
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if coding == "br" {
			w = brotli.NewWriter(&b)
		}
		io.WriteString(w, text)
		w.Close()
		return b.Bytes()
	}
	const result = `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`
	f := func(coding, media, answer string) {
		t.Helper()
		p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			w.Header().Set("Content-Encoding", coding)
			body := packed(coding, answer)
			flush(w, string(body[:len(body)/2]))
			w.Write(body[len(body)/2:])
		}, Options{})
		q, _ := http.NewRequest("POST", p.url, bytes.NewReader(packed(coding, call)))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Content-Encoding", coding)
		res, err := client(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		if !bytes.Equal(got, packed(coding, answer)) {
			t.Errorf("%s %s: the body changed on its way", coding, media)
		}
		var ids []string
		for _, e := range p.rec.events(t) {
			if e.Kind == event.Message {
				ids = append(ids, e.Dir.String()+" "+string(e.RPC.ID))
			}
		}
		if len(ids) != 2 {
			t.Errorf("%s %s: messages %q, want the request and its answer, in:\n%s", coding, media, ids, p.rec.String())
		}
	}
	f("gzip", "application/json", result)
	f("br", "application/json", result)
	f("gzip", "text/event-stream", "data: "+result+"\n\n")
	f("br", "text/event-stream", "data: "+result+"\n\n")
}

func TestBodiesOverTheLimitAreCut(t *testing.T) {
	long := strings.Repeat("x", 5000)
	big := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + long + `"}}`
	answer := `{"jsonrpc":"2.0","id":7,"result":{"x":"` + long + `"}}`
	p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != big {
			t.Error("the request changed on its way")
		}
		if r.Header.Get("Accept") == "text/event-stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+answer+"\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}, Options{MaxBody: 1000})
	for _, accept := range []string{"application/json", "text/event-stream"} {
		q, _ := http.NewRequest("POST", p.url, strings.NewReader(big))
		q.Header.Set("Accept", accept)
		q.Header.Set("Content-Type", "application/json")
		res, err := client(t).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(res.Body); !strings.Contains(string(got), answer) {
			t.Error("the answer changed on its way")
		}
	}
	p.rec.wait(t, 2, `"k":"close"`)
	p.rec.wait(t, 2, `"k":"req"`, `"cut":true`)
	p.rec.wait(t, 1, `"k":"body"`, `"cut":true`)
	p.rec.wait(t, 1, `"k":"gap"`, `"an event over`)
	for line := range strings.Lines(p.rec.String()) {
		if len(line) > 2500 {
			t.Errorf("a line of %d bytes with a limit of 1000", len(line))
		}
	}
	lost, answers := 0, 0
	for _, e := range p.rec.events(t) {
		if e.Loss&event.LossRequestBody != 0 && e.Kind == event.Head {
			lost++
		}
		if e.Kind == event.Message && e.Dir == event.ToClient {
			answers++
		}
	}
	if lost != 2 || answers != 1 {
		t.Errorf("%d requests are known to be cut, want 2; %d answers, want the one event below the limit", lost, answers)
	}
}

// Whatever pieces a stream comes in, its events are the same.
func FuzzEvents(f *testing.F) {
	f.Add("\xEF\xBB\xBFid: 1\r\ndata: a\r\rdata:b\ndata\n\n: c\nevent: x\ndata: {}", uint8(1))
	f.Add("data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n\ndata: 1\n\n", uint8(7))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		run := func(n int) (out []string) {
			s := events{limit: 40}
			emit := func(id, name, data string, cut bool) {
				out = append(out, fmt.Sprintf("%q %q %q %v", id, name, data, cut))
			}
			for rest := text; rest != ""; {
				n := min(n, len(rest))
				s.feed([]byte(rest[:n]), emit)
				rest = rest[n:]
				if len(s.line)+len(s.data) > 41 {
					t.Fatalf("%d bytes are kept", len(s.line)+len(s.data))
				}
			}
			return append(out, fmt.Sprint(s.end(emit)))
		}
		whole, pieces := run(len(text)+1), run(int(size)+1)
		if fmt.Sprint(whole) != fmt.Sprint(pieces) {
			t.Errorf("whole %q, in pieces %q", whole, pieces)
		}
	})
}
