package tshark

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// An export without HTTP says what it holds instead and how to export it, once.
func TestHints(t *testing.T) {
	f := func(name string, format source.Format, raw, want string) {
		t.Helper()
		in := exchangetest.Input([]byte(raw))
		if format.Sniff([]byte(raw), true) == 0 {
			t.Errorf("%s: not recognised", name)
		}
		if _, err := exchangetest.Read(format, in); err != nil {
			t.Fatal(err)
		}
		if notes := in.Stats.Notes; len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%s: %q, want %q", name, notes, want)
		}
	}
	packet := func(more string) string { return string(jsonOf("{" + frame1 + more + "}")) }
	tls := func(more string) string {
		return strings.Replace(packet(more), `"tcp.stream":"0"`, `"tcp.stream":"0","tcp.payload":"16:03:01"`, 1)
	}
	const filtered = `"frame":{"filtered": "frame"},"ip":{"filtered": "ip"},"tcp":{"filtered": "tcp"}`
	f("TLS", JSON, tls(`,"tls":{"tls.record":{}}`), "did not decrypt: 1; export with -o tls.keylog_file")
	f("HTTP/2", JSON, strings.Replace(packet(""), `"tcp.stream":"0"`, `"tcp.stream":"0","tcp.payload":"50:52:49:20:2a:20:48"`, 1), "-d tcp.port==80,http2")
	f("another port", JSON, strings.Replace(packet(""), `"tcp.stream":"0"`, `"tcp.stream":"0","tcp.payload":"47:45:54"`, 1), "no HTTP in 1 packets")
	f("-j http", JSON, string(jsonOf("{"+filtered+`,"http":{"POST /mcp":{"filtered": "POST /mcp"},"http.host":"h"}}`)), "-J instead of -j")
	f("-j tcp", JSON, string(jsonOf("{"+filtered+"}")), "-J 'frame ip tcp http http2'")
	f("-e", JSON, string(jsonOf(`{"frame.number":["1"],"http.request.method":["GET"]}`)), "without -e")
	f("jsonraw", JSON, string(jsonOf(`{"frame_raw":["00",0,1,0,1],"frame":{"frame.number_raw":["",0,0,0,7]}}`)), "-T jsonraw")
	f("ek -j http", EK, `{"timestamp":"1796003480500","layers":{"frame":{"filtered":"frame"},"tcp":{"filtered":"tcp"},"http":{"text":[{"filtered":"text"}],"http_http_host":{"filtered":"http.host"}}}}`, "-J instead of -j")
	f("ek TLS", EK, `{"timestamp":"1796003480500","layers":{"frame":{"frame_frame_number":"1"},"ip":{"ip_ip_src":"10.0.0.1","ip_ip_dst":"10.0.0.2"},"tcp":{"tcp_tcp_srcport":"4000","tcp_tcp_dstport":"80"},"tls":{}}}`, "did not decrypt: 1;")
	f("pdml -j http", PDML, `<pdml><packet><proto name="tcp"><field name="filtered" value="tcp"/></proto><proto name="http"><field name="" show="POST"><field name="filtered" value="text"/></field></proto></packet></pdml>`, "-J instead of -j")
}

// Connections in TLS beside those that were decrypted are told of the server that both lead to.
func TestSealedBeside(t *testing.T) {
	other := func(frame, port, layer string) string {
		s := strings.Replace(frame, `"4000"`, port, 1)
		return "{" + strings.Replace(s, `"tcp.stream":"0"`, `"tcp.stream":"`+strings.Trim(port, `"`)+`"`, 1) + layer + "}"
	}
	const tls = `,"tls":{"tls.record":{}}`
	lines, err := exchangetest.Read(JSON, exchangetest.Input(jsonOf(
		"{"+frame1+tls+","+post+"}", other(frame1, `"4001"`, tls), other(frame1, `"4001"`, tls), other(frame2, `"4002"`, tls), // begun before the capture: the server speaks first
	)))
	if err != nil {
		t.Fatal(err)
	}
	last := lines[len(lines)-1]
	if !strings.Contains(last, event.Unreadable.String()) || !strings.Contains(last, `"http://10.0.0.2:80"`) || strings.Count(strings.Join(lines, "\n"), "unreadable") != 1 {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}
