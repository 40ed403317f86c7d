package pcap

import (
	"bytes"
	"fmt"

	"github.com/isodetect/isodetect/event"
)

// This file cuts one direction of a connection into HTTP/1.1 messages (RFC 9112),
// as the bytes come, for any segmentation.

type state uint8

const (
	inStart     state = iota // before or in a head
	inLength                 // in a body of known length
	inChunkSize              // in the line in front of a chunk
	inChunk                  // in a chunk or the line end behind it
	inTrailer
	inClose // in a body that ends with the connection
)

const (
	maxHead      = 256 << 10
	maxChunkLine = 8 << 10
)

// message is where the reading of one direction stands.
type message struct {
	state state
	lost  bool // the next message has to be searched: the beginning of this direction or a hole
	// rechunk says that a hole lies in a chunked body and no other response can be
	// in it, so that the body goes on if a chunk stands behind the hole.
	rechunk bool
	gapTold bool // since the last message began

	buf     []byte // a head or line whose end has not come
	scanned int    // bytes of buf that hold no end
	held    int    // len(buf) as the assembler counts it
	trailer int    // bytes of the trailer so far
	left    int64  // bytes of the body, or of the chunk and its line end, to come

	startSeq, startAck uint32 // of the segment that began the message
	startAcks          bool
}

// feed reads the bytes of one piece.
func (c *conn) feed(i int, pc *piece) {
	c.used(pc)
	if c.tls != nil && !(c.deaf && i != c.client) {
		c.feedTLS(i, pc)
		return
	}
	c.plain(i, pc)
}

// plain reads bytes of HTTP.
func (c *conn) plain(i int, pc *piece) {
	m := &c.half[i].msg
	for data := pc.data; len(data) > 0 && c.kind <= kindHTTP && !(c.deaf && i != c.client); {
		if c.h2 != nil {
			c.feedH2(i, data, pc.spot)
			return
		}
		n := len(data)
		switch m.state {
		case inStart:
			n = c.feedHead(i, data, pc)
		case inLength:
			n = int(min(int64(n), m.left))
			m.left -= int64(n)
			c.body(i, data[:n], pc.spot, m.left)
			if m.left == 0 {
				c.messageDone(i, pc.spot)
			}
		case inClose:
			c.body(i, data, pc.spot, -1)
		case inChunk:
			n = c.feedChunk(i, data, pc.spot)
		case inChunkSize, inTrailer:
			n = c.feedLine(i, data, pc.spot)
		}
		data = data[n:]
	}
}

func (c *conn) body(i int, data []byte, at spot, left int64) {
	if i == c.client {
		c.requestBody(data, at, left)
	} else {
		c.responseBody(data, at)
	}
}

func (c *conn) messageDone(i int, at spot) {
	c.half[i].msg.state = inStart
	if i == c.client {
		c.requestDone(at, 0)
	} else {
		c.responseDone(at)
	}
}

// feedHead collects a head and returns how many bytes of data it took.
func (c *conn) feedHead(i int, data []byte, pc *piece) int {
	m := &c.half[i].msg
	src, old := data, len(m.buf)
	if old == 0 {
		if !m.lost {
			if n := len(data) - len(bytes.TrimLeft(data, "\r\n")); n > 0 {
				return n // blank lines between messages (RFC 9112 §2.2)
			}
		}
		off := len(pc.data) - len(data)
		m.startSeq, m.startAck, m.startAcks = pc.seq+uint32(off), pc.ack, pc.acks
		// A request may have been found missing since the hole was met in this direction.
		if m.rechunk && !c.unpaired && off == 0 && chunkAt(data) {
			m.lost, m.rechunk, m.state = false, false, inChunkSize
			return 0
		}
	} else {
		data = data[:min(len(data), maxHead+1-old)]
		if !c.keep(m, data) {
			c.lose(i, pc.spot, 0, "too many unfinished heads are open")
			return len(data)
		}
		src = m.buf
	}
	got := startOf(src)
	if got == startTLS && (c.kind != kindUnknown || c.tls != nil || old == 0 && len(data) != len(pc.data)) {
		got = startNone
	}
	switch {
	case got == startPartial:
		return c.more(i, m, data, old, pc.spot)
	case got == startTLS && c.kind == kindUnknown:
		src = bytes.Clone(src)
		c.dropText(m)
		c.beginTLS(i, src, pc)
		return len(data)
	case got == startHTTP2 && (c.kind == kindUnknown || i == c.client):
		c.prefaced(i, bytes.Clone(src), pc.spot)
		return len(data)
	case c.kind == kindUnknown && old == 0 && len(data) == len(pc.data) && c.meetsH2(i, data, pc.spot):
		return len(data)
	case !c.fits(i, got):
		return c.noMessage(i, m, data, pc.spot)
	}
	end, resume := headEnd(src, min(m.scanned, len(src)))
	if end < 0 {
		m.scanned = resume
		return c.more(i, m, data, old, pc.spot)
	}
	took := end - old
	if !c.head(i, src[:end], true, pc.spot, 0) {
		return c.noMessage(i, m, data, pc.spot)
	}
	return took
}

// prefaced begins HTTP/2 where the client's preface stands.
func (c *conn) prefaced(i int, data []byte, at spot) {
	m := &c.half[i].msg
	c.dropText(m)
	for len(c.open) > 0 { // answers of HTTP/1.1 do not come any more
		c.close(c.open[0], at, event.ByUnknown, event.LossResponseBody)
	}
	m.lost = false
	c.beginH2(i, at)
	c.feedH2(i, data, at)
}

// fits reports whether a start is what half i may send.
func (c *conn) fits(i int, got start) bool {
	if c.kind == kindUnknown {
		return got == startRequest || got == startResponse
	}
	return got == startRequest && i == c.client || got == startResponse && i != c.client
}

// more keeps an unfinished head.
func (c *conn) more(i int, m *message, data []byte, old int, at spot) int {
	if old == 0 {
		data = data[:min(len(data), maxHead+1)]
		if !c.keep(m, data) {
			c.lose(i, at, 0, "too many unfinished heads are open")
			return len(data)
		}
	}
	if len(m.buf) > maxHead {
		c.flaw(at, "a head is longer than 256 KiB; it is not read")
		c.lose(i, at, 0, "a head was too long to be read")
	}
	return len(data)
}

// head reads a head and moves the direction on to its body.
func (c *conn) head(i int, head []byte, whole bool, at spot, loss event.Loss) bool {
	m := &c.half[i].msg
	m.state = inStart
	var ok bool
	if startOf(head) == startRequest {
		ok = c.requestHead(i, head, whole, at, loss)
	} else {
		ok = c.responseHead(i, head, whole, at, loss)
	}
	if ok {
		c.dropText(m)
	}
	return ok
}

// found says that a message began where it was searched.
func (m *message) found() { m.lost, m.rechunk, m.gapTold = false, false, false }

// noMessage goes on behind the next line end: nothing here begins a message.
func (c *conn) noMessage(i int, m *message, data []byte, at spot) int {
	c.dropText(m)
	if c.kind == kindUnknown {
		c.unsure = 0
		if !m.lost {
			c.retire(kindOther)
			return len(data)
		}
	} else if !m.lost {
		c.flaw(at, "bytes that are no HTTP message; the next message is searched")
		c.lose(i, at, 0, "bytes that are no HTTP message")
	}
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n + 1
	}
	return len(data)
}

// feedChunk takes bytes of a chunk and the line end behind it.
func (c *conn) feedChunk(i int, data []byte, at spot) int {
	m := &c.half[i].msg
	if m.left > 2 {
		n := int(min(int64(len(data)), m.left-2))
		m.left -= int64(n)
		c.body(i, data[:n], at, -1)
		return n
	}
	if data[0] != "\n\r"[m.left-1] {
		c.flaw(at, "a chunk does not end where its size says; the next message is searched")
		c.lose(i, at, 0, "a chunk of a body is broken")
		return 0
	}
	if m.left--; m.left == 0 {
		m.state = inChunkSize
	}
	return 1
}

// feedLine takes the line in front of a chunk, or a line of the trailer.
func (c *conn) feedLine(i int, data []byte, at spot) int {
	m := &c.half[i].msg
	n := bytes.IndexByte(data, '\n') + 1
	line := data[:max(n, 0)]
	if n == 0 || len(m.buf) > 0 {
		if n == 0 {
			n = len(data)
		}
		n = min(n, maxChunkLine+1)
		if !c.keep(m, data[:n]) || len(m.buf) > maxChunkLine || m.trailer > maxHead {
			c.flaw(at, "a line of a chunked body is too long; the next message is searched")
			c.lose(i, at, 0, "a chunk of a body is broken")
			return n
		}
		if data[n-1] != '\n' {
			return n
		}
		line = m.buf
	}
	if m.state == inTrailer {
		m.trailer += len(line)
		blank := len(bytes.TrimRight(line, "\r\n")) == 0
		c.dropText(m)
		if blank {
			m.trailer = 0
			c.messageDone(i, at)
		} else if m.trailer > maxHead {
			c.flaw(at, "the trailer of a chunked body is too long; the next message is searched")
			c.lose(i, at, 0, "a chunk of a body is broken")
		}
		return n
	}
	size, ok := chunkSize(line)
	c.dropText(m)
	switch {
	case !ok:
		c.flaw(at, "the size of a chunk is not readable; the next message is searched")
		c.lose(i, at, 0, "a chunk of a body is broken")
	case size == 0:
		m.state = inTrailer
	default:
		m.state, m.left = inChunk, size+2
	}
	return n
}

// keep appends to the unfinished head or line, unless too much is kept in all.
func (c *conn) keep(m *message, data []byte) bool {
	if c.a.texts+len(data) > maxTexts {
		return false
	}
	m.buf = append(m.buf, data...)
	m.held += len(data)
	c.a.texts += len(data)
	return true
}

func (c *conn) dropText(m *message) {
	c.a.texts -= m.held
	m.held, m.scanned = 0, 0
	if m.buf = m.buf[:0]; cap(m.buf) > 512 {
		m.buf = nil
	}
}

// hole is called for n bytes of direction i that are missing.
func (c *conn) hole(i, n int, at spot, loss event.Loss) {
	if c.deaf && i != c.client {
		return
	}
	why := fmt.Sprintf("%d bytes were not captured", n)
	if loss != 0 {
		why = fmt.Sprintf("the snap length cut %d bytes", n)
	}
	if c.tls != nil {
		c.tlsHole(i, n, at, loss, why)
		return
	}
	c.missing(i, n, true, at, loss, why)
}

// missing tells of n bytes that are missing. exact says that n counts what HTTP
// would have seen.
func (c *conn) missing(i, n int, exact bool, at spot, loss event.Loss, why string) {
	if c.h2 != nil {
		c.h2Hole(i, n, exact, at, loss, why)
		return
	}
	m := &c.half[i].msg
	if len(m.buf) > 0 && m.state == inStart && c.cutHead(i, at, loss) {
		c.lose(i, at, loss, why)
		return
	}
	if c.kind == kindUnknown {
		c.early += n
		c.dropText(m)
		m.lost = true
		c.strange(i, at, loss, why)
		return
	}
	inside := m.state == inClose ||
		exact && (m.state == inLength || m.state == inChunk) && int64(n) <= m.left
	if !inside {
		c.lose(i, at, loss, why)
		return
	}
	c.bodyHole(i, at, loss, why)
	if m.state == inClose {
		return
	}
	if m.left -= int64(n); m.left > 0 {
		return
	}
	if m.state == inChunk {
		m.state = inChunkSize
	} else {
		c.messageDone(i, at)
	}
}

// bodyHole tells the exchange of a hole that lies inside a body.
func (c *conn) bodyHole(i int, at spot, loss event.Loss, why string) {
	if i == c.client {
		if p := c.req; p != nil {
			c.cutRequest(p, at, loss, why)
		}
		return
	}
	if p := c.resp; p != nil {
		p.loss |= event.LossResponseBody | loss
		p.x.Gap(at.time(), at.at, event.ToClient, why)
	}
}

func (c *conn) cutRequest(p *pending, at spot, loss event.Loss, why string) {
	if !p.bodyCut {
		p.x.Gap(at.time(), at.at, event.ToServer, why)
	}
	p.bodyCut = true
	p.loss |= event.LossRequestBody | loss
}

// cutHead reads what is there of a head whose rest is missing. Which fields it had
// is then not known. It reports whether there was enough of it.
func (c *conn) cutHead(i int, at spot, loss event.Loss) bool {
	m := &c.half[i].msg
	if !c.fits(i, startOf(m.buf)) || bytes.IndexByte(m.buf, '\n') < 0 {
		return false
	}
	head := bytes.Clone(m.buf)
	return c.head(i, head, false, at, loss|event.LossHeaders) && c.kind == kindHTTP
}

// lose gives up the place in direction i of an HTTP connection: the next message
// has to be searched.
func (c *conn) lose(i int, at spot, loss event.Loss, why string) {
	m := &c.half[i].msg
	chunked := m.state == inChunkSize || m.state == inChunk || m.state == inTrailer || m.rechunk
	c.dropText(m)
	m.state, m.lost, m.rechunk, m.trailer = inStart, true, false, 0
	if c.kind != kindHTTP {
		return
	}
	if i == c.client {
		c.loseRequest(at, loss, why)
	} else {
		m.rechunk = c.loseResponse(at, loss, why) && chunked
	}
	m.gapTold = true
}

func (c *conn) loseRequest(at spot, loss event.Loss, why string) {
	c.unpaired = true
	if p := c.req; p != nil {
		c.bodyHole(c.client, at, loss, why)
		c.requestDone(at, event.LossRequestBody|loss)
	} else if !c.half[c.client].msg.gapTold {
		c.gap(at, event.ToServer, why, loss)
	}
}

// loseResponse reports whether the hole can only be in the current response.
func (c *conn) loseResponse(at spot, loss event.Loss, why string) bool {
	waiting := 0
	for _, p := range c.open {
		if p.answerDone {
			continue
		}
		waiting++
		p.loss |= event.LossResponseBody | loss
		if !p.answered {
			p.loss |= event.LossHeaders
		}
	}
	if c.resp != nil {
		c.bodyHole(1-c.client, at, loss, why)
	} else if !c.half[1-c.client].msg.gapTold {
		c.gap(at, event.ToClient, why, loss)
	}
	if waiting != 1 {
		// More than one answer, or one to a request that was not seen, may be in the hole.
		c.unpaired = true
	}
	return waiting == 1 && c.resp != nil && !c.unpaired
}
