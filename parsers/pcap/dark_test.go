package pcap

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

// holes returns where the domains of a recording have holes for what is closed to us.
func holes(res result) (of []string) {
	for _, ev := range res.events {
		if ev.Kind == event.Gap && ev.Loss&event.LossDark != 0 {
			of = append(of, ev.Dir.String()+" "+ev.Domain.Server+ev.Domain.Path)
		}
	}
	return of
}

// A WebSocket is a hole of the path that it was opened at, for as long as it lasts, and
// of no other one.
func TestWebSocketIsAHole(t *testing.T) {
	f := func(path string, want int) {
		t.Helper()
		var rec pcaptest.Recording
		talk(rec.Conn("10.0.0.2:40000", "10.0.0.1:8080"))
		c := rec.Conn("10.0.0.3:40001", "10.0.0.1:8080")
		c.Open(5 * ms)
		c.Send(6*ms, toServer, "GET "+path+" HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		c.Send(7*ms, toClient, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
		c.Send(8*ms, toServer, "\x81\x01x")
		c.Send(9*ms, toClient, "\x81\x01x")
		mcp := 0
		for _, h := range holes(read(t, ether.Encode(rec.Packets))) {
			if strings.HasSuffix(h, "/mcp") {
				mcp++
			}
		}
		if mcp != want {
			t.Errorf("%s: %d holes of /mcp, want %d", path, mcp, want)
		}
	}
	f("/mcp", 4) // two where it begins, and one a packet
	f("/reload", 0)
}

// QUIC to the address of a server that is read over TCP is a hole of its domains, to
// another one it is none.
func TestQUICIsAHole(t *testing.T) {
	w, keys := talkTLS(t, only12(0xc02b))
	f := func(port uint16, want int) {
		t.Helper()
		packets := w.packets(0)
		last := packets[len(packets)-1].NS
		quic := append([]byte{0x45, 0, 4, 204, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 0xc0, 0, 0, 0, 4, 184, 0, 0}, 0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6)
		binary.BigEndian.PutUint16(quic[22:], port)
		packets = append(packets, pcaptest.Packet{NS: last + 1, Raw: bytes.Clone(quic), Cut: 1228 - len(quic)})
		if got := holes(readWith(t, logOf(t, keys), ether.Encode(packets))); len(got) != want {
			t.Errorf("port %d: holes %v, want %d", port, got, want)
		}
	}
	f(8080, 1)
	f(443, 0)
}
