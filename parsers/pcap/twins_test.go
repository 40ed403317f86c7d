package pcap

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

// translated is what a capture on both sides of an address translation holds: every
// packet of to the server first with the outer, then with the inner addresses, and back.
func translated(packets []pcaptest.Packet, inner map[string]string) (out []pcaptest.Packet) {
	swap := func(a netip.AddrPort) netip.AddrPort {
		if to, ok := inner[a.String()]; ok {
			return netip.MustParseAddrPort(to)
		}
		return a
	}
	for _, p := range packets {
		q := p
		q.Src, q.Dst = swap(p.Src), swap(p.Dst)
		if p.Dst.Port() == 8080 { // to the server
			q.NS += 20_000
			out = append(out, p, q)
		} else {
			p.NS += 20_000
			out = append(out, q, p)
		}
	}
	return out
}

func TestAddressTranslation(t *testing.T) {
	conversation := pcaptest.Recording{ISN: 0x12345678}
	c := conversation.Conn("10.0.0.2:40000", "10.0.0.1:8080")
	c.Open(0)
	c.Send(1*ms, toServer, post("s", call(1)))
	c.Send(20*ms, toClient, sseHead)
	c.Send(30*ms, toClient, chunk(sse(note(1))))
	c.Send(40*ms, toClient, chunk(sse(answer(1)))+"0\r\n\r\n")
	c.Close(50*ms, toServer)
	f := func(name string, packets []pcaptest.Packet, inner map[string]string, client, server string) {
		t.Helper()
		want := read(t, ether.Encode(packets)).lines
		for i := range want {
			want[i] = strings.NewReplacer("10.0.0.2:40000", client, "10.0.0.1:8080", server).Replace(want[i])
		}
		got := read(t, ether.Encode(translated(packets, inner)))
		if d := cmp.Diff(want, got.lines); d != "" {
			t.Errorf("%s: events differ (-want +got):\n%s", name, d)
		}
		if n := got.in[0].Stats.Notes; len(n) != 1 || !strings.HasPrefix(n[0], "TCP connections captured on both sides of an address translation: 1;") {
			t.Errorf("%s: notes %q", name, n)
		}
	}
	const client, server = "10.0.0.2:40000", "10.0.0.1:8080"
	service := map[string]string{server: "10.244.0.7:3000"}
	masked := map[string]string{client: "192.168.0.9:61000"}
	both := map[string]string{server: "10.244.0.7:3000", client: "192.168.0.9:61000"}
	f("of the server", conversation.Packets, service, client, "10.244.0.7:3000")
	f("of the client", conversation.Packets, masked, client, server)
	f("of both", conversation.Packets, both, "192.168.0.9:61000", "10.244.0.7:3000")
	// Without a handshake the first sight is read.
	f("of the server, begun before", conversation.Packets[3:], service, client, server)
	f("of the client, begun before", conversation.Packets[3:], masked, client, server)
}

// Both sides of a proxy are connections of their own.
func TestProxyIsNoTranslation(t *testing.T) {
	var packets []pcaptest.Packet
	for i, hop := range [][2]string{{"10.0.0.2:40000", "10.0.0.1:8080"}, {"10.0.0.1:50000", "10.0.0.3:9000"}} {
		rec := pcaptest.Recording{ISN: 0x12345678 + uint32(i)*0x01010101}
		c := rec.Conn(hop[0], hop[1])
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
		c.Close(3*ms, toServer)
		packets = append(packets, rec.Packets...)
	}
	slices.SortStableFunc(packets, func(a, b pcaptest.Packet) int { return int(a.NS - b.NS) })
	got := read(t, ether.Encode(packets))
	var servers []string
	for _, ev := range got.events {
		if ev.Kind == event.Opened {
			servers = append(servers, ev.Domain.Server)
		}
	}
	if want := []string{"http://10.0.0.1:8080", "http://10.0.0.3:9000"}; !slices.Equal(servers, want) || got.in[0].Stats.Conns != 2 {
		t.Errorf("exchanges with %q on %d connections, want %q", servers, got.in[0].Stats.Conns, want)
	}
}

// Connections whose numbers are counted from a constant are not taken for one another.
func TestMadeUpNumbersAreNoTwins(t *testing.T) {
	var rec pcaptest.Recording
	for _, client := range []string{"10.0.0.2:40000", "10.0.0.3:40000"} {
		c := rec.Conn(client, "10.0.0.1:8080")
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
	}
	n := 0
	for _, ev := range read(t, ether.Encode(rec.Packets)).events {
		if ev.Kind == event.Opened {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d exchanges, want 2", n)
	}
}

// What a capture holds twice is counted, however the second copy comes.
func TestRepeatedPacketsAreCounted(t *testing.T) {
	rec := record(talk)
	data := 0
	var twice []pcaptest.Packet
	for _, p := range rec.Packets {
		twice = append(twice, p, p)
		if len(p.Payload) > 0 {
			data++
		}
	}
	st := read(t, ether.Encode(twice)).in[0].Stats
	if st.Repeated != int64(data) || st.Repeated > st.Ignored || st.Conns == 0 {
		t.Errorf("%d repeated of %d ignored on %d connections, want %d", st.Repeated, st.Ignored, st.Conns, data)
	}
}
