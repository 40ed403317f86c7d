package pcap

import "github.com/isodetect/isodetect/event"

// This file says what is missing of an HTTP/2 connection: a hole inside a frame
// concerns its stream, any other hole all of them.

// h2Hole is called for n bytes of half i that are missing. exact says that n
// counts bytes of frames.
func (c *conn) h2Hole(i, n int, exact bool, at spot, loss event.Loss, why string) {
	d := &c.h2.dir[i]
	if !exact || d.lost || d.have < frameHead || n > d.left {
		if m := &c.half[i].msg; !d.lost && d.have == frameHead && (d.kind == frameHeaders || d.kind == frameContinuation) && len(m.buf) > 0 {
			d.blockLost, d.blockLoss = true, loss // what stands in front of the hole is read
			if d.kind == frameHeaders {
				d.beginBlock(m)
			}
			c.endBlock(i, at)
		}
		c.loseFrames(i, n, at, loss, why)
		return
	}
	d.left -= n
	switch d.kind {
	case frameData:
		d.padded = false
		c.streamHole(i, d.stream, at, loss, why)
	case frameHeaders, framePush, frameContinuation:
		d.blockLost, d.blockLoss = true, loss // what stands in front of the hole is read
		c.gap(at, c.dirOf(i), why, loss)
	default:
		c.gap(at, c.dirOf(i), why, loss)
	}
	if d.left == 0 {
		c.endFrame(i, at)
	}
}

// loseFrames gives up the place in direction i.
func (c *conn) loseFrames(i, n int, at spot, loss event.Loss, why string) {
	d := &c.h2.dir[i]
	c.dropText(&c.half[i].msg)
	d.prefix, d.have, d.left, d.inside, d.blockLost, d.lost = len(wholePrefix), 0, 0, 0, false, true
	d.table.forget()
	c.loseStreams(i, n, at, loss, why)
}

// streamHole is called for a hole that lies in the body of one stream.
func (c *conn) streamHole(i int, stream uint32, at spot, loss event.Loss, why string) {
	p := c.findStream(stream)
	if i != c.client {
		p = c.answering(stream, at)
	}
	if p == nil {
		c.gap(at, c.dirOf(i), why, loss)
		return
	}
	c.cutStream(i, p, at, loss, why)
}

func (c *conn) cutStream(i int, p *pending, at spot, loss event.Loss, why string) {
	if i == c.client {
		if !p.asked {
			c.cutRequest(p, at, loss, why)
		}
		return
	}
	if p.answerDone {
		return
	}
	p.loss |= event.LossResponseBody | loss
	if !p.holed {
		p.holed = true
		p.x.Gap(at.time(), at.at, event.ToClient, why)
	}
}

// loseStreams is called for a hole that may hold anything of any stream.
func (c *conn) loseStreams(i, n int, at spot, loss event.Loss, why string) {
	if i == c.client {
		c.h2.missing = true
	}
	if c.gap(at, c.dirOf(i), why, loss); c.exchange.N == 0 {
		c.early += n
	}
	for k := 0; k < len(c.open); {
		p := c.open[k]
		p.doubt = true
		switch {
		case i != c.client:
			if !p.answered {
				p.loss |= event.LossHeaders
			}
			c.cutStream(i, p, at, loss, why)
		case !p.asked:
			c.cutStream(i, p, at, loss, why)
			c.giveBody(p, at, event.LossRequestBody|loss)
			if p.answerDone {
				c.close(p, p.end, event.ByServer, 0)
				continue
			}
		}
		k++
	}
}

// unread tells that bytes of half i were seen and cannot be read: where they
// belong is not known yet.
func (c *conn) unread(i int, at spot) {
	c.gap(at, c.dirOf(i), "bytes behind a hole, whose place is not known", 0)
}

// likelyPath is the target of a request whose own is not known. An endpoint has
// one path for all requests as a rule, so what the connection, or else everybody,
// asked of this server is meant.
func (c *conn) likelyPath() string {
	c.a.out.drain()
	if c.domain.Path != "" {
		return c.domain.Path
	}
	return c.a.out.paths[c.server]
}
