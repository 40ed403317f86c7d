// Package snapshot writes a graph of Go values to bytes and reads it back: the
// state of an engine, whose types are plain structs without channels and closures.
// What several places point to is one value again after reading. A snapshot can be
// read by a program with the same types only; another one refuses it.
package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unsafe"
)

// Known is what a snapshot refers to instead of holding it.
type Known struct {
	// Types are values of the concrete types that stand in interfaces.
	Types []any
	// Shared are pointers to values that belong to the program, such as entries of
	// a catalogue, by a name that stays the same.
	Shared map[string]any
}

// ErrVersion tells that a snapshot was made with other types than this program has.
var ErrVersion = errors.New("it was written by another version of isodetect")

// A snapshot is the hash of all types, the value of the root, and the values that
// pointers lead to in the order in which they are met. A pointer is a number:
// 0 = nil, odd = shared, even = met.

const magic = "isodetect snapshot 1\n"

// Write writes the value that root points to.
func Write(w io.Writer, root any, known Known) error {
	p, err := newPlan(reflect.TypeOf(root).Elem(), known)
	if err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, 64<<10)
	e := &encoder{w: bw, plan: p, ids: map[place]uint32{}}
	e.bytes([]byte(magic))
	e.uint(p.hash)
	p.root.write(e, reflect.ValueOf(root).UnsafePointer())
	for head := 0; head < len(e.queue) && e.err == nil; {
		next := e.queue[head]
		head++
		next.codec.write(e, next.at)
		if head > 1<<12 && head > len(e.queue)/2 { // what was written needs no room
			e.queue, head = e.queue[:copy(e.queue, e.queue[head:])], 0
		}
	}
	if e.err != nil {
		return e.err
	}
	return bw.Flush()
}

// Read reads a snapshot into the value that root points to. The error says why it
// cannot be used; the value is then not to be used either. Bytes that no Write
// made are an error, never a panic.
func Read(r io.Reader, root any, known Known) (err error) {
	p, err := newPlan(reflect.TypeOf(root).Elem(), known)
	if err != nil {
		return err
	}
	d := &decoder{r: bufio.NewReaderSize(r, 64<<10), plan: p}
	defer func() {
		if d.err != nil {
			err = fmt.Errorf("cannot read the snapshot: %w", d.err)
		}
	}()
	head := make([]byte, len(magic))
	d.bytes(head)
	if d.err == nil && string(head) != magic {
		d.err = errors.New("it is no snapshot")
	}
	if hash := d.uint(); d.err == nil && hash != p.hash {
		d.err = ErrVersion
	}
	if d.err != nil {
		return nil
	}
	p.root.read(d, reflect.ValueOf(root).UnsafePointer())
	for i := 0; i < len(d.met) && d.err == nil; i++ {
		d.met[i].codec.read(d, d.met[i].at)
	}
	return nil
}

// target is what a pointer leads to. The type belongs to it: a struct and its
// first field have one address.
type target struct {
	at   unsafe.Pointer
	elem reflect.Type
}

// place is a target for an encoder, which meets so many that their size counts.
type place struct {
	at    unsafe.Pointer
	codec *codec // of what is there, one for each type
}

type pending struct {
	at    unsafe.Pointer
	codec *codec
}

type encoder struct {
	w     *bufio.Writer
	plan  *plan
	ids   map[place]uint32
	queue []pending // met and not written yet
	buf   [binary.MaxVarintLen64]byte
	err   error
}

func (e *encoder) bytes(b []byte) { e.w.Write(b) }

func (e *encoder) uint(n uint64) {
	e.w.Write(e.buf[:binary.PutUvarint(e.buf[:], n)])
}

type decoder struct {
	r    *bufio.Reader
	plan *plan
	met  []pending
	err  error
}

func (d *decoder) bytes(b []byte) {
	if d.err == nil {
		if _, err := io.ReadFull(d.r, b); err != nil {
			d.err = cutShort(err)
		}
	}
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(d.r)
	if err != nil {
		d.err = cutShort(err)
	}
	return n
}

// length reads a number of elements. Nothing of that size is made at once: what
// was damaged may name any number.
func (d *decoder) length() int {
	n := d.uint()
	if n > 1<<40 && d.err == nil {
		d.err = errors.New("it is damaged: a length is impossible")
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return err
}
