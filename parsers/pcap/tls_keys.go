package pcap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/cryptobyte"
)

// This file turns logged secrets into the keys of records: the schedule of TLS
// 1.3 (RFC 8446 §7), the PRF of TLS 1.2 (RFC 5246 §5), and AEAD record protection.

// suite is what a cipher suite says about record protection. Key exchange and
// certificates do not matter: the log tells their result.
type suite struct {
	key    int // bytes
	chacha bool
	sha384 bool
}

// suiteOf knows the AEAD suites that are in use (IANA "TLS Cipher Suites").
func suiteOf(id uint16) (s suite, v13, ok bool) {
	switch id {
	case 0x1301:
		return suite{key: 16}, true, true
	case 0x1302:
		return suite{key: 32, sha384: true}, true, true
	case 0x1303:
		return suite{key: 32, chacha: true}, true, true
	case 0xc02f, 0xc02b, 0x009c, 0x009e, 0x00a2, 0x00a8, 0x00aa, 0xc02d, 0xc031, 0xd001: // AES_128_GCM_SHA256
		return suite{key: 16}, false, true
	case 0xc030, 0xc02c, 0x009d, 0x009f, 0x00a3, 0x00a9, 0x00ab, 0xc02e, 0xc032, 0xd002: // AES_256_GCM_SHA384
		return suite{key: 32, sha384: true}, false, true
	case 0xcca8, 0xcca9, 0xccaa, 0xccab, 0xccac, 0xccad: // CHACHA20_POLY1305_SHA256
		return suite{key: 32, chacha: true}, false, true
	}
	return suite{}, false, false
}

func (s suite) hash() func() hash.Hash {
	if s.sha384 {
		return sha512.New384
	}
	return sha256.New
}

func (s suite) size() int {
	if s.sha384 {
		return sha512.Size384
	}
	return sha256.Size
}

func (s suite) aead(key []byte) (cipher.AEAD, error) {
	if s.chacha {
		return chacha20poly1305.New(key)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal is the protection of one direction under one key.
type seal struct {
	aead     cipher.AEAD
	iv       [12]byte
	explicit bool // eight bytes of the nonce stand in front of each record (RFC 5288 §3)
	v13      bool
	seq      uint64 // of the next record
}

// seal13 makes the protection that a traffic secret of TLS 1.3 gives.
func seal13(s suite, secret []byte) (*seal, error) {
	key, err := expandLabel(s, secret, "key", s.key)
	if err != nil {
		return nil, err
	}
	iv, err := expandLabel(s, secret, "iv", 12)
	if err != nil {
		return nil, err
	}
	aead, err := s.aead(key)
	if err != nil {
		return nil, err
	}
	return &seal{aead: aead, iv: [12]byte(iv), v13: true}, nil
}

// nextSecret is the traffic secret after a key update (RFC 8446 §7.2).
func nextSecret(s suite, secret []byte) ([]byte, error) {
	return expandLabel(s, secret, "traffic upd", s.size())
}

// expandLabel is HKDF-Expand-Label without a context (RFC 8446 §7.1).
func expandLabel(s suite, secret []byte, label string, n int) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddUint16(uint16(n))
	b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte("tls13 " + label)) })
	b.AddUint8(0)
	info, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	return hkdf.Expand(s.hash(), secret, string(info), n)
}

// seals12 makes the protection of both directions from a master secret (RFC 5246 §6.3).
func seals12(s suite, master, clientRandom, serverRandom []byte) (client, server *seal, err error) {
	salt := 4
	if s.chacha {
		salt = 12 // RFC 7905 §2
	}
	block := expand12(s, master, "key expansion", serverRandom, clientRandom, 2*(s.key+salt))
	cut := func(n int) (part []byte) {
		part, block = block[:n], block[n:]
		return part
	}
	keys := [2][]byte{cut(s.key), cut(s.key)}
	var out [2]*seal
	for i := range out {
		aead, err := s.aead(keys[i])
		if err != nil {
			return nil, nil, err
		}
		out[i] = &seal{aead: aead, explicit: !s.chacha}
		copy(out[i].iv[:], cut(salt))
	}
	return out[0], out[1], nil
}

// expand12 is the PRF of TLS 1.2.
func expand12(s suite, secret []byte, label string, seedA, seedB []byte, n int) []byte {
	seed := append(append([]byte(label), seedA...), seedB...)
	mac := hmac.New(s.hash(), secret)
	sum := func(parts ...[]byte) []byte {
		mac.Reset()
		for _, p := range parts {
			mac.Write(p)
		}
		return mac.Sum(nil)
	}
	var out []byte
	for a := sum(seed); len(out) < n; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:n]
}

// open decrypts a record, its header included, as the one with sequence number
// seq, into room. What does not authenticate gives ok false.
func (k *seal) open(room, record []byte, seq uint64) (plain []byte, kind byte, ok bool) {
	kind = record[0]
	body := record[recordHead:]
	nonce := k.iv
	if k.explicit {
		if len(body) < 8 {
			return nil, 0, false
		}
		copy(nonce[4:], body[:8])
		body = body[8:]
	} else {
		for i := range 8 {
			nonce[4+i] ^= byte(seq >> (56 - 8*i))
		}
	}
	n := len(body) - k.aead.Overhead()
	if n < 0 {
		return nil, 0, false
	}
	add := record[:recordHead] // RFC 8446 §5.2
	if !k.v13 {
		var a [13]byte // RFC 5246 §6.2.3.3
		binary.BigEndian.PutUint64(a[:], seq)
		copy(a[8:], record[:3])
		binary.BigEndian.PutUint16(a[11:], uint16(n))
		add = a[:]
	}
	plain, err := k.aead.Open(room[:0], nonce[:], body, add)
	if err != nil {
		return nil, 0, false
	}
	if k.v13 { // the true type stands behind the content, padding behind the type
		for len(plain) > 0 && plain[len(plain)-1] == 0 {
			plain = plain[:len(plain)-1]
		}
		if len(plain) == 0 {
			return nil, 0, true
		}
		kind, plain = plain[len(plain)-1], plain[:len(plain)-1]
	}
	return plain, kind, true
}
