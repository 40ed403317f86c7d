package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// pcapng blocks (draft-ietf-opsawg-pcapng, section 4).
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6
	blockSecrets    = 10

	optEnd      = 0
	optTsResol  = 9
	optTsOffset = 14
	optIfDrop   = 5 // of an interface statistics block
	optOSDrop   = 7

	maxBlock      = maxPacket + 64<<10
	maxInterfaces = 4096
)

// section is the state of a pcapng section: byte order and interfaces.
type section struct {
	order  binary.ByteOrder
	ifaces []iface
}

type iface struct {
	link   uint32
	snap   int
	resol  byte  // if_tsresol as written
	offset int64 // if_tsoffset, seconds
}

func sectionOrder(magic []byte) (binary.ByteOrder, bool) {
	switch binary.BigEndian.Uint32(magic) {
	case 0x1a2b3c4d:
		return binary.BigEndian, true
	case 0x4d3c2b1a:
		return binary.LittleEndian, true
	}
	return nil, false
}

func (s *section) check(head []byte) error {
	order, ok := sectionOrder(head[8:12])
	if !ok {
		return fmt.Errorf("the byte-order magic % x of the section header is none of the two that exist", head[8:12])
	}
	s.order = order
	return nil
}

// nextBlock reads blocks until one holds a packet.
func (f *file) nextBlock(fr *frame) error {
	for {
		at := f.address()
		head, err := f.peek(12)
		if err != nil {
			if len(head) == 0 && errors.Is(err, io.EOF) {
				return io.EOF
			}
			return &cut{at, fmt.Sprintf("the file ends inside a block header, after %d of 12 bytes: %v", len(head), err), err}
		}
		if binary.BigEndian.Uint32(head) == blockSection {
			if err := f.ng.check(head); err != nil {
				return &cut{at, err.Error(), nil}
			}
			f.ng.ifaces = f.ng.ifaces[:0] // interface numbers begin anew in each section
		}
		kind, size := f.ng.order.Uint32(head), f.ng.order.Uint32(head[4:])
		if size < 12 || (size > maxBlock && readsBlock(kind)) {
			return &cut{at, fmt.Sprintf("a block says that it is %d bytes long; the rest of the file cannot be read", size), nil}
		}
		padded := (int64(size) + 3) &^ 3
		if !readsBlock(kind) {
			if err := f.drop(padded); err != nil {
				return &cut{at, fmt.Sprintf("the file ends inside a block of %d bytes: %v", size, err), err}
			}
			continue
		}
		block, err := f.take(int(padded))
		if err != nil {
			return &cut{at, fmt.Sprintf("the file ends inside a block of %d bytes: %v", size, err), err}
		}
		body := block[8 : size-4]
		switch kind {
		case blockInterface:
			err = f.ng.addInterface(body)
		case blockStatistics:
			f.dropped(body)
			continue
		case blockSecrets:
			f.secrets(body)
			continue
		case blockEnhanced, blockPacket, blockSimple:
			f.n++
			err = f.ng.packet(kind, body, fr)
			if err == nil {
				fr.at = at
				return nil
			}
		}
		if err != nil {
			return &flaw{at, err.Error()}
		}
	}
}

// readsBlock reports whether the content of a block matters here.
func readsBlock(kind uint32) bool {
	switch kind {
	case blockInterface, blockPacket, blockSimple, blockStatistics, blockEnhanced, blockSecrets:
		return true
	}
	return false
}

// secrets takes a decryption secrets block: its type, its length, and a key log.
func (f *file) secrets(body []byte) {
	const keyLog = 0x544c534b
	if len(body) < 8 || f.ng.order.Uint32(body) != keyLog {
		f.in.Stats.Note("the capture holds secrets of another protocol than TLS, which are not read")
		return
	}
	text := body[8:]
	text = text[:min(len(text), int(min(f.ng.order.Uint32(body[4:]), maxBlock)))]
	if _, used, err := f.keys.Read(bytes.NewReader(text)); used == 0 || err != nil {
		f.in.Stats.Note("a decryption secrets block of the capture holds no TLS secret that is of use")
	}
}

func (s *section) addInterface(body []byte) error {
	if len(body) < 8 {
		return fmt.Errorf("an interface block has %d bytes, at least 8 are needed", len(body))
	}
	if len(s.ifaces) >= maxInterfaces {
		return fmt.Errorf("more than %d interfaces in one section; the packets of the others cannot be read", maxInterfaces)
	}
	i := iface{link: uint32(s.order.Uint16(body)), snap: int(min(s.order.Uint32(body[4:]), maxPacket)), resol: 6}
	s.options(body[8:], func(code uint16, value []byte) {
		switch {
		case code == optTsResol && len(value) >= 1:
			i.resol = value[0]
		case code == optTsOffset && len(value) >= 8:
			i.offset = int64(s.order.Uint64(value))
		}
	})
	s.ifaces = append(s.ifaces, i)
	return nil
}

func (s *section) options(b []byte, f func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := s.order.Uint16(b), int(s.order.Uint16(b[2:]))
		if code == optEnd || n > len(b)-4 {
			return
		}
		f(code, b[4:4+n])
		b = b[min(len(b), 4+(n+3)&^3):]
	}
}

// dropped notes packets that the capturing machine lost, which explains holes.
func (f *file) dropped(body []byte) {
	if len(body) < 12 {
		return
	}
	var n uint64
	f.ng.options(body[12:], func(code uint16, value []byte) {
		if (code == optIfDrop || code == optOSDrop) && len(value) >= 8 {
			n = max(n, f.ng.order.Uint64(value))
		}
	})
	if n > 0 {
		f.in.Stats.Note(fmt.Sprintf("the capturing machine dropped %d packets of one interface", n))
	}
}

func (s *section) packet(kind uint32, body []byte, fr *frame) error {
	var id, capLen, wire uint32
	var ticks uint64
	var data []byte
	switch kind {
	case blockSimple:
		if len(body) < 4 {
			return fmt.Errorf("a simple packet block has %d bytes, at least 4 are needed", len(body))
		}
		wire, data = s.order.Uint32(body), body[4:]
		capLen = min(wire, uint32(len(data)))
		if len(s.ifaces) > 0 && s.ifaces[0].snap > 0 {
			capLen = min(capLen, uint32(s.ifaces[0].snap))
		}
	default:
		if len(body) < 20 {
			return fmt.Errorf("a packet block has %d bytes, at least 20 are needed", len(body))
		}
		id = s.order.Uint32(body)
		if kind == blockPacket {
			id = uint32(s.order.Uint16(body))
		}
		ticks = uint64(s.order.Uint32(body[4:]))<<32 | uint64(s.order.Uint32(body[8:]))
		capLen, wire, data = s.order.Uint32(body[12:]), s.order.Uint32(body[16:]), body[20:]
	}
	if int64(id) >= int64(len(s.ifaces)) {
		return fmt.Errorf("a packet names interface %d, but the section describes %d", id, len(s.ifaces))
	}
	if int64(capLen) > int64(len(data)) {
		return fmt.Errorf("a packet says that it holds %d bytes, its block has %d", capLen, len(data))
	}
	i := &s.ifaces[id]
	*fr = frame{link: i.link, data: data[:capLen], wire: max(int(min(wire, math.MaxInt32)), int(capLen))}
	if kind != blockSimple { // a simple packet has no time
		fr.ns = i.nanoseconds(ticks)
	}
	return nil
}

// nanoseconds turns ticks of the interface's clock into ns since 1970. Times that
// do not fit become 0, not known.
func (i *iface) nanoseconds(ticks uint64) int64 {
	var sec, frac uint64
	if exp := uint(i.resol & 0x7f); i.resol&0x80 != 0 { // a power of two
		if exp > 63 {
			return 0
		}
		sec = ticks >> exp
		hi, lo := bits.Mul64(ticks&(1<<exp-1), 1e9)
		frac = lo >> exp
		if exp > 0 {
			frac |= hi << (64 - exp)
		}
	} else {
		if exp > 19 {
			return 0
		}
		unit := uint64(1)
		for range exp {
			unit *= 10
		}
		sec = ticks / unit
		hi, lo := bits.Mul64(ticks%unit, 1e9)
		frac, _ = bits.Div64(hi, lo, unit)
	}
	const most = math.MaxInt64/1_000_000_000 - 1
	if sec > most || i.offset > most || i.offset < -most {
		return 0
	}
	whole := int64(sec) + i.offset
	if whole < 0 || whole > most {
		return 0
	}
	return whole*1e9 + int64(frac)
}
