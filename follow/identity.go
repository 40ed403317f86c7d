package follow

import (
	"bytes"
	"hash/fnv"
	"io"
)

// Identity is what a file is known by.
type Identity struct {
	Device, Inode uint64 // 0 = the system does not tell
	Head          uint64 // hash of the first HeadLen bytes
	HeadLen       int64  // at most 1 KiB; 0 = the file was empty
}

// State is what a checkpoint keeps of a source: the file that is being read and how
// far. What comes after it in the chain is found again by looking.
type State struct {
	Path   string
	Index  int32
	ID     Identity
	Offset int64 // of the next byte that is not yet part of a delivered line; decompressed where it is compressed
	N      int64 // lines delivered of this file

	Tail     uint64 // hash of the TailLen bytes before Offset
	TailLen  int64
	Modified int64  // when the file was last written to, as far as seen; Unix nanoseconds
	Target   string // where Path led, if it is a symbolic link
	Lost     int64  // known to be missing between this file and what comes after it
	Why      string // "" = nothing is known to be missing there
}

const (
	headLen = 1 << 10
	tailLen = 64
)

func hashOf(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// sameInode reports that both are known and equal.
func (id Identity) sameInode(o Identity) bool {
	return id.Inode != 0 && id.Inode == o.Inode && id.Device == o.Device
}

// keeps reports whether the content holds what the state says was there: its head, and
// what was read last. It needs no more of r than these bytes.
func (st State) keeps(r io.ReaderAt) bool {
	if st.ID.HeadLen < 0 || st.ID.HeadLen > headLen || st.Offset < 0 || st.N < 0 || st.TailLen < 0 || st.TailLen > min(tailLen, st.Offset) {
		return false
	}
	var b [headLen]byte
	same := func(n, at int64, want uint64) bool {
		if n == 0 {
			return true
		}
		k, _ := r.ReadAt(b[:n], at)
		return int64(k) == n && hashOf(b[:n]) == want
	}
	if !same(st.ID.HeadLen, 0, st.ID.Head) || !same(st.TailLen, st.Offset-st.TailLen, st.Tail) {
		return false
	}
	if st.Offset == 0 {
		return true
	}
	k, _ := r.ReadAt(b[:1], st.Offset-1)
	return k == 1
}

// alike reports that b holds what a held. A NUL byte may have become another: it
// stood for one that had not arrived.
func alike(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && a[i] != 0 {
			return false
		}
	}
	return true
}

// withoutNUL takes off the NUL bytes at the end.
func withoutNUL(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}
