package pcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/parsers/source"
)

const (
	toServer = pcaptest.ToServer
	toClient = pcaptest.ToClient
	ms       = time.Millisecond
)

// inMemory is an input that lies in memory.
type inMemory []byte

func (m inMemory) Stream() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m)), nil }

func (m inMemory) Random() (source.RandomReader, int64, error) {
	return nil, 0, errors.New("cannot read in any order: a capture is read once")
}

// result is what reading a recording gave.
type result struct {
	lines  []string
	events []event.Event
	in     []*source.Input
}

func read(t testing.TB, files ...[]byte) result {
	t.Helper()
	return readWith(t, nil, files...)
}

// readWith reads with a key log.
func readWith(t testing.TB, keys *keylog.Log, files ...[]byte) result {
	t.Helper()
	var res result
	for i, f := range files {
		res.in = append(res.in, &source.Input{Path: fmt.Sprintf("%d.pcap", i), Index: int32(i), Opener: inMemory(f)})
	}
	r, err := Format.Open(res.in, source.Options{TLSKeys: keys})
	if err != nil {
		t.Fatalf("cannot open: %v", err)
	}
	defer r.Close()
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("cannot read: %v", err)
		}
		res.events = append(res.events, *ev)
		res.lines = append(res.lines, line(ev))
	}
	for _, in := range res.in {
		s := in.Stats
		if s.Records != s.Used+s.Ignored+s.Malformed {
			t.Errorf("%s: %d records, but %d used + %d ignored + %d malformed", in.Path, s.Records, s.Used, s.Ignored, s.Malformed)
		}
	}
	return res
}

// line is an event without time and place: what must not depend on how a
// conversation was captured.
func line(ev *event.Event) string {
	s := fmt.Sprintf("%d %s", ev.Exchange.N, ev.Kind)
	switch ev.Kind {
	case event.Opened:
		s += fmt.Sprintf(" %s %s%s %s %s", ev.HTTPMethod, ev.Domain.Server, ev.Domain.Path, ev.Sender.Conn, session(ev.Asked))
	case event.Message:
		s += fmt.Sprintf(" %s %s %s %s", ev.Dir, ev.RPC.Kind, ev.RPC.Method, ev.RPC.ID)
	case event.Head:
		s += fmt.Sprintf(" %d %s", ev.Status, session(ev.Answered))
	case event.Closed:
		s += " by " + ev.By.String()
	case event.Gap:
		s += fmt.Sprintf(" %s %s", ev.Dir, ev.Note)
	case event.Unreadable:
		s += fmt.Sprintf(" %s %d %s", ev.Note, ev.N, ev.Domain.Server)
	}
	return strings.TrimRight(s+" "+losses(ev.Loss), " ")
}

func session(s event.Session) string {
	return [...]string{"unknown", "absent", "id=" + s.ID}[s.State]
}

func losses(l event.Loss) string {
	names := []string{"request-body", "response-body", "headers", "start", "id-type", "redacted", "pairing", "time", "snap", "request"}
	var out []string
	for i, n := range names {
		if l&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return strings.Join(out, ",")
}

func expect(t *testing.T, got []string, want string) {
	t.Helper()
	var w []string
	for l := range strings.SplitSeq(strings.TrimSpace(want), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			w = append(w, l)
		}
	}
	if d := cmp.Diff(w, got); d != "" {
		t.Errorf("events differ (-want +got):\n%s", d)
	}
}

func post(session, body string) string {
	s := "POST /mcp HTTP/1.1\r\nHost: example.test\r\nContent-Type: application/json\r\n"
	if session != "" {
		s += "Mcp-Session-Id: " + session + "\r\n"
	}
	return s + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func call(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}`, id)
}

func answer(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id)
}

func jsonResponse(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

const sseHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func sse(body string) string { return "event: message\ndata: " + body + "\n\n" }

func note(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, n)
}

// talk is a conversation with most of what HTTP/1.1 offers.
func talk(c *pcaptest.Conn) {
	c.Open(0)
	c.Send(1*ms, toServer, post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`))
	c.Send(2*ms, toClient, "HTTP/1.1 200 OK\r\nMcp-Session-Id: s-1\r\nContent-Type: application/json\r\nContent-Length: 37\r\n\r\n"+`{"jsonrpc":"2.0","id":0,"result":{}} `)
	c.Send(10*ms, toServer, "POST /mcp HTTP/1.1\r\nmcp-session-id: s-1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	c.Send(11*ms, toClient, "HTTP/1.1 100 Continue\r\n\r\n")
	c.Send(12*ms, toServer, "1;ext=1\r\n{\r\n"+chunk(call(7)[1:])+"0\r\nTrailer: x\r\n\r\n")
	c.Send(13*ms, toClient, sseHead)
	c.Send(14*ms, toClient, chunk(sse(note(7))))
	c.Send(15*ms, toClient, chunk(": keepalive\n\n")+chunk(sse(answer(7)))+"0\r\n\r\n")
	c.Send(20*ms, toServer, "HEAD /mcp HTTP/1.1\r\n\r\n")
	c.Send(21*ms, toClient, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
	c.Send(22*ms, toServer, "\r\nDELETE /mcp HTTP/1.1\r\nMcp-Session-Id: s-1\r\n\r\n")
	c.Send(23*ms, toClient, "HTTP/1.1 204 No Content\r\n\r\n")
	c.Send(24*ms, toServer, post("s-1", call(8)))
	c.Send(25*ms, toClient, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"+answer(8))
	c.Close(26*ms, toClient)
}

const talked = `
	1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 absent
	1 message client→server request initialize 0
	1 head 200 id=s-1
	1 message server→client result  0
	1 closed by server
	2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s-1
	2 message client→server request tools/call 7
	2 head 200 absent
	2 message server→client notification notifications/progress
	2 message server→client result  7
	2 closed by server
	3 opened HEAD http://10.0.0.1:8080/mcp 10.0.0.2:40000 absent
	3 head 200 absent
	3 closed by server
	4 opened DELETE http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s-1
	4 head 204 absent
	4 closed by server
	5 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s-1
	5 message client→server request tools/call 8
	5 head 200 absent
	5 message server→client result  8
	5 closed by server`

func TestFileForms(t *testing.T) {
	var rec pcaptest.Recording
	talk(rec.Conn("10.0.0.2:40000", "10.0.0.1:8080"))
	f := func(form pcaptest.File) {
		t.Helper()
		got := read(t, form.Encode(rec.Packets))
		expect(t, got.lines, talked)
		first := got.events[0]
		if want := (event.Address{Unit: event.UnitFrame, N: 4}); first.At.N != want.N || first.At.Unit != want.Unit {
			t.Errorf("%+v: the first request is at %+v, want frame 4", form, first.At)
		}
		if want := int64(pcaptest.Base + 1*ms); form.Kind != 3 && first.Time != event.At(want) {
			t.Errorf("%+v: the first request is at %d, want %d", form, first.Time.To, want)
		}
	}
	for _, link := range []int{pcaptest.Ethernet, pcaptest.Null, pcaptest.Loop, pcaptest.Raw, pcaptest.RawBSD, pcaptest.RawOpen, pcaptest.IPv4, pcaptest.SLL, pcaptest.SLL2} {
		for _, big := range []bool{false, true} {
			for _, nano := range []bool{false, true} {
				f(pcaptest.File{Link: link, Big: big, Nano: nano})
				f(pcaptest.File{Link: link, Big: big, Nano: nano, NG: true})
			}
			f(pcaptest.File{Link: link, Big: big, Mod: true})
			f(pcaptest.File{Link: link, Big: big, TSO: true})
		}
	}
	f(pcaptest.File{Link: pcaptest.Ethernet, VLAN: []uint16{0x8100}})
	f(pcaptest.File{Link: pcaptest.Ethernet, VLAN: []uint16{0x88a8, 0x8100}})
	f(pcaptest.File{Link: pcaptest.SLL, VLAN: []uint16{0x8100}})
	f(pcaptest.File{Link: pcaptest.Ethernet, NG: true, Kind: 2})
	f(pcaptest.File{Link: pcaptest.Ethernet, NG: true, Kind: 3})
}

func TestIPv6(t *testing.T) {
	f := func(form pcaptest.File) {
		t.Helper()
		var rec pcaptest.Recording
		talk(rec.Conn("[fd00::2]:40000", "[fd00::1]:8080"))
		want := strings.NewReplacer("10.0.0.1:", "[fd00::1]:", "10.0.0.2:", "[fd00::2]:").Replace(talked)
		got := read(t, form.Encode(rec.Packets))
		expect(t, got.lines, want)
		if got.events[0].Sender.Peer != "fd00::2" {
			t.Errorf("peer is %q", got.events[0].Sender.Peer)
		}
	}
	for _, link := range []int{pcaptest.Ethernet, pcaptest.Null, pcaptest.Raw, pcaptest.IPv6, pcaptest.SLL, pcaptest.SLL2} {
		f(pcaptest.File{Link: link})
		f(pcaptest.File{Link: link, Big: true, TSO: true})
	}
}

func TestSections(t *testing.T) {
	var rec pcaptest.Recording
	talk(rec.Conn("10.0.0.2:40000", "10.0.0.1:8080"))
	half := len(rec.Packets) / 2
	a := pcaptest.File{Link: pcaptest.Ethernet, NG: true}
	b := pcaptest.File{Link: pcaptest.SLL2, NG: true, Big: true, Nano: true}
	dsb := a.Block(10, []byte("KSLT\x08\x00\x00\x00CLIENT_R"))
	file := append(a.Encode(rec.Packets[:half]), dsb...)
	file = append(file, a.Block(0x0bad, []byte("unknown block"))...)
	file = append(file, b.Encode(rec.Packets[half:])...)
	got := read(t, file)
	expect(t, got.lines, talked)
	if n := strings.Join(got.in[0].Stats.Notes, ""); !strings.Contains(n, "holds no TLS secret") {
		t.Errorf("the secrets block is not noted: %q", n)
	}
	if last := got.events[len(got.events)-1]; last.At.N != int64(len(rec.Packets)-2) {
		t.Errorf("the last event is at frame %d of %d", last.At.N, len(rec.Packets))
	}
}

func TestClockOfInterface(t *testing.T) {
	f := func(resol byte, offset int64, ticks uint64, want int64) {
		t.Helper()
		i := iface{resol: resol, offset: offset}
		if got := i.nanoseconds(ticks); got != want {
			t.Errorf("resolution %#x, offset %d, %d ticks: %d ns, want %d", resol, offset, ticks, got, want)
		}
	}
	f(6, 0, 1_700_000_000_123_456, 1_700_000_000_123_456_000)
	f(9, 0, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789)
	f(3, 10, 1_700_000_000_123, 1_700_000_010_123_000_000)
	f(12, 0, 1_700_000_000_123_456, 1_700_000_000_123)
	f(0x80|10, 0, 5<<10|512, 5_500_000_000)
	f(0x80, 0, 7, 7_000_000_000)
	f(6, 1<<62, 1, 0)
	f(6, -1<<63, 1, 0)
	f(6, -5, 1, 0)
	f(0x80|127, 0, 1<<63, 0)
	f(40, 0, 1<<63, 0)
	f(0, 0, 1<<63, 0)
}
