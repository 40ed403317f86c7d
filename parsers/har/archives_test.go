package har

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// A dump that mitmdump 11.0.2 has written between real clients and a real server.
func TestMitmproxyGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/mitmproxy.flows")
	if err != nil {
		t.Fatal(err)
	}
	in := exchangetest.Input(raw)
	lines, err := exchangetest.Read(Mitmproxy, in)
	if err != nil {
		t.Fatal(err)
	}
	if s := in.Stats; s.Malformed > 0 || s.Records != s.Used || Mitmproxy.Sniff(raw, true) < 90 {
		t.Errorf("%+v, recognised with %d", s, Mitmproxy.Sniff(raw, true))
	}
	got := strings.Join(lines, "\n") + "\n"
	const path = "testdata/mitmproxy.golden"
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
}

// session is one exchange that tests write into every kind of archive.
type session struct {
	start            time.Time
	wait, receive    time.Duration
	method, url      string
	reqHead, resHead [][2]string
	body, answer     string
	status           int
}

func sessions() []session {
	start := time.Date(2026, 7, 19, 22, 20, 43, 5e6, time.UTC)
	mcp := [][2]string{{"Accept", "application/json, text/event-stream"}, {"Content-Type", "application/json"}, {"Mcp-Session-Id", "S1"}}
	return []session{
		{start, 2e6, 1e6, "POST", "http://notes.example:8080/mcp", mcp[:2], [][2]string{{"Content-Type", "application/json"}, {"Mcp-Session-Id", "S1"}},
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
			`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, 200},
		{start.Add(2e9), 50e6, 400e6, "POST", "http://notes.example:8080/mcp?a=b", mcp, [][2]string{{"Content-Type", "text/event-stream"}},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"q":"Zürich"}}}`,
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":\"Zürich\"}}\n\n", 200},
		{start.Add(2100e6), 1e6, 0, "POST", "http://notes.example:8080/mcp", mcp, nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", 202},
	}
}

func rawMessage(first string, head [][2]string, body string) string {
	for _, f := range head {
		first += "\r\n" + f[0] + ": " + f[1]
	}
	return first + "\r\n\r\n" + body
}

func (s *session) raw() (request, response string) {
	u, _ := url.Parse(s.url)
	return rawMessage(s.method+" "+u.RequestURI()+" HTTP/1.1", s.reqHead, s.body), rawMessage(fmt.Sprintf("HTTP/1.1 %d OK", s.status), s.resHead, s.answer)
}

func asHAR(all []session, files map[string]string) []byte {
	var entries []m
	for _, s := range all {
		fields := func(head [][2]string) (list []any) {
			for _, f := range head {
				list = append(list, m{"name": f[0], "value": f[1]})
			}
			return list
		}
		keep := func(body string) m {
			if body == "" {
				return m{"text": "", "encoding": "base64"}
			}
			if files == nil {
				return m{"text": base64.StdEncoding.EncodeToString([]byte(body)), "encoding": "base64"}
			}
			name := fmt.Sprintf("%040x.json", len(files))
			files[name] = body
			return m{"_file": name, "mimeType": "x"}
		}
		entries = append(entries, m{
			"startedDateTime": s.start.Format(time.RFC3339Nano), "time": ms(int64(s.wait + s.receive)),
			"timings":  m{"send": 0, "wait": ms(int64(s.wait)), "receive": ms(int64(s.receive))},
			"request":  m{"method": s.method, "url": s.url, "headers": fields(s.reqHead), "bodySize": len(s.body), "postData": keep(s.body)},
			"response": m{"status": s.status, "headers": fields(s.resHead), "content": keep(s.answer)},
		})
	}
	return archive(entries...)
}

func zipped(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		f, err := w.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(members[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asZip(t testing.TB, all []session) []byte {
	files := map[string]string{}
	har := asHAR(all, files)
	members := []string{"har.har", string(har)}
	for name, body := range files {
		members = append(members, name, body)
	}
	return zipped(t, members...)
}

func asSAZ(t testing.TB, all []session) []byte {
	members := []string{"[Content_Types].xml", "<x/>"}
	for i, s := range all {
		request, response := s.raw()
		u, _ := url.Parse(s.url)
		request = strings.Replace(request, " "+u.RequestURI()+" ", " "+s.url+" ", 1)
		stamp := func(d time.Duration) string { return s.start.Add(d).Format("2006-01-02T15:04:05.0000000-07:00") }
		meta := fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Session SID="%d"><SessionTimers ClientBeginRequest="%s" ServerBeginResponse="%s" ServerDoneResponse="%s" /><SessionFlags><SessionFlag N="x-clientport" V="5%d" /><SessionFlag N="x-clientip" V="127.0.0.1" /></SessionFlags></Session>`,
			i+1, stamp(0), stamp(s.wait), stamp(s.wait+s.receive), i)
		members = append(members, fmt.Sprintf("raw/%d_c.txt", i+1), request, fmt.Sprintf("raw/%d_s.txt", i+1), response, fmt.Sprintf("raw/%d_m.xml", i+1), "\xEF\xBB\xBF"+meta)
	}
	return zipped(t, members...)
}

func asBurp(all []session) []byte {
	out := `<?xml version="1.0"?><!DOCTYPE items [<!ELEMENT items (item*)><!ATTLIST items burpVersion CDATA "">]><items burpVersion="2026.1" exportTime="Sun Jul 19 23:00:00 UTC 2026">`
	for _, s := range all {
		request, response := s.raw()
		b64 := base64.StdEncoding.EncodeToString
		out += fmt.Sprintf(`<item><time>%s</time><url><![CDATA[%s]]></url><host ip="10.0.0.1">notes.example</host><port>8080</port><request base64="true"><![CDATA[%s]]></request><status>%d</status><response base64="true"><![CDATA[%s]]></response></item>`,
			s.start.Format("Mon Jan 2 15:04:05 UTC 2006"), s.url, b64([]byte(request)), s.status, b64([]byte(response)))
	}
	return []byte(out + `</items>`)
}

func tn(v any) string {
	put := func(kind, data string) string { return fmt.Sprintf("%d:%s%s", len(data), data, kind) }
	switch v := v.(type) {
	case string:
		return put(",", v)
	case int:
		return put("#", fmt.Sprint(v))
	case float64:
		return put("^", fmt.Sprintf("%.6f", v))
	case []any:
		all := ""
		for _, e := range v {
			all += tn(e)
		}
		return put("]", all)
	case [][2]any: // a dictionary in its order
		all := ""
		for _, e := range v {
			all += put(";", e[0].(string)) + tn(e[1])
		}
		return put("}", all)
	}
	return "0:~"
}

func asFlows(all []session) []byte {
	out := ""
	for _, s := range all {
		u, _ := url.Parse(s.url)
		fields := func(head [][2]string) (list []any) {
			for _, f := range head {
				list = append(list, []any{f[0], f[1]})
			}
			return list
		}
		at := func(d time.Duration) float64 { return float64(s.start.Add(d).UnixMicro()) / 1e6 }
		out += tn([][2]any{
			{"type", "http"}, {"client_conn", [][2]any{{"peername", []any{"127.0.0.1", 4000}}, {"id", "c1"}}},
			{"request", [][2]any{{"method", s.method}, {"scheme", "http"}, {"host", u.Hostname()}, {"port", 8080}, {"path", u.RequestURI()}, {"headers", fields(s.reqHead)}, {"content", s.body}, {"timestamp_start", at(0)}}},
			{"response", [][2]any{{"status_code", s.status}, {"headers", fields(s.resHead)}, {"content", s.answer}, {"timestamp_start", at(s.wait)}, {"timestamp_end", at(s.wait + s.receive)}}},
			{"error", nil},
		})
	}
	return []byte(out)
}

// Every kind of archive says the same of the same exchanges as a HAR does.
func TestSameAsHAR(t *testing.T) {
	all := sessions()
	f := func(format source.Format, raw []byte, differ string) {
		t.Helper()
		if n := format.Sniff(raw[:min(len(raw), source.HeadForSniff)], true); n < 60 {
			t.Errorf("%s is recognised with %d", format.Name, n)
		}
		in := exchangetest.Input(raw)
		got, err := exchangetest.Read(format, in)
		if err != nil {
			t.Fatal(err)
		}
		if s := in.Stats; s.Records != 3 || s.Used != 3 || len(s.Problems) > 0 {
			t.Errorf("%s: %+v", format.Name, s)
		}
		want, err := exchangetest.Read(Format, exchangetest.Input(asHAR(all, nil)))
		if err != nil {
			t.Fatal(err)
		}
		own := regexp.MustCompile(`@\d+|\[10\.0\.0\.1\]| (conn|peer)="[^"]*"` + differ)
		clean := func(lines []string) string { return own.ReplaceAllString(strings.Join(lines, "\n"), "") }
		if d := cmp.Diff(clean(want), clean(got)); d != "" {
			t.Errorf("%s (-har +%s):\n%s", format.Name, format.Name, d)
		}
	}
	f(Zip, asZip(t, all), "")
	f(SAZ, asSAZ(t, all), "")
	f(Mitmproxy, asFlows(all), "")
	lines, err := exchangetest.Read(Burp, exchangetest.Input(asBurp(all)))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{`id="7"`, `asked="S1"`, "22:20:43.000000 opened", "22:20:45.000000 closed", `method="initialize"`, `answered="S1"`} {
		if !strings.Contains(text, want) {
			t.Errorf("burp: %q is missing in:\n%s", want, text)
		}
	}
	for _, l := range lines {
		if !strings.Contains(l, fmt.Sprintf("loss=%v", event.LossTime)) {
			t.Errorf("burp gives an order that it does not have: %s", l)
		}
	}
}

func TestBurpTime(t *testing.T) {
	f := func(s string, zone int, want string, zoned bool) {
		t.Helper()
		ns, z, ok := burpTime(s, zone)
		got := ""
		if ok {
			got = time.Unix(0, ns).UTC().Format(time.RFC3339)
		}
		if got != want || z != zoned {
			t.Errorf("%s: %s %v, want %s %v", s, got, z, want, zoned)
		}
	}
	f("Sun Jul 19 22:20:43 UTC 2026", 7200, "2026-07-19T22:20:43Z", true)
	f("Sun Jul 19 22:20:43 CEST 2026", 7200, "2026-07-19T20:20:43Z", false)
	f("Sun Jul 19 22:20:43 CEST 2026", 0, "2026-07-19T22:20:43Z", false)
	f("2026-07-19T22:20:43Z", 0, "2026-07-19T22:20:43Z", true)
	f("yesterday", 0, "", true)
}

func TestHostileArchives(t *testing.T) {
	f := func(format source.Format, raw []byte, want string) {
		t.Helper()
		in := exchangetest.Input(raw)
		_, err := exchangetest.Read(format, in)
		s := &in.Stats
		text := fmt.Sprint(err)
		for _, p := range s.Problems {
			text += "\n" + p.Text
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s %.40q: %s, want %q", format.Name, raw, text, want)
		}
		if err == nil && s.Records != s.Used+s.Ignored+s.Malformed {
			t.Errorf("%s: %+v", format.Name, s)
		}
	}
	// lengths that promise what is not there
	f(Mitmproxy, []byte("999999999999:4:type;4:http,}"), "")
	f(Mitmproxy, []byte("9999999999999:x}"), "no dump of flows")
	f(Mitmproxy, []byte("-1:x}"), "no dump of flows")
	f(Mitmproxy, []byte("12:4:type;9:http,}"), "no tnetstring")
	f(Mitmproxy, []byte("15:4:type;99:http,}"), "no tnetstring")
	f(Mitmproxy, []byte("5:1:a;}}5:1:a;}}"), "no tnetstring")
	f(Mitmproxy, append(asFlows(sessions()), "50:4:type;"...), "cut")
	f(Mitmproxy, append(asFlows(sessions()), "junk"...), "no dump of flows")
	// XML that wants to grow, to fetch, or to go on for ever
	const head = `<!DOCTYPE items [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><items burpVersion="1">`
	f(Burp, []byte(head+`<item><time>&b;</time></item></items>`), "no XML of Burp")
	f(Burp, []byte(head+`<item><time>&f;</time></item></items>`), "no XML of Burp")
	f(Burp, []byte(head+`<item><time>Sun Jul 19 22:20:43 UTC 2026</time>`), "cut by the end")
	f(Burp, []byte(head+`<item><time>Sun Jul 19 22:20:43 UTC 2026</time><request base64="true">*</request></item></items>`), "cannot decode the request")
	f(Burp, []byte(head+`<item><time>Sun Jul 19 22:20:43 UTC 2026</time><request>GET</request></item></items>`), "is no HTTP")
	f(Burp, []byte(head+`<item/></items>`), "without a time")
	f(Burp, []byte(`<items burpVersion="1">`+strings.Repeat("<a>", 600)), "no XML of Burp")
	// zips
	f(Zip, []byte("PK\x03\x04 and nothing"), "cannot open as zip")
	f(Zip, zipped(t, "../../har.har", "{}"), "no har.har")
	f(Zip, zipped(t, "har.har", "{}", "har.har", "{}"), "two members")
	f(Zip, zipped(t, "har.har", string(archive(call(base, 9, "response.content", m{"_file": "../../../etc/passwd"})))), "no member")
	f(Zip, zipped(t, "har.har", string(archive(call(base, 9, "response.content", m{"_file": "big"}))), "big", strings.Repeat("a", source.MaxRecord+1)), "over 64 MiB")
	f(Zip, zipped(t, "har.har", strings.Repeat(" ", 80<<20)), "grows more than 1000 times")
	f(SAZ, zipped(t, "raw/x.txt", ""), "no sessions of Fiddler")
	f(SAZ, zipped(t, "raw/1_c.txt", strings.Repeat("a", source.MaxRecord/2+1)), "over 32 MiB")
	f(SAZ, zipped(t, "raw/1_c.txt", "GET http://h/ HTTP/1.1\r\n\r\n"), "without the time")
	f(SAZ, zipped(t, "raw/1_c.txt", "junk", "raw/1_m.xml", "<Session>"), "no HTTP")
	f(SAZ, zipped(t, "raw/1_c.txt", "GET / HTTP/1.1", "raw/1_m.xml", "<Session &x;>"), "no XML")
}

// A zip whose directory lies about sizes is counted by what comes out of it.
func TestZipThatLies(t *testing.T) {
	raw := zipped(t, "har.har", string(archive(call(base, 9, "response.content", m{"_file": "b"}))), "b", strings.Repeat("a", 5000))
	i := bytes.LastIndex(raw, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(raw[i+24:], 10) // its uncompressed size
	in := exchangetest.Input(raw)
	if _, err := exchangetest.Read(Zip, in); err != nil || len(in.Stats.Problems) == 0 {
		t.Errorf("%v, %v", err, in.Stats.Problems)
	}
}

// A HAR whose stamps are whole seconds gives no order within a second, and one whose
// bodies lie in files that are not there says so.
func TestWhatWritersLeaveOut(t *testing.T) {
	f := func(raw []byte, wants ...string) {
		t.Helper()
		in := exchangetest.Input(raw)
		lines, err := exchangetest.Read(Format, in)
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprint(lines, in.Stats.Notes, in.Stats.Problems)
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%q is missing in %s", want, all)
			}
		}
	}
	f(archive(call("2026-07-19T22:20:43+02:00", 9), call("2026-07-19T22:20:44+02:00", 9), call("2026-07-19T22:20:44+02:00", 9, "request.url", "http://h/x")),
		"whole seconds", "20:20:43.000000 opened", fmt.Sprintf("loss=%v", event.LossTime))
	f(archive(call(base, 9, "response.content", m{"_file": "x.json"})), "lies in a file beside the archive")
	f(archive(call(base, 9, "response.content", m{"size": -1, "mimeType": "text/event-stream"}, "response.headers", []any{m{"name": "content-type", "value": "text/event-stream"}})), "event streams without a body")
}

func fuzzArchive(f *testing.F, format source.Format, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := exchangetest.Input(raw)
		one, err := exchangetest.Read(format, a)
		format.Sniff(raw, true)
		if err != nil {
			return // no archive at all
		}
		two, _ := exchangetest.Read(format, exchangetest.Input(raw))
		if d := cmp.Diff(one, two); d != "" {
			t.Fatal(d)
		}
		if s := a.Stats; s.Records != s.Used+s.Ignored+s.Malformed || s.Events != int64(len(one)) {
			t.Fatalf("%+v, %d events", s, len(one))
		}
	})
}

func FuzzMitmproxy(f *testing.F) { fuzzArchive(f, Mitmproxy, asFlows(sessions()[:1])) }

func FuzzBurp(f *testing.F) { fuzzArchive(f, Burp, asBurp(sessions()[:1])) }

func FuzzZip(f *testing.F) { fuzzArchive(f, Zip, asZip(f, sessions()[:1])) }

func FuzzSAZ(f *testing.F) { fuzzArchive(f, SAZ, asSAZ(f, sessions()[:1])) }

// FuzzSession reads what lies in the members of a session archive.
func FuzzSession(f *testing.F) {
	s := sessions()[1]
	request, response := s.raw()
	f.Add(request, response, `<SessionTimers ClientBeginRequest="2026-07-19T22:20:43Z"/>`)
	f.Add("POST /mcp HTTP/1.1\nTransfer-Encoding: chunked\n\n5\r\nab", "HTTP/1.1 200", "")
	f.Fuzz(func(t *testing.T, c, s, meta string) {
		in := exchangetest.Input(zipped(t, "raw/1_c.txt", c, "raw/1_s.txt", s, "raw/1_m.xml", meta))
		if _, err := exchangetest.Read(SAZ, in); err != nil {
			t.Fatal(err)
		}
		if s := in.Stats; s.Records != 1 || s.Records != s.Used+s.Ignored+s.Malformed {
			t.Fatalf("%+v", s)
		}
	})
}
