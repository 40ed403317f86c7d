package scenario

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"
)

// Pcap compiles a trace to a capture of real packets: TCP connections with
// handshakes, HTTP/1.1 requests and responses, chunks for streams.
func (t *Trace) Pcap() []byte {
	c := &capture{t: t, flows: map[*Conn]*flow{}, chunked: map[*Exchange]bool{}, whole: map[*Happening]bool{}, last: -time.Second}
	return c.compile(c.happening)
}

func (c *capture) compile(take func(*Happening)) []byte {
	c.file.begin()
	for _, h := range c.t.Happenings {
		if h.X != nil {
			take(h)
		}
	}
	return c.file.Bytes()
}

// capture writes the packets of a trace.
type capture struct {
	t       *Trace
	file    pcapFile
	flows   map[*Conn]*flow
	chunked map[*Exchange]bool
	whole   map[*Happening]bool // bodies that went out together with their head
	last    time.Duration       // of the packet before
}

// flow is the state of one connection: next sequence number of each side.
type flow struct {
	client, server netip.AddrPort
	seq            [2]uint32 // of client, server
}

const (
	fromClient = 0
	fromServer = 1
	maxSegment = 1400
)

func (c *capture) happening(h *Happening) {
	x := h.X
	switch h.Kind {
	case KReq:
		c.send(h.At, x.Conn, fromClient, requestText(x), x.CutHead)
	case KHead:
		c.head(h)
	case KEvent:
		c.chunk(h.At, x, sseText(h))
	case KBody:
		if !c.whole[h] {
			c.chunk(h.At, x, string(h.Data))
		}
	case KClose:
		c.end(h)
	case KGap:
		c.gap(h)
	}
}

func (c *capture) gap(h *Happening) {
	f := c.flow(h.At, h.X.Conn)
	if h.Dir == "client" {
		f.seq[fromClient] += 512
	} else {
		f.seq[fromServer] += 512
	}
}

func requestText(x *Exchange) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", x.Method, x.Target)
	for _, f := range x.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	if len(x.Body) > 0 || x.Method == "POST" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(x.Body))
	}
	b.WriteString("\r\n")
	b.Write(x.Body)
	return b.String()
}

// head writes the response head. A body that comes at once goes with it and
// gives its length, anything else comes in chunks.
func (c *capture) head(h *Happening) {
	x := h.X
	var body *Happening
	stream := false
	for _, p := range x.Parts {
		if p.Kind == KBody && p.At == h.At {
			body = p
		}
		stream = stream || p.Kind == KEvent || p.Kind == KBody && p.At != h.At
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", x.Status, statusText(x.Status))
	for _, f := range x.RespHeader {
		fmt.Fprintf(&b, "%s: %s\r\n", f.Name, f.Value)
	}
	switch {
	case body != nil:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body.Data), body.Data)
		c.whole[body] = true
	case !stream && x.closed && x.Closed == h.At && x.By == "server":
		b.WriteString("Content-Length: 0\r\n\r\n")
	default:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		c.chunked[x] = true
	}
	c.send(h.At, x.Conn, fromServer, b.String(), false)
}

func (c *capture) chunk(at time.Duration, x *Exchange, text string) {
	c.send(at, x.Conn, fromServer, fmt.Sprintf("%x\r\n%s\r\n", len(text), text), false)
}

func (c *capture) end(h *Happening) {
	x := h.X
	switch {
	case h.By == "client":
		c.finish(h.At, x.Conn, fromClient)
	case c.chunked[x]:
		c.send(h.At, x.Conn, fromServer, "0\r\n\r\n", false)
	case !x.headDone:
		c.finish(h.At, x.Conn, fromServer)
	}
}

// flow returns the connection's state; its first use is the handshake.
func (c *capture) flow(at time.Duration, conn *Conn) *flow {
	if f := c.flows[conn]; f != nil {
		return f
	}
	f := &flow{client: netip.MustParseAddrPort(conn.ID), server: netip.MustParseAddrPort(conn.Host)}
	f.seq[0], f.seq[1] = uint32(seed(conn.ID)), uint32(seed(conn.Host+conn.ID))
	c.flows[conn] = f
	c.packet(at-300*time.Microsecond, f, fromClient, tcpSyn, "", 0)
	f.seq[0]++
	c.packet(at-200*time.Microsecond, f, fromServer, tcpSyn|tcpAck, "", 0)
	f.seq[1]++
	c.packet(at-100*time.Microsecond, f, fromClient, tcpAck, "", 0)
	return f
}

// send writes data in segments, each acknowledged. cut keeps only the beginning of the first.
func (c *capture) send(at time.Duration, conn *Conn, side int, data string, cut bool) {
	f := c.flow(at, conn)
	for len(data) > 0 {
		n := min(len(data), maxSegment)
		snap := 0
		if cut {
			snap = 130
		}
		c.packet(at, f, side, tcpAck|tcpPush, data[:n], snap)
		f.seq[side] += uint32(n)
		data = data[n:]
		c.packet(at+20*time.Microsecond, f, 1-side, tcpAck, "", 0)
	}
}

func (c *capture) finish(at time.Duration, conn *Conn, side int) {
	f := c.flow(at, conn)
	c.packet(at, f, side, tcpFin|tcpAck, "", 0)
	f.seq[side]++
	c.packet(at+20*time.Microsecond, f, 1-side, tcpFin|tcpAck, "", 0)
	f.seq[1-side]++
	c.packet(at+40*time.Microsecond, f, side, tcpAck, "", 0)
}

// packet writes one packet if the recording runs at that time.
func (c *capture) packet(at time.Duration, f *flow, side int, flags byte, data string, snap int) {
	if at < c.t.From-time.Millisecond/2 || at > c.t.End {
		return
	}
	if at <= c.last {
		at = c.last + time.Microsecond
	}
	c.last = at
	src, dst := f.client, f.server
	if side == fromServer {
		src, dst = dst, src
	}
	ack := f.seq[1-side]
	if flags == tcpSyn {
		ack = 0
	}
	c.file.packet(c.t.Stamp(at), frame(src, dst, f.seq[side], ack, flags, data), snap)
}
