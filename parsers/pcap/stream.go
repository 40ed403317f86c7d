package pcap

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
)

// This file puts the segments of one connection in order. Sequence numbers
// compare in a circle (RFC 9293 §3.4): before(a, b) says that a comes first.

func before(a, b uint32) bool { return int32(a-b) < 0 }

// piece is a run of payload. Bytes that the snap length cut are a piece without data.
type piece struct {
	seq   uint32
	n     int
	data  []byte
	ack   uint32 // what the sender had received of the other direction
	acks  bool   // ack is set
	first bool   // the first of its packet, for counting
	spot
}

func (p *piece) end() uint32 { return p.seq + uint32(p.n) }

// from drops the bytes before seq.
func (p *piece) from(seq uint32) {
	n := int(seq - p.seq)
	p.seq, p.n = seq, p.n-n
	if p.data != nil {
		p.data = p.data[n:]
	}
}

// pieceCost is what a buffered piece costs beside its bytes.
const pieceCost = 128

// half is one direction of a connection.
type half struct {
	base, next uint32 // the first byte of the direction, the next to be delivered
	acked      uint32 // how far the other side has received
	known      bool   // base and next are set
	syn        bool   // base is the true beginning
	seen       bool   // a packet of this direction was captured
	spoke      bool   // one had payload
	hasAck     bool   // acked is set
	fin, ended bool   // a FIN was seen; it was delivered

	finAt, finAck uint32
	finSpot       spot

	quiet int // a missing byte that was probably a FIN
	buf   []piece
	held  int
	msg   message
}

func (h *half) start(seq uint32, syn bool) {
	h.base, h.next, h.known, h.syn = seq, seq, true, syn
	h.msg.lost = !syn
}

// reusedBy reports whether a segment begins a new connection between the same endpoints.
func (c *conn) reusedBy(i int, s *segment) bool {
	h := &c.half[i]
	if c.kind == kindClosed {
		end := h.end()
		return end.reused(s)
	}
	// A repeated SYN, or one that comes after the data it announces, fits to what is known.
	return s.flags&(flagRST|flagSYN) == flagSYN && h.known && s.seq+1 != h.base
}

// packet takes one segment from half i.
func (c *conn) packet(i int, s *segment) {
	h, p := &c.half[i], &c.half[1-i]
	h.seen = true
	if s.flags&flagRST != 0 {
		c.reset(i, s)
		return
	}
	seq := s.seq
	if s.flags&flagSYN != 0 {
		seq++
		if c.handshake(i, seq, s); c.kind == kindOther {
			return
		}
	}
	if s.flags&flagACK != 0 {
		if !p.known { // its own first packets were not captured, or have not come
			p.start(s.ack, h.syn && !h.spoke)
		}
		if !p.hasAck || before(p.acked, s.ack) {
			p.acked, p.hasAck = s.ack, true
		}
	}
	n := len(s.data) + s.missing
	if n > 0 && !h.spoke && c.isCopy(s) {
		return
	}
	if n > 0 {
		if !h.known {
			h.start(seq, false)
		}
		h.spoke = true
		pc := piece{seq: seq, n: len(s.data), data: s.data, ack: s.ack, acks: s.flags&flagACK != 0, first: true, spot: s.spot}
		if pc.n > 0 {
			c.receive(i, pc)
		}
		if s.missing > 0 && c.kind <= kindHTTP {
			c.receive(i, piece{seq: seq + uint32(pc.n), n: s.missing, ack: pc.ack, acks: pc.acks, spot: s.spot})
		}
	}
	if s.flags&flagFIN != 0 && h.known && !h.fin {
		h.fin, h.finAt, h.finAck, h.finSpot = true, seq+uint32(n), s.ack, s.spot
	}
	if c.kind > kindHTTP {
		return
	}
	c.drain(false)
	if c.kind <= kindHTTP && !c.waits && c.stuck() {
		if c.waited && (!c.half[0].seen || !c.half[1].seen) {
			c.expire() // one direction is not captured at all: nothing is going to come
		} else {
			c.a.wait(c)
		}
	}
}

func (c *conn) handshake(i int, seq uint32, s *segment) {
	h := &c.half[i]
	if !h.known {
		h.start(seq, true)
	} else if seq == h.base && !h.syn {
		h.syn = true
	}
	if c.half[0].syn && c.half[1].syn && c.isTranslated() {
		return
	}
	if c.kind != kindUnknown {
		return
	}
	c.client = i
	if s.flags&flagACK != 0 {
		c.client = 1 - i
	}
}

// receive delivers a piece or keeps it until its turn. Kept pieces are copied.
func (c *conn) receive(i int, pc piece) {
	h := &c.half[i]
	if !before(h.next, pc.end()) {
		c.repeated(&pc) // a retransmission, or the same packet from another place
		return
	}
	if len(h.buf) == 0 && !before(h.next, pc.seq) && c.caused(i, pc.ack, pc.acks) {
		c.deliver(i, pc)
		return
	}
	if !h.insert(c.a, pc) {
		c.repeated(&pc)
	}
	for len(h.buf) > 0 && (len(h.buf) > maxSegments || h.held > maxAhead || c.a.ahead > maxAheadAll) {
		c.forward(i)
		c.drain(false)
	}
}

// repeated counts a packet that said nothing new.
func (c *conn) repeated(pc *piece) {
	if pc.first {
		c.a.input(pc.at.Source).Stats.Repeated++
	}
}

// insert keeps the parts of a piece that no kept piece has: the first wins. It
// reports whether there was one.
func (h *half) insert(a *assembler, pc piece) (kept bool) {
	at := 0
	for pc.n > 0 && at < len(h.buf) {
		old := &h.buf[at]
		if !before(pc.seq, old.end()) {
			at++
			continue
		}
		if before(pc.seq, old.seq) {
			part := pc
			part.n = min(pc.n, int(old.seq-pc.seq))
			if pc.data != nil {
				part.data = pc.data[:part.n]
			}
			h.put(a, at, part)
			at++
			pc.first, kept = false, true
			if part.n == pc.n {
				return true
			}
			old = &h.buf[at]
		}
		if !before(old.end(), pc.end()) {
			return kept
		}
		pc.from(old.end())
		at++
	}
	if pc.n > 0 {
		h.put(a, at, pc)
		kept = true
	}
	return kept
}

func (h *half) put(a *assembler, at int, pc piece) {
	pc.data = bytes.Clone(pc.data)
	h.buf = append(h.buf, piece{})
	copy(h.buf[at+1:], h.buf[at:])
	h.buf[at] = pc
	cost := len(pc.data) + pieceCost
	h.held += cost
	a.ahead += cost
}

// take removes the first kept piece.
func (h *half) take(a *assembler) piece {
	pc := h.buf[0]
	n := copy(h.buf, h.buf[1:])
	h.buf[n] = piece{}
	h.buf = h.buf[:n]
	if n == 0 && cap(h.buf) > 8 {
		h.buf = nil
	}
	cost := len(pc.data) + pieceCost
	h.held -= cost
	a.ahead -= cost
	return pc
}

// caused reports whether everything was delivered that the sender of a piece had
// received: an answer must not be read before its question, even if the capture
// has them in another order.
func (c *conn) caused(i int, ack uint32, acks bool) bool {
	p := &c.half[1-i]
	return !acks || !p.known || !before(p.next, ack)
}

// drain delivers what is next in both directions until nothing fits. force
// delivers a piece whose cause is missing.
func (c *conn) drain(force bool) {
	for moved := true; moved && c.kind <= kindHTTP; {
		moved = false
		for i := range c.half {
			h := &c.half[i]
			for c.kind <= kindHTTP && len(h.buf) > 0 && !before(h.next, h.buf[0].seq) &&
				(force || c.caused(i, h.buf[0].ack, h.buf[0].acks)) {
				pc := h.take(c.a)
				if before(h.next, pc.end()) {
					c.deliver(i, pc)
				}
				moved, force = true, false
			}
			if c.kind <= kindHTTP && h.fin && !h.ended && len(h.buf) == 0 && !before(h.next, h.finAt) &&
				(force || c.caused(i, h.finAck, true)) {
				h.ended = true
				h.next = h.finAt + 1
				c.ended(i, h.finSpot)
				moved, force = true, false
			}
		}
	}
}

// deliver reads the next bytes of a direction.
func (c *conn) deliver(i int, pc piece) {
	h := &c.half[i]
	if before(pc.seq, h.next) {
		pc.from(h.next)
	}
	if h.quiet > 0 {
		n := h.quiet
		h.quiet = 0
		c.hole(i, n, pc.spot, 0)
	}
	h.next = pc.end()
	if pc.data == nil {
		c.hole(i, pc.n, pc.spot, event.LossSnap)
		return
	}
	c.feed(i, &pc)
}

// gapEnd returns where the hole ends that the other side proves by having
// acknowledged beyond it; ok is false if there is none.
func (h *half) gapEnd() (end uint32, ok bool) {
	if !h.known || !h.hasAck || !before(h.next, h.acked) {
		return 0, false
	}
	end = h.acked
	if len(h.buf) > 0 {
		if !before(h.next, h.buf[0].seq) {
			return 0, false
		}
		if before(h.buf[0].seq, end) {
			end = h.buf[0].seq
		}
	} else if h.fin && before(h.finAt, end) {
		end = h.finAt
	}
	return end, before(h.next, end)
}

// stuck reports whether waiting is of use: the capture is behind what the two
// sides have acknowledged.
func (c *conn) stuck() bool {
	for i := range c.half {
		h := &c.half[i]
		if _, ok := h.gapEnd(); ok {
			return true
		}
		if len(h.buf) > 0 && !before(h.next, h.buf[0].seq) {
			return true
		}
		if len(h.buf) == 0 && h.fin && !h.ended && !before(h.next, h.finAt) {
			return true
		}
	}
	return false
}

// expire gives up waiting: holes that are proven are jumped over.
func (c *conn) expire() {
	c.drain(false)
	for c.kind <= kindHTTP && c.stuck() {
		jumped := false
		for i := range c.half {
			if end, ok := c.half[i].gapEnd(); ok {
				c.jump(i, end)
				jumped = true
			}
		}
		c.drain(!jumped)
	}
}

// forward makes room: it jumps to the first kept piece of a direction and reads it.
func (c *conn) forward(i int) {
	h := &c.half[i]
	if len(h.buf) == 0 {
		return
	}
	if before(h.next, h.buf[0].seq) {
		c.jump(i, h.buf[0].seq)
	}
	if c.kind > kindHTTP {
		return
	}
	if pc := h.take(c.a); before(h.next, pc.end()) {
		c.deliver(i, pc)
	}
}

// flush delivers everything that is kept, over all holes.
func (c *conn) flush() {
	c.expire()
	for c.kind <= kindHTTP {
		moved := false
		for i := range c.half {
			h := &c.half[i]
			switch {
			case c.kind > kindHTTP:
			case len(h.buf) > 0:
				c.forward(i)
				moved = true
			case h.fin && !h.ended && before(h.next, h.finAt):
				c.jump(i, h.finAt)
				moved = true
			}
			c.drain(false)
		}
		if !moved {
			if !c.stuck() {
				return
			}
			c.expire()
		}
	}
}

// jump goes over a hole in direction i.
func (c *conn) jump(i int, to uint32) {
	h := &c.half[i]
	n := int(to - h.next)
	h.next = to
	if n == 1 && len(h.buf) == 0 && !h.fin {
		h.quiet = 1 // the acknowledged byte is most likely a FIN that was not captured
		return
	}
	at := c.a.last
	if len(h.buf) > 0 {
		at = h.buf[0].spot
	}
	n += h.quiet
	h.quiet = 0
	c.hole(i, n, at, 0)
}

// release gives back what is kept.
func (c *conn) release() {
	if c.tls != nil {
		for i := range c.tls.half {
			c.dropCipher(&c.tls.half[i])
			c.setHello(&c.tls.half[i], nil)
		}
		c.tls = nil
	}
	if c.h2 != nil {
		c.h2.dir[0].table.release(c.a)
		c.h2.dir[1].table.release(c.a)
		c.a.h2s--
		c.h2 = nil
	}
	for i := range c.half {
		h := &c.half[i]
		c.a.ahead -= h.held
		c.a.texts -= h.msg.held
		h.buf, h.held = nil, 0
		h.msg = message{lost: h.msg.lost}
	}
}
