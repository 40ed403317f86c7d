package pcap

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/parsers/source"
)

// traffic is a capture of many connections with calls that stream progress, and
// bulk among them: large answers, and connections that are not HTTP.
func traffic(conns int, bulk bool) (file []byte, packets int) {
	var rec pcaptest.Recording
	big := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n", 200<<10) + strings.Repeat("x", 200<<10)
	for i := range conns {
		c := rec.Conn(fmt.Sprintf("10.0.%d.2:%d", i%250, 20000+i/250), "10.0.0.1:8080")
		c.Segment = 1448
		at := time.Duration(i) * ms
		c.Open(at)
		if bulk {
			c.Send(at, toServer, "GET /image HTTP/1.1\r\nHost: x\r\n\r\n")
			c.Send(at, toClient, big)
		} else {
			c.Send(at, toServer, post("session-1", call(i)))
			c.Send(at, toClient, sseHead)
			for n := range 20 {
				c.Send(at, toClient, chunk(sse(note(n))))
			}
			c.Send(at, toClient, chunk(sse(answer(i)))+"0\r\n\r\n")
		}
		c.Close(at, toServer)
	}
	return ether.Encode(rec.Packets), len(rec.Packets)
}

func BenchmarkRead(b *testing.B) {
	for _, bulk := range []bool{false, true} {
		name := "messages"
		conns := 4000
		if bulk {
			name, conns = "bulk", 100
		}
		b.Run(name, func(b *testing.B) {
			file, packets := traffic(conns, bulk)
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			b.ResetTimer()
			events := 0
			for range b.N {
				events += readAll(b, file)
			}
			b.ReportMetric(float64(events)/float64(b.N), "events")
			b.ReportMetric(float64(packets), "packets")
		})
	}
}

// The same messages over HTTP/2, 100 calls per connection.
func BenchmarkHTTP2(b *testing.B) {
	var rec pcaptest.Recording
	for i := range 40 {
		c := rec.Conn(fmt.Sprintf("10.0.%d.2:%d", i, 20000), "10.0.0.1:8080")
		c.Segment = 1448
		t := &h2Talk{Conn: c, up: newSide(), down: newSide(), at: time.Duration(i) * ms}
		c.Open(t.at)
		t.up.preface()
		t.down.settings()
		for n := range uint32(100) {
			t.up.post(2*n+1, "session-1", call(int(n)))
			t.down.ok(2*n+1, sseType)
			t.send()
			for k := range 20 {
				t.down.data(2*n+1, false, sse(note(k)))
				t.send()
			}
			t.down.data(2*n+1, true, sse(answer(int(n))))
			t.send()
		}
		c.Close(t.at, toServer)
	}
	file := ether.Encode(rec.Packets)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		readAll(b, file)
	}
}

func readAll(b *testing.B, file []byte) (events int) {
	in := &source.Input{Path: "bench", Opener: inMemory(file)}
	r, err := Format.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return events
		} else if err != nil {
			b.Fatal(err)
		}
		events++
	}
}
