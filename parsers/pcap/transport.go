package pcap

import "encoding/binary"

// This file reads what IP carries: TCP, and UDP as far as it holds tunnels or QUIC.

func (d *decoder) decodeTransport(proto byte, b []byte, missing int, s *segment) fate {
	switch proto {
	case 6:
		return d.decodeTCP(b, missing, s)
	case 17:
		return d.decodeUDP(b, missing, s)
	case 4, 41: // IP in IP
		return d.inside(b, etherIPv4, missing, s)
	case 47:
		return d.decodeGRE(b, missing, s)
	}
	return isOther
}

func (d *decoder) decodeTCP(b []byte, missing int, s *segment) fate {
	if len(b) < 20 {
		return isBroken
	}
	s.src.port, s.dst.port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	s.seq, s.ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	head := int(b[12]>>4) * 4
	s.flags = b[13]
	switch {
	case head < 20 || head > len(b)+missing:
		return isBroken
	case head > len(b): // the snap length cut the options
		s.data, s.missing = nil, missing-(head-len(b))
	default:
		s.data, s.missing = b[head:], missing
	}
	return isTCP
}

func (d *decoder) decodeUDP(b []byte, missing int, s *segment) fate {
	if len(b) < 8 {
		return isOther
	}
	s.src.port, s.dst.port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	size := len(b) - 8 + missing
	switch b = b[8:]; {
	case s.dst.port == portVXLAN || s.dst.port == portVXLANLinux:
		return d.decodeVXLAN(b, missing, s)
	case s.dst.port == portGeneve:
		return d.decodeGeneve(b, missing, s)
	case isInitial(b, size, s.dst.port):
		return isQUIC
	}
	return isOther
}

// isInitial recognises the first datagram of a QUIC connection: a long header
// with a version (RFC 9000 §17.2) in a datagram of at least 1,200 bytes (§14.1). On
// other ports than 443 it has to be one of the versions that exist.
func isInitial(b []byte, size int, port uint16) bool {
	if len(b) < 5 || b[0]&0xc0 != 0xc0 || size < 1200 {
		return false
	}
	switch v := binary.BigEndian.Uint32(b[1:]); {
	case v == 1:
		return b[0]&0x30 == 0
	case v == 0x6b3343cf: // version 2 (RFC 9369 §3.2) counts packet types otherwise
		return b[0]&0x30 == 0x10
	default:
		return v != 0 && port == 443 && b[0]&0x30 == 0
	}
}
