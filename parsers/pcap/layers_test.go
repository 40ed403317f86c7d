package pcap

import (
	"math/rand"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

// What a capture is taken through changes nothing but addresses of frames.

// wrapped puts every packet of a recording into a tunnel.
func wrapped(w pcaptest.Wrap, packets []pcaptest.Packet) []pcaptest.Packet {
	raw := pcaptest.File{Link: pcaptest.Raw}
	var out []pcaptest.Packet
	for _, p := range packets {
		b := w.Put(raw.Frame(&p), 0)
		q := pcaptest.Packet{NS: p.NS, Raw: b}
		if w.Link {
			q = pcaptest.Packet{NS: p.NS, Link: b}
		}
		out = append(out, q)
	}
	return out
}

// overIPv6 gives the packets addresses of IPv6.
func overIPv6(packets []pcaptest.Packet) []pcaptest.Packet {
	far := func(a netip.AddrPort) netip.AddrPort {
		b := netip.MustParseAddr("2001:db8::").As16()
		v := a.Addr().As4()
		copy(b[12:], v[:])
		return netip.AddrPortFrom(netip.AddrFrom16(b), a.Port())
	}
	out := slices.Clone(packets)
	for i := range out {
		out[i].Src, out[i].Dst = far(out[i].Src), far(out[i].Dst)
	}
	return out
}

func TestTunnelsAreOpened(t *testing.T) {
	rec := record(talk)
	for version, packets := range map[string][]pcaptest.Packet{"IPv4": rec.Packets, "IPv6": overIPv6(rec.Packets)} {
		want := read(t, ether.Encode(packets)).lines
		for _, w := range pcaptest.Wraps() {
			got := read(t, ether.Encode(wrapped(w, packets)))
			if d := cmp.Diff(want, got.lines); d != "" {
				t.Errorf("%s in %s: events differ (-plain +got):\n%s", version, w.Name, d)
			}
		}
	}
}

// A packet that is captured inside and outside of a tunnel counts once.
func TestTunnelSeenFromBothSides(t *testing.T) {
	rec := record(talk)
	want := read(t, ether.Encode(rec.Packets)).lines
	for _, w := range pcaptest.Wraps() {
		var both []pcaptest.Packet
		for i, p := range wrapped(w, rec.Packets) {
			both = append(both, p, rec.Packets[i])
		}
		if d := cmp.Diff(want, read(t, ether.Encode(both)).lines); d != "" {
			t.Errorf("%s: events differ (-plain +got):\n%s", w.Name, d)
		}
	}
}

// Tunnels in tunnels end somewhere, and it is said.
func TestTunnelsInTunnels(t *testing.T) {
	rec := record(talk)
	gre := pcaptest.Wraps()[slices.IndexFunc(pcaptest.Wraps(), func(w pcaptest.Wrap) bool { return w.Name == "GRE" })]
	packets := rec.Packets
	for range maxTunnels {
		packets = wrapped(gre, packets)
	}
	if got := read(t, ether.Encode(packets)); len(got.lines) == 0 {
		t.Error("as many tunnels as are opened: nothing was read")
	}
	got := read(t, ether.Encode(wrapped(gre, packets)))
	if len(got.lines) != 0 || len(got.in[0].Stats.Notes) != 1 || !strings.Contains(got.in[0].Stats.Notes[0], "more than 8 tunnels") {
		t.Errorf("one tunnel more: %q, notes %q", got.lines, got.in[0].Stats.Notes)
	}
}

// inFragments cuts every packet, in a random order of its fragments, some of them twice.
func inFragments(rnd *rand.Rand, packets []pcaptest.Packet) []pcaptest.Packet {
	raw := pcaptest.File{Link: pcaptest.Raw}
	var out []pcaptest.Packet
	for i, p := range packets {
		parts := pcaptest.Fragments(raw.Frame(&p), 8*(1+rnd.Intn(8)), uint32(i))
		parts = append(parts, parts[:rnd.Intn(len(parts))]...)
		last := parts[len(parts)-1]
		rnd.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		for _, b := range append(parts, last) {
			out = append(out, pcaptest.Packet{NS: p.NS, Raw: b})
		}
	}
	return out
}

func TestFragments(t *testing.T) {
	rec := record(talk)
	for version, packets := range map[string][]pcaptest.Packet{"IPv4": rec.Packets, "IPv6": overIPv6(rec.Packets)} {
		want := read(t, ether.Encode(packets)).lines
		for seed := range int64(20) {
			got := read(t, ether.Encode(inFragments(rand.New(rand.NewSource(seed)), packets)))
			if d := cmp.Diff(want, got.lines); d != "" {
				t.Fatalf("%s, seed %d: events differ (-whole +got):\n%s", version, seed, d)
			}
		}
	}
}

// A fragment that was not captured is a hole in its connection, and is said.
func TestLostFragment(t *testing.T) {
	rec := record(func(c *pcaptest.Conn) {
		c.Open(0)
		c.Send(1*ms, toServer, post("s", call(1)))
		c.Send(2*ms, toClient, jsonResponse(answer(1)))
		c.Send(30*ms, toServer, post("s", call(2)))
		c.Send(40*ms, toClient, jsonResponse(answer(2)))
	})
	raw := pcaptest.File{Link: pcaptest.Raw}
	var out []pcaptest.Packet
	for i, p := range rec.Packets {
		parts := pcaptest.Fragments(raw.Frame(&p), 64, uint32(i))
		if i == 5 { // the first answer
			parts = parts[1:]
		}
		for _, b := range parts {
			out = append(out, pcaptest.Packet{NS: p.NS, Raw: b})
		}
	}
	got := read(t, ether.Encode(out))
	expect(t, got.lines, `
		1 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s
		1 message client→server request tools/call 1
		1 gap server→client 119 bytes were not captured
		1 closed by server response-body,headers,pairing
		2 opened POST http://10.0.0.1:8080/mcp 10.0.0.2:40000 id=s pairing
		2 message client→server request tools/call 2 pairing
		2 head 200 absent pairing
		2 message server→client result  2 pairing
		2 closed by server pairing`)
	if n := got.in[0].Stats.Notes; len(n) != 1 || !strings.Contains(n[0], "of 1 fragmented IP packets") {
		t.Errorf("notes %q", n)
	}
}

// Fragments that overlap, of impossible size, or without end keep bounds.
func TestHostileFragments(t *testing.T) {
	var f fragments
	rnd := rand.New(rand.NewSource(1))
	for i := range 200_000 {
		key := fragmentKey{id: uint32(rnd.Intn(3000))}
		b := make([]byte, rnd.Intn(1500))
		all, lack, whole := f.add(key, int64(i)*1000, rnd.Intn(maxDatagram), rnd.Intn(4) > 0, b, rnd.Intn(3))
		if whole && (len(all) > maxDatagram || lack < 0) {
			t.Fatalf("a datagram of %d bytes, %d missing", len(all), lack)
		}
	}
	held := 0
	for _, g := range f.order {
		held += len(g.data) + datagramsCosts
	}
	if held != f.held || f.held > maxFragmented || len(f.order) > maxDatagrams || len(f.order) != len(f.waiting) {
		t.Errorf("%d bytes are held, %d counted, of %d datagrams, %d in the table", held, f.held, len(f.order), len(f.waiting))
	}
}

func TestFragmentsFirstWins(t *testing.T) {
	var f fragments
	key := fragmentKey{id: 1}
	f.add(key, 0, 8, true, []byte("BBBBBBBB"), 0)
	f.add(key, 0, 0, true, []byte("aaaaaaaaxxxxxxxxyyyyyyyy"), 0)
	all, lack, whole := f.add(key, 0, 16, false, []byte("zzzzzzzzccc"), 0)
	if string(all) != "aaaaaaaaBBBBBBBByyyyyyyyccc" || lack != 0 || !whole {
		t.Errorf("%q, %d missing, whole %v", all, lack, whole)
	}
	f.add(key, 0, 0, true, []byte("aaaaa"), 3)
	all, lack, whole = f.add(key, 0, 8, false, []byte("bbb"), 0)
	if string(all) != "aaaaa" || lack != 6 || !whole {
		t.Errorf("behind a cut fragment: %q, %d missing, whole %v", all, lack, whole)
	}
	if f.held != 0 || len(f.waiting) != 0 {
		t.Errorf("%d bytes are held of %d datagrams", f.held, len(f.waiting))
	}
}
