package pcap

import (
	"cmp"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// This file makes exchanges of the streams of an HTTP/2 connection (RFC 9113 §5,
// §8). The number of a stream pairs request and response, so pairing is certain
// even behind holes. A connection carries many clients where a gateway pools.

// h2Conn is what a connection keeps beside its open exchanges, which are in the
// order of their streams.
type h2Conn struct {
	dir  [2]h2Dir
	last uint32 // the highest stream that the client was seen to open

	// missing says that requests behind last may have been in a hole; the streams
	// from missedFrom to missedTo may, too, and can still be answered.
	missing              bool
	missedFrom, missedTo uint32

	reset   [16]uint32 // the last streams that the client reset: what still comes on them reaches nobody
	resetAt int
}

const (
	maxStreams = 4096 // open streams of one connection
	maxH2      = 8192 // connections that carry HTTP/2
)

// beginH2 is called where a connection turns out to carry HTTP/2.
func (c *conn) beginH2(client int, at spot) {
	if c.kind == kindUnknown {
		c.becomeHTTP(client, at)
	}
	c.unpaired = false
	c.a.h2s++
	c.h2 = &h2Conn{}
	for i := range c.half {
		d, m := &c.h2.dir[i], &c.half[i].msg
		if i != client || m.lost {
			d.prefix = len(wholePrefix)
		}
		if m.lost {
			d.lost = true
			d.table.forget()
		}
	}
	c.h2.missing = c.h2.dir[client].lost
}

// upgradeH2 goes on with HTTP/2 behind a 101; the request that asked for it is
// stream 1 (RFC 7540 §3.2).
func (c *conn) upgradeH2(p *pending, at spot) {
	if !p.asked {
		c.giveBody(p, at, event.LossRequestBody)
	}
	for _, other := range slices.Clone(c.open) {
		if other != p {
			c.close(other, at, event.ByUnknown, event.LossResponseBody)
		}
	}
	c.req, c.resp = nil, nil
	p.stream = 1
	for i := range c.half {
		m := &c.half[i].msg
		c.dropText(m)
		m.state = inStart
	}
	c.beginH2(c.client, at)
	c.h2.last = 1
}

func (c *conn) findStream(id uint32) *pending {
	if at, ok := c.streamAt(id); ok {
		return c.open[at]
	}
	return nil
}

func (c *conn) streamAt(id uint32) (int, bool) {
	return slices.BinarySearchFunc(c.open, id, func(p *pending, id uint32) int { return cmp.Compare(p.stream, id) })
}

// headerBlock takes a header block of a stream. cut says that its end is missing.
func (c *conn) headerBlock(i int, stream uint32, block []byte, cut bool, at spot) {
	d := &c.h2.dir[i]
	b := &c.a.block
	if d.table.read(c.a, block, b) && !cut {
		c.flaw(at, "a header block that cannot be decoded; fields of it and of those that follow are not known")
	}
	b.unknown = b.unknown || cut
	switch {
	case d.blockPush || stream%2 == 0: // a push: not of MCP
		return
	case i == c.client:
		c.requestFields(stream, b, d.blockLoss, at)
	default:
		c.responseFields(stream, b, d.blockLoss, at)
	}
	if c.h2 != nil && d.blockEnds {
		c.endStream(i, stream, at)
	}
}

// requestFields opens the exchange of a stream.
func (c *conn) requestFields(stream uint32, b *fieldBlock, loss event.Loss, at spot) {
	h := c.h2
	if c.findStream(stream) != nil || stream <= h.last {
		return // a trailer
	}
	if h.missing && stream > h.last+2 {
		if h.missedFrom == 0 {
			h.missedFrom = h.last + 1
		}
		h.missedTo = stream - 1
	}
	h.missing, h.last = false, stream
	if len(c.open) >= maxStreams {
		c.flaw(at, "more streams are open than can be kept; the oldest is not followed further")
		c.close(c.open[0], at, event.ByUnknown, event.LossResponseBody)
	}
	r := exchange.Request{Method: b.method, Target: b.path, Header: b.fields, Loss: loss}
	if b.unknown {
		r.Loss |= event.LossHeaders
	}
	if b.path == "" {
		r.Loss |= event.LossRequest | event.LossHeaders
		r.Target = c.likelyPath()
	}
	p := c.begin(r, at)
	p.stream = stream
	c.open = append(c.open, p)
}

// responseFields takes the head of a response, an interim one, or a trailer.
func (c *conn) responseFields(stream uint32, b *fieldBlock, loss event.Loss, at spot) {
	p := c.answering(stream, at)
	switch {
	case p == nil || p.answerDone:
		return
	case p.answered && !(p.headless && b.hasStatus):
		return // a trailer
	case b.hasStatus && b.status < 200:
		return
	}
	p.answered = true
	loss |= p.loss & event.LossSnap
	if b.unknown {
		loss |= event.LossHeaders
	}
	if p.headless = b.status == 0; p.headless { // its value stood in the part of the table that was not seen
		p.x.Lose(loss | event.LossHeaders)
		return
	}
	p.x.Head(exchange.Response{Time: at.time(), At: at.at, Status: b.status, Header: b.fields, Loss: loss})
}

// answering returns the exchange that the server speaks on. If its request may
// have been in a hole, or before the capture, an exchange is opened that says so.
func (c *conn) answering(stream uint32, at spot) *pending {
	h := c.h2
	n, ok := c.streamAt(stream)
	if ok {
		return c.open[n]
	}
	missed := h.missing && stream > h.last || stream >= h.missedFrom && stream <= h.missedTo && h.missedFrom > 0
	if !missed || stream%2 == 0 || slices.Contains(h.reset[:], stream) || len(c.open) >= maxStreams {
		return nil
	}
	p := c.begin(exchange.Request{Target: c.likelyPath(), Loss: event.LossRequest | event.LossRequestBody | event.LossHeaders}, at)
	p.stream, p.asked, p.loss = stream, true, event.LossResponseBody
	n, _ = c.streamAt(stream)
	c.open = slices.Insert(c.open, n, p)
	return p
}

// streamData takes a piece of a body.
func (c *conn) streamData(i int, stream uint32, data []byte, at spot) {
	if i != c.client {
		if p := c.answering(stream, at); p != nil && !p.answerDone {
			p.holed = false
			p.x.Data(at.time(), at.at, data)
		}
		return
	}
	p := c.findStream(stream)
	if p == nil || p.asked || p.bodyCut || p.method == "CONNECT" {
		return
	}
	c.addBody(p, data, at)
}

// addBody keeps a piece of a request body.
func (c *conn) addBody(p *pending, data []byte, at spot) {
	if len(p.body)+len(data) > source.MaxRecord || c.a.texts+len(data) > maxTexts {
		p.bodyCut = true
		p.loss |= event.LossRequestBody
		c.flaw(at, "a request body is larger than can be kept; the rest of it is not read")
		return
	}
	p.body = append(p.body, data...)
	p.held += len(data)
	c.a.texts += len(data)
}

// endStream is called where half i has said all on a stream.
func (c *conn) endStream(i int, stream uint32, at spot) {
	p := c.findStream(stream)
	switch {
	case p == nil:
	case i == c.client && !p.asked:
		c.giveBody(p, at, 0)
		if p.answerDone {
			c.close(p, p.end, event.ByServer, 0)
		}
	case i != c.client && !p.answerDone:
		p.answerDone, p.end = true, at
		if p.asked {
			c.close(p, at, event.ByServer, 0)
		}
	}
}

// resetStream takes RST_STREAM: by the client it is what closing a connection is
// in HTTP/1.1.
func (c *conn) resetStream(i int, stream uint32, at spot) {
	if i == c.client {
		h := c.h2
		h.reset[h.resetAt] = stream
		h.resetAt = (h.resetAt + 1) % len(h.reset)
	}
	p := c.findStream(stream)
	switch {
	case p == nil:
	case p.answerDone:
		c.close(p, p.end, event.ByServer, 0)
	case i == c.client:
		c.close(p, at, event.ByClient, 0)
	default:
		c.close(p, at, event.ByServer, 0)
	}
}

// goAway ends the streams that the server says it will not serve.
func (c *conn) goAway(last uint32, at spot) {
	for n := len(c.open) - 1; n >= 0 && c.open[n].stream > last; n-- {
		if p := c.open[n]; !p.answered {
			c.close(p, at, event.ByServer, 0)
		}
	}
}
