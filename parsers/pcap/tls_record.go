package pcap

// This file decrypts records and hands on what they hold.

// record reads a whole record of half i.
func (c *conn) record(i int, rec []byte, pc *piece) {
	t := c.tls
	h := &t.half[i]
	kind := rec[0]
	switch {
	case t.v13 && kind == recordChange:
		return // for middleboxes only (RFC 8446 §D.4)
	case kind == recordChange && !h.on:
		if h.on = h.app != nil; h.on {
			c.setHello(h, nil)
		}
		return
	case !t.ready && kind == recordData && t.early:
		c.earlyData(i, len(rec), pc.spot)
		return
	case !t.ready && kind == recordData:
		c.giveUpTLS(badHandshake, i, rec, pc.spot)
		return
	case kind != recordData && (t.v13 || !h.on):
		if kind == recordHandshake {
			c.handshakeData(i, rec[recordHead:], pc.spot)
		}
		return
	}
	t.sealed++
	if plain, kind, ok := c.openRecord(i, rec); ok {
		c.content(i, kind, plain, pc)
		return
	}
	switch {
	case t.v13 && !h.on && i == c.client && t.early:
		c.earlyData(i, len(rec), pc.spot)
		return
	}
	if h.failed++; h.failed > maxFailed || h.credit <= 0 {
		c.giveUpTLS(wrongKeys, i, nil, pc.spot)
		return
	}
	if t.v13 && !h.on && h.handshake == nil {
		return // most likely of the handshake, whose secret the log does not hold
	}
	h.doubt = min(h.doubt+1, maxDoubt)
	c.missing(i, len(rec), false, pc.spot, 0, "a TLS record does not decrypt")
}

// earlyData tells of what a client sent before the handshake was over, which is
// not decrypted.
func (c *conn) earlyData(i, n int, at spot) {
	c.a.input(at.at.Source).Stats.Note("TLS early data (0-RTT) is not decrypted; what it asked is missing")
	c.missing(i, n, false, at, 0, "TLS early data is not decrypted")
}

// openRecord decrypts a record of half i with the keys that may be in use, trying the
// numbers that it may have.
func (c *conn) openRecord(i int, rec []byte) (plain []byte, kind byte, ok bool) {
	t := c.tls
	h := &t.half[i]
	if c.a.room == nil {
		c.a.room = make([]byte, 0, roomOfOpen)
	}
	least := h.credit - max(h.credit/4, len(rec)) // one record must not use up what others need
	try := func(k *seal, from uint64) bool {
		for n := uint64(0); k != nil && n <= uint64(h.doubt) && h.credit > max(least, 0); n++ {
			h.credit -= len(rec)
			if plain, kind, ok = k.open(c.a.room, rec, from+n); ok {
				k.seq = from + n + 1
				return true
			}
		}
		return false
	}
	switch {
	case !h.on && h.handshake != nil && try(h.handshake, h.handshake.seq):
	case h.app != nil && try(h.app, h.app.seq):
		if !h.on && h.app.seq == 1 && c.kind == kindUnknown {
			c.half[i].msg.lost = false // what is missing was of the handshake
		}
		h.on, h.handshake = true, nil
		c.setHello(h, nil)
	case h.on && t.v13 && h.successor(t.suite) && try(h.next, 0):
		h.app, h.secret, h.next, h.nextRoot = h.next, h.nextRoot, nil, nil
	default:
		return nil, 0, false
	}
	h.failed, h.doubt = 0, 0
	if !t.opened {
		t.opened = true
		c.a.tally(c.a.last.at.Source, "decrypted with "+t.source)
	}
	return plain, kind, true
}

// successor prepares the keys behind a key update.
func (h *tlsHalf) successor(s suite) bool {
	if h.next != nil {
		return true
	}
	root, err := nextSecret(s, h.secret)
	if err != nil {
		return false
	}
	next, err := seal13(s, root)
	if err != nil {
		return false
	}
	h.next, h.nextRoot = next, root
	return true
}

// content hands on what a record held.
func (c *conn) content(i int, kind byte, plain []byte, pc *piece) {
	t := c.tls
	switch {
	case kind == recordHandshake && t.v13 && !t.half[i].on:
		c.handshakeData(i, plain, pc.spot)
	case kind == recordAlert && len(plain) == 2 && (plain[1] == closeNotify || plain[0] == fatal):
		c.leaves(i, pc.spot)
	case kind == recordData && len(plain) > 0:
		if c.kind == kindUnknown && t.alpn == "h2" {
			c.beginH2(c.client, pc.spot)
		}
		c.plain(i, &piece{seq: pc.seq, n: len(plain), data: plain, ack: pc.ack, acks: pc.acks, spot: pc.spot})
	}
}

// Alerts that end a direction (RFC 8446 §6).
const (
	closeNotify = 0
	fatal       = 2
)

// Why a connection cannot be read.
const (
	wrongKeys    = "its secrets do not fit"
	badHandshake = "its handshake is not in the capture, or not whole"
)
