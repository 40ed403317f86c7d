package traffic

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// pcapWriter writes a nanosecond capture with Ethernet frames: handshakes,
// segments of at most 1448 bytes, acknowledgements, and 1 % retransmissions.
type pcapWriter struct {
	w     *bufio.Writer
	rng   *rand.Rand
	frame [14 + 20 + 20]byte
}

const segment = 1448

func newPcap(w io.Writer) writer {
	p := &pcapWriter{w: bufio.NewWriterSize(w, 1<<16), rng: rand.New(rand.NewPCG(11, 11))}
	var head [24]byte
	le := binary.LittleEndian
	le.PutUint32(head[0:], 0xa1b23c4d) // nanoseconds
	le.PutUint16(head[4:], 2)
	le.PutUint16(head[6:], 4)
	le.PutUint32(head[16:], 1<<18)
	le.PutUint32(head[20:], 1) // Ethernet
	p.w.Write(head[:])
	return p
}

const (
	fin = 1
	syn = 2
	psh = 8
	ack = 16
)

func (p *pcapWriter) happen(h *happening) error {
	x := h.x
	switch h.what {
	case opened:
		if !x.c.open {
			x.c.open = true
			p.packet(h.at-3000, x.c, 0, syn, nil)
			p.packet(h.at-2000, x.c, 1, syn|ack, nil)
			p.packet(h.at-1000, x.c, 0, ack, nil)
		}
		head := x.verb + " /mcp HTTP/1.1\r\n" + lines(x.requestHeader())
		if x.send != "" {
			head += fmt.Sprintf("content-length: %d\r\n", len(x.send))
		}
		return p.data(h.at, x.c, 0, head+"\r\n"+x.send)
	case headed:
		if x.sse {
			return p.data(h.at, x.c, 1, "HTTP/1.1 200 OK\r\n"+lines(x.responseHeader())+"transfer-encoding: chunked\r\n\r\n")
		}
		if x.status != 200 || x.verb != "POST" {
			return p.data(h.at, x.c, 1, fmt.Sprintf("HTTP/1.1 %d Accepted\r\n%scontent-length: 0\r\n\r\n", x.status, lines(x.responseHeader())))
		}
	case event:
		text := "event: message\ndata: " + h.msg + "\n\n"
		return p.data(h.at, x.c, 1, fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
	case body:
		return p.data(h.at, x.c, 1, fmt.Sprintf("HTTP/1.1 200 OK\r\n%scontent-length: %d\r\n\r\n%s", lines(x.responseHeader()), len(h.msg), h.msg))
	case closed:
		if x.sse {
			return p.data(h.at, x.c, 1, "0\r\n\r\n")
		}
		if x.verb == "DELETE" {
			return p.leave(h.at, x.s)
		}
	}
	return nil
}

// leave closes the connections of a client whose session has ended.
func (p *pcapWriter) leave(at int64, s *session) (err error) {
	for _, c := range s.conns {
		if c.open {
			c.open = false
			p.packet(at+1000, c, 0, fin|ack, nil)
			p.packet(at+2000, c, 1, fin|ack, nil)
			err = p.packet(at+3000, c, 0, ack, nil)
		}
	}
	return err
}

func lines(fields [][2]string) string {
	s := ""
	for _, f := range fields {
		s += f[0] + ": " + f[1] + "\r\n"
	}
	return s
}

// data sends text in segments and acknowledges it.
func (p *pcapWriter) data(at int64, c *conn, from int, text string) error {
	for len(text) > 0 {
		n := min(len(text), segment)
		if p.rng.IntN(100) == 0 {
			before := c.seq
			p.packet(at, c, from, psh|ack, []byte(text[:n]))
			c.seq = before
			at += 200
		}
		p.packet(at, c, from, psh|ack, []byte(text[:n]))
		text = text[n:]
		at += 100
	}
	return p.packet(at, c, 1-from, ack, nil)
}

func (p *pcapWriter) packet(at int64, c *conn, from int, flags byte, payload []byte) error {
	be := binary.BigEndian
	f := p.frame[:]
	clear(f)
	f[5], f[11], f[12] = 1, 2, 8 // addresses, IPv4
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	be.PutUint16(ip[2:], uint16(40+len(payload)))
	tcp := ip[20:]
	client := [4]byte{10, 1, byte(c.ip >> 8), byte(c.ip)}
	if server := [4]byte{10, 0, 0, 1}; from == 0 {
		copy(ip[12:], client[:])
		copy(ip[16:], server[:])
		be.PutUint16(tcp[0:], uint16(c.port))
		be.PutUint16(tcp[2:], 8080)
	} else {
		copy(ip[12:], server[:])
		copy(ip[16:], client[:])
		be.PutUint16(tcp[0:], 8080)
		be.PutUint16(tcp[2:], uint16(c.port))
	}
	be.PutUint32(tcp[4:], c.seq[from])
	if flags&ack != 0 {
		be.PutUint32(tcp[8:], c.seq[1-from])
	}
	tcp[12], tcp[13] = 0x50, flags
	be.PutUint16(tcp[14:], 64240)
	c.seq[from] += uint32(len(payload))
	if flags&(syn|fin) != 0 {
		c.seq[from]++
	}
	be.PutUint16(ip[10:], checksum(ip[:20]))

	var record [16]byte
	le := binary.LittleEndian
	le.PutUint32(record[0:], uint32(at/1e9))
	le.PutUint32(record[4:], uint32(at%1e9))
	le.PutUint32(record[8:], uint32(len(f)+len(payload)))
	le.PutUint32(record[12:], uint32(len(f)+len(payload)))
	p.w.Write(record[:])
	p.w.Write(f)
	_, err := p.w.Write(payload)
	return err
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

func (p *pcapWriter) done() error { return p.w.Flush() }
