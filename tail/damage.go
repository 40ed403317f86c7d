package tail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// bbolt trusts its file: what is damaged or cut short it meets with a panic, or with a
// fault of the memory that the file is mapped to.

// errDamaged tells that a checkpoint cannot be read.
var errDamaged = errors.New("it is damaged")

// guard turns what a damaged file makes of f into an error.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errDamaged, r)
		}
	}()
	return f()
}

func (s *Store) update(f func(*bolt.Tx) error) error {
	return guard(func() error { return s.db.Update(f) })
}

func (s *Store) view(f func(*bolt.Tx) error) error {
	return guard(func() error { return s.db.View(f) })
}

// kind is what stands at the path of a checkpoint.
type kind uint8

const (
	nothing kind = iota // or what cannot be looked at
	ours                // a file of bbolt, or an empty one
	notOurs
)

// kindOf looks for the mark in the first two pages of a file of bbolt, which lie a page
// of the system apart.
func kindOf(path string) kind {
	f, err := os.Open(path)
	if err != nil {
		return nothing
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nothing
	}
	const mark, at = 0xED0CDAED, 16 // bbolt: meta.magic behind the header of its page
	head := make([]byte, 64<<10+at+4)
	n, err := io.ReadFull(f, head)
	if n == 0 {
		return ours
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nothing
	}
	want := binary.NativeEndian.AppendUint32(nil, mark)
	for page := 0; page+at+4 <= n; page += 4 << 10 {
		if bytes.Equal(head[page+at:page+at+4], want) {
			return ours
		}
	}
	return notOurs
}
