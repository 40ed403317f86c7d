package pcaptest

import (
	"encoding/binary"
	"slices"
)

// A Wrap puts a network-layer packet into another network-layer packet, or, if Link
// is set, into an Ethernet frame. cut is how many bytes the snap length took from the end of net.
type Wrap struct {
	Name string
	Link bool
	Put  func(net []byte, cut int) []byte
}

// wraps is what Wraps returns.
var wraps = []Wrap{
	{"VLAN", true, func(net []byte, _ int) []byte { return tagged(net, 0x8100, 0, 10) }},
	{"QinQ", true, func(net []byte, _ int) []byte { return tagged(net, 0x88a8, 0, 10, 0x8100, 0, 11) }},
	{"MPLS", true, func(net []byte, _ int) []byte {
		return tagged(net, 0x8847, -1, 0x0001, 0x0040, 0x0002, 0x0140)
	}},
	{"MPLS pseudowire", true, func(net []byte, _ int) []byte {
		return slices.Concat(macs, []byte{0x88, 0x47, 0, 0x12, 0x31, 64, 0, 0, 0, 0}, frame(net))
	}},
	{"PPPoE", true, func(net []byte, cut int) []byte {
		n := uint16(len(net) + cut + 2)
		proto := uint16(0x21)
		if net[0]>>4 == 6 {
			proto = 0x57
		}
		return append(be.AppendUint16(be.AppendUint16(slices.Concat(macs, []byte{0x88, 0x64, 0x11, 0, 0, 7}), n), proto), net...)
	}},
	{"IP in IP", false, func(net []byte, cut int) []byte {
		if net[0]>>4 == 6 {
			return outer(41, net, cut)
		}
		return outer(4, net, cut)
	}},
	{"IP in IPv6", false, func(net []byte, cut int) []byte {
		proto := byte(4)
		if net[0]>>4 == 6 {
			proto = 41
		}
		return outer6(proto, net, cut)
	}},
	{"GRE", false, func(net []byte, cut int) []byte {
		return outer(47, slices.Concat([]byte{0, 0}, etherType(net), net), cut)
	}},
	{"GRE with key and sequence", false, func(net []byte, cut int) []byte {
		return outer(47, slices.Concat([]byte{0x30, 0}, etherType(net), []byte{0, 0, 0, 9, 0, 0, 0, 1}, net), cut)
	}},
	{"GRE of PPTP", false, func(net []byte, cut int) []byte {
		proto := byte(0x21)
		if net[0]>>4 == 6 {
			proto = 0x57
		}
		head := be.AppendUint16([]byte{0x30, 0x81, 0x88, 0x0b}, uint16(len(net)+cut+4))
		return outer(47, slices.Concat(head, []byte{0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, proto}, net), cut)
	}},
	{"Ethernet in GRE", false, func(net []byte, cut int) []byte {
		return outer(47, slices.Concat([]byte{0, 0, 0x65, 0x58}, frame(net)), cut)
	}},
	{"ERSPAN", false, func(net []byte, cut int) []byte {
		return outer(47, slices.Concat([]byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0}, frame(net)), cut)
	}},
	{"ERSPAN type III", false, func(net []byte, cut int) []byte {
		return outer(47, slices.Concat([]byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, frame(net)), cut)
	}},
	{"VXLAN", false, func(net []byte, cut int) []byte { return vxlan(net, cut, 4789) }},
	{"VXLAN of Linux", false, func(net []byte, cut int) []byte { return vxlan(net, cut, 8472) }},
	{"Geneve", false, func(net []byte, cut int) []byte {
		return outer(17, datagram(6081, slices.Concat([]byte{1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 0}, frame(net)), cut), cut)
	}},
	{"IP in Geneve", false, func(net []byte, cut int) []byte {
		return outer(17, datagram(6081, slices.Concat([]byte{0, 0}, etherType(net), []byte{0, 0, 7, 0}, net), cut), cut)
	}},
	{"GRE in VXLAN", false, func(net []byte, cut int) []byte {
		return vxlan(outer(47, slices.Concat([]byte{0, 0}, etherType(net), net), cut), cut, 4789)
	}},
}

// Wraps returns the tunnels and tags that captures are taken through.
func Wraps() []Wrap { return slices.Clone(wraps) }

var (
	be   = binary.BigEndian
	macs = []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
)

func etherType(net []byte) []byte {
	if net[0]>>4 == 6 {
		return []byte{0x86, 0xdd}
	}
	return []byte{8, 0}
}

func frame(net []byte) []byte { return slices.Concat(macs, etherType(net), net) }

// tagged writes 16-bit words between the addresses and the packet: a 0 stands for
// the priority of a VLAN tag that the next word numbers, -1 for "no EtherType behind".
func tagged(net []byte, words ...int) []byte {
	b := slices.Clone(macs)
	bare := false
	for _, w := range words {
		switch w {
		case 0:
		case -1:
			bare = true
		default:
			b = be.AppendUint16(b, uint16(w))
		}
	}
	if !bare {
		b = append(b, etherType(net)...)
	}
	return append(b, net...)
}

func outer(proto byte, b []byte, cut int) []byte {
	ip := be.AppendUint16([]byte{0x45, 0}, uint16(min(20+len(b)+cut, 0xffff)))
	ip = append(ip, 0, 0, 0x40, 0, 64, proto, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2)
	return append(ip, b...)
}

func outer6(proto byte, b []byte, cut int) []byte {
	ip := be.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(min(len(b)+cut, 0xffff)))
	ip = append(ip, proto, 64)
	ip = append(append(ip, 32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 32, 1, 13, 184, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
	return append(ip, b...)
}

func datagram(port uint16, b []byte, cut int) []byte {
	head := be.AppendUint16(be.AppendUint16(nil, 50000), port)
	head = be.AppendUint16(head, uint16(min(8+len(b)+cut, 0xffff)))
	return append(append(head, 0, 0), b...)
}

func vxlan(net []byte, cut int, port uint16) []byte {
	return outer(17, datagram(port, slices.Concat([]byte{8, 0, 0, 0, 0, 0, 7, 0}, frame(net)), cut), cut)
}

// Fragments cuts a network-layer packet into fragments with at most size bytes of
// payload each, a multiple of 8. id tells the datagrams of one host apart.
func Fragments(net []byte, size int, id uint32) [][]byte {
	head, proto := 40, byte(0)
	if net[0]>>4 == 4 {
		head = int(net[0]&15) * 4
	} else {
		proto = net[6]
	}
	body := net[head:]
	if len(body) <= size {
		return [][]byte{net}
	}
	var out [][]byte
	for at := 0; at < len(body); at += size {
		part := body[at:min(len(body), at+size)]
		more := at+size < len(body)
		out = append(out, fragment(net[:head], part, at, more, id, proto))
	}
	return out
}

func fragment(head, part []byte, at int, more bool, id uint32, proto byte) []byte {
	b := slices.Clone(head)
	if b[0]>>4 == 4 {
		be.PutUint16(b[2:], uint16(len(head)+len(part)))
		be.PutUint16(b[4:], uint16(id))
		flag := uint16(at / 8)
		if more {
			flag |= 0x2000
		}
		be.PutUint16(b[6:], flag)
		return append(b, part...)
	}
	be.PutUint16(b[4:], uint16(8+len(part)))
	b[6] = 44
	flag := uint16(at)
	if more {
		flag |= 1
	}
	b = append(be.AppendUint16(append(b, proto, 0), flag), byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
	return append(b, part...)
}
