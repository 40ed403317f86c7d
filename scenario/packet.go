package scenario

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"
)

// TCP flags (RFC 9293 §3.1).
const (
	tcpFin  = 1
	tcpSyn  = 2
	tcpPush = 8
	tcpAck  = 16
)

// pcapFile is a classic pcap file, microseconds, little endian, Ethernet.
type pcapFile struct{ bytes.Buffer }

func (f *pcapFile) begin() {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 262144) // snap length
	b = le.AppendUint32(b, 1)      // LINKTYPE_ETHERNET
	f.Write(b)
}

// packet adds one frame; snap > 0 keeps only so many of its bytes.
func (f *pcapFile) packet(at time.Time, frame []byte, snap int) {
	kept := frame
	if snap > 0 && snap < len(frame) {
		kept = frame[:snap]
	}
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(at.Unix()))
	b = le.AppendUint32(b, uint32(at.Nanosecond()/1000))
	b = le.AppendUint32(b, uint32(len(kept)))
	b = le.AppendUint32(b, uint32(len(frame)))
	f.Write(b)
	f.Write(kept)
}

// frame makes Ethernet, IPv4 and TCP around data. The TCP checksum stays 0, as
// an offloading card leaves it in captures.
func frame(src, dst netip.AddrPort, seq, ack uint32, flags byte, data string) []byte {
	be := binary.BigEndian
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0}
	ip := []byte{0x45, 0}
	ip = be.AppendUint16(ip, uint16(40+len(data)))
	ip = append(ip, 0, 0, 0x40, 0, 64, 6, 0, 0)
	s, d := src.Addr().As4(), dst.Addr().As4()
	ip = append(append(ip, s[:]...), d[:]...)
	be.PutUint16(ip[10:], checksum(ip))
	tcp := be.AppendUint16(nil, src.Port())
	tcp = be.AppendUint16(tcp, dst.Port())
	tcp = be.AppendUint32(tcp, seq)
	tcp = be.AppendUint32(tcp, ack)
	tcp = append(tcp, 5<<4, flags)
	tcp = be.AppendUint16(tcp, 64240)
	tcp = append(tcp, 0, 0, 0, 0)
	return append(append(append(b, ip...), tcp...), data...)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
