package correlate

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// IndexKind is what kind of value an index entry stands under.
type IndexKind uint8

const (
	ByID     IndexKind = iota // folded id of a client request
	ByServer                  // folded id of a server request
	ByToken                   // folded progress token of a client request
	ByMark                    // marker among the arguments of a client request
)

// Key is one value of the index: a hash above the two bits of its kind, one word
// since the index is looked up several times per message.
type Key uint64

// IDKey is the key of an id or token.
func IDKey(kind IndexKind, id mcp.ID) Key { return key(kind, event.Hash(id.Fold())) }

// MarkKey is the key of a marker.
func MarkKey(mark uint64) Key { return key(ByMark, mark) }

func key(kind IndexKind, hash uint64) Key { return Key(hash<<2 | uint64(kind)) }

func (k Key) kind() IndexKind { return IndexKind(k & 3) }

// Index finds the requests of a domain by id, token and marker. A request
// stands in it from its arrival until it is released (State.release).
type Index struct {
	Entries map[Key][]*Request
	found   found    `snapshot:"-"`
	Marked  []uint16 // how many marks stand under each low part of a hash: most look-ups of marks end here
	Marks   int      // how many entries stand under marks
}

const (
	minFilter = 1 << 10
	maxFilter = 1 << 16 // 128 KiB
)

// MayHold reports whether a request may stand under a mark.
func (x *Index) MayHold(mark uint64) bool {
	return x.Marks > 0 && *x.marked(MarkKey(mark)) != 0
}

func (x *Index) marked(k Key) *uint16 { return &x.Marked[int(k>>4)&(len(x.Marked)-1)] }

// mark counts a mark that is put into the index. The filter grows with what it filters.
func (x *Index) mark(k Key) {
	x.Marks++
	if n := len(x.Marked); n < maxFilter && 4*x.Marks > n {
		x.Marked = make([]uint16, max(minFilter, 4*n))
		for o, list := range x.Entries {
			if o.kind() == ByMark {
				*x.marked(o) += uint16(min(len(list), 1<<16-1-int(*x.marked(o))))
			}
		}
		return
	}
	if n := x.marked(k); *n < 1<<16-1 {
		*n++
	}
}

// unmark counts one that is taken out. A count that once was full is never taken
// down: it would end at 0 too early.
func (x *Index) unmark(k Key) {
	x.Marks--
	if n := x.marked(k); *n < 1<<16-1 {
		*n--
	}
}

// Find returns the requests under a key in order of arrival. The slice is the
// index's own: do not keep it.
func (x *Index) Find(k Key) []*Request {
	if x.found.key != k || !x.found.set {
		x.found = found{k, true, x.Entries[k]}
	}
	return x.found.list
}

// found is what was looked up last: several rules ask for the same of one message.
type found struct {
	key  Key
	set  bool
	list []*Request
}

func (x *Index) add(k Key, r *Request) {
	if x.Entries == nil {
		x.Entries = make(map[Key][]*Request)
	}
	x.found.set = x.found.set && x.found.key != k
	x.Entries[k] = append(x.Entries[k], r)
	if k.kind() == ByMark {
		x.mark(k)
	}
}

func (x *Index) remove(k Key, r *Request) {
	x.found.set = x.found.set && x.found.key != k
	list := x.Entries[k]
	for i, o := range list {
		if o == r {
			if k.kind() == ByMark {
				x.unmark(k)
			}
			if len(list) == 1 {
				delete(x.Entries, k)
				return
			}
			copy(list[i:], list[i+1:])
			list[len(list)-1] = nil
			x.Entries[k] = list[:len(list)-1]
			return
		}
	}
}
