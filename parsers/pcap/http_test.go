package pcap

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

func TestMessages(t *testing.T) {
	f := func(name string, talk func(c *pcaptest.Conn), want string) {
		t.Helper()
		t.Log(name)
		rec := record(func(c *pcaptest.Conn) { c.Open(0); talk(c) })
		expect(t, read(t, ether.Encode(rec.Packets)).lines, want)
	}
	f("pipelining", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, post("s", call(1))+post("s", call(2)))
		c.Send(2*ms, toClient, jsonResponse(answer(1))+"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 1
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		2 message client→server request tools/call 2
		1 head 200 absent
		1 message server→client result  1
		1 closed by server
		2 head 202 absent
		2 closed by server`)
	f("an answer before the end of the request", func(c *pcaptest.Conn) {
		whole := post("s", call(1))
		c.Send(1*ms, toServer, whole[:len(whole)-5])
		c.Send(2*ms, toClient, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		c.Send(3*ms, toServer, whole[len(whole)-5:])
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 head 413 absent
		1 message client→server request tools/call 1
		1 closed by server`)
	f("folded and odd fields, lines that end in LF", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\nMCP-Session-ID:\n  s 1\nno colon here\n\n")
		c.Send(2*ms, toClient, "HTTP/1.0 304 \n\n")
	}, `
		1 opened GET http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s 1
		1 head 304 absent
		1 closed by server`)
	f("upgrade to WebSocket", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		c.Send(2*ms, toClient, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x01x")
	}, `
		1 opened GET http://10.0.0.1:8080/mcp 10.0.0.2:40000 absent
		1 head 101 absent
		1 closed by server
		0 unreadable WebSocket 1 http://10.0.0.1:8080
		0 gap server→client a connection to this server is not readable
		0 gap client→server a connection to this server is not readable`)
	f("a tunnel through a proxy", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "CONNECT example.org:80 HTTP/1.1\r\nHost: example.org:80\r\n\r\n")
		c.Send(2*ms, toClient, "HTTP/1.1 200 Connection established\r\n\r\n")
		c.Send(3*ms, toServer, post("s", call(1)))
		c.Send(4*ms, toClient, jsonResponse(answer(1)))
	}, `
		1 opened CONNECT http://10.0.0.1:8080/ 10.0.0.2:40000 absent
		1 head 200 absent
		1 closed by server
		2 opened POST http://example.org:80[10.0.0.1:8080]/mcp 10.0.0.2:40000 id=s
		2 message client→server request tools/call 1
		2 head 200 absent
		2 message server→client result  1
		2 closed by server`)
	f("a tunnel that is refused", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "CONNECT example.org:80 HTTP/1.1\r\n\r\n")
		c.Send(2*ms, toClient, "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
		c.Send(3*ms, toServer, post("s", call(1)))
	}, `
		1 opened CONNECT http://10.0.0.1:8080/ 10.0.0.2:40000 absent
		1 head 407 absent
		1 closed by server
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		2 message client→server request tools/call 1
		2 closed by window`)
	f("TLS in a tunnel", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "CONNECT example.org:443 HTTP/1.1\r\n\r\n")
		c.Send(2*ms, toClient, "HTTP/1.1 200 OK\r\n\r\n")
		c.Send(3*ms, toServer, "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
	}, `
		1 opened CONNECT http://10.0.0.1:8080/ 10.0.0.2:40000 absent
		1 head 200 absent
		1 closed by server
		0 unreadable TLS 1 https://example.org:443[10.0.0.1:8080]`)
	f("something else in a tunnel", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "CONNECT example.org:22 HTTP/1.1\r\n\r\n")
		c.Send(2*ms, toClient, "HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n")
		c.Send(3*ms, toServer, post("s", call(1)))
	}, `
		1 opened CONNECT http://10.0.0.1:8080/ 10.0.0.2:40000 absent
		1 head 200 absent
		1 closed by server`)
	f("garbage between messages", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
		c.Send(3*ms, toServer, "~~~ garbage\n"+post("s", call(2)))
		c.Send(4*ms, toClient, jsonResponse(answer(2)))
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 1
		1 head 200 absent
		1 message server→client result  1
		1 closed by server
		1 gap client→server bytes that are no HTTP message
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		2 message client→server request tools/call 2 pairing
		2 head 200 absent pairing
		2 message server→client result  2 pairing
		2 closed by server pairing`)
	f("a broken chunk, and a stream that goes on", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, sseHead+chunk(sse(note(1)))+"xyz\r\n")
		c.Send(3*ms, toClient, chunk("\n\n"+sse(answer(1)))+"0\r\n\r\n")
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 1
		1 head 200 absent
		1 message server→client notification notifications/progress
		1 gap server→client a chunk of a body is broken response-body
		1 message server→client result  1 response-body
		1 closed by server response-body`)
	f("contradictory lengths", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"+answer(1))
		c.Close(3*ms, toClient)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 1
		1 head 200 absent
		1 message server→client result  1
		1 closed by server`)
	f("not HTTP", func(c *pcaptest.Conn) {
		c.Send(1*ms, toServer, "SSH-2.0-x\r\n")
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
	}, ``)
	f("a head over 256 KiB", func(c *pcaptest.Conn) {
		c.Segment = 60000
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\nX: "+strings.Repeat("x", 300<<10)+"\r\n\r\n"+post("s", call(1)))
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s start
		1 message client→server request tools/call 1 start
		1 closed by window start`)
}

func TestUnreadable(t *testing.T) {
	var rec pcaptest.Recording
	hello := "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
	for i := range 3 {
		c := rec.Conn(fmt.Sprintf("10.0.0.2:4000%d", i), "10.0.0.1:8443")
		c.Open(time.Duration(i) * ms)
		c.Send(time.Duration(i)*ms+100, toServer, hello)
	}
	c := rec.Conn("10.0.0.2:50001", "10.0.0.1:9443") // begun before the capture
	c.Send(11*ms, toClient, "\x17\x03\x03\x00\x20aaaaaaaaaaaaaaaaaaa")
	quic := append([]byte{0x45, 0, 4, 204, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 9, 0xc0, 0, 1, 187, 4, 184, 0, 0}, 0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6)
	dns := append(bytes.Clone(quic[:28]), 0xc3, 0, 0, 0, 1)
	dns[23] = 53
	rec.Packets = append(rec.Packets, pcaptest.Packet{NS: pcaptest.Base + 20e6, Raw: quic, Cut: 1228 - len(quic)}, pcaptest.Packet{NS: pcaptest.Base + 21e6, Raw: dns})
	expect(t, read(t, ether.Encode(rec.Packets)).lines, `
		0 unreadable TLS 1 https://10.0.0.1:8443
		0 unreadable TLS 1 https://10.0.0.1:9443
		0 unreadable QUIC 1 https://10.0.0.9:443
		0 unreadable TLS 2 https://10.0.0.1:8443`)
}

// Several captures are one recording: packets are merged by time, and those that
// two of them hold count once.
func TestSeveralFiles(t *testing.T) {
	rec := record(talk)
	var even, odd, late []pcaptest.Packet
	for i, p := range rec.Packets {
		if i%4 < 2 {
			even = append(even, p)
		} else {
			odd = append(odd, p)
		}
		if i > len(rec.Packets)/2 {
			late = append(late, p)
		}
	}
	f := func(files ...[]byte) result {
		t.Helper()
		got := read(t, files...)
		expect(t, got.lines, talked)
		return got
	}
	sll := pcaptest.File{Link: pcaptest.SLL2, NG: true, Nano: true}
	got := f(ether.Encode(even), sll.Encode(odd))
	if a, b := got.in[0].Stats, got.in[1].Stats; a.Events+b.Events != int64(len(got.events)) || a.Events == 0 || b.Events == 0 {
		t.Errorf("%d and %d events counted, %d yielded", a.Events, b.Events, len(got.events))
	}
	if first := got.events[0].At; first.Source != 1 || first.N != 2 { // the fourth packet
		t.Errorf("the first request is at %+v, want frame 2 of the second file", first)
	}
	f(ether.Encode(rec.Packets), sll.Encode(rec.Packets))
	f(ether.Encode(rec.Packets), sll.Encode(late), ether.Encode(nil))
	// The clock of the second file is 2 ms ahead: answers seem to come before questions.
	for i := range odd {
		odd[i].NS -= 2e6
	}
	rec2 := record(func(c *pcaptest.Conn) {
		for i := range 5 {
			if i == 0 {
				c.Open(0)
			}
			at := time.Duration(1+i*20) * ms
			c.Send(at, toServer, post("s", call(i)))
			c.Send(at+ms, toClient, jsonResponse(answer(i)))
		}
	})
	var up, down []pcaptest.Packet
	for _, p := range rec2.Packets {
		if p.Dst.Port() == 8080 {
			up = append(up, p)
		} else {
			p.NS -= 3e6
			down = append(down, p)
		}
	}
	skewed := read(t, ether.Encode(up), ether.Encode(down))
	straight := read(t, ether.Encode(rec2.Packets))
	expect(t, skewed.lines, strings.Join(straight.lines, "\n"))
}

func TestClamp(t *testing.T) {
	rec := record(talk)
	rec.Packets[5].NS -= 3600e9
	got := read(t, ether.Encode(rec.Packets))
	expect(t, got.lines, talked)
	if n := got.in[0].Stats.BackSteps; n != 1 {
		t.Errorf("%d back-steps, want 1", n)
	}
	for i := 1; i < len(got.events); i++ {
		if got.events[i].Time.To < got.events[i-1].Time.To {
			t.Errorf("event %d runs back", i)
		}
	}
}

func TestCounts(t *testing.T) {
	f := func(name string, file []byte, records, used, malformed int64, problem string) {
		t.Helper()
		s := read(t, file).in[0].Stats
		if s.Records != records || s.Used != used || s.Malformed != malformed {
			t.Errorf("%s: %d records, %d used, %d malformed; want %d, %d, %d", name, s.Records, s.Used, s.Malformed, records, used, malformed)
		}
		switch {
		case problem == "" && len(s.Problems) > 0:
			t.Errorf("%s: %v", name, s.Problems)
		case problem != "" && (len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Text, problem)):
			t.Errorf("%s: problems %v, want %q", name, s.Problems, problem)
		}
	}
	rec := record(func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
	})
	file := ether.Encode(rec.Packets)
	f("whole", file, 7, 2, 0, "")
	f("packets twice", ether.Encode(append(rec.Packets, rec.Packets...)), 14, 2, 0, "")
	f("cut in a packet", file[:len(file)-3], 7, 2, 1, "the file ends inside a packet of 54 bytes")
	f("cut in a record header", file[:len(file)-60], 7, 2, 1, "the file ends inside a record header, after 10 of 16 bytes")
	f("an impossible length", append(file[:len(file):len(file)], "....\x00\x00\x00\x00\xff\xff\xff\x7f...."...), 8, 2, 1, "a record says that it holds 2147483647 bytes")
	ng := pcaptest.File{Link: pcaptest.Ethernet, NG: true}
	bad := ng
	bad.Extra = ng.Block(6, []byte("\x09\x00\x00\x00aaaabbbb\x00\x00\x00\x00\x00\x00\x00\x00"))
	f("an unknown interface", bad.Encode(rec.Packets), 8, 2, 1, "a packet names interface 9, but the section describes 1")
	bad.Extra = ng.Block(6, []byte("\x00\x00\x00\x00aaaabbbb\x08\x00\x00\x00\x08\x00\x00\x00"))
	f("a packet larger than its block", bad.Encode(rec.Packets), 8, 2, 1, "a packet says that it holds 8 bytes, its block has 0")
	f("a cut block", ng.Encode(rec.Packets)[:200], 2, 0, 1, "the file ends inside a block")
	bad.Extra = []byte("\xad\x0b\x00\x00\xfe\xff\xff\xff....")
	f("a block that wraps", bad.Encode(rec.Packets), 1, 0, 1, "the file ends inside a block of 4294967294 bytes")
	frag := append(rec.Packets[:7:7], pcaptest.Packet{Raw: []byte{0x45, 0, 0, 20, 0, 0, 0x20, 0, 64, 6, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}}, pcaptest.Packet{Raw: []byte{0x45, 0, 0}})
	f("a fragment and a cut header", ether.Encode(frag), 9, 2, 1, "the headers of this packet")
	f("a link type of its own", pcaptest.File{Link: 147}.Encode(rec.Packets), 7, 0, 0, "")
}

// The rest of a cut file is a hole in every domain that was seen.
func TestCutFileIsAGap(t *testing.T) {
	rec := record(talk)
	file := ether.Encode(rec.Packets)
	got := read(t, file[:len(file)-3])
	last := got.events[len(got.events)-1]
	if last.Kind != event.Gap || last.Domain.Path != "/mcp" || last.At.N != int64(len(rec.Packets)) {
		t.Errorf("the last event is %s at %+v, want a gap at frame %d", got.lines[len(got.lines)-1], last.At, len(rec.Packets))
	}
}

func TestSniff(t *testing.T) {
	f := func(head string, want int) {
		t.Helper()
		if got := sniff([]byte(head), false); got != want {
			t.Errorf("%q: %d, want %d", head, got, want)
		}
	}
	f(string(ether.Header()), 100)
	f(string(pcaptest.File{Big: true, Nano: true}.Header()), 100)
	f(string(pcaptest.File{Mod: true}.Header()), 100)
	f(string(pcaptest.File{NG: true, Big: true}.Header()), 100)
	f("", 0)
	f("\n\r\r\n", 60)
	f("\n\r\r\n........", 0)
	f("{\"log\":{}}", 0)
}

// The connection table is bounded, and what it forgets is told.
func TestEviction(t *testing.T) {
	var rec pcaptest.Recording
	for i := range maxLive + 10 {
		c := rec.Conn(fmt.Sprintf("10.%d.%d.2:40000", i>>8&255, i&255), fmt.Sprintf("10.0.0.1:%d", 8000+i>>16))
		c.NoAck = true
		c.Send(time.Duration(i), toServer, "GET /mcp HTTP/1.1\r\n\r\n")
	}
	got := read(t, ether.Encode(rec.Packets))
	if n := got.in[0].Stats.Gaps; n != 10 {
		t.Errorf("%d gaps, want 10", n)
	}
	for _, ev := range got.events {
		if ev.Kind == event.Closed && ev.Loss&event.LossResponseBody == 0 {
			t.Fatalf("an exchange ended without telling that its answer was not seen")
		}
	}
}
