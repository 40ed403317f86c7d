package pcaptest

import (
	"encoding/binary"
)

// Link types (https://www.tcpdump.org/linktypes.html).
const (
	Null     = 0
	Ethernet = 1
	RawBSD   = 12
	RawOpen  = 14
	Raw      = 101
	Loop     = 108
	SLL      = 113
	IPv4     = 228
	IPv6     = 229
	SLL2     = 276
)

// File is how packets are written.
type File struct {
	Link  int
	Big   bool     // big-endian
	Nano  bool     // pcap: nanosecond magic. pcapng: if_tsresol 9
	Mod   bool     // pcap: the "modified" format with 24-byte record headers
	NG    bool     // pcapng
	Kind  int      // pcapng: 6 (default) enhanced, 3 simple, 2 obsolete packet blocks
	Snap  int      // snap length; 0 = whole packets
	VLAN  []uint16 // tags in front of the network layer: TPIDs such as 0x8100, outermost first
	TSO   bool     // total length 0, as segmentation offload leaves it
	Extra []byte   // pcapng: blocks between the interface and the packets
}

func (f File) order() binary.AppendByteOrder {
	if f.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Encode writes a whole capture file.
func (f File) Encode(packets []Packet) []byte {
	b := f.Header()
	for i := range packets {
		b = f.Append(b, &packets[i])
	}
	return b
}

// Header returns what stands before the first packet.
func (f File) Header() []byte {
	o := f.order()
	snap := uint32(262144)
	if f.Snap > 0 {
		snap = uint32(f.Snap)
	}
	if f.NG {
		b := f.block(nil, 0x0a0d0d0a, o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, 0x1a2b3c4d), 1), ^uint64(0)))
		idb := o.AppendUint32(o.AppendUint16(o.AppendUint16(nil, uint16(f.Link)), 0), snap)
		if f.Nano {
			idb = o.AppendUint16(o.AppendUint16(idb, 9), 1)
			idb = append(idb, 9, 0, 0, 0)
			idb = o.AppendUint32(idb, 0)
		}
		return append(f.block(b, 1, idb), f.Extra...)
	}
	magic := uint32(0xa1b2c3d4)
	switch {
	case f.Mod:
		magic = 0xa1b2cd34
	case f.Nano:
		magic = 0xa1b23c4d
	}
	b := o.AppendUint16(o.AppendUint16(o.AppendUint32(nil, magic), 2), 4)
	b = o.AppendUint32(o.AppendUint32(b, 0), 0)
	return o.AppendUint32(o.AppendUint32(b, snap), uint32(f.Link))
}

// Append writes one packet record.
func (f File) Append(b []byte, p *Packet) []byte {
	o := f.order()
	data := f.Frame(p)
	wire := len(data) + p.Cut
	if f.Snap > 0 && len(data) > f.Snap {
		data = data[:f.Snap]
	}
	if !f.NG {
		unit := int64(1000)
		if f.Nano {
			unit = 1
		}
		b = o.AppendUint32(o.AppendUint32(b, uint32(p.NS/1e9)), uint32(p.NS%1e9/unit))
		b = o.AppendUint32(o.AppendUint32(b, uint32(len(data))), uint32(wire))
		if f.Mod {
			b = o.AppendUint64(b, 0)
		}
		return append(b, data...)
	}
	ticks := uint64(p.NS / 1000)
	if f.Nano {
		ticks = uint64(p.NS)
	}
	var body []byte
	switch f.Kind {
	case 3:
		body = o.AppendUint32(nil, uint32(wire))
	case 2:
		body = o.AppendUint16(o.AppendUint16(nil, 0), 0xffff)
	default:
		body = o.AppendUint32(nil, 0)
	}
	if f.Kind != 3 {
		body = o.AppendUint32(o.AppendUint32(body, uint32(ticks>>32)), uint32(ticks))
		body = o.AppendUint32(o.AppendUint32(body, uint32(len(data))), uint32(wire))
	}
	kind := f.Kind
	if kind == 0 {
		kind = 6
	}
	return f.block(b, uint32(kind), append(body, data...))
}

func (f File) block(b []byte, kind uint32, body []byte) []byte {
	o := f.order()
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	n := uint32(len(body) + 12)
	b = o.AppendUint32(o.AppendUint32(b, kind), n)
	return o.AppendUint32(append(b, body...), n)
}

// Block writes a pcapng block, for File.Extra and for joining sections.
func (f File) Block(kind uint32, body []byte) []byte { return f.block(nil, kind, body) }

// Frame returns the bytes of a packet on the wire, link layer included.
func (f File) Frame(p *Packet) []byte {
	if p.Link != nil {
		return p.Link
	}
	net := p.Raw
	if net == nil {
		net = f.network(p)
	}
	ether := uint16(0x0800)
	family := uint32(2)
	if len(net) > 0 && net[0]>>4 == 6 {
		ether, family = 0x86dd, 30
	}
	be := binary.BigEndian
	tag := func(b []byte) []byte { // the EtherType, behind the tags
		for i, t := range f.VLAN {
			b = be.AppendUint16(b, t)
			b = be.AppendUint16(b, uint16(10+i))
		}
		return be.AppendUint16(b, ether)
	}
	switch f.Link {
	case Ethernet:
		return append(tag([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}), net...)
	case SLL:
		return append(tag(make([]byte, 14)), net...)
	case SLL2:
		return append(append(be.AppendUint16(nil, ether), make([]byte, 18)...), net...)
	case Null:
		return append(f.order().AppendUint32(nil, family), net...)
	case Loop:
		return append(be.AppendUint32(nil, family), net...)
	}
	return net
}

// network writes IP and TCP. Checksums stay 0, as offload often leaves them.
func (f File) network(p *Packet) []byte {
	be := binary.BigEndian
	tcp := be.AppendUint16(be.AppendUint16(nil, p.Src.Port()), p.Dst.Port())
	tcp = be.AppendUint32(be.AppendUint32(tcp, p.Seq), p.Ack)
	tcp = append(tcp, 5<<4, p.Flags, 0xff, 0xff, 0, 0, 0, 0)
	tcp = append(tcp, p.Payload...)
	src, dst := p.Src.Addr(), p.Dst.Addr()
	if src.Is4() {
		total := uint16(20 + len(tcp))
		if f.TSO || 20+len(tcp) > 0xffff {
			total = 0
		}
		ip := be.AppendUint16([]byte{0x45, 0}, total)
		ip = append(ip, 0, 0, 0x40, 0, 64, 6, 0, 0)
		ip = append(append(ip, src.AsSlice()...), dst.AsSlice()...)
		return append(ip, tcp...)
	}
	size := uint16(len(tcp))
	if f.TSO || len(tcp) > 0xffff {
		size = 0
	}
	ip := append(be.AppendUint16([]byte{0x60, 0, 0, 0}, size), 6, 64)
	ip = append(append(ip, src.AsSlice()...), dst.AsSlice()...)
	return append(ip, tcp...)
}
