package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
)

// This file cuts the two directions of a TLS connection into records, decrypts
// them with logged secrets, and hands on what the records hold. A record is read
// whole or not at all; which one it is decides its nonce. Behind a hole the border
// of a record and its number are therefore searched, and authentication says when
// both are right.

// Types of records (RFC 8446 §5.1).
const (
	recordChange    = 20
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23

	recordHead = 5
	maxCipher  = 1<<14 + 2048           // bytes behind the head of a record (RFC 5246 §6.2.3)
	minRecord  = recordHead + 1 + 16    // the smallest protected one
	roomOfOpen = recordHead + maxCipher // of a decrypted record
	maxDoubt   = 2048                   // records that a hole may have swallowed and that are tried
	maxFailed  = 16                     // records in a row that do not decrypt
	credit     = 64                     // bytes of trial decryption per byte of the connection
	firstTrial = 1 << 20                // bytes of trial decryption to begin with
)

// tlsConn is the TLS layer of a connection whose secrets are known.
type tlsConn struct {
	secrets *keylog.Secrets
	source  string // of the secrets
	random  keylog.Random
	suite   suite
	alpn    string
	ready   bool // the ServerHello was seen
	v13     bool
	early   bool // the client announced early data
	opened  bool // a record was decrypted
	sealed  int  // protected records that were seen
	half    [2]tlsHalf
}

// tlsHalf is one direction of it.
type tlsHalf struct {
	buf    []byte // an unfinished record, or what is searched for one
	held   int    // len(buf) as the assembler counts it
	skip   int    // bytes of a record that is lost
	lost   bool   // where the next record begins is not known
	doubt  int    // how many records at most are missing before the next one
	credit int    // bytes of trial decryption that are left
	failed int    // records in a row that did not decrypt
	hello  []byte // unfinished handshake messages

	handshake *seal // TLS 1.3, until the handshake is over
	app       *seal
	on        bool // app protects the records that come
	secret    []byte
	next      *seal // TLS 1.3: after the next key update
	nextRoot  []byte
}

// recordSize returns the length of the record that begins b, its head included; 0
// if none does. b holds a head at least.
func recordSize(b []byte) int {
	n := int(binary.BigEndian.Uint16(b[3:]))
	if b[0] < recordChange || b[0] > 24 || b[1] != 3 || b[2] > 4 || n == 0 || n > maxCipher {
		return 0
	}
	return recordHead + n
}

// beginTLS starts the TLS layer of a connection, whose first bytes of half i are data.
func (c *conn) beginTLS(i int, data []byte, pc *piece) {
	if c.a.keys.none() {
		c.giveUpTLS("no secrets are given: use --tls-keylog FILE, or put them into the capture with editcap --inject-secrets tls,FILE, or record behind TLS", i, data, pc.spot)
		return
	}
	c.tls = &tlsConn{}
	for k := range c.tls.half {
		c.tls.half[k].credit = firstTrial
	}
	c.feedTLS(i, &piece{seq: pc.end() - uint32(len(data)), n: len(data), data: data, ack: pc.ack, acks: pc.acks, spot: pc.spot})
}

// feedTLS takes the next bytes of half i.
func (c *conn) feedTLS(i int, pc *piece) {
	t := c.tls
	h := &t.half[i]
	h.credit += credit * len(pc.data)
	for data := pc.data; len(data) > 0 && c.tls == t; {
		switch {
		case h.skip > 0:
			n := min(h.skip, len(data))
			h.skip -= n
			data = data[n:]
			c.unread(i, pc.spot)
		case h.lost:
			data = c.searchRecord(i, data, pc)
		case len(h.buf) == 0 && len(data) >= recordHead:
			n := recordSize(data)
			if n > len(data) {
				data = c.collect(i, data, n, pc)
				continue
			}
			if n == 0 {
				c.loseRecord(i, data, pc)
				return
			}
			c.record(i, data[:n], pc)
			data = data[n:]
		default:
			n := recordHead
			if len(h.buf) >= recordHead {
				n = recordSize(h.buf)
			}
			if data = c.collect(i, data, n, pc); c.tls == t && len(h.buf) == recordHead && recordSize(h.buf) == 0 {
				c.loseRecord(i, data, pc)
				return
			}
		}
	}
}

// collect keeps bytes of an unfinished record up to n in all, and reads it when it
// is whole. It returns what follows.
func (c *conn) collect(i int, data []byte, n int, pc *piece) []byte {
	h := &c.tls.half[i]
	k := min(n-len(h.buf), len(data))
	if !c.keepCipher(h, data[:k]) {
		c.dropCipher(h)
		c.hole(i, len(data), pc.spot, 0)
		return nil
	}
	if n > recordHead && len(h.buf) == n {
		rec := h.buf
		h.buf = nil
		c.dropCipher(h)
		c.record(i, rec, pc)
		if len(c.a.rooms) < 16 {
			c.a.rooms = append(c.a.rooms, rec[:0])
		}
	}
	return data[k:]
}

func (c *conn) keepCipher(h *tlsHalf, data []byte) bool {
	if c.a.texts+len(data) > maxTexts {
		return false
	}
	if n := len(c.a.rooms); h.buf == nil && n > 0 {
		h.buf, c.a.rooms = c.a.rooms[n-1], c.a.rooms[:n-1]
	}
	h.buf = append(h.buf, data...)
	h.held += len(data)
	c.a.texts += len(data)
	return true
}

func (c *conn) dropCipher(h *tlsHalf) {
	c.a.texts -= h.held
	h.buf, h.held = nil, 0
}

// loseRecord is called where no record begins that should.
func (c *conn) loseRecord(i int, data []byte, pc *piece) {
	c.flaw(pc.spot, "bytes that are no TLS record; the next record is searched")
	h := &c.tls.half[i]
	c.dropCipher(h)
	h.lost, h.doubt = true, maxDoubt
	c.missing(i, len(data), false, pc.spot, 0, "bytes that are no TLS record")
	if c.tls != nil && !c.tls.ready {
		c.giveUpTLS(badHandshake, i, nil, pc.spot)
	}
}

// tlsHole is called for n bytes of half i that are missing.
func (c *conn) tlsHole(i, n int, at spot, loss event.Loss, why string) {
	h := &c.tls.half[i]
	switch {
	case h.skip > 0 && n <= h.skip:
		h.skip -= n // of a record that is lost already
	case !h.lost && len(h.buf) >= recordHead && len(h.buf)+n <= recordSize(h.buf):
		h.skip = recordSize(h.buf) - len(h.buf) - n
		h.doubt = min(h.doubt+1, maxDoubt)
	default:
		h.skip, h.lost = 0, true
		h.doubt = min(h.doubt+n/minRecord+2, maxDoubt)
	}
	c.dropCipher(h)
	if !c.tls.ready {
		c.giveUpTLS(badHandshake, i, nil, at)
		return
	}
	c.missing(i, n, false, at, loss, why)
}

// searchRecord looks for a record that decrypts, and returns what follows it. What
// may become one is kept.
func (c *conn) searchRecord(i int, data []byte, pc *piece) (rest []byte) {
	h := &c.tls.half[i]
	if !c.keepCipher(h, data) {
		c.dropCipher(h)
		return nil
	}
	b := h.buf
	for len(b) >= recordHead {
		n := recordSize(b)
		if n > len(b) && n <= roomOfOpen {
			break // the rest of it may come
		}
		if n > 0 {
			if plain, kind, ok := c.openRecord(i, b[:n]); ok {
				rest = bytes.Clone(b[n:])
				c.dropCipher(h)
				h.lost = false
				c.content(i, kind, plain, pc)
				return rest
			}
		}
		b = b[1:]
	}
	b = bytes.Clone(b)
	c.dropCipher(h)
	if !c.keepCipher(h, b) || h.credit <= 0 {
		c.giveUpTLS("the place of the next record was not found behind a hole", i, nil, pc.spot)
		return nil
	}
	c.unread(i, pc.spot)
	return nil
}

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

// handshakeData reads handshake messages of half i until the keys are known.
func (c *conn) handshakeData(i int, data []byte, at spot) {
	t := c.tls
	h := &t.half[i]
	if t.ready && (i == c.client || t.v13 && t.alpn != "") {
		return
	}
	text := slices.Concat(h.hello, data)
	for c.tls == t {
		kind, body, rest, ok := handshakeMessage(text)
		if !ok {
			break
		}
		c.helloMessage(i, kind, body, at)
		text = rest
	}
	switch {
	case c.tls != t:
	case len(text) <= maxHandshake && c.a.texts+len(text) <= maxTexts:
		c.setHello(h, bytes.Clone(text))
	default:
		if c.setHello(h, nil); !t.ready {
			c.giveUpTLS(badHandshake, i, nil, at)
		}
	}
}

// setHello keeps what has come of an unfinished handshake message.
func (c *conn) setHello(h *tlsHalf, b []byte) {
	c.a.texts += len(b) - len(h.hello)
	h.hello = b
}

func (c *conn) helloMessage(i int, kind byte, body []byte, at spot) {
	t := c.tls
	switch {
	case kind == newTicket && t.ready && !t.v13:
		if ticket := readTicket(body); len(ticket) > 0 {
			c.a.resumption.keep(ticket, t)
		}
		return
	case kind == clientHello && !t.ready, kind == serverHello && !t.ready, kind == encryptedExtensions && t.ready && t.v13:
	default:
		return
	}
	hi, ok := readHello(kind, body)
	switch {
	case !ok:
		if kind != encryptedExtensions {
			c.giveUpTLS(badHandshake, i, nil, at)
		}
	case kind == clientHello:
		c.client, t.random, t.early = i, hi.random, hi.early
		t.secrets, t.source = c.a.keys.find(hi.random)
		if t.secrets == nil { // TLS 1.2 logs a secret once, also where a session is resumed
			t.secrets, t.source = c.a.resumption.find(hi.ticket, hi.session)
		}
		if t.secrets == nil {
			if len(c.a.missed) < maxMissed {
				c.a.missed = append(c.a.missed, hi.random)
			}
			c.giveUpTLS("no secrets are given for them", i, nil, at)
		}
	case kind == encryptedExtensions:
		t.alpn = hi.alpn
	case t.secrets == nil || i == c.client:
		c.giveUpTLS(badHandshake, i, nil, at)
	case hi.random != retryRandom:
		t.alpn = hi.alpn
		if why := t.agree(&hi, c.client); why != "" {
			c.giveUpTLS(why, i, nil, at)
			return
		}
		if !t.v13 {
			c.a.resumption.keep(hi.session, t)
		}
		c.half[0].msg.lost, c.half[1].msg.lost = false, false // all that the two said is in view
	}
}

// agree makes the keys of both directions. It returns why it cannot, or "".
func (t *tlsConn) agree(hi *hello, client int) string {
	s, v13, ok := suiteOf(hi.suite)
	t.v13 = hi.version == 0x0304
	if hi.version < 0x0303 || hi.version > 0x0304 {
		return "TLS before version 1.2 is not decrypted"
	}
	if !ok || v13 != t.v13 {
		return fmt.Sprintf("cipher suite 0x%04x is not decrypted, only AES-GCM and ChaCha20-Poly1305 are", hi.suite)
	}
	t.suite, t.ready = s, true
	up, down := &t.half[client], &t.half[1-client]
	const lacking = "only a part of their secrets is given"
	var err error
	if !t.v13 {
		if t.secrets.Master == nil {
			return lacking
		}
		up.app, down.app, err = seals12(s, t.secrets.Master, t.random[:], hi.random[:])
	} else {
		err = up.keys13(s, t.secrets.ClientHandshake, t.secrets.Client)
		if err == nil {
			err = down.keys13(s, t.secrets.ServerHandshake, t.secrets.Server)
		}
	}
	if err != nil {
		return lacking
	}
	return ""
}

func (h *tlsHalf) keys13(s suite, handshake, app []byte) (err error) {
	if len(app) != s.size() {
		return fmt.Errorf("a secret of %d bytes, want %d", len(app), s.size())
	}
	if len(handshake) == s.size() {
		if h.handshake, err = seal13(s, handshake); err != nil {
			return err
		}
	}
	h.secret = app
	h.app, err = seal13(s, app)
	return err
}

// finishTLS tells of a connection that ended before anything of it was decrypted.
func (c *conn) finishTLS() {
	if t := c.tls; t != nil && !t.opened && t.sealed > 0 {
		c.giveUpTLS(wrongKeys, -1, nil, c.a.last)
	}
}

// giveUpTLS ends the reading of a connection; first is what half i showed, if
// that tells who the client is.
func (c *conn) giveUpTLS(why string, i int, first []byte, at spot) {
	if t := c.tls; t != nil && t.opened && c.kind == kindHTTP {
		c.a.tally(at.at.Source, "decrypted only in part: "+why)
		c.gap(at, event.DirUnknown, "the rest of the TLS connection is not readable", 0)
		c.dark = true
		c.retire(kindOther)
		return
	}
	c.a.tally(at.at.Source, "not readable: "+why)
	c.unreadable("TLS", i, first, at)
}
