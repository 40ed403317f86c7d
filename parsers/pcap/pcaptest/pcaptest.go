// Package pcaptest writes packet captures for tests: TCP conversations become
// packets, and packets a pcap or pcapng file of any link type, byte order and
// clock. Nothing in it is random or reads a clock, so equal calls give equal bytes.
//
//	var rec pcaptest.Recording
//	c := rec.Conn("10.0.0.2:40000", "10.0.0.1:8080")
//	c.Open(0)
//	c.Send(1*time.Millisecond, pcaptest.ToServer, "GET /mcp HTTP/1.1\r\n\r\n")
//	c.Send(2*time.Millisecond, pcaptest.ToClient, "HTTP/1.1 204 No Content\r\n\r\n")
//	c.Close(3*time.Millisecond, pcaptest.ToServer)
//	file := pcaptest.File{Link: pcaptest.Ethernet}.Encode(rec.Packets)
package pcaptest

import (
	"net/netip"
	"time"
)

// Base is the capture time of offset 0: 2026-01-02 03:04:05 UTC, in ns since 1970.
const Base = 1767323045_000000000

// TCP flags.
const (
	FIN = 0x01
	SYN = 0x02
	RST = 0x04
	PSH = 0x08
	ACK = 0x10
)

// Dir is the direction of a packet.
type Dir int

const (
	ToServer Dir = iota
	ToClient
)

// Packet is one packet as it is written. Change, drop, double or reorder the
// packets of a recording at will before encoding them.
type Packet struct {
	NS       int64 // capture time, ns since 1970
	Src, Dst netip.AddrPort
	Seq, Ack uint32
	Flags    uint8
	Payload  []byte
	Raw      []byte // if set, the network-layer packet itself; the fields above but NS do not count
	Link     []byte // if set, the frame itself, with its link layer
	Cut      int    // bytes at the end that the snap length took before; with Raw or Link
}

// Recording is a list of packets in capture order.
type Recording struct {
	Packets []Packet
	ISN     uint32 // initial sequence number of connections made from now on; 0 = 1000
}

// Conn is a TCP connection that writes its packets to a recording.
type Conn struct {
	rec     *Recording
	addr    [2]netip.AddrPort // client, server
	seq     [2]uint32
	Segment int  // bytes of payload per packet; 0 = all in one
	NoAck   bool // leave out the bare acknowledgements behind Send
}

// Conn makes a connection between "ip:port" addresses. It writes nothing by
// itself; without Open, the capture starts in the middle of the connection.
func (r *Recording) Conn(client, server string) *Conn {
	isn := r.ISN
	if isn == 0 {
		isn = 1000
	}
	return &Conn{rec: r, addr: [2]netip.AddrPort{netip.MustParseAddrPort(client), netip.MustParseAddrPort(server)}, seq: [2]uint32{isn, isn + 50000}}
}

// Open writes the three packets of the handshake, 10 µs apart.
func (c *Conn) Open(at time.Duration) {
	c.packet(at, ToServer, SYN, nil)
	c.seq[0]++
	c.packet(at+10*time.Microsecond, ToClient, SYN|ACK, nil)
	c.seq[1]++
	c.packet(at+20*time.Microsecond, ToServer, ACK, nil)
}

// Send writes payload in one or more segments, 1 µs apart, each followed by the
// acknowledgement of the other side.
func (c *Conn) Send(at time.Duration, dir Dir, payload string) {
	for first := true; first || payload != ""; first = false {
		n := len(payload)
		if c.Segment > 0 {
			n = min(n, c.Segment)
		}
		c.packet(at, dir, PSH|ACK, []byte(payload[:n]))
		c.seq[dir] += uint32(n)
		if !c.NoAck {
			c.packet(at+500, 1-dir, ACK, nil)
		}
		payload = payload[n:]
		at += time.Microsecond
	}
}

// Skip advances the sequence number as if n bytes had been sent, and writes nothing.
func (c *Conn) Skip(dir Dir, n int) { c.seq[dir] += uint32(n) }

// Ack writes a bare acknowledgement.
func (c *Conn) Ack(at time.Duration, dir Dir) { c.packet(at, dir, ACK, nil) }

// Fin ends one direction.
func (c *Conn) Fin(at time.Duration, dir Dir) {
	c.packet(at, dir, FIN|ACK, nil)
	c.seq[dir]++
}

// Close ends both directions, dir first, and acknowledges.
func (c *Conn) Close(at time.Duration, dir Dir) {
	c.Fin(at, dir)
	c.Fin(at+10*time.Microsecond, 1-dir)
	c.Ack(at+20*time.Microsecond, dir)
}

// Reset writes a RST.
func (c *Conn) Reset(at time.Duration, dir Dir) { c.packet(at, dir, RST|ACK, nil) }

func (c *Conn) packet(at time.Duration, dir Dir, flags uint8, payload []byte) {
	p := Packet{NS: Base + int64(at), Src: c.addr[dir], Dst: c.addr[1-dir], Seq: c.seq[dir], Flags: flags, Payload: payload}
	if flags&ACK != 0 {
		p.Ack = c.seq[1-dir]
	}
	c.rec.Packets = append(c.rec.Packets, p)
}
