package pcap

import (
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"golang.org/x/net/http2"
)

// What is missing costs no more than it must, and all of it is told.
func TestH2Holes(t *testing.T) {
	f := func(name string, talk func(t *h2Talk), want string) {
		t.Helper()
		t.Log(name)
		for _, segment := range []int{0, 1, 9, 30} {
			rec := talkH2(func(t *h2Talk) { t.Segment = segment; talk(t) })
			lines := slices.DeleteFunc(shortLines(read(t, ether.Encode(rec.Packets))), func(l string) bool {
				return strings.HasSuffix(l, "bytes behind a hole, whose place is not known")
			})
			expect(t, lines, want)
		}
	}
	f("a header block that does not go on", func(t *h2Talk) {
		block := t.up.fields(":method", "POST", ":path", "/mcp")
		_ = t.up.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
		t.up.get(3, "a")
		t.down.ok(3, sseType)
	}, `
		1 opened GET / id=a headers,request
		1 head 200 unknown headers,request
		1 closed by window headers,request`)
	f("garbage, then frames", func(t *h2Talk) {
		t.up.get(1, "a")
		t.down.ok(1, sseType)
		t.send()
		t.down.buf.WriteString("\x00\x00\x07\x03\x00\x00\x00\x00\x01garbage")
		t.send()
		t.down.data(1, false, sse(note(1))).data(1, true, sse(note(2)))
	}, `
		1 opened GET /mcp id=a
		1 head 200 absent
		1 gap server→client bytes that are no HTTP/2 frame
		1 gap server→client bytes that are no HTTP/2 frame response-body
		1 message server→client notification progress  response-body
		1 closed by server response-body`)
	f("inside the data of one stream", func(t *h2Talk) {
		t.up.get(1, "a").post(3, "b", call(7))
		t.down.ok(1, sseType).ok(3, sseType)
		t.send()
		whole := t.down.data(3, false, sse(note(1))+sse(note(2))).data(1, false, sse(note(3))).take()
		t.Send(t.at+2*ms, toClient, whole[:30])
		t.Skip(toClient, 50)
		t.Send(t.at+3*ms, toClient, whole[80:])
		t.Ack(t.at+4*ms, toServer)
		t.at += 20 * ms
		t.down.data(3, true, sse(answer(7)))
	}, `
		1 opened GET /mcp id=a
		2 opened POST /mcp id=b
		2 message client→server request tools/call 7
		1 head 200 absent
		2 head 200 absent
		2 gap server→client 50 bytes were not captured response-body
		2 message server→client notification progress  response-body
		1 message server→client notification progress
		2 message server→client result  7 response-body
		2 closed by server response-body
		1 closed by window`)
	f("whole frames of the server", func(t *h2Talk) {
		t.up.get(1, "a").post(3, "b", call(7))
		t.down.ok(1, sseType)
		t.send()
		t.down.ok(3, sseType).data(3, false, sse(note(1)))
		t.skip()
		t.down.data(1, false, sse(note(3))).data(1, false, sse(note(4))).data(3, false, sse(note(5))).data(3, true, sse(answer(7)))
	}, `
		1 opened GET /mcp id=a
		2 opened POST /mcp id=b
		2 message client→server request tools/call 7
		1 head 200 absent
		2 gap server→client 136 bytes were not captured
		1 gap server→client 136 bytes were not captured response-body
		2 gap server→client 136 bytes were not captured response-body
		1 message server→client notification progress  response-body
		2 closed by server response-body,headers
		1 closed by window response-body`)
	f("a whole request", func(t *h2Talk) {
		t.up.post(1, "a", call(1))
		t.down.ok(1, jsonType).data(1, true, answer(1))
		t.send()
		t.up.post(3, "b", call(2))
		t.skip()
		t.up.post(5, "a", call(3))
		t.down.ok(3, jsonType).data(3, true, answer(2)).ok(5, jsonType).data(5, true, answer(3))
	}, `
		1 opened POST /mcp id=a
		1 message client→server request tools/call 1
		1 head 200 absent
		1 message server→client result  1
		1 closed by server
		1 gap client→server 95 bytes were not captured
		2 opened POST /mcp unknown headers,request
		2 message client→server request tools/call 3 headers,request
		3 opened  /mcp unknown request-body,headers,request
		3 head 200 unknown request-body,headers,request
		3 message server→client result  2 request-body,headers,request
		3 closed by server request-body,response-body,headers,request
		2 head 200 unknown headers,request
		2 message server→client result  3 headers,request
		2 closed by server headers,request`)
	f("a reset", func(t *h2Talk) {
		t.up.post(1, "a", call(1))
		t.down.ok(1, sseType)
		t.send()
		_ = t.up.WriteRSTStream(1, http2.ErrCodeCancel)
		t.skip()
		_ = t.up.WritePing(false, [8]byte{})
		t.send()
		t.Close(t.at+5*ms, toServer)
	}, `
		1 opened POST /mcp id=a
		1 message client→server request tools/call 1
		1 head 200 absent
		1 gap client→server 13 bytes were not captured
		1 closed by unknown`)
}

// A connection that began before the capture is read from its first frame on:
// fields that its tables held are unknown, not absent.
func TestH2MidConnection(t *testing.T) {
	talk := func(begin int) []pcaptest.Packet {
		rec := talkH2(func(t *h2Talk) {
			t.up.get(1, "a")
			t.down.ok(1, sseType)
			t.send()
			t.up.post(3, "a", call(7))
			t.down.ok(3, jsonType).data(3, true, answer(7))
			t.send()
			t.down.data(1, false, sse(note(1)))
			t.send()
			t.up.post(5, "a", call(8)) // all from the table
			t.down.ok(5, jsonType).data(5, true, answer(8))
			t.send()
			t.up.post(7, "b", call(9)) // the session stands in the clear
			t.down.head(7, false, ":status", "202").data(7, true, "")
			t.send()
			t.up.post(9, "b", call(10)) // the session was learnt since the capture began
			t.down.head(9, true, ":status", "202")
		})
		return rec.Packets[begin:]
	}
	f := func(name string, begin int, want string) {
		t.Helper()
		t.Log(name)
		expect(t, shortLines(read(t, ether.Encode(talk(begin)))), want)
	}
	f("before a request", 11, `
		1 opened POST / unknown headers,start,request
		1 message client→server request tools/call 7 headers,start,request
		1 head 200 unknown headers,start,request
		1 message server→client result  7 headers,start,request
		1 closed by server headers,start,request
		2 opened  / unknown request-body,headers,request
		2 message server→client notification progress  request-body,headers,request`+strings.NewReplacer("X", "3", "Y", "4", "Z", "5").Replace(end)+`
		2 closed by window request-body,response-body,headers,request`)
	f("before data, when nobody is known to be the server", 15, strings.Replace(strings.NewReplacer("X", "1", "Y", "2", "Z", "3").Replace(end), " headers,request", " headers,start,request", 5))
	f("before a response", 19, `
		1 opened  / unknown request-body,headers,start,request
		1 head 200 unknown request-body,headers,start,request
		1 message server→client result  8 request-body,headers,start,request
		1 closed by server request-body,response-body,headers,start,request`+
		strings.NewReplacer("Y", "2", "Z", "3").Replace(end[strings.Index(end, "\n\t\tY"):]))
}

// end is what follows in TestH2MidConnection. Session b stands in the clear, but
// its name does not.
const end = `
		X opened POST / unknown headers,request
		X message client→server request tools/call 8 headers,request
		X head 200 unknown headers,request
		X message server→client result  8 headers,request
		X closed by server headers,request
		Y opened POST / unknown headers,request
		Y message client→server request tools/call 9 headers,request
		Y head 202 unknown headers,request
		Y closed by server headers,request
		Z opened POST / unknown headers,request
		Z message client→server request tools/call 10 headers,request
		Z head 202 unknown headers,request
		Z closed by server headers,request`

// The snap length cuts a header block: what stands before the cut is read.
func TestH2SnapLength(t *testing.T) {
	rec := talkH2(func(t *h2Talk) {
		t.up.head(1, false, ":method", "POST", ":path", "/mcp", "mcp-session-id", "a", "authorization", strings.Repeat("secret-", 20)).data(1, true, call(7))
		t.send()
		t.down.ok(1, jsonType).data(1, true, answer(7))
	})
	form := ether
	form.Snap = 54 + 40
	expect(t, shortLines(read(t, form.Encode(rec.Packets))), `
		1 opened POST /mcp id=a headers,snap
		1 gap client→server the snap length cut 161 bytes snap
		1 gap client→server the snap length cut 161 bytes request-body,headers,snap
		1 head 200 unknown request-body,headers,snap
		1 gap server→client the snap length cut 40 bytes request-body,response-body,headers,snap
		1 closed by server request-body,response-body,headers,snap`)
}
