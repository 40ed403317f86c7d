package pcap

import (
	"fmt"
	"hash/crc32"
)

// This file finds connections that a capture holds twice under different addresses,
// before and behind address translation: on a host with containers, or on "any" of
// a gateway. Sequence numbers are drawn from 2³² and go through translation
// unchanged, so a connection that begins with those of another one is that other one. A proxy
// makes connections of its own, with numbers of their own: its two sides stay two.

const (
	twinWithin = 100e6 // ns between the two sights of one packet
	maxTwins   = 4096  // connections that are remembered to be compared
)

// twinKey is how a connection begins: both initial sequence numbers, or, where its
// handshake is not in view, the first packet with payload.
type twinKey struct {
	seq, ack  uint32
	length    int
	sum       uint32
	handshake bool
}

type twins struct {
	known map[twinKey]*conn
	order []twinMark // oldest first
	n     int        // connections found to be copies
}

type twinMark struct {
	key twinKey
	ns  int64
}

// telling reports whether the numbers are drawn, not counted from 0 as in made-up captures.
func (k *twinKey) telling() bool {
	return k.seq > 0xffff && k.ack > 0xffff && k.seq != k.ack
}

// meet returns the connection that began with the same key a moment ago, and
// remembers this one.
func (a *assembler) meet(c *conn, key twinKey) *conn {
	if !key.telling() {
		return nil
	}
	t := &a.twins
	n := 0
	for n < len(t.order) && (a.now-t.order[n].ns > twinWithin || len(t.order)-n >= maxTwins) {
		delete(t.known, t.order[n].key)
		n++
	}
	t.order = t.order[n:]
	if other := t.known[key]; other != nil {
		if other == c {
			return nil
		}
		return other
	}
	if t.known == nil {
		t.known = map[twinKey]*conn{}
	}
	t.known[key] = c
	t.order = append(t.order, twinMark{key, a.now})
	return nil
}

// isTranslated is called when both sides of a handshake were seen. Of two copies
// the one nearer to the server is read if they name different servers, since the
// address in front may stand for several; else the one nearer to the client. It
// reports whether this connection is not to be read.
func (c *conn) isTranslated() bool {
	if c.kind != kindUnknown || c.half[0].spoke || c.half[1].spoke || c.client < 0 {
		return false
	}
	other := c.a.meet(c, twinKey{seq: c.half[c.client].base, ack: c.half[1-c.client].base, handshake: true})
	if other == nil || other.kind != kindUnknown || other.client < 0 || other.half[0].spoke || other.half[1].spoke {
		return false
	}
	first, second := other, c
	if first.born > second.born {
		first, second = second, first
	}
	drop := second
	if first.serverEnd() != second.serverEnd() {
		drop = first
	}
	drop.putAside()
	return drop == c
}

func (c *conn) serverEnd() endpoint {
	if c.client == 0 {
		return c.key.b
	}
	return c.key.a
}

// isCopy is called for the first payload of a direction. It reports whether the
// packet was seen under other addresses; of such copies the first is read.
func (c *conn) isCopy(s *segment) bool {
	if c.kind != kindUnknown || c.half[0].syn || c.half[1].syn || c.half[0].spoke || c.half[1].spoke || s.flags&flagACK == 0 {
		return false
	}
	other := c.a.meet(c, twinKey{seq: s.seq, ack: s.ack, length: len(s.data) + s.missing, sum: crc32.ChecksumIEEE(s.data)})
	if other == nil {
		return false
	}
	c.putAside()
	return true
}

// putAside leaves a connection out because its copy is read.
func (c *conn) putAside() {
	c.a.twins.n++
	c.retire(kindOther)
}

// noteTwins tells how many connections were left out.
func (a *assembler) noteTwins() {
	if n := a.twins.n; n > 0 {
		a.input(a.last.at.Source).Stats.Note(fmt.Sprintf("TCP connections captured on both sides of an address translation: %d; one side of each was read", n))
	}
}
