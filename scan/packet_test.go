package scan_test

import (
	"encoding/binary"
	"net/netip"
)

// What the tests have to know of a packet, read with as little as they need: the
// captures are of Ethernet or Linux "any", without tags.

// flow is one direction of a connection.
type flow struct{ src, dst netip.AddrPort }

func (f flow) back() flow { return flow{f.dst, f.src} }

// tcpPacket is the TCP of a packet.
type tcpPacket struct {
	flow
	flags   byte
	payload int // bytes on the wire
	body    []byte
	seq     uint32
}

// network returns the packet without its link layer.
func (p packet) network() []byte {
	head := 14
	if binary.BigEndian.Uint16(p.data[12:]) != 0x0800 && binary.BigEndian.Uint16(p.data) == 0x0800 {
		head = 20
	}
	return p.data[head:]
}

func (p packet) tcp() (t tcpPacket, ok bool) {
	ip := p.network()
	if len(ip) < 40 || ip[0]>>4 != 4 || ip[9] != 6 {
		return t, false
	}
	be := binary.BigEndian
	b := ip[int(ip[0]&15)*4:]
	src, _ := netip.AddrFromSlice(ip[12:16])
	dst, _ := netip.AddrFromSlice(ip[16:20])
	t.flow = flow{netip.AddrPortFrom(src, be.Uint16(b)), netip.AddrPortFrom(dst, be.Uint16(b[2:]))}
	head := int(b[12]>>4) * 4
	t.flags, t.seq = b[13], be.Uint32(b[4:])
	t.payload = int(be.Uint16(ip[2:])) - int(ip[0]&15)*4 - head
	if len(b) > head {
		t.body = b[head:min(len(b), head+t.payload)]
	}
	return t, true
}

// deleteFlows drops the packets of the directions that gone says, asked once for each.
func deleteFlows(p []packet, gone func(flow) bool) (out []packet) {
	known := map[flow]bool{}
	for _, q := range p {
		t, ok := q.tcp()
		if ok {
			v, seen := known[t.flow]
			if !seen {
				v = gone(t.flow)
				known[t.flow] = v
			}
			if v {
				continue
			}
		}
		out = append(out, q)
	}
	return out
}

// oneSided keeps what clients or what servers sent; the client is the one with the
// higher port.
func oneSided(p []packet, clients bool) []packet {
	return deleteFlows(p, func(f flow) bool { return (f.src.Port() > f.dst.Port()) != clients })
}
