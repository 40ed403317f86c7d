package pcap

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/event"
)

// This file follows a handshake until the keys are known.

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
			c.giveUpTLS("", i, nil, at)
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

// giveUpTLS ends the reading of a connection, why "" = no secret belongs to it; first
// is what half i showed, if that tells who the client is.
func (c *conn) giveUpTLS(why string, i int, first []byte, at spot) {
	if t := c.tls; t != nil && t.opened && c.kind == kindHTTP {
		c.a.tally(at.at.Source, "decrypted only in part: "+why)
		c.gap(at, event.DirUnknown, "the rest of the TLS connection is not readable", event.LossDark)
		c.a.unreadable("TLS in part", at, c.server, "", c.name, c.peer)
		c.dark = true
		c.darken(at)
		c.retire(kindOther)
		return
	}
	if why != "" {
		why = ": " + why
	}
	c.a.tally(at.at.Source, noSecrets+why)
	note := "TLS"
	if !c.a.keys.none() {
		note = "TLS that the given secrets do not open"
	}
	c.unreadable(note, i, first, at)
}
