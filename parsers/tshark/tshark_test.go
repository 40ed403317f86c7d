package tshark

import (
	"bytes"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

var kinds = []struct {
	ext    string
	format source.Format
}{{"json", JSON}, {"ek", EK}, {"pdml", PDML}}

func unpack(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var place = regexp.MustCompile(` (frame|line) \d+@\d+`)

// The three exports of one capture, written by tshark 4.0.17, say the same.
func TestGolden(t *testing.T) {
	for _, capture := range []string{"h1", "h2"} {
		golden := "testdata/" + capture + ".golden"
		for _, k := range kinds {
			raw := unpack(t, "testdata/"+capture+"."+k.ext+".gz")
			in := exchangetest.Input(raw)
			lines, err := exchangetest.Read(k.format, in)
			if err != nil {
				t.Fatal(err)
			}
			if s := in.Stats; s.Malformed > 0 || len(s.Problems) > 0 || s.Records != s.Used+s.Ignored || s.BackSteps > 0 {
				t.Errorf("%s %s: %+v", capture, k.ext, s)
			}
			if n := k.format.Sniff(raw[:min(len(raw), source.HeadForSniff)], false); n < 90 {
				t.Errorf("%s %s is recognised with %d", capture, k.ext, n)
			}
			for _, other := range kinds {
				if other.ext != k.ext && other.format.Sniff(raw[:min(len(raw), source.HeadForSniff)], false) > 0 {
					t.Errorf("%s %s is taken for %s", capture, k.ext, other.ext)
				}
			}
			got := place.ReplaceAllString(strings.Join(lines, "\n"), "") + "\n"
			if *update && k.ext == "json" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s %s:\n%s", capture, k.ext, d)
			}
		}
	}
}

// jsonOf makes an export of packets whose layers are given.
func jsonOf(layers ...string) []byte {
	return []byte(`[{"_source":{"layers":` + strings.Join(layers, `}},{"_source":{"layers":`) + `}}]`)
}

const (
	frame1 = `"frame":{"frame.number":"1","frame.time_epoch":"1796003480.5"},"ip":{"ip.src":"10.0.0.1","ip.dst":"10.0.0.2"},"tcp":{"tcp.srcport":"4000","tcp.dstport":"80","tcp.stream":"0"}`
	frame2 = `"frame":{"frame.number":"2","frame.time_epoch":"1796003481.5"},"ip":{"ip.src":"10.0.0.2","ip.dst":"10.0.0.1"},"tcp":{"tcp.srcport":"80","tcp.dstport":"4000","tcp.stream":"0"}`
	post   = `"http":{"POST":{"http.request.method":"POST","http.request.uri":"/mcp"},"http.request.line":"Content-Type: application/json\r\n","http.request.line":"Mcp-Session-Id: S1\r\n","http.file_data":"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"}`
	ok     = `"http":{"200":{"http.response.code":"200"},"http.response.line":"Content-Type: text/event-stream\r\n","http.request_in":"1","http.file_data":"%"}`
)

func TestShapes(t *testing.T) {
	f := func(raw []byte, wants ...string) {
		t.Helper()
		in := exchangetest.Input(raw)
		lines, err := exchangetest.Read(JSON, in)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(append(lines, in.Stats.Notes...), problems(&in.Stats)...), "\n")
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%q is missing in:\n%s", want, all)
			}
		}
	}
	answer := func(body string) string { return strings.Replace(ok, "%", body, 1) }
	two := func(body string) []byte { return jsonOf("{"+frame1+","+post+"}", "{"+frame2+","+answer(body)+"}") }
	// the head came at any time up to the end, the last event completed the answer
	f(two(`data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n`),
		"01:51:20.500000…01:51:21.500000 head", `01:51:20.500000…01:51:21.500000 message`, `01:51:21.500000 message x1 frame 2@`, `id="7"`, "by=unknown")
	// newer versions write bodies in hex
	f(two(`64:61:74:61:3a:20:7b:22:6a:73:6f:6e:72:70:63:22:3a:22:32:2e:30:22:2c:22:69:64:22:3a:37:2c:22:72:65:73:75:6c:74:22:3a:7b:7d:7d:0a:0a`), `rpc=result id="7"`)
	// bytes that the text has lost are said to be lost
	f(two(`data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":\"ü\"}}\n\n`), "damaged bytes over 0x7F")
	// an answer that is not there is no answer that was never given
	f(jsonOf("{"+frame1+","+post+"}"), "closed", "by=unknown bytes=-1", "streams that were still open")
	f(jsonOf("{"+frame2+","+answer("x")+"}"), "whose request is not in the export")
	// an answer goes to the request whose frame it names, though an earlier one waits
	three := strings.Replace(frame1, `"frame.number":"1"`, `"frame.number":"3"`, 1)
	f(jsonOf("{"+frame1+","+post+"}", "{"+three+","+post+"}", "{"+frame2+","+strings.Replace(answer(`data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n`), `_in":"1"`, `_in":"3"`, 1)+"}"),
		"message x2 frame 2@")
	// a head without its lines is one whose fields are not known
	headless := strings.Join(read(t, JSON, jsonOf("{"+frame1+`,"http":{"http.request.method":"GET","http.request.uri":"/mcp"}}`, "{"+frame2+`,"http":{"http.response.code":"200"}}`)), "\n")
	if strings.Contains(headless, `asked="-"`) || strings.Contains(headless, `answered="-"`) {
		t.Errorf("a header that is not in the export is taken for absent:\n%s", headless)
	}
	// what the dissector has missed, and what the capture has cut
	f(jsonOf("{"+frame1+","+post+"}", `{"frame":{"frame.len":"100","frame.cap_len":"50"}}`), "only the beginning of a packet")
	f(jsonOf("{"+frame1+","+post+"}", `{"tcp":{"tcp.stream":"0","x":{"tcp.analysis.lost_segment":""}}}`), "missed bytes")
	f(jsonOf(`{"http":{"filtered":"http"}}`), "export with -J")
	f(jsonOf(`{"http":{"http.request.method":"GET","http.request.uri":"/mcp"}}`), "leaves out the layers ip and tcp")
	// HTTP/2: the frame that ends a body shows all of it again
	h2 := func(kind, flags, length, more string) string {
		return `"http2":{"http2.stream":{"http2.length":"` + length + `","http2.type":"` + kind + `","http2.flags":"` + flags + `","http2.streamid":"1"` + more + `}}`
	}
	get := `,"http2.header":{"http2.header.name":":method","http2.header.value":"GET"},"http2.header":{"http2.header.name":":path","http2.header.value":"/mcp"}`
	head := `,"http2.header":{"http2.header.name":":status","http2.header.value":"200"},"http2.header":{"http2.header.name":"content-type","http2.header.value":"text/event-stream"}`
	event := `,"http2.data.data":"64:61:74:61:3a:20:7b:22:6a:73:6f:6e:72:70:63:22:3a:22:32:2e:30:22:2c:22:69:64:22:3a:37:2c:22:72:65:73:75:6c:74:22:3a:7b:7d:7d:0a:0a"`
	stream := jsonOf("{"+frame1+","+h2("1", "0x05", "9", get)+"}", "{"+frame2+","+h2("1", "0x04", "9", head)+"}", "{"+frame2+","+h2("0", "0x00", "44", event)+"}", "{"+frame2+","+h2("0", "0x01", "0", event)+"}")
	f(stream, "by=server bytes=44", `rpc=result id="7"`)
	f(jsonOf("{"+frame1+","+h2("1", "0x05", "9", get)+"}", "{"+frame1+","+h2("3", "0x00", "4", "")+"}"), "by=client")
	f(jsonOf("{"+frame1+","+h2("1", "0x05", "9", get)+"}", "{"+frame2+","+h2("0", "0x00", "44", "")+"}"), "leaves out the contents of a frame")
	if n := strings.Count(strings.Join(read(t, JSON, stream), "\n"), "message"); n != 1 {
		t.Errorf("%d messages, want one: the body that is shown again must not count twice", n)
	}
}

func read(t *testing.T, f source.Format, raw []byte) []string {
	t.Helper()
	lines, err := exchangetest.Read(f, exchangetest.Input(raw))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func problems(s *source.Stats) (texts []string) {
	for _, p := range s.Problems {
		texts = append(texts, p.Text)
	}
	return texts
}

func TestHostile(t *testing.T) {
	f := func(format source.Format, raw, want string) {
		t.Helper()
		in := exchangetest.Input([]byte(raw))
		if _, err := exchangetest.Read(format, in); err != nil {
			t.Fatal(err)
		}
		s := &in.Stats
		if all := strings.Join(problems(s), "\n"); !strings.Contains(all, want) {
			t.Errorf("%.60s: problems %q, want %q", raw, all, want)
		}
		if s.Records != s.Used+s.Ignored+s.Malformed || want != "" && s.Gaps == 0 {
			t.Errorf("%.60s: %+v", raw, s)
		}
	}
	whole := string(jsonOf("{" + frame1 + "," + post + "}"))
	f(JSON, whole, "")
	f(JSON, whole[:len(whole)-1], "")
	f(JSON, whole[:len(whole)-9], "cut by the end")
	f(JSON, `[{"_source":1},`, "no layers")
	f(JSON, `[{"_source":{"layers":{"http":`+strings.Repeat(`{"a":`, 600)+`1`+strings.Repeat("}", 600)+`}}}]`, "nested deeper")
	f(JSON, `[{"a":,}]`, "no valid JSON")
	f(JSON, `[1}`, "no JSON object")
	f(EK, `{"timestamp":"1","layers":{"http":{"http_http_request_method":"GET"`, "no valid JSON")
	f(PDML, `<pdml><packet><proto name="http"><field name="http.request.method" show="GET"/></proto></packet></pdml>`, "")
	f(PDML, `<pdml><packet><proto name="http"><field name="http.request.method" show="GET"/>`, "cut or no XML")
	f(PDML, `<pdml><packet>`+strings.Repeat("<field>", 600)+strings.Repeat("</field>", 600)+`</packet></pdml>`, "nested deeper")
	bomb := `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>`
	f(PDML, bomb+`<pdml><packet><proto name="http"><field name="http.request.method" show="&b;"/></proto></packet></pdml>`, "cut or no XML")
	f(PDML, `<pdml><packet><proto name="http"><field name="x" show="&file;"/></proto></packet></pdml>`, "cut or no XML")
}

// A value without an end takes no more memory than the limit.
func TestEndlessValue(t *testing.T) {
	b := &bounded{Reader: endless{}}
	x := newPDML(&reader{in: exchangetest.Input(nil), stats: &source.Stats{}}, io.MultiReader(strings.NewReader(`<pdml x="`), b)).(*pdmlPackets)
	b.left = 1 << 20
	x.in.left = 1 << 30
	if _, err := x.dec.RawToken(); err == nil || !strings.Contains(err.Error(), errLong.Error()) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func fuzz(f *testing.F, format source.Format, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a := exchangetest.Input(raw)
		one, err := exchangetest.Read(format, a)
		if err != nil {
			t.Fatal(err)
		}
		two, _ := exchangetest.Read(format, exchangetest.Input(raw))
		if d := cmp.Diff(one, two); d != "" {
			t.Fatal(d)
		}
		if s := a.Stats; s.Records != s.Used+s.Ignored+s.Malformed || s.Events != int64(len(one)) {
			t.Fatalf("%+v, %d events", s, len(one))
		}
		format.Sniff(raw, true)
	})
}

func FuzzJSON(f *testing.F) {
	fuzz(f, JSON, jsonOf("{"+frame1+","+post+"}", "{"+frame2+","+ok+"}"), unpack(f, "testdata/h2.json.gz")[:2000])
}

func FuzzEK(f *testing.F) {
	raw := unpack(f, "testdata/h2.ek.gz")
	fuzz(f, EK, raw[:bytes.LastIndexByte(raw[:4000], '\n')], []byte(`{"layers":{"http2":{"http2_http2_type":["1","0"],"http2_http2_streamid":["1","3"],"http2_http2_header_count":"9","http2_http2_header_name":["a"]}}}`))
}

func FuzzPDML(f *testing.F) {
	fuzz(f, PDML, unpack(f, "testdata/h1.pdml.gz")[:4000], []byte(`<pdml><packet><proto name="http2"><field name="http2.type" show="1"/></proto></packet></pdml>`))
}
