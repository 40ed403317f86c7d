package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/source"
)

// The readers of both file formats are our own: they have to know the byte offset
// of every record, and go on after a record that is broken.

// frame is one packet as a capture file holds it.
type frame struct {
	ns   int64 // capture time, ns since 1970 UTC; 0 = the record has none
	at   event.Address
	link uint32
	data []byte // what was captured, valid until the next frame of the same file is read
	wire int    // length on the wire, at least len(data)
}

// flaw is a defect of one packet record; reading goes on behind it.
type flaw struct {
	at   event.Address
	text string
}

func (f *flaw) Error() string { return f.text }

// cut is a defect that ends the reading of a file: where the next record begins
// is not known.
type cut struct {
	at   event.Address
	text string
	err  error // of the reading, nil if the content is at fault
}

func (c *cut) Error() string { return c.text }

const (
	maxPacket  = 16 << 20 // bytes of one packet; larger lengths are damage, not packets
	fileHeader = 24
)

// file is one open capture. It is either a classic pcap or a pcapng.
type file struct {
	in     *source.Input
	index  int // position among the inputs of the recording
	body   io.Closer
	r      *bufio.Reader
	window []byte // what r holds and nobody has taken
	used   int    // bytes that r holds before window
	off    int64  // offset of the next unread byte
	n      int64  // packets so far
	spill  []byte // holds packets larger than the read buffer

	keys *keylog.Log // takes the secrets that the file holds

	classic *layout
	ng      *section

	head  frame // the packet that is next in the merge
	ready bool
	last  int64 // time of the packet before, for clamping
}

// layout is what the first four bytes of a classic capture say.
type layout struct {
	order    binary.ByteOrder
	unit     int64 // ns of one unit of the fraction field
	recordAt int   // bytes of a record header
	link     uint32
}

func layoutOf(head []byte) (layout, bool) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(head) {
		case 0xa1b2c3d4:
			return layout{order, 1000, 16, 0}, true
		case 0xa1b23c4d:
			return layout{order, 1, 16, 0}, true
		case 0xa1b2cd34: // "modified" pcap: eight more bytes in each record header
			return layout{order, 1000, 24, 0}, true
		}
	}
	return layout{}, false
}

func openFile(in *source.Input, index, size int, keys *keylog.Log) (*file, error) {
	body, err := in.Stream()
	if err != nil {
		return nil, err
	}
	f := &file{in: in, index: index, keys: keys, body: body, r: bufio.NewReaderSize(body, size)}
	if err := f.begin(); err != nil {
		body.Close()
		return nil, err
	}
	return f, nil
}

func (f *file) begin() error {
	head, err := f.peek(fileHeader)
	if err != nil && len(head) < 12 {
		return fmt.Errorf("the file ends after %d bytes, inside its header: %w", len(head), err)
	}
	if binary.BigEndian.Uint32(head) == blockSection {
		f.ng = &section{}
		return f.ng.check(head)
	}
	l, ok := layoutOf(head)
	if !ok {
		return fmt.Errorf("the first bytes % x are no pcap or pcapng magic number", head[:4])
	}
	if len(head) < fileHeader {
		return fmt.Errorf("the file ends after %d bytes, inside its header", len(head))
	}
	l.link = l.order.Uint32(head[20:]) & 0xffff // the high bits tell of frame check sequences
	f.classic = &l
	f.skip(fileHeader)
	return nil
}

// next reads the next packet. It returns io.EOF at the end, a *flaw for a packet
// that cannot be used, and a *cut if the rest of the file cannot be read.
func (f *file) next(fr *frame) error {
	if f.classic != nil {
		return f.nextClassic(fr)
	}
	return f.nextBlock(fr)
}

func (f *file) nextClassic(fr *frame) error {
	l := f.classic
	at := f.address()
	head, err := f.peek(l.recordAt)
	if err != nil {
		if len(head) == 0 && errors.Is(err, io.EOF) {
			return io.EOF
		}
		return &cut{at, fmt.Sprintf("the file ends inside a record header, after %d of %d bytes: %v", len(head), l.recordAt, err), err}
	}
	sec, frac := int64(l.order.Uint32(head)), int64(l.order.Uint32(head[4:]))
	capLen, wire := int(l.order.Uint32(head[8:])), int(l.order.Uint32(head[12:]))
	if capLen > maxPacket {
		return &cut{at, fmt.Sprintf("a record says that it holds %d bytes; the rest of the file cannot be read", capLen), nil}
	}
	f.skip(l.recordAt)
	data, err := f.take(capLen)
	if err != nil {
		return &cut{at, fmt.Sprintf("the file ends inside a packet of %d bytes: %v", capLen, err), err}
	}
	f.n++
	*fr = frame{ns: sec*1e9 + frac*l.unit, at: at, link: l.link, data: data, wire: max(wire, capLen)}
	return nil
}

// address is where the next packet record stands.
func (f *file) address() event.Address {
	return event.Address{Source: f.in.Index, Unit: event.UnitFrame, N: f.n + 1, Offset: f.off}
}

// peek shows the next n bytes, fewer and an error if they do not come.
func (f *file) peek(n int) ([]byte, error) {
	if n <= len(f.window) {
		return f.window[:n], nil
	}
	return f.refill(n)
}

func (f *file) refill(n int) ([]byte, error) {
	_, _ = f.r.Discard(f.used) // they are buffered
	f.used = 0
	b, err := f.r.Peek(n)
	f.window, _ = f.r.Peek(f.r.Buffered())
	return b, err
}

// skip drops n bytes that peek has shown.
func (f *file) skip(n int) {
	f.window = f.window[n:]
	f.used += n
	f.off += int64(n)
	f.in.Stats.Bytes = f.off
}

// take returns the next n bytes, valid until the next call. Small packets are
// not copied; large ones grow a buffer only as fast as bytes really come.
func (f *file) take(n int) ([]byte, error) {
	if n <= f.r.Size() {
		b, err := f.peek(n)
		f.skip(len(b))
		if err != nil {
			return nil, unexpected(err)
		}
		return b, nil
	}
	f.spill = f.spill[:0]
	for len(f.spill) < n {
		b, err := f.peek(min(n-len(f.spill), f.r.Size()))
		f.spill = append(f.spill, b...)
		f.skip(len(b))
		if err != nil {
			return nil, unexpected(err)
		}
	}
	return f.spill, nil
}

// drop leaves out the next n bytes.
func (f *file) drop(n int64) error {
	for n > 0 {
		b, err := f.peek(int(min(n, int64(f.r.Size()))))
		f.skip(len(b))
		n -= int64(len(b))
		if err != nil {
			return unexpected(err)
		}
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
