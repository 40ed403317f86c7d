package pcap

import (
	"bytes"
	"encoding/binary"

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
