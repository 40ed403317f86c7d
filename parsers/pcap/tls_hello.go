package pcap

import (
	"golang.org/x/crypto/cryptobyte"

	"github.com/isodetect/isodetect/parsers/keylog"
)

// This file reads those handshake messages that decide how records are protected
// (RFC 8446 §4.1, RFC 5246 §7.4.1).

const (
	clientHello         = 1
	serverHello         = 2
	newTicket           = 4
	encryptedExtensions = 8

	extALPN     = 16
	extTicket   = 35
	extEarly    = 42
	extVersions = 43

	maxHandshake = 64 << 10 // bytes of one message that is kept
)

// retryRandom marks a ServerHello that asks for another ClientHello (RFC 8446 §4.1.3).
var retryRandom = keylog.Random{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// hello is what matters of a ClientHello, ServerHello or EncryptedExtensions.
type hello struct {
	random  keylog.Random
	suite   uint16
	version uint16 // negotiated
	alpn    string // chosen by the server
	early   bool   // the client announces early data
	session []byte // by which TLS 1.2 may resume; they point into the message
	ticket  []byte
}

// handshakeMessage cuts the first message off b; ok is false while it is not whole.
func handshakeMessage(b []byte) (kind byte, body, rest []byte, ok bool) {
	s := cryptobyte.String(b)
	var msg cryptobyte.String
	if !s.ReadUint8(&kind) || !s.ReadUint24LengthPrefixed(&msg) {
		return 0, nil, nil, false
	}
	return kind, msg, s, true
}

func readHello(kind byte, body []byte) (h hello, ok bool) {
	s := cryptobyte.String(body)
	if kind != encryptedExtensions {
		var random []byte
		var id, list cryptobyte.String
		if !s.ReadUint16(&h.version) || !s.ReadBytes(&random, len(h.random)) || !s.ReadUint8LengthPrefixed(&id) {
			return h, false
		}
		h.random, h.session = keylog.Random(random), id
		if kind == clientHello {
			ok = s.ReadUint16LengthPrefixed(&list) && s.ReadUint8LengthPrefixed(&list)
		} else {
			ok = s.ReadUint16(&h.suite) && s.Skip(1)
		}
		if !ok || s.Empty() {
			return h, ok
		}
	}
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) {
		return h, false
	}
	for !list.Empty() {
		var ext uint16
		var data cryptobyte.String
		if !list.ReadUint16(&ext) || !list.ReadUint16LengthPrefixed(&data) {
			return h, false
		}
		h.extension(kind, ext, data)
	}
	return h, true
}

// readTicket returns the ticket of a NewSessionTicket of TLS 1.2 (RFC 5077 §3.3).
func readTicket(body []byte) []byte {
	s := cryptobyte.String(body)
	var ticket cryptobyte.String
	if !s.Skip(4) || !s.ReadUint16LengthPrefixed(&ticket) {
		return nil
	}
	return ticket
}

func (h *hello) extension(kind byte, ext uint16, data cryptobyte.String) {
	switch {
	case ext == extEarly && kind == clientHello:
		h.early = true
	case ext == extTicket && kind == clientHello:
		h.ticket = data
	case ext == extVersions && kind == serverHello:
		data.ReadUint16(&h.version)
	case ext == extALPN && kind != clientHello:
		var names, name cryptobyte.String
		if data.ReadUint16LengthPrefixed(&names) && names.ReadUint8LengthPrefixed(&name) && len(name) < 32 {
			h.alpn = string(name)
		}
	}
}
