package pcap

import (
	"encoding/binary"
	"net/netip"

	"github.com/isodetect/isodetect/event"
)

// Decoding is by hand: the layers are few, and every length here is one that a
// sender or a snap length may have made wrong. Checksums are never looked at,
// since offload makes them wrong on most real captures.

// endpoint is one side of a connection; IPv4 addresses are mapped into IPv6.
type endpoint struct {
	ip   [16]byte
	port uint16
}

func (e endpoint) addrPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(e.ip).Unmap(), e.port)
}

const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	_
	flagACK
)

// spot is when and in which frame bytes came.
type spot struct {
	ns int64
	at event.Address
}

func (s spot) time() event.Time { return event.At(s.ns) }

// segment is one TCP segment.
type segment struct {
	src, dst endpoint
	seq, ack uint32
	flags    uint8
	data     []byte // captured payload
	missing  int    // payload bytes that the snap length cut off
	spot
}

// fate is what decoding a frame came to.
type fate uint8

const (
	isTCP      fate = iota
	isOther         // nothing that carries HTTP
	isBroken        // a header is cut or impossible
	isFragment      // an IP fragment whose others have not come yet
	isTunnel        // a tunnel in a tunnel in a tunnel: deeper than is looked into
	isQUIC          // a QUIC long header; src and dst are set
	isLink          // a link type that is not decoded
)

// Link types (https://www.tcpdump.org/linktypes.html).
const (
	linkNull     = 0
	linkEthernet = 1
	linkRawBSD   = 12
	linkRawOpen  = 14
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

const (
	etherIPv4   = 0x0800
	etherIPv6   = 0x86dd
	etherPPPoE  = 0x8864
	etherMPLS   = 0x8847
	etherMPLSUp = 0x8848 // from upstream assigned labels (RFC 5332)
	etherBridge = 0x6558 // a whole Ethernet frame
)

// decoder finds the TCP segment in a frame, through the tunnels around it.
type decoder struct {
	fragments fragments
	now       int64 // time of the frame
	depth     int   // tunnels that were opened on the way
}

// maxTunnels bounds how deep tunnels are looked into.
const maxTunnels = 8

// decode fills s from one frame.
func (d *decoder) decode(fr *frame, s *segment) fate {
	b := fr.data
	cutOff := fr.wire - len(b)
	d.now, d.depth = fr.ns, 0
	switch fr.link {
	case linkEthernet:
		return d.decodeFrame(b, cutOff, s)
	case linkSLL:
		if len(b) < 16 {
			return isBroken
		}
		return d.decodeEther(binary.BigEndian.Uint16(b[14:]), b[16:], cutOff, s)
	case linkSLL2:
		if len(b) < 20 {
			return isBroken
		}
		return d.decodeEther(binary.BigEndian.Uint16(b), b[20:], cutOff, s)
	case linkNull, linkLoop:
		if len(b) < 4 {
			return isBroken
		}
		return d.decodeFamily(b, cutOff, s)
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		return d.decodeIP(b, cutOff, s)
	}
	return isLink
}

// decodeFrame reads a frame of Ethernet.
func (d *decoder) decodeFrame(b []byte, cutOff int, s *segment) fate {
	if len(b) < 14 {
		return isBroken
	}
	return d.decodeEther(binary.BigEndian.Uint16(b[12:]), b[14:], cutOff, s)
}

// decodeFamily reads the address family in front of the packet, which NULL writes
// in the byte order of the capturing machine.
func (d *decoder) decodeFamily(b []byte, cutOff int, s *segment) fate {
	family := binary.BigEndian.Uint32(b)
	if family > 0xffff {
		family = binary.LittleEndian.Uint32(b)
	}
	switch family {
	case 2, 10, 24, 28, 30: // AF_INET; AF_INET6 of Linux, the BSDs and macOS
		return d.decodeIP(b[4:], cutOff, s)
	}
	return isOther
}

// decodeEther follows tags to the network layer: 802.1Q and QinQ, MPLS, PPPoE.
func (d *decoder) decodeEther(kind uint16, b []byte, cutOff int, s *segment) fate {
	for range 4 {
		switch kind {
		case etherIPv4, etherIPv6:
			return d.decodeIP(b, cutOff, s)
		case 0x8100, 0x88a8, 0x9100:
			if len(b) < 4 {
				return isBroken
			}
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		case etherMPLS, etherMPLSUp:
			return d.decodeMPLS(b, cutOff, s)
		case etherPPPoE:
			if len(b) < 8 {
				return isBroken
			}
			proto := binary.BigEndian.Uint16(b[6:])
			if proto != 0x0021 && proto != 0x0057 {
				return isOther
			}
			return d.decodeIP(b[8:], cutOff, s)
		case etherBridge:
			return d.inside(b, etherBridge, cutOff, s)
		default:
			return isOther
		}
	}
	return isOther
}

// decodeMPLS follows the labels to what they carry: IP, or behind a control word
// (RFC 4448) the frame of a pseudowire.
func (d *decoder) decodeMPLS(b []byte, cutOff int, s *segment) fate {
	for bottom := false; !bottom; b = b[4:] {
		if len(b) < 4 {
			return isBroken
		}
		bottom = b[2]&1 != 0
	}
	if len(b) > 4 && b[0]>>4 == 0 {
		return d.inside(b[4:], etherBridge, cutOff, s)
	}
	return d.decodeIP(b, cutOff, s)
}

func (d *decoder) decodeIP(b []byte, cutOff int, s *segment) fate {
	if len(b) < 1 {
		return isBroken
	}
	switch b[0] >> 4 {
	case 4:
		return d.decodeIPv4(b, cutOff, s)
	case 6:
		return d.decodeIPv6(b, cutOff, s)
	}
	return isOther
}

// The last parameter but one of the functions below is how many bytes of the
// frame behind b were not captured.

func (d *decoder) decodeIPv4(b []byte, cutOff int, s *segment) fate {
	if len(b) < 20 {
		return isBroken
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 { // segmentation offload hands over packets whose length does not fit
		total = len(b) + cutOff
	}
	if head < 20 || total < head {
		return isBroken
	}
	mapIPv4(&s.src.ip, b[12:16])
	mapIPv4(&s.dst.ip, b[16:20])
	if len(b) < head {
		return isBroken
	}
	payload, missing := within(b[head:], total-head, cutOff)
	if at := binary.BigEndian.Uint16(b[6:]) & 0x3fff; at != 0 {
		key := fragmentKey{src: s.src.ip, dst: s.dst.ip, id: uint32(binary.BigEndian.Uint16(b[4:])), proto: b[9]}
		var whole bool
		if payload, missing, whole = d.fragments.add(key, d.now, int(at&0x1fff)*8, at&0x2000 != 0, payload, missing); !whole {
			return isFragment
		}
	}
	return d.decodeTransport(b[9], payload, missing, s)
}

func mapIPv4(dst *[16]byte, b []byte) {
	*dst = [16]byte{10: 0xff, 11: 0xff}
	copy(dst[12:], b)
}

func (d *decoder) decodeIPv6(b []byte, cutOff int, s *segment) fate {
	if len(b) < 40 {
		return isBroken
	}
	size, next := int(binary.BigEndian.Uint16(b[4:])), b[6]
	if size == 0 { // a jumbogram, or offload with packets over 64 KiB
		size = len(b) - 40 + cutOff
	}
	copy(s.src.ip[:], b[8:24])
	copy(s.dst.ip[:], b[24:40])
	b, missing := within(b[40:], size, cutOff)
	for range 16 {
		var n int
		switch next {
		case 0, 43, 60, 135: // hop-by-hop, routing, destination options, mobility
			if len(b) < 8 {
				return isBroken
			}
			n = 8 + int(b[1])*8
		case 51: // authentication header
			if len(b) < 8 {
				return isBroken
			}
			n = 8 + int(b[1])*4
		case 44:
			if len(b) < 8 {
				return isBroken
			}
			n = 8
			if at := binary.BigEndian.Uint16(b[2:]); at&^6 != 0 { // an offset, or more fragments follow
				key := fragmentKey{src: s.src.ip, dst: s.dst.ip, id: binary.BigEndian.Uint32(b[4:])}
				all, lack, whole := d.fragments.add(key, d.now, int(at&^7), at&1 != 0, b[n:], missing)
				if !whole {
					return isFragment
				}
				next, b, missing = b[0], all, lack
				continue
			}
		default:
			return d.decodeTransport(next, b, missing, s)
		}
		if n > len(b) {
			return isBroken
		}
		next, b = b[0], b[n:]
	}
	return isBroken
}

// within cuts b to the size that a header states (frames are padded) and returns
// how much of that size was not captured.
func within(b []byte, size, cutOff int) ([]byte, int) {
	if size <= len(b) {
		return b[:size], 0
	}
	// A length beyond the frame is a lie of the header; only what the snap length
	// took away is missing.
	return b, min(size-len(b), cutOff)
}
