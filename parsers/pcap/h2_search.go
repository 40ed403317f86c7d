package pcap

import (
	"bytes"
	"slices"
)

// This file finds frames where no preface leads to them: behind a hole, and in a
// connection that began before the capture.

// usual is stricter than legal: no extension, no flag without a meaning, no large frame.
func usual(b []byte) bool {
	f := frameOf(b)
	flags := [...]byte{flagEndStream | flagPadded, flagEndStream | flagEndHeaders | flagPadded | flagPriority, 0, 0, 1, flagEndHeaders | flagPadded, 1, 0, 0, flagEndHeaders}
	return f.kind <= frameContinuation && f.legal() && f.flags&^flags[f.kind] == 0 && f.size <= usualFrame && b[5]&0x80 == 0
}

// framesAt reports whether b begins with frames: their chain must end where b
// ends, or be of several frames, the last of which may be cut. more says that b
// is too short to tell.
func framesAt(b []byte) (ok, more bool) {
	for n := 0; ; n++ {
		if len(b) == 0 || n == 4 {
			return n > 0, false
		}
		if len(b) < frameHead {
			return n > 1, true
		}
		if b[0] > usualFrame>>16 || !usual(b) {
			return false, false
		}
		end := frameHead + frameOf(b).size
		if end > len(b) {
			return n > 0, true
		}
		b = b[end:]
	}
}

// border finds where a frame begins in what stands behind a hole. Where none does,
// it returns the first place where one may when more has come. The first old bytes
// of b were searched before: only the first such place among them is tried again,
// so that the search takes time in proportion to what comes.
func (c *conn) border(b []byte, old int) (at int, found bool) {
	first := -1
	for at := 0; at < len(b); at++ {
		if first >= 0 && at < old-frameHead+1 {
			at = old - frameHead + 1
		}
		ok, more := framesAt(b[at:])
		if ok {
			return at, true
		}
		if !more {
			continue
		}
		if len(b)-at >= frameHead {
			// The end of a large frame is far: data of a stream that is open is believed.
			f := frameOf(b[at:])
			if f.kind == frameData && c.findStream(f.stream) != nil {
				return at, true
			}
			if f.size > waitFrame {
				continue // not worth the wait
			}
		}
		if first < 0 {
			first = at
		}
	}
	if first < 0 {
		first = len(b)
	}
	return first, false
}

const waitFrame = 16 << 10 // the default of SETTINGS_MAX_FRAME_SIZE

// searchFrame looks for a frame behind a hole and returns what begins with it. What
// may become one is kept.
func (c *conn) searchFrame(i int, data []byte, at spot) (rest []byte) {
	m := &c.half[i].msg
	if !c.keep(m, data) {
		c.dropText(m)
		c.unread(i, at)
		return nil
	}
	from, found := c.border(m.buf, m.scanned)
	if !found && len(m.buf)-from > 2*waitFrame {
		from = len(m.buf) // no border comes of it
	}
	rest = bytes.Clone(m.buf[from:])
	c.dropText(m)
	if found {
		c.h2.dir[i].lost = false
		return rest
	}
	c.keep(m, rest)
	m.scanned = len(rest)
	c.unread(i, at)
	return nil
}

// meetsH2 begins HTTP/2 if data, the first bytes that half i shows, are frames:
// those of a connection that began before the capture, or settings that a server
// sends first.
func (c *conn) meetsH2(i int, data []byte, at spot) bool {
	if ok, _ := framesAt(data); !ok || len(data) < frameHead {
		return false
	}
	m := &c.half[i].msg
	client := c.client
	switch {
	case !m.lost && frameOf(data).kind != frameSettings:
		return false
	case client < 0:
		if client = c.clientOf(i, data); client < 0 {
			return false
		}
	case !m.lost && i == client:
		return false
	}
	c.beginH2(client, at)
	c.h2.dir[i].lost = false // this is a border
	c.feedH2(i, data, at)
	return true
}

// clientOf tells which half is the client of a connection whose beginning is not
// in view; -1 = cannot tell.
func (c *conn) clientOf(i int, data []byte) int {
	a, b := c.a.isServer(c.key.a), c.a.isServer(c.key.b)
	if a != b {
		if a {
			return 1
		}
		return 0
	}
	f := frameOf(data)
	if f.kind != frameHeaders || len(data) < frameHead+f.size {
		return -1
	}
	d := h2Dir{h2Frame: f}
	block := d.fragment(slices.Clone(data[frameHead : frameHead+f.size]))
	for len(block) > 0 && block[0]&0xe0 == 0x20 {
		block = block[1:]
	}
	if len(block) == 0 {
		return -1
	}
	index := block[0] & 0x7f // of a whole field, or of its name (RFC 7541 §6)
	switch {
	case block[0] >= 0x80:
	case block[0]&0x40 != 0:
		index = block[0] & 0x3f
	default:
		index = block[0] & 0x0f
	}
	switch { // Appendix A: 2 to 7 are :method, :path, :scheme; 8 to 14 :status
	case index >= 2 && index <= 7:
		return i
	case index >= 8 && index <= 14:
		return 1 - i
	}
	return -1
}
