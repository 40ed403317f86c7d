package scenario

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// PcapH2 compiles a trace to a capture of HTTP/2 in the clear, with prior
// knowledge: the same connections, where every exchange is a stream, and a client
// that leaves resets it. Fields are never put into the table, so that a capture
// which begins late shows what one of HTTP/1.1 shows.
func (t *Trace) PcapH2() []byte {
	c := &captureH2{
		capture: capture{t: t, flows: map[*Conn]*flow{}, last: -time.Second},
		conns:   map[*Conn]uint32{}, streams: map[*Exchange]uint32{}, ended: map[*Exchange]bool{},
	}
	c.framer = http2.NewFramer(&c.buf, nil)
	c.enc = hpack.NewEncoder(&c.block)
	return c.compile(c.happening)
}

type captureH2 struct {
	capture
	buf, block bytes.Buffer
	framer     *http2.Framer
	enc        *hpack.Encoder
	conns      map[*Conn]uint32 // the next stream
	streams    map[*Exchange]uint32
	ended      map[*Exchange]bool // the server has said all
}

func (c *captureH2) happening(h *Happening) {
	x := h.X
	switch h.Kind {
	case KReq:
		c.request(h)
	case KHead:
		c.respond(h)
	case KEvent:
		c.data(x, []byte(sseText(h)), false)
	case KBody:
		c.data(x, h.Data, !c.lasts(x))
	case KClose:
		c.close(h)
	case KGap:
		c.gap(h)
	}
	if h.Kind != KReq {
		side := fromServer
		if h.By == "client" {
			side = fromClient
		}
		c.flush(h.At, x.Conn, side, false)
	}
}

func (c *captureH2) flush(at time.Duration, conn *Conn, side int, cut bool) {
	text := c.buf.String()
	c.buf.Reset()
	c.send(at, conn, side, text, cut)
}

func (c *captureH2) request(h *Happening) {
	x := h.X
	id, ok := c.conns[x.Conn]
	if !ok {
		id = 1
		c.buf.WriteString(http2.ClientPreface)
		_ = c.framer.WriteSettings()
		c.flush(h.At, x.Conn, fromClient, false)
		_ = c.framer.WriteSettings()
		c.flush(h.At, x.Conn, fromServer, false)
	}
	c.conns[x.Conn], c.streams[x] = id+2, id
	c.field(":method", x.Method)
	c.field(":scheme", "http")
	c.field(":path", x.Target)
	for _, f := range x.Header {
		if !strings.EqualFold(f.Name, "Host") {
			c.field(f.Name, f.Value)
		}
	}
	c.headers(id, len(x.Body) == 0)
	if len(x.Body) > 0 {
		_ = c.framer.WriteData(id, true, x.Body)
	}
	c.flush(h.At, x.Conn, fromClient, x.CutHead)
}

func (c *captureH2) field(name, value string) {
	_ = c.enc.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: value, Sensitive: true})
}

func (c *captureH2) headers(stream uint32, end bool) {
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndStream: end, EndHeaders: true})
	c.block.Reset()
}

func (c *captureH2) respond(h *Happening) {
	x := h.X
	c.field(":status", strconv.Itoa(x.Status))
	for _, f := range x.RespHeader {
		c.field(f.Name, f.Value)
	}
	end := len(x.Parts) == 0 && x.closed && x.Closed == h.At && x.By == "server"
	c.ended[x] = end
	c.headers(c.streams[x], end)
}

// lasts reports whether an exchange has more than one part.
func (c *captureH2) lasts(x *Exchange) bool { return len(x.Parts) > 1 || !x.closed || x.By != "server" }

func (c *captureH2) data(x *Exchange, data []byte, end bool) {
	if !c.ended[x] {
		c.ended[x] = end
		_ = c.framer.WriteData(c.streams[x], end, data)
	}
}

func (c *captureH2) close(h *Happening) {
	x := h.X
	switch {
	case h.By == "client":
		_ = c.framer.WriteRSTStream(c.streams[x], http2.ErrCodeCancel)
	case !x.headDone:
		_ = c.framer.WriteRSTStream(c.streams[x], http2.ErrCodeInternal)
	default:
		c.data(x, nil, true)
	}
}
