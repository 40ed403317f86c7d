package follow

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// file is one file of the chain that a source is: what is known of it and how far it
// has been read.
type file struct {
	name   string // where it was found, for messages
	f      *os.File
	packed *unpacked // its content, if it is compressed
	info   fs.FileInfo

	head []byte // its first bytes, at most headLen
	tail []byte // the bytes before start, at most tailLen

	start    int64  // offset of the first byte that is not part of a delivered line
	held     []byte // the bytes from start on that were read
	tooLong  int64  // or how many were read and dropped, since the line is over the limit
	hole     int64  // NUL bytes that were seen behind them and are not taken for content yet
	n        int64  // lines delivered
	dangling bool   // the last line was delivered without its end

	size, modified int64 // when looked at last
	static         bool  // nobody writes to it: a copy, or compressed
	fresh          bool  // its first line is to be announced by Turned
	gap            *gap  // what is missing before its first line
}

// gap is what Lost tells.
type gap struct {
	bytes int64
	why   string
}

var errNotRegular = errors.New("not a regular file")

// newFile takes over f, or closes it.
func newFile(name string, f *os.File) (*file, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	g := &file{name: name, f: f, info: info}
	g.note(info)
	return g, nil
}

// openFound opens what was found beside the path, compressed or not.
func openFound(name string, f *os.File) (*file, error) {
	g, err := newFile(name, f)
	if err != nil {
		return nil, err
	}
	u, err := unpack(f, g.size)
	if err != nil {
		return nil, err
	}
	if u != nil {
		g.packed, g.static = u, true
	}
	_, err = g.readHead()
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *file) note(info fs.FileInfo) { g.size, g.modified = info.Size(), info.ModTime().UnixNano() }

func (g *file) content() io.ReaderAt {
	if g.packed != nil {
		return g.packed
	}
	return g.f
}

func (g *file) close() {
	switch {
	case g.packed != nil:
		g.packed.Close()
	case g.f != nil:
		g.f.Close()
	}
	g.f, g.packed = nil, nil
}

func (g *file) pos() int64 { return g.start + int64(len(g.held)) + g.tooLong }

// before is the last bytes before pos.
func (g *file) before(buf []byte) []byte {
	if g.tooLong > 0 {
		return buf[:0]
	}
	if len(g.held) >= tailLen {
		return append(buf[:0], g.held[len(g.held)-tailLen:]...)
	}
	keep := min(len(g.tail), tailLen-len(g.held))
	return append(append(buf[:0], g.tail[len(g.tail)-keep:]...), g.held...)
}

// readHead reads the beginning again and reports whether it is what it was. The head
// grows with the file.
func (g *file) readHead() (same bool, err error) {
	var b [headLen]byte
	n, err := g.content().ReadAt(b[:], 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	if n < len(g.head) || !alike(g.head, b[:len(g.head)]) {
		return false, nil
	}
	g.head = append(g.head[:0], withoutNUL(b[:n])...)
	return true, nil
}

// looked is what a look at a file says.
type looked int

const (
	unchanged looked = iota
	changed
	truncated
)

// look compares the file with what was read of it.
func (g *file) look() (looked, error) {
	if g.f == nil || g.packed != nil {
		return unchanged, nil
	}
	info, err := g.f.Stat()
	if err != nil {
		return unchanged, err
	}
	if info.Size() == g.size && info.ModTime().UnixNano() == g.modified {
		return unchanged, nil
	}
	same, err := g.keepsContent(info.Size())
	switch {
	case err != nil:
		return unchanged, err
	case !same:
		return truncated, nil
	}
	g.note(info)
	return changed, nil
}

// keepsContent reports whether the content that was seen is still there.
func (g *file) keepsContent(size int64) (bool, error) {
	if size < g.pos() {
		return false, nil
	}
	if g.hole > 0 { // what looked like a hole may have been filled
		var b [1]byte
		if n, _ := g.f.ReadAt(b[:], g.pos()); n == 1 && b[0] != 0 || size < g.pos()+g.hole {
			g.hole = 0
		}
	}
	same, err := g.readHead()
	if err != nil || !same {
		return false, err
	}
	var want, got [tailLen]byte
	tail := g.before(want[:])
	n, err := g.f.ReadAt(got[:len(tail)], g.pos()-int64(len(tail)))
	if err != nil && err != io.EOF {
		return false, err
	}
	return alike(tail, got[:n]), nil
}

// identity is what the file is known by.
func (g *file) identity() Identity {
	device, number := inode(g.info)
	id := Identity{Device: device, Inode: number, HeadLen: int64(len(g.head))}
	if len(g.head) > 0 {
		id.Head = hashOf(g.head)
	}
	return id
}

// state is what finds the file again, and the place in it.
func (g *file) state() State {
	st := State{ID: g.identity(), Offset: g.start, N: g.n, Modified: g.modified, TailLen: int64(len(g.tail))}
	if len(g.tail) > 0 {
		st.Tail = hashOf(g.tail)
	}
	return st
}

// headOnly is from which offset on a compressed file is known by its head alone: to
// read so far takes too long for one look.
const headOnly = 4 << 20

// holds reports whether the file has the content of which the state tells.
func (g *file) holds(st State) bool {
	if g.packed == nil && g.size < st.Offset {
		return false
	}
	if g.packed != nil && st.Offset > headOnly && st.ID.HeadLen == headLen {
		st.Offset, st.TailLen = 0, 0
	}
	return st.keeps(g.content())
}

// goOn sets the place at which the state stopped.
func (g *file) goOn(st State) {
	g.start, g.n = st.Offset, st.N
	if st.Offset == 0 || g.packed != nil && st.Offset > headOnly {
		return
	}
	tail := make([]byte, min(tailLen, st.Offset))
	n, _ := g.content().ReadAt(tail, st.Offset-int64(len(tail)))
	g.tail = tail[:n]
	g.dangling = n > 0 && tail[n-1] != '\n' && tail[n-1] != 0
}

// copies reports that the file holds what another, of which the state tells, is known
// by: the same first KiB, or the same in all. head is what is known of a beginning
// that is no longer there; a copy may have been made before all of that was written.
func (g *file) copies(st State, head []byte) bool {
	if st.ID.HeadLen > 0 && int64(len(g.head)) == st.ID.HeadLen && hashOf(g.head) == st.ID.Head {
		return true
	}
	return len(g.head) > 0 && len(g.head) < headLen && len(g.head) <= len(head) && alike(g.head, head[:len(g.head)])
}

// begins reports that the file is a short one that holds the beginning of what another
// held, and more than was read of that.
func (g *file) begins(o *file) bool {
	n := len(g.head)
	return n < headLen && int64(n) > o.start && n <= len(o.head) && bytes.Equal(g.head, o.head[:n])
}
