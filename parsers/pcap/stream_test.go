package pcap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

var ether = pcaptest.File{Link: pcaptest.Ethernet}

// record makes a recording of one connection.
func record(talk func(c *pcaptest.Conn)) pcaptest.Recording {
	var rec pcaptest.Recording
	talk(rec.Conn("10.0.0.2:40000", "10.0.0.1:8080"))
	return rec
}

func TestSegmentation(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 7, 16, 100} {
		rec := pcaptest.Recording{ISN: 0xffffff00} // sequence numbers wrap
		c := rec.Conn("10.0.0.2:40000", "10.0.0.1:8080")
		c.Segment = size
		talk(c)
		expect(t, read(t, ether.Encode(rec.Packets)).lines, talked)
	}
}

// Every single cut of a chunked stream gives the same events.
func TestChunkSplits(t *testing.T) {
	stream := sseHead + chunk(sse(note(7))) + "5;a=b\r\n: x\n\n\r\n" + chunk(sse(answer(7))) + "0\r\nT: 1\r\n\r\n" + jsonResponse(answer(8))
	for cut := 1; cut < len(stream); cut++ {
		rec := record(func(c *pcaptest.Conn) {
			c.Open(0)
			c.Send(ms, toServer, post("s", call(7))+post("s", call(8)))
			c.Send(2*ms, toClient, stream[:cut])
			c.Send(3*ms, toClient, stream[cut:])
		})
		expect(t, messages(read(t, ether.Encode(rec.Packets))), `
			1 message client→server request tools/call 7
			2 message client→server request tools/call 8
			1 message server→client notification notifications/progress
			1 message server→client result  7
			2 message server→client result  8`)
		if t.Failed() {
			t.Fatalf("cut at %d", cut)
		}
	}
}

func messages(r result) []string {
	return slices.DeleteFunc(r.lines, func(l string) bool { return !strings.Contains(l, " message ") && !strings.Contains(l, " gap ") })
}

// A message has the time and frame of the byte that completes it.
func TestPlaceOfMessage(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.NoAck = true
		c.Open(0)                                     // 1-3
		c.Send(1*ms, toServer, post("s", call(7)))    // 4
		c.Send(2*ms, toClient, sseHead)               // 5
		whole := chunk(sse(note(7)) + sse(answer(7))) //
		end := strings.Index(whole, "\n\n") + 2       //
		c.Send(3*ms, toClient, whole[:end-1])         // 6
		c.Send(4*ms, toClient, whole[end-1:end+9])    // 7
		c.Send(5*ms, toClient, whole[end+9:])         // 8
		c.Send(6*ms, toClient, "0\r\n\r\n")           // 9
	})
	got := read(t, ether.Encode(rec.Packets))
	f := func(n int, wantFrame int64, want time.Duration) {
		t.Helper()
		ev := got.events[n]
		if ev.At.N != wantFrame || ev.Time != event.At(pcaptest.Base+int64(want)) {
			t.Errorf("%s: frame %d at %d, want frame %d at %d", got.lines[n], ev.At.N, ev.Time.To-pcaptest.Base, wantFrame, want)
		}
	}
	f(0, 4, 1*ms)
	f(1, 4, 1*ms)
	f(2, 5, 2*ms)
	f(3, 7, 4*ms)
	f(4, 8, 5*ms)
	f(5, 9, 6*ms)
	size := len(ether.Header()) + 3*(16+54)
	if got.events[0].At.Offset != int64(size) {
		t.Errorf("offset %d, want %d", got.events[0].At.Offset, size)
	}
}

// Packets that come twice, late or overlapping change nothing.
func TestDisorder(t *testing.T) {
	f := func(name string, change func(p []pcaptest.Packet) []pcaptest.Packet) {
		t.Helper()
		rec := record(func(c *pcaptest.Conn) { c.Segment = 90; talk(c) })
		got := read(t, ether.Encode(change(rec.Packets)))
		t.Log(name)
		expect(t, got.lines, talked)
	}
	f("every packet twice", func(p []pcaptest.Packet) []pcaptest.Packet {
		var out []pcaptest.Packet
		for _, x := range p {
			out = append(out, x, x)
		}
		return out
	})
	f("data repeated later", func(p []pcaptest.Packet) []pcaptest.Packet {
		var out []pcaptest.Packet
		for i, x := range p {
			if out = append(out, x); i >= 9 {
				out = append(out, p[i-5])
			}
		}
		return out
	})
	f("neighbours swapped", func(p []pcaptest.Packet) []pcaptest.Packet {
		for i := 4; i+1 < len(p); i += 2 {
			p[i], p[i+1] = p[i+1], p[i]
			p[i].NS, p[i+1].NS = p[i+1].NS, p[i].NS
		}
		return p
	})
	f("other neighbours swapped", func(p []pcaptest.Packet) []pcaptest.Packet {
		for i := 3; i+1 < len(p); i += 2 {
			p[i], p[i+1] = p[i+1], p[i]
			p[i].NS, p[i+1].NS = p[i+1].NS, p[i].NS
		}
		return p
	})
	f("handshake late", func(p []pcaptest.Packet) []pcaptest.Packet {
		p[0], p[1], p[2], p[3] = p[1], p[0], p[3], p[2]
		return p
	})
	f("overlap with other content: the first wins", func(p []pcaptest.Packet) []pcaptest.Packet {
		var out []pcaptest.Packet
		for _, x := range p {
			out = append(out, x)
			if len(x.Payload) > 3 {
				y := x
				y.Payload = []byte(strings.Repeat("!", len(x.Payload)))
				out = append(out, y)
			}
		}
		return out
	})
}

func TestKeptOverlap(t *testing.T) {
	a := &assembler{}
	var h half
	put := func(seq uint32, s string) { h.insert(a, piece{seq: seq, n: len(s), data: []byte(s)}) }
	put(10, "kkk")
	put(20, "uuu")
	put(8, "..........................") // 8 to 33
	put(0, "0123456789abcdef")
	var b strings.Builder
	next := uint32(0)
	for _, p := range h.buf {
		if p.seq != next {
			t.Errorf("a piece begins at %d, want %d", p.seq, next)
		}
		b.Write(p.data)
		next = p.end()
	}
	if got, want := b.String(), "01234567..kkk.......uuu..........."; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	for len(h.buf) > 0 {
		h.take(a)
	}
	if h.held != 0 || a.ahead != 0 {
		t.Errorf("%d and %d bytes are still counted", h.held, a.ahead)
	}
}

func TestHoles(t *testing.T) {
	f := func(name string, talk func(c *pcaptest.Conn), want string) {
		t.Helper()
		t.Log(name)
		rec := record(talk)
		expect(t, read(t, ether.Encode(rec.Packets)).lines, want)
	}
	f("inside a body of known length", func(c *pcaptest.Conn) {
		c.Open(0)
		body := jsonResponse(answer(7))
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, body[:len(body)-20])
		c.Skip(toClient, 10)
		c.Send(3*ms, toClient, body[len(body)-10:])
		c.Send(20*ms, toServer, post("s", call(8)))
		c.Send(21*ms, toClient, jsonResponse(answer(8)))
		c.Close(22*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 head 200 absent
		1 gap server→client 10 bytes were not captured response-body
		1 closed by server response-body
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		2 message client→server request tools/call 8
		2 head 200 absent
		2 message server→client result  8
		2 closed by server`)
	f("inside a chunk", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\nMcp-Session-Id: s\r\n\r\n")
		c.Send(2*ms, toClient, sseHead)
		two := chunk(sse(note(1)) + sse(note(2)) + sse(note(3)))
		c.Send(3*ms, toClient, two[:100])
		c.Skip(toClient, 60)
		c.Send(4*ms, toClient, two[160:])
		c.Close(50*ms, toServer)
	}, `
		1 opened GET http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 head 200 absent
		1 gap server→client 60 bytes were not captured response-body
		1 message server→client notification notifications/progress  response-body
		1 closed by client response-body`)
	f("whole chunks of a stream", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\nMcp-Session-Id: s\r\n\r\n")
		c.Send(2*ms, toClient, sseHead)
		c.Send(3*ms, toClient, chunk(sse(note(1))))
		c.Skip(toClient, len(chunk(sse(note(2))))) // and the event behind it is not trusted to be whole
		c.Send(4*ms, toClient, chunk(sse(note(3))))
		c.Send(5*ms, toClient, chunk(sse(note(4))))
		c.Close(50*ms, toServer)
	}, `
		1 opened GET http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 head 200 absent
		1 message server→client notification notifications/progress
		1 gap server→client 122 bytes were not captured response-body
		1 message server→client notification notifications/progress  response-body
		1 closed by client response-body`)
	f("a whole request", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, jsonResponse(answer(7)))
		c.Skip(toServer, len(post("s", call(8))))
		c.Send(20*ms, toClient, jsonResponse(answer(8)))
		c.Send(30*ms, toServer, post("s", call(9)))
		c.Send(31*ms, toClient, jsonResponse(answer(9)))
		c.Close(40*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 head 200 absent
		1 message server→client result  7
		1 closed by server
		1 gap client→server 181 bytes were not captured
		2 opened  http://10.0.0.1:8080/mcp 10.0.0.2:40000 unknown request-body,headers,pairing,request
		2 head 200 unknown request-body,headers,pairing,request
		2 message server→client result  8 request-body,headers,pairing,request
		2 closed by server request-body,headers,pairing,request
		3 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		3 message client→server request tools/call 9 pairing
		3 head 200 absent pairing
		3 message server→client result  9 pairing
		3 closed by server pairing`)
	f("a whole response", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Skip(toClient, len(jsonResponse(answer(7))))
		c.Send(20*ms, toServer, post("s", call(8)))
		c.Send(21*ms, toClient, jsonResponse(answer(8)))
		c.Close(40*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 gap server→client 119 bytes were not captured
		1 closed by server response-body,headers,pairing
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		2 message client→server request tools/call 8 pairing
		2 head 200 absent pairing
		2 message server→client result  8 pairing
		2 closed by server pairing`)
	f("the end of a stream, the next request and the head of its stream", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, sseHead+chunk(sse(note(7))))
		c.Skip(toClient, len(chunk(sse(answer(7)))+"0\r\n\r\n"))
		c.Skip(toServer, len(post("s", call(8))))
		c.Skip(toClient, len(sseHead))
		c.Send(20*ms, toClient, chunk(sse(note(8)))) // looks as if the first stream went on
		c.Send(21*ms, toClient, chunk(sse(answer(8)))+"0\r\n\r\n")
		c.Close(40*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 head 200 absent
		1 message server→client notification notifications/progress
		1 gap server→client 162 bytes were not captured response-body
		1 gap client→server 181 bytes were not captured
		1 closed by unknown response-body,pairing`)
	f("the first request", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Skip(toServer, 300)
		c.Send(20*ms, toClient, jsonResponse(answer(7)))
		c.Send(21*ms, toServer, post("s", call(8)))
		c.Send(22*ms, toClient, jsonResponse(answer(8)))
	}, `
		1 opened  http://10.0.0.1:8080/ 10.0.0.2:40000 unknown request-body,headers,start,pairing,request
		1 gap unknown 300 bytes were not captured before the first message of the connection
		1 head 200 unknown request-body,headers,start,pairing,request
		1 message server→client result  7 request-body,headers,start,pairing,request
		1 closed by server request-body,headers,start,pairing,request
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		2 message client→server request tools/call 8 pairing
		2 head 200 absent pairing
		2 message server→client result  8 pairing
		2 closed by server pairing`)
	f("at the end", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, sseHead+chunk(sse(note(1))))
		c.Skip(toClient, 200)
		c.Ack(3*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 head 200 absent
		1 message server→client notification notifications/progress
		1 gap server→client 200 bytes were not captured response-body
		1 closed by window response-body`)
	f("a lost FIN is no hole", func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, jsonResponse(answer(7)))
		c.Skip(toClient, 1)
		c.Ack(30*ms, toServer)
		c.Fin(40*ms, toServer)
	}, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 7
		1 head 200 absent
		1 message server→client result  7
		1 closed by server`)
}

// A packet that was never acknowledged is awaited only as long as the bounds allow.
func TestBoundsOfDisorder(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.NoAck = true
		c.Open(0)
		c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\n\r\n")
		c.Send(2*ms, toClient, sseHead+chunk(sse(note(0))))
		c.Skip(toClient, 122)
		for i := range 80 {
			c.Send(time.Duration(3+i)*ms, toClient, chunk(sse(note(i))))
		}
	})
	got := messages(read(t, ether.Encode(rec.Packets)))
	// The first event behind a hole may be the end of another one and is not read.
	if len(got) != 81 || !strings.Contains(got[1], "gap") {
		t.Errorf("%d messages and gaps, want 80 messages and a gap behind the first:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestSnapLength(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, jsonResponse(answer(7)))
		c.Close(3*ms, toServer)
	})
	f := func(snap int, want string) {
		t.Helper()
		form := ether
		form.Snap = snap
		expect(t, read(t, form.Encode(rec.Packets)).lines, want)
	}
	f(54+80, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 unknown headers,snap
		1 gap client→server the snap length cut 101 bytes request-body,headers,snap
		1 head 200 unknown request-body,headers,pairing,snap
		1 gap server→client the snap length cut 39 bytes request-body,response-body,headers,pairing,snap
		1 closed by server request-body,response-body,headers,pairing,snap`)
	f(54+130, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 gap client→server the snap length cut 51 bytes request-body
		1 head 200 absent request-body,snap
		1 message server→client result  7 request-body,snap
		1 closed by server request-body,snap`)
	f(40, ``)
}

func TestMidStream(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Send(1*ms, toClient, "ee\r\n\r\n")
		c.Send(2*ms, toClient, "data: rest of an earlier answer\n\n\r\n0\r\n\r\n")
		c.Send(3*ms, toServer, post("s", call(7)))
		c.Send(4*ms, toClient, jsonResponse(answer(7)))
		c.Send(5*ms, toServer, post("s", call(8)))
		c.Send(6*ms, toClient, jsonResponse(answer(8)))
		c.Close(7*ms, toServer)
	})
	expect(t, read(t, ether.Encode(rec.Packets)).lines, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s start
		1 message client→server request tools/call 7 start
		1 head 200 absent start
		1 message server→client result  7 start
		1 closed by server start
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		2 message client→server request tools/call 8
		2 head 200 absent
		2 message server→client result  8
		2 closed by server`)
}

// An answer that cannot be found is not "never answered".
func TestMidStreamWithoutAnswer(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Send(1*ms, toClient, "rest of an earlier answer")
		c.Send(3*ms, toServer, post("s", call(7)))
		c.Send(5*ms, toServer, post("s", call(8)))
	})
	expect(t, read(t, ether.Encode(rec.Packets)).lines, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s start
		1 message client→server request tools/call 7 start
		1 closed by server response-body,headers,start,pairing
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		2 message client→server request tools/call 8 pairing
		2 closed by window pairing`)
}

func TestOneDirection(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(7)))
		c.Send(2*ms, toClient, jsonResponse(answer(7)))
		c.Send(30*ms, toServer, post("s", call(8)))
		c.Send(31*ms, toClient, jsonResponse(answer(8)))
		c.Close(40*ms, toServer)
	})
	only := func(port uint16) []byte {
		p := slices.DeleteFunc(slices.Clone(rec.Packets), func(p pcaptest.Packet) bool { return p.Src.Port() != port })
		return ether.Encode(p)
	}
	got := read(t, only(40000)).lines
	for _, l := range got {
		if strings.Contains(l, "closed") && !strings.Contains(l, "response-body,headers") {
			t.Errorf("the answers were not captured, but an exchange says nothing of it: %s", l)
		}
	}
	if n := len(messages(result{lines: slices.Clone(got)})); n != 3 {
		t.Errorf("two requests and a gap expected:\n%s", strings.Join(got, "\n"))
	}
	got = read(t, only(8080)).lines
	if len(got) != 10 || !strings.Contains(got[0], "unknown request-body,headers,start,pairing,request") {
		t.Errorf("two responses without requests and two gaps expected:\n%s", strings.Join(got, "\n"))
	}
}

func TestWhoClosed(t *testing.T) {
	f := func(name, want string, end func(c *pcaptest.Conn)) {
		t.Helper()
		rec := record(func(c *pcaptest.Conn) {
			c.Open(0)
			c.Send(1*ms, toServer, post("s", call(7)))
			end(c)
		})
		got := read(t, ether.Encode(rec.Packets)).lines
		if last := got[len(got)-1]; last != want {
			t.Errorf("%s: %q, want %q", name, last, want)
		}
	}
	f("client FIN before an answer", "1 closed by client", func(c *pcaptest.Conn) { c.Close(100*ms, toServer) })
	f("client RST before an answer", "1 closed by client", func(c *pcaptest.Conn) { c.Reset(100*ms, toServer) })
	f("client FIN inside an answer", "1 closed by client", func(c *pcaptest.Conn) { c.Send(2*ms, toClient, sseHead); c.Close(100*ms, toServer) })
	f("server FIN before an answer", "1 closed by server", func(c *pcaptest.Conn) { c.Close(100*ms, toClient) })
	f("server RST inside an answer", "1 closed by server", func(c *pcaptest.Conn) { c.Send(2*ms, toClient, sseHead); c.Reset(100*ms, toClient) })
	f("nobody", "1 closed by window", func(c *pcaptest.Conn) { c.Send(2*ms, toClient, sseHead) })
	f("what the server sends to a client that left", "1 closed by client", func(c *pcaptest.Conn) {
		c.Send(2*ms, toClient, sseHead)
		c.Fin(50*ms, toServer)
		c.Send(51*ms, toClient, chunk(sse(answer(7)))+"0\r\n\r\n")
		c.Reset(52*ms, toServer)
	})
	f("an answer to a client that left", "1 closed by client", func(c *pcaptest.Conn) {
		c.Fin(50*ms, toServer)
		c.Send(51*ms, toClient, jsonResponse(answer(7)))
	})
	f("half-close", "1 closed by server", func(c *pcaptest.Conn) {
		c.Fin(ms+100*time.Microsecond, toServer)
		c.Send(50*ms, toClient, jsonResponse(answer(7)))
		c.Fin(51*ms, toClient)
	})
	f("half-close without an answer", "1 closed by client", func(c *pcaptest.Conn) {
		c.Fin(ms+100*time.Microsecond, toServer)
		c.Fin(51*ms, toClient)
	})
}

func TestPortReuse(t *testing.T) {
	var rec pcaptest.Recording
	for n, end := range []func(c *pcaptest.Conn, at time.Duration){
		func(c *pcaptest.Conn, at time.Duration) { c.Close(at, toServer) },
		func(c *pcaptest.Conn, at time.Duration) { c.Reset(at, toServer) },
		func(*pcaptest.Conn, time.Duration) {}, // its end was not captured
		func(c *pcaptest.Conn, at time.Duration) { c.Close(at, toServer) },
	} {
		rec.ISN = uint32(1000 * (n + 1))
		c := rec.Conn("10.0.0.2:40000", "10.0.0.1:8080")
		at := time.Duration(n) * time.Second
		c.Open(at)
		c.Send(at+1*ms, toServer, post("s", call(n)))
		end(c, at+20*ms)
	}
	var got []string
	for _, ev := range read(t, ether.Encode(rec.Packets)).events {
		if ev.Kind == event.Closed {
			got = append(got, fmt.Sprintf("%s %s", ev.Sender.Conn, ev.By))
		}
	}
	expect(t, got, `
		10.0.0.2:40000 client
		10.0.0.2:40000#2 client
		10.0.0.2:40000#3 unknown
		10.0.0.2:40000#4 client`)
}
