package pcap

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/parsers/source"
)

// h2Side writes what one side of an HTTP/2 connection sends.
type h2Side struct {
	buf   bytes.Buffer
	block bytes.Buffer
	*http2.Framer
	enc *hpack.Encoder
}

func newSide() *h2Side {
	s := &h2Side{}
	s.Framer = http2.NewFramer(&s.buf, nil)
	s.AllowIllegalWrites = true
	s.enc = hpack.NewEncoder(&s.block)
	return s
}

// fields encodes "name", "value", … as a header block.
func (s *h2Side) fields(pairs ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = s.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

func (s *h2Side) head(stream uint32, end bool, pairs ...string) *h2Side {
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: s.fields(pairs...), EndStream: end, EndHeaders: true})
	return s
}

func (s *h2Side) data(stream uint32, end bool, text string) *h2Side {
	_ = s.WriteData(stream, end, []byte(text))
	return s
}

// post is a whole POST of a session.
func (s *h2Side) post(stream uint32, session, body string) *h2Side {
	s.head(stream, false, ":method", "POST", ":scheme", "http", ":path", "/mcp", ":authority", "x", "mcp-session-id", session, "content-type", "application/json")
	return s.data(stream, true, body)
}

func (s *h2Side) get(stream uint32, session string) *h2Side {
	return s.head(stream, true, ":method", "GET", ":scheme", "http", ":path", "/mcp", ":authority", "x", "mcp-session-id", session)
}

func (s *h2Side) ok(stream uint32, kind string) *h2Side {
	return s.head(stream, false, ":status", "200", "content-type", kind)
}

func (s *h2Side) settings() *h2Side { _ = s.WriteSettings(); return s }

func (s *h2Side) preface() *h2Side { s.buf.WriteString(http2.ClientPreface); return s.settings() }

// take returns what was written since the last call.
func (s *h2Side) take() string {
	text := s.buf.String()
	s.buf.Reset()
	return text
}

// h2Talk is a connection with both sides.
type h2Talk struct {
	*pcaptest.Conn
	up, down *h2Side
	at       time.Duration
}

// send writes what the sides have to say, the client first.
func (t *h2Talk) send() {
	t.at += 2 * ms
	if s := t.up.take(); s != "" {
		t.Send(t.at, toServer, s)
	}
	if s := t.down.take(); s != "" {
		t.Send(t.at+ms, toClient, s)
	}
}

// skip loses what the sides have to say.
func (t *h2Talk) skip() {
	t.at += 2 * ms
	t.Skip(toServer, len(t.up.take()))
	t.Skip(toClient, len(t.down.take()))
}

func talkH2(talk func(t *h2Talk)) pcaptest.Recording {
	return record(func(c *pcaptest.Conn) {
		t := &h2Talk{Conn: c, up: newSide(), down: newSide()}
		c.Open(0)
		t.up.preface()
		t.down.settings()
		t.send()
		talk(t)
		t.send()
	})
}

func shortLines(r result) []string {
	var out []string
	for _, l := range r.lines {
		out = append(out, strings.NewReplacer("http://10.0.0.1:8080", "", " 10.0.0.2:40000", "", "notifications/", "").Replace(l))
	}
	return out
}

const (
	jsonType = "application/json"
	sseType  = "text/event-stream"
)

func TestH2Streams(t *testing.T) {
	f := func(name string, talk func(t *h2Talk), want string) {
		t.Helper()
		t.Log(name)
		for _, segment := range []int{0, 1, 5, 9} {
			rec := talkH2(func(t *h2Talk) { t.Segment = segment; talk(t) })
			expect(t, shortLines(read(t, ether.Encode(rec.Packets))), want)
		}
	}
	f("streams mixed", func(t *h2Talk) {
		t.up.post(1, "a", call(7)).post(3, "b", call(7))
		t.down.ok(3, sseType).ok(1, sseType)
		t.send()
		t.down.data(1, false, sse(note(7))).data(3, false, sse(answer(7))[:20])
		t.send()
		t.down.data(1, true, sse(answer(7))).data(3, true, sse(answer(7))[20:])
	}, `
		1 opened POST /mcp id=a
		1 message client→server request tools/call 7
		2 opened POST /mcp id=b
		2 message client→server request tools/call 7
		2 head 200 absent
		1 head 200 absent
		1 message server→client notification progress
		1 message server→client result  7
		1 closed by server
		2 message server→client result  7
		2 closed by server`)
	f("padding, priority, CONTINUATION, extensions, interim heads and trailers", func(t *h2Talk) {
		block := t.up.fields(":method", "POST", ":scheme", "http", ":path", "/mcp?x=1", "mcp-session-id", "a")
		_ = t.up.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:5], PadLength: 7, Priority: http2.PriorityParam{StreamDep: 5, Weight: 3}})
		_ = t.up.WriteContinuation(1, false, block[5:6])
		_ = t.up.WriteContinuation(1, false, nil)
		_ = t.up.WriteContinuation(1, true, block[6:])
		_ = t.up.WriteRawFrame(0xbe, 0xff, 0, []byte("grease"))
		_ = t.up.WriteDataPadded(1, false, []byte(call(7)[:10]), make([]byte, 200))
		_ = t.up.WriteDataPadded(1, false, nil, make([]byte, 0))
		_ = t.up.WriteDataPadded(1, false, nil, make([]byte, 3))
		_ = t.up.WriteWindowUpdate(1, 100)
		_ = t.up.WriteWindowUpdate(0, 100)
		_ = t.up.WritePing(false, [8]byte{})
		t.up.data(1, false, call(7)[10:]).head(1, true, "x-check", "1")
		t.down.head(1, false, ":status", "103", "link", "x")
		t.down.ok(1, jsonType)
		_ = t.down.WriteDataPadded(1, false, []byte(answer(7)), make([]byte, 9))
		t.down.head(1, true, "x-end", "1")
	}, `
		1 opened POST /mcp id=a
		1 message client→server request tools/call 7
		1 head 200 absent
		1 message server→client result  7
		1 closed by server`)
	f("resets", func(t *h2Talk) {
		t.up.post(1, "a", call(1)).post(3, "a", call(3)).get(5, "a").post(7, "a", call(7))
		t.down.ok(3, sseType).ok(5, sseType)
		t.send()
		_ = t.up.WriteRSTStream(1, http2.ErrCodeCancel)
		_ = t.up.WriteRSTStream(3, http2.ErrCodeCancel)
		_ = t.down.WriteRSTStream(5, http2.ErrCodeInternal)
		t.send()
		t.down.data(3, true, sse(answer(3))) // reaches nobody
		t.down.ok(1, jsonType).data(1, true, answer(1))
		_ = t.down.WriteGoAway(5, http2.ErrCodeNo, []byte("bye"))
	}, `
		1 opened POST /mcp id=a
		1 message client→server request tools/call 1
		2 opened POST /mcp id=a
		2 message client→server request tools/call 3
		3 opened GET /mcp id=a
		4 opened POST /mcp id=a
		4 message client→server request tools/call 7
		2 head 200 absent
		3 head 200 absent
		1 closed by client
		2 closed by client
		3 closed by server
		4 closed by server`)
	f("an answer before the end of the request", func(t *h2Talk) {
		t.up.head(1, false, ":method", "POST", ":path", "/mcp")
		t.send()
		t.down.head(1, true, ":status", "413")
		_ = t.down.WriteRSTStream(1, http2.ErrCodeNo)
	}, `
		1 opened POST /mcp absent
		1 head 413 absent
		1 closed by server request-body`)
	f("pushes are not of MCP", func(t *h2Talk) {
		t.up.get(1, "a")
		_ = t.down.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: t.down.fields(":method", "GET", ":path", "/x"), EndHeaders: true})
		t.down.ok(1, sseType).ok(2, jsonType).data(2, true, answer(1)).data(1, false, sse(note(1)))
	}, `
		1 opened GET /mcp id=a
		1 head 200 absent
		1 message server→client notification progress
		1 closed by window`)
}

// Upgrade: h2c makes the request that asked for it stream 1.
func TestH2Upgrade(t *testing.T) {
	for _, segment := range []int{0, 1, 10} {
		rec := record(func(c *pcaptest.Conn) {
			c.Segment = segment
			up, down := newSide(), newSide()
			c.Open(0)
			c.Send(1*ms, toServer, "GET /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
			c.Send(2*ms, toClient, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"+down.settings().ok(1, sseType).take())
			c.Send(3*ms, toServer, up.preface().post(3, "a", call(7)).take())
			c.Send(4*ms, toClient, down.data(1, false, sse(note(1))).ok(3, jsonType).data(3, true, answer(7)).take())
			c.Close(5*ms, toServer)
		})
		expect(t, shortLines(read(t, ether.Encode(rec.Packets))), `
			1 opened GET /mcp id=a
			1 head 200 absent
			2 opened POST /mcp id=a
			2 message client→server request tools/call 7
			1 message server→client notification progress
			2 head 200 absent
			2 message server→client result  7
			2 closed by server
			1 closed by client`)
	}
}

// Settings that the server sends before the client's preface are no other protocol.
func TestH2ServerFirst(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toClient, newSide().settings().take())
		c.Send(2*ms, toServer, newSide().preface().get(1, "a").take())
	})
	expect(t, shortLines(read(t, ether.Encode(rec.Packets))), `
		1 opened GET /mcp id=a
		1 closed by window`)
}

// Header blocks that are made to cost time or memory cost neither.
func TestH2Bounds(t *testing.T) {
	f := func(name, problem string, talk func(t *h2Talk)) {
		t.Helper()
		rec := talkH2(func(t *h2Talk) {
			t.NoAck = true
			talk(t)
			t.send()
			t.up.get(8001, "z")
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := read(t, ether.Encode(rec.Packets))
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 64 {
			t.Errorf("%s: %d MiB were allocated", name, n)
		}
		if !slices.ContainsFunc(got.in[0].Stats.Problems, func(p source.Problem) bool { return strings.Contains(p.Text, problem) }) {
			t.Errorf("%s: problems %v, want %q", name, got.in[0].Stats.Problems, problem)
		}
		if !slices.ContainsFunc(got.lines, func(l string) bool { return strings.Contains(l, "opened GET") }) {
			t.Errorf("%s: the request behind it was not read:\n%s", name, strings.Join(got.lines[:min(9, len(got.lines))], "\n"))
		}
	}
	f("CONTINUATION without end", "a header block is larger than can be kept", func(t *h2Talk) {
		_ = t.up.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
		for range 100 {
			_ = t.up.WriteContinuation(1, false, bytes.Repeat([]byte{0x82}, 10000))
			t.send()
		}
		_ = t.up.WriteContinuation(1, true, nil)
	})
	f("a large field repeated", "", func(t *h2Talk) {
		block := t.up.fields(":method", "POST", ":path", "/mcp", "mcp-session-id", strings.Repeat("x", 3000))
		block = append(block, bytes.Repeat([]byte{0x80 | 62}, 200<<10)...)
		for n := 0; n < len(block); n += 16000 {
			part := block[n:min(len(block), n+16000)]
			if n == 0 {
				_ = t.up.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: part, EndStream: true})
			} else {
				_ = t.up.WriteContinuation(1, n+16000 >= len(block), part)
			}
			t.send()
		}
		t.up.buf.WriteString("\x00\x00\x01\x03\x00\x00\x00\x00\x01x") // so that there is a problem
		t.send()
	})
	f("a table larger than is followed", "a header block that cannot be decoded", func(t *h2Talk) {
		block := append([]byte{0x3f, 0xe1, 0xff, 0xff, 0x07}, t.up.fields(":method", "POST")...) // 16 MiB
		_ = t.up.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true})
	})
	f("streams without end", "more streams are open than can be kept", func(t *h2Talk) {
		for n := range uint32(maxStreams - 90) {
			t.up.get(2*n+1, "a")
		}
		for n := range uint32(100) {
			t.up.get(2*(maxStreams-200+n)+7000, "a")
			t.up.get(2*(maxStreams-200+n)+7001-7000+1000, "a")
		}
	})
}

// FuzzH2 feeds any bytes and holes as the frames of a connection.
func FuzzH2(f *testing.F) {
	s := newSide()
	f.Add([]byte(s.get(1, "a").post(3, "b", call(7)).take()), []byte(newSide().ok(1, sseType).data(1, false, sse(note(1))).ok(3, jsonType).data(3, true, answer(7)).take()), []byte{9, 30, 200})
	f.Add([]byte("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x01"), []byte("\x00\x00\x00\x04\x01\x00\x00\x00\x00"), []byte{3})
	f.Fuzz(func(t *testing.T, up, down, plan []byte) {
		rec := record(func(c *pcaptest.Conn) {
			if len(plan) > 0 && plan[0]&1 == 0 {
				c.Open(0)
				c.Send(1*ms, toServer, newSide().preface().take())
			}
			at := 2 * ms
			text := [2]string{string(up), string(down)}
			for n := 0; text[0]+text[1] != "" && n < 1000; n++ {
				dir, size, lose := pcaptest.Dir(n%2), 50, false
				if len(plan) > 0 {
					b := plan[n%len(plan)]
					size, lose = 1+int(b), b%7 == 3
				}
				size = min(size, len(text[dir]))
				if lose {
					c.Skip(dir, size)
				} else {
					c.Send(at, dir, text[dir][:size])
				}
				text[dir] = text[dir][size:]
				at += ms
			}
		})
		readWhole(t, ether.Encode(rec.Packets), nil)
	})
}
