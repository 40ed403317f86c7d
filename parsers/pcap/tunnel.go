package pcap

import "encoding/binary"

// This file opens tunnels. What they carry counts under its own addresses: a
// packet that is captured inside and outside of a tunnel is the same packet twice.

const (
	portVXLAN      = 4789 // RFC 7348
	portVXLANLinux = 8472 // the default of Linux, and of flannel
	portGeneve     = 6081 // RFC 8926
)

// inside goes on with what a tunnel carries. kind is its EtherType; for IP either version will do.
func (d *decoder) inside(b []byte, kind uint16, cutOff int, s *segment) fate {
	if d.depth++; d.depth > maxTunnels {
		return isTunnel
	}
	switch kind {
	case etherIPv4, etherIPv6:
		return d.decodeIP(b, cutOff, s)
	case etherBridge:
		return d.decodeFrame(b, cutOff, s)
	}
	return d.decodeEther(kind, b, cutOff, s)
}

// decodeVXLAN opens VXLAN. Other protocols use its ports, too: its flags tell.
func (d *decoder) decodeVXLAN(b []byte, cutOff int, s *segment) fate {
	if len(b) < 8 || b[0]&0x08 == 0 || b[7] != 0 {
		return isOther
	}
	return d.inside(b[8:], etherBridge, cutOff, s)
}

// decodeGeneve opens Geneve: 8 bytes and options of 4 bytes each.
func (d *decoder) decodeGeneve(b []byte, cutOff int, s *segment) fate {
	if len(b) < 8 || b[0]>>6 != 0 {
		return isOther
	}
	n := 8 + int(b[0]&0x3f)*4
	if n > len(b) {
		return isBroken
	}
	return d.inside(b[n:], binary.BigEndian.Uint16(b[2:]), cutOff, s)
}

// GRE (RFC 2784, RFC 2890).
const (
	greChecksum  = 0x8000
	greRouting   = 0x4000
	greKey       = 0x2000
	greSequence  = 0x1000
	greVersion   = 0x0007
	greAck       = 0x0080 // version 1 only
	grePPP       = 0x880b
	greERSPAN    = 0x88be
	greERSPAN3   = 0x22eb
	erspanHead   = 8
	erspan3Head  = 12
	erspanSubBit = 1 // of the last byte of the header of type III: eight bytes more
)

// decodeGRE opens GRE, its enhanced form (PPTP, RFC 2637) and the mirrored
// frames of ERSPAN.
func (d *decoder) decodeGRE(b []byte, cutOff int, s *segment) fate {
	if len(b) < 4 {
		return isBroken
	}
	flags, kind := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	n := 4
	for _, f := range []uint16{greChecksum | greRouting, greKey, greSequence} {
		if flags&f != 0 {
			n += 4
		}
	}
	if flags&greVersion == 1 && flags&greAck != 0 {
		n += 4
	}
	switch kind {
	case greERSPAN:
		if flags&greSequence != 0 { // type II; type I has no header
			n += erspanHead
		}
		kind = etherBridge
	case greERSPAN3:
		n += erspan3Head
		if n <= len(b) && b[n-1]&erspanSubBit != 0 {
			n += 8
		}
		kind = etherBridge
	}
	if n > len(b) {
		return isBroken
	}
	if kind == grePPP {
		return d.decodePPP(b[n:], cutOff, s)
	}
	return d.inside(b[n:], kind, cutOff, s)
}

// decodePPP reads the protocol in front of a packet of PPP, which may be short
// and have HDLC's address and control before it (RFC 1661 §6.5, RFC 1662 §3.1).
func (d *decoder) decodePPP(b []byte, cutOff int, s *segment) fate {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 3 {
		b = b[2:]
	}
	switch {
	case len(b) >= 1 && (b[0] == 0x21 || b[0] == 0x57):
		return d.inside(b[1:], etherIPv4, cutOff, s)
	case len(b) >= 2 && b[0] == 0 && (b[1] == 0x21 || b[1] == 0x57):
		return d.inside(b[2:], etherIPv4, cutOff, s)
	}
	return isOther
}
