package pcap

import (
	"errors"

	"golang.org/x/net/http2/hpack"

	"github.com/isodetect/isodetect/parsers/exchange"
)

// headerTable is the HPACK state of one direction (RFC 7541). What the table holds
// is forgotten at a hole; entries that were added since are found all the same,
// because they count from the newest.
type headerTable struct {
	dec     *hpack.Decoder
	size    uint32 // that the encoder set; 0 = the default
	unknown bool   // the table may hold entries that were not seen
	stale   bool   // and has to be filled with entries without a name
}

const (
	usualTable = 4096     // RFC 9113 §6.5.2
	maxTable   = 64 << 10 // bytes of a table that is followed
	maxTables  = 64 << 20 // bytes beyond usualTable of all tables
	maxList    = 1 << 20  // bytes of all fields of one block
	maxField   = 256 << 10
)

func (t *headerTable) forget() { t.unknown, t.stale, t.dec = true, true, nil }

// prepare makes the decoder ready for a block.
func (t *headerTable) prepare(a *assembler, block []byte) {
	if t.dec == nil {
		t.dec = hpack.NewDecoder(max(t.size, usualTable), func(hpack.HeaderField) {})
		t.dec.SetMaxStringLength(maxField)
	}
	if t.stale {
		t.stale = false
		t.fill()
	}
	if want := sizeUpdate(block); want > max(t.size, usualTable) && want <= maxTable {
		t.grow(a, want)
	}
}

// grow allows a larger table, if all tables together are not too large.
func (t *headerTable) grow(a *assembler, want uint32) bool {
	more := int(want - max(t.size, usualTable))
	if a.tables+more > maxTables {
		return false
	}
	a.tables += more
	t.size = want
	t.dec.SetAllowedMaxDynamicTableSize(want)
	return true
}

// release gives back what grow took.
func (t *headerTable) release(a *assembler) {
	a.tables -= int(max(t.size, usualTable) - usualTable)
	*t = headerTable{}
}

// fill puts entries without name and value in the place of those that were not
// seen. They are as small as entries can be, so that there are never too few.
func (t *headerTable) fill() {
	t.dec.SetEmitEnabled(false)
	for range max(t.size, usualTable) / 32 {
		_, _ = t.dec.Write([]byte{0x40, 0, 0}) // a literal with indexing, RFC 7541 §6.2.1
	}
	_ = t.dec.Close()
	t.dec.SetEmitEnabled(true)
}

// sizeUpdate returns the table size that a block begins with (RFC 7541 §6.3), 0 if it has none.
func sizeUpdate(b []byte) (largest uint32) {
	for len(b) > 0 && b[0]&0xe0 == 0x20 {
		n := uint64(b[0] & 0x1f)
		b = b[1:]
		if n == 0x1f {
			for shift := uint(0); ; shift += 7 {
				if len(b) == 0 || shift > 28 {
					return largest
				}
				n += uint64(b[0]&0x7f) << shift
				more := b[0]&0x80 != 0
				if b = b[1:]; !more {
					break
				}
			}
		}
		largest = max(largest, uint32(min(n, 1<<32-1)))
	}
	return largest
}

// fieldBlock is what one header block holds.
type fieldBlock struct {
	method, path string
	status       int // 0 = none, or not known
	hasStatus    bool
	fields       []exchange.Header
	unknown      bool // there are fields whose name or value is not known
}

// read decodes a block. Fields that stand in a part of the table that was not
// seen are unknown, never absent.
func (t *headerTable) read(a *assembler, block []byte, into *fieldBlock) (broken bool) {
	*into = fieldBlock{fields: into.fields[:0]}
	t.prepare(a, block)
	list := 0
	t.dec.SetEmitFunc(func(f hpack.HeaderField) {
		if list += int(f.Size()); list > maxList {
			into.unknown = true
			t.dec.SetEmitEnabled(false)
			return
		}
		into.add(f)
	})
	_, err := t.dec.Write(block)
	if err == nil {
		err = t.dec.Close()
	}
	t.dec.SetEmitEnabled(true)
	if err == nil {
		return false
	}
	into.unknown = true
	var far hpack.InvalidIndexError
	var decoding hpack.DecodingError
	reached := errors.As(err, &decoding) && errors.As(decoding.Err, &far)
	wasUnknown := t.unknown
	if reached && wasUnknown && t.size < maxTable {
		t.grow(a, maxTable) // the table was larger than usual
	}
	t.forget()
	return !(reached && wasUnknown)
}

func (b *fieldBlock) add(f hpack.HeaderField) {
	switch f.Name {
	case "":
		b.unknown = true
	case ":method":
		b.method = f.Value
	case ":path":
		b.path = f.Value
	case ":authority":
		b.fields = append(b.fields, exchange.Header{Name: "host", Value: f.Value})
	case ":status":
		b.hasStatus = true
		if s, ok := statusLine(". " + f.Value); ok {
			b.status = s
		}
	default:
		if exchange.Telling([]byte(f.Name)) {
			b.fields = append(b.fields, exchange.Header{Name: f.Name, Value: f.Value})
		}
	}
}
