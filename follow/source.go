package follow

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Source is one path that is followed.
type Source struct {
	Index int32 // stays the same for as long as the path is followed, also over States
	Path  string

	follower *Follower
	glob     *glob // the pattern that found it, nil = named itself
	stream   *stream

	chain   []*file // what is being read, and what came after it under the path
	past    []State // what was read to its end, the last ones
	late    *file   // what was left last; it may still be written to
	lateEnd time.Time

	last    *State // where it stood when it was put down, nil = chain tells
	seen    bool   // a file was there
	asked   bool   // it was looked for at least once
	told    bool   // an Expecter was told that it is there
	came    time.Time
	quiet   time.Time // since when there is nothing to read though a successor is there
	slow    bool      // it was written to beside its successor
	idle    bool
	gone    time.Time // since when there is no file under the path
	trouble string
	done    bool // a stream that ended
}

const (
	maxChain = 16 // files of a source that are open at once
	maxPast  = 32
	goneFor  = time.Minute // after which a file that is no longer under its path is let go
)

// look reads what has come, at most opt.Share bytes.
func (s *Source) look(h Handler) (busy bool, err error) {
	if !s.asked {
		s.came = s.follower.now
	}
	if s.stream != nil {
		return s.readStream(h)
	}
	problem := s.lookAtAll()
	if problem != nil {
		problem = s.failed(problem)
	} else {
		problem = s.refresh()
	}
	s.asked = true
	busy, err = s.advance(h)
	var re *readError
	if errors.As(err, &re) {
		problem, err = s.failed(re.err), nil
	}
	s.complain(problem)
	s.watchLate(h)
	if err == nil && !busy {
		s.rest(h)
	}
	return busy, err
}

// complain tells an error once, and once that it is over.
func (s *Source) complain(err error) {
	if err != nil && errors.Is(err, fs.ErrNotExist) && s.seen {
		err = nil // between two files of a rotation
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == s.trouble {
		return
	}
	s.trouble = text
	if t := s.follower.opt.Trouble; t != nil {
		t(s, err)
	}
}

func (s *Source) stat() (fs.FileInfo, error) {
	if s.glob != nil {
		return s.glob.stat(s.Path)
	}
	return os.Stat(s.Path)
}

func (s *Source) open() (*file, error) {
	if err := s.follower.room(); err != nil {
		return nil, err
	}
	f, err := s.openPath()
	if err != nil {
		return nil, err
	}
	g, err := newFile(s.Path, f)
	if err != nil {
		return nil, err
	}
	if _, err := g.readHead(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (s *Source) openPath() (*os.File, error) {
	if s.glob != nil {
		return s.glob.open(s.Path)
	}
	return os.OpenFile(s.Path, os.O_RDONLY|notBlocking, 0)
}

// refresh lets the chain end with what lies under the path now.
func (s *Source) refresh() error {
	info, err := s.stat()
	if err != nil {
		if s.gone.IsZero() {
			s.gone = s.follower.now
		}
		if s.last != nil && len(s.chain) == 0 {
			return s.resume(nil)
		}
		return err
	}
	s.gone = time.Time{}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory; name its files, or a pattern such as %s", s.Path, filepath.Join(s.Path, "*.log"))
	}
	if !info.Mode().IsRegular() {
		if s.glob == nil && !s.seen {
			s.stream = s.follower.openStream(s.Path)
			return nil
		}
		return fmt.Errorf("%s: %w", s.Path, errNotRegular)
	}
	if s.last != nil && len(s.chain) == 0 {
		if s.asked && s.unmoved(info) {
			return nil
		}
		g, err := s.open()
		if err != nil {
			return err
		}
		return s.resume(g)
	}
	if len(s.chain) > 0 && os.SameFile(s.chain[len(s.chain)-1].info, info) {
		return nil
	}
	if len(s.chain) >= maxChain {
		return nil // the rest is found once these are read
	}
	return s.append()
}

// unmoved reports that a file that was put down is as it was.
func (s *Source) unmoved(info fs.FileInfo) bool {
	device, number := inode(info)
	return s.last.ID.sameInode(Identity{Device: device, Inode: number}) && info.ModTime().UnixNano() == s.last.Modified && info.Size() == s.last.Offset
}

// append adds what lies under the path to the chain, and before it what came and went
// since the last look.
func (s *Source) append() error {
	g, err := s.open()
	if err != nil {
		return err
	}
	o, read := s.follower.owner(g, s)
	if read != nil { // under another path, from which it was renamed
		g.goOn(*read)
	}
	if o != nil {
		g.close()
		return fmt.Errorf("%s is the same file as %s, which is followed already", s.Path, o.Path)
	}
	if len(s.chain) == 0 && !s.seen {
		s.seen = true
		if read == nil {
			s.begin(g)
		}
		s.adopt(g)
		return nil
	}
	var before *file
	st := State{}
	switch {
	case len(s.chain) > 0:
		before = s.chain[len(s.chain)-1]
		st = before.state()
	case len(s.past) > 0:
		st = s.past[len(s.past)-1]
	}
	back := s.cameBack(g)
	whole := s.between(before, st, g, nil)
	g.fresh = true
	if !whole {
		g.close()
		return nil
	}
	if back {
		g.gap = nil
	}
	s.adopt(g)
	return nil
}

// cameBack goes on in a file that was read before and lies under its old name again.
func (s *Source) cameBack(g *file) bool {
	i := slices.IndexFunc(s.past, func(p State) bool { return p.ID.sameInode(g.identity()) && g.holds(p) })
	if i < 0 {
		return false
	}
	g.goOn(s.past[i])
	s.past = slices.Delete(s.past, i, i+1)
	return true
}

// adopt puts a file at the end of the chain.
func (s *Source) adopt(g *file) {
	s.chain = append(s.chain, g)
	if s.follower.owners != nil {
		s.follower.own(s)
	}
}

// between adds to the chain the files beside the path that were written after the one
// of st and before live. It reports whether all found their place. head is the
// beginning of what was truncated, nil if nothing was.
func (s *Source) between(before *file, st State, live *file, head []byte) bool {
	b, err := s.beside()
	if err != nil {
		return true
	}
	defer b.root.Close()
	list, at := b.after(before, st)
	var lost *gap // before an empty file, which is not read: it is told of the next one
	for _, x := range s.until(live, b, list) {
		prior := at
		at = x
		if s.knows(x.info) {
			continue
		}
		if x.info.Size() == 0 {
			if b.counted && lost == nil {
				lost = missing(prior, x)
			}
			continue
		}
		g, err := b.open(x)
		if err != nil {
			continue
		}
		if live != nil && g.copies(live.state(), nil) {
			g.close()
			break // it is what live is, packed; the others came later
		}
		if s.repeats(g) || g.copies(st, head) {
			g.close()
			continue
		}
		if len(s.chain) >= maxChain {
			g.close()
			return false
		}
		g.fresh = true
		if b.counted {
			g.gap = cmp.Or(lost, missing(prior, x))
		}
		lost = nil
		s.chain = append(s.chain, g)
	}
	if b.counted && live != nil && live.gap == nil {
		live.gap = cmp.Or(lost, missing(at, nil))
	}
	return true
}

// until takes off the list what was written after live, which may itself have been
// renamed or deleted meanwhile.
func (s *Source) until(live *file, b *beside, list []*found) []*found {
	if live == nil {
		return list
	}
	if i := slices.IndexFunc(list, func(x *found) bool { return os.SameFile(x.info, live.info) }); i >= 0 {
		return list[:i]
	}
	if slices.ContainsFunc(b.found, func(x *found) bool { return os.SameFile(x.info, live.info) }) {
		return nil
	}
	if info, err := s.stat(); err == nil && os.SameFile(info, live.info) {
		return list
	}
	return slices.DeleteFunc(list, func(x *found) bool { return x.info.ModTime().UnixNano() > live.modified })
}

// knows reports whether a file is in the chain already.
func (s *Source) knows(info fs.FileInfo) bool {
	return slices.ContainsFunc(s.chain, func(g *file) bool { return os.SameFile(g.info, info) }) || s.late != nil && os.SameFile(s.late.info, info)
}

// repeats reports whether a file holds what was read already, or what is in the chain.
func (s *Source) repeats(g *file) bool {
	for _, p := range s.past {
		if g.copies(p, nil) {
			return true
		}
	}
	for _, c := range s.chain {
		if c.packed == nil {
			c.readHead() // it may have grown since it was looked at
		}
		if g.copies(c.state(), nil) {
			return true
		}
	}
	return false
}

// beside looks at what lies in the directory of the path.
func (s *Source) beside() (*beside, error) {
	root, err := s.openDir(filepath.Dir(s.Path))
	if err != nil {
		return nil, err
	}
	b, err := lookBeside(root, filepath.Base(s.Path))
	if err != nil {
		root.Close()
	}
	return b, err
}

func (s *Source) openDir(dir string) (*os.Root, error) {
	if s.glob != nil {
		return s.glob.openDir(dir)
	}
	return os.OpenRoot(dir)
}

// resume finds again what the state tells of, in live or beside the path, and what
// came after it.
func (s *Source) resume(live *file) error {
	st := *s.last
	g, own := s.locate(st, live)
	if g == nil && live == nil {
		return fs.ErrNotExist // nothing is there yet; what was may come back
	}
	s.last, s.seen = nil, true
	if g != nil {
		g.goOn(st)
		s.chain = append(s.chain, g)
		if own {
			return nil
		}
	}
	if live != nil {
		live.fresh = true
		switch {
		case g == nil && st.ID.sameInode(live.identity()):
			live.gap = &gap{0, fmt.Sprintf("%s was truncated; how much of it was not read is not known", s.Path)}
		case g == nil:
			live.gap = &gap{0, fmt.Sprintf("the file that was %s is gone; what was written to it after byte %d is not known", s.Path, st.Offset)}
		case g.static && g.packed == nil:
			live.gap = &gap{0, fmt.Sprintf("%s was truncated; what was written between its copy and that is not known", s.Path)}
		}
	}
	whole := s.between(g, st, live, nil)
	if live != nil && st.ID.sameInode(live.identity()) {
		s.betweenCopies(s.chain[min(1, len(s.chain)):])
	}
	if g == nil && len(s.chain) > 0 && live != nil { // the gap comes before all of them
		s.chain[0].gap, live.gap = live.gap, nil
	}
	if st.Why != "" { // where exactly is not known
		bytes := st.Lost
		for _, c := range append(slices.Clone(s.chain), live) {
			if c != nil && c != g && c.gap == nil {
				c.gap = &gap{bytes, st.Why}
				bytes = 0
			}
		}
	}
	if live != nil {
		if whole && len(s.chain) < maxChain {
			s.chain = append(s.chain, live)
		} else {
			live.close()
		}
	}
	return nil
}

// locate returns the file that the state tells of; own says that it is live.
func (s *Source) locate(st State, live *file) (g *file, own bool) {
	if live != nil && st.ID.sameInode(live.identity()) && live.holds(st) {
		return live, true
	}
	b, err := s.beside()
	if err == nil {
		defer b.root.Close()
		if g := b.find(st, true); g != nil {
			return g, false
		}
	}
	if g := s.openTarget(st); g != nil {
		return g, false
	}
	if st.ID.HeadLen == 0 {
		return nil, false // an empty file is like any other
	}
	if live != nil && live.holds(st) {
		return live, true
	}
	if err != nil {
		return nil, false
	}
	if g := b.find(st, false); g != nil {
		g.static = true // a copy
		return g, false
	}
	return nil, false
}

// openTarget opens what the path, a symbolic link, led to when the state was taken.
func (s *Source) openTarget(st State) *file {
	if st.Target == "" || s.glob != nil {
		return nil
	}
	f, err := os.OpenFile(st.Target, os.O_RDONLY|notBlocking, 0)
	if err != nil {
		return nil
	}
	g, err := openFound(st.Target, f)
	if err != nil {
		return nil
	}
	if g.holds(st) {
		return g
	}
	g.close()
	return nil
}

// Modified is when the file that is read was last written to, as far as seen, in
// Unix nanoseconds; 0 = not known.
func (s *Source) Modified() int64 {
	if len(s.chain) == 0 {
		return 0
	}
	return s.chain[0].modified
}
