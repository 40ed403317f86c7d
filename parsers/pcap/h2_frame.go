package pcap

import (
	"encoding/binary"

	"github.com/isodetect/isodetect/event"
)

// This file cuts one direction of an HTTP/2 connection into frames (RFC 9113 §4),
// as the bytes come, for any segmentation. DATA is handed on piece by piece; a
// header block is kept until it is whole. The Framer of golang.org/x/net reads
// from a stream without holes or times, so it does not fit here.

const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32

	frameHead   = 9
	wholePrefix = preface + "\r\nSM\r\n\r\n"
	usualFrame  = 1 << 20 // a larger frame is not believed behind a hole
)

// h2Dir is where the reading of one direction stands.
type h2Dir struct {
	prefix int // bytes of the client's preface that were read; len(wholePrefix) = all
	head   [frameHead]byte
	have   int // bytes of head; frameHead = in a frame
	h2Frame
	left   int  // bytes of the frame to come
	pad    int  // how many of them are padding
	padded bool // the length of the padding is to come

	lost   bool // where the next frame begins is not known
	inside uint32
	// inside is the stream of a header block whose end has not come; 0 = none.
	blockEnds bool // it ends its stream
	blockPush bool // it is the request of a push
	blockLost bool // a part of it is missing
	blockLoss event.Loss

	table headerTable
}

// h2Frame is the head of a frame.
type h2Frame struct {
	size   int
	kind   byte
	flags  byte
	stream uint32
}

func frameOf(b []byte) h2Frame {
	return h2Frame{
		size: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), kind: b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// legal reports whether a frame of this head may exist (RFC 9113 §6).
func (f *h2Frame) legal() bool {
	switch f.kind {
	case frameData, frameHeaders, framePush, frameContinuation:
		return f.stream != 0
	case framePriority:
		return f.stream != 0 && f.size == 5
	case frameReset:
		return f.stream != 0 && f.size == 4
	case frameSettings:
		return f.stream == 0 && f.size%6 == 0 && (f.flags&1 == 0 || f.size == 0)
	case framePing:
		return f.stream == 0 && f.size == 8
	case frameGoAway:
		return f.stream == 0 && f.size >= 8
	case frameWindow:
		return f.size == 4
	}
	return true // extensions are skipped
}

// feedH2 takes the next bytes of half i.
func (c *conn) feedH2(i int, data []byte, at spot) {
	h := c.h2
	d := &h.dir[i]
	for len(data) > 0 && c.h2 == h {
		switch {
		case d.prefix < len(wholePrefix):
			if data[0] != wholePrefix[d.prefix] {
				c.flaw(at, "bytes that are no preface of HTTP/2; the next frame is searched")
				c.loseFrames(i, len(data), at, 0, "bytes that are no HTTP/2")
				continue
			}
			d.prefix++
			data = data[1:]
		case d.lost:
			data = c.searchFrame(i, data, at)
		case d.have < frameHead:
			n := copy(d.head[d.have:], data)
			data = data[n:]
			if d.have += n; d.have == frameHead {
				c.beginFrame(i, at)
			}
		default:
			n := min(d.left, len(data))
			d.left -= n
			c.framePayload(i, data[:n], at)
			data = data[n:]
			if c.h2 == h && d.left == 0 && d.have == frameHead {
				c.endFrame(i, at)
			}
		}
	}
}

func (c *conn) beginFrame(i int, at spot) {
	d := &c.h2.dir[i]
	d.h2Frame = frameOf(d.head[:])
	if !d.legal() {
		c.flaw(at, "bytes that are no HTTP/2 frame; the next frame is searched")
		c.loseFrames(i, frameHead, at, 0, "bytes that are no HTTP/2 frame")
		return
	}
	d.left, d.pad, d.padded = d.size, 0, d.kind == frameData && d.flags&flagPadded != 0
	if d.inside != 0 && (d.kind != frameContinuation || d.stream != d.inside) {
		c.flaw(at, "a header block that does not go on; it is not read")
		c.loseBlock(i)
	}
	if d.left == 0 {
		c.endFrame(i, at)
	}
}

// framePayload takes a piece of the frame; d.left is what follows it.
func (c *conn) framePayload(i int, data []byte, at spot) {
	d := &c.h2.dir[i]
	m := &c.half[i].msg
	switch d.kind {
	case frameData:
		if d.padded {
			d.padded, d.pad = false, min(int(data[0]), d.size-1)
			data = data[1:]
		}
		if n := len(data) + d.left - d.pad; n < len(data) {
			data = data[:max(n, 0)]
		}
		if len(data) > 0 {
			c.streamData(i, d.stream, data, at)
		}
	case frameHeaders, framePush, frameContinuation:
		if d.blockLost {
			return
		}
		if len(m.buf)+len(data) > maxHead || !c.keep(m, data) {
			c.flaw(at, "a header block is larger than can be kept; it is not read")
			c.dropText(m)
			d.blockLost = true
		}
	case frameReset, frameGoAway:
		if len(m.buf) < frameHead {
			c.keep(m, data[:min(len(data), 8)])
		}
	}
}

func (c *conn) endFrame(i int, at spot) {
	d := &c.h2.dir[i]
	m := &c.half[i].msg
	d.have = 0
	switch d.kind {
	case frameData:
		if d.flags&flagEndStream != 0 {
			c.endStream(i, d.stream, at)
		}
	case frameHeaders, framePush:
		d.beginBlock(m)
		if d.flags&flagEndHeaders != 0 {
			c.endBlock(i, at)
		}
	case frameContinuation:
		if d.inside != 0 && d.flags&flagEndHeaders != 0 {
			c.endBlock(i, at)
		} else if d.inside == 0 { // its beginning was lost
			d.blockLost = false
			c.dropText(m)
			d.table.forget()
		}
	case frameReset:
		c.dropText(m)
		c.resetStream(i, d.stream, at)
	case frameGoAway:
		if len(m.buf) >= 4 && i != c.client {
			c.goAway(binary.BigEndian.Uint32(m.buf)&(1<<31-1), at)
		}
		c.dropText(m)
	}
}

// beginBlock takes the payload of a frame that begins a header block.
func (d *h2Dir) beginBlock(m *message) {
	d.inside, d.blockPush = d.stream, d.kind == framePush
	d.blockEnds = d.kind == frameHeaders && d.flags&flagEndStream != 0
	m.buf = d.fragment(m.buf)
}

// fragment cuts padding, priority and the promised stream off the payload of
// HEADERS or PUSH_PROMISE.
func (d *h2Dir) fragment(b []byte) []byte {
	pad, from := 0, 0
	if d.flags&flagPadded != 0 && len(b) > 0 {
		pad, from = int(b[0]), 1
	}
	if d.blockLost { // its end is missing
		pad = 0
	}
	if d.kind == framePush {
		from += 4
	} else if d.flags&flagPriority != 0 {
		from += 5
	}
	if from+pad > len(b) {
		return b[:0]
	}
	return append(b[:0], b[from:len(b)-pad]...)
}

// endBlock reads a header block that is whole, or whose end is missing.
func (c *conn) endBlock(i int, at spot) {
	d := &c.h2.dir[i]
	m := &c.half[i].msg
	stream, lost := d.inside, d.blockLost
	d.inside, d.blockLost = 0, false
	c.headerBlock(i, stream, m.buf, lost, at)
	d.blockLoss = 0
	if lost {
		d.table.forget()
	}
	if c.h2 != nil {
		c.dropText(m)
	}
}

// loseBlock gives a header block up; what its fields did to the table is unknown.
func (c *conn) loseBlock(i int) {
	d := &c.h2.dir[i]
	d.inside, d.blockLost, d.blockLoss = 0, false, 0
	c.dropText(&c.half[i].msg)
	d.table.forget()
}

func (c *conn) dirOf(i int) event.Dir {
	if i == c.client {
		return event.ToServer
	}
	return event.ToClient
}
