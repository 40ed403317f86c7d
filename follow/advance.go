package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// lookAtAll finds out which files of the chain were truncated.
func (s *Source) lookAtAll() error {
	for i := 0; i < len(s.chain); i++ {
		g := s.chain[i]
		empty, since := len(g.head) == 0, g.modified
		what, err := g.look()
		if err != nil {
			return err
		}
		if what == truncated && !s.reopened(g) {
			i += s.truncated(i)
		}
		if what == changed && empty && i == len(s.chain)-1 && s.seen {
			i += s.emptied(i, since)
		}
	}
	return nil
}

// emptied puts before a file that was empty when it was seen last what a rotation has
// copied of it since. It returns how many files it put there.
func (s *Source) emptied(i int, since int64) int {
	g := s.chain[i]
	s.chain = s.chain[:i]
	if i > 0 {
		s.between(s.chain[i-1], s.chain[i-1].state(), g, nil)
	} else {
		s.between(nil, State{Modified: since}, g, nil)
	}
	n := len(s.chain) - i
	if n > 0 {
		g.fresh = true
	}
	s.chain = append(s.chain, g)
	if n > 0 {
		s.betweenCopies(s.chain[i:])
	}
	return n
}

// betweenCopies marks that something may be missing before each file that began when
// another was copied and truncated.
func (s *Source) betweenCopies(list []*file) {
	for _, g := range list {
		if g.gap == nil {
			g.gap = &gap{0, fmt.Sprintf("%s was truncated while it was written; whether anything was written after a copy of it was made cannot be known", s.Path)}
		}
	}
}

// reopened makes sure: a network file system may say of an open file what is no longer
// true, but not of one that is opened anew.
func (s *Source) reopened(g *file) bool {
	if g != s.chain[len(s.chain)-1] {
		return false
	}
	f, err := s.openPath()
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, g.info) {
		f.Close()
		return false
	}
	old := g.f
	g.f = f
	if same, err := g.keepsContent(info.Size()); err != nil || !same {
		g.f = old
		f.Close()
		return false
	}
	old.Close()
	g.note(info)
	return true
}

// truncated puts in place of a file what is left of its content elsewhere, and after
// that the file from its beginning. It returns how many files it put before it.
func (s *Source) truncated(i int) int {
	g := s.chain[i]
	st, head := g.state(), g.head
	destroyed := max(g.size, g.pos()) - g.start
	s.release(g)
	again := &file{name: g.name, f: g.f, info: g.info, fresh: true}
	if info, err := again.f.Stat(); err == nil {
		again.note(info)
	}
	again.readHead()
	rest := slices.Clone(s.chain[i+1:])
	s.chain = s.chain[:i]
	again.gap = &gap{destroyed, fmt.Sprintf("%s was truncated while it was written; what was not read before is lost, possibly more than was seen", s.Path)}
	copied := s.copyOf(st, g)
	if copied == nil && g.gap != nil {
		again.gap = &gap{again.gap.bytes + g.gap.bytes, g.gap.why + "; " + again.gap.why}
	}
	if copied != nil {
		copied.goOn(st)
		copied.fresh, copied.gap = g.fresh, g.gap
		s.chain = append(s.chain, copied)
		left := destroyed - (copied.size - st.Offset)
		if copied.packed != nil {
			left = 0
		}
		again.gap = &gap{0, fmt.Sprintf("%s was truncated after its copy %s was made, which was read to its end; whether anything was written in between cannot be known", s.Path, copied.name)}
		if left > 0 {
			again.gap = &gap{left, fmt.Sprintf("%s was truncated while it was written; what was written after its copy %s was made is lost", s.Path, copied.name)}
		}
	}
	if len(rest) == 0 {
		s.between(copied, st, again, head)
	}
	if copied == nil && len(s.chain) > i {
		s.chain[i].gap, again.gap = again.gap, nil
	}
	n := len(s.chain) - i
	s.chain = append(s.chain, again)
	s.betweenCopies(s.chain[i+min(1, n):])
	s.chain = append(s.chain, rest...)
	return n
}

// copyOf finds a copy of what was truncated. If little is known of that, it must have
// been written to since.
func (s *Source) copyOf(st State, g *file) *file {
	if st.ID.HeadLen == 0 {
		return nil
	}
	b, err := s.beside()
	if err != nil {
		return nil
	}
	defer b.root.Close()
	for i := len(b.found) - 1; i >= 0; i-- {
		x := b.found[i]
		if s.knows(x.info) || os.SameFile(x.info, g.info) {
			continue
		}
		c, err := b.open(x)
		if err != nil {
			continue
		}
		surely := st.ID.HeadLen == headLen || x.info.ModTime().UnixNano() >= st.Modified
		if surely && c.holds(st) || c.begins(g) {
			c.static = true
			return c
		}
		c.close()
	}
	return nil
}

// failed puts the files down after an error of reading; the next look finds them again.
func (s *Source) failed(err error) error {
	g := s.chain[0]
	if g.packed != nil { // it will not get better
		g.gap = nil
		s.next(&gap{0, fmt.Sprintf("cannot read %s after byte %d: %v", g.name, g.pos(), err)})
		return nil
	}
	err = fmt.Errorf("cannot read %s at byte %d: %w", s.Path, g.pos(), err)
	s.putDown()
	return err
}

// putDown closes all files. What was read of lines that are not whole is read again.
func (s *Source) putDown() {
	if len(s.chain) == 0 {
		return
	}
	st := s.State()
	s.last = &st
	for _, g := range s.chain {
		s.release(g)
		g.close()
	}
	s.chain = nil
}

// next leaves the first file of the chain.
func (s *Source) next(lost *gap) {
	g := s.chain[0]
	s.release(g)
	if s.late != nil {
		s.late.close()
		s.late = nil
	}
	s.past = append(s.past, g.state())
	s.past = slices.Delete(s.past, 0, max(0, len(s.past)-maxPast))
	s.chain = slices.Delete(s.chain, 0, 1)
	s.quiet, s.slow = time.Time{}, false
	if g.static {
		g.close()
	} else {
		s.late, s.lateEnd = g, s.follower.now.Add(s.follower.opt.Idle)
	}
	if lost != nil && len(s.chain) > 0 && s.chain[0].gap == nil {
		s.chain[0].gap = lost
	}
}

// watchLate tells what was written to a file after it was left.
func (s *Source) watchLate(h Handler) {
	g := s.late
	if g == nil || s.follower.now.Before(s.lateEnd) {
		return
	}
	if info, err := g.f.Stat(); err == nil && info.Size() > g.start+g.hole {
		h.Lost(s, info.Size()-g.start, fmt.Sprintf("written to a rotated file of %s after the next had begun", s.Path))
	}
	g.close()
	s.late = nil
}

// advance reads along the chain.
func (s *Source) advance(h Handler) (busy bool, err error) {
	f := s.follower
	for left := f.opt.Share; len(s.chain) > 0; {
		g := s.chain[0]
		if g.gap != nil {
			h.Lost(s, g.gap.bytes, g.gap.why)
			g.gap = nil
		}
		if g.fresh {
			h.Turned(s)
			g.fresh = false
		}
		if left <= 0 {
			return true, nil
		}
		before := g.pos()
		taken, ended, err := s.read(g, h)
		if g.pos() != before || g.packed != nil && taken > 0 {
			s.came, s.idle = f.now, false
			s.slow = s.slow || !s.quiet.IsZero()
			s.quiet = time.Time{}
		}
		if errors.Is(err, errTruncated) {
			s.truncated(0)
			continue
		}
		if err != nil {
			return false, err
		}
		left -= max(taken, 1)
		if !ended {
			continue
		}
		on, err := s.atEnd(g, h)
		if err != nil || !on {
			return false, err
		}
	}
	return false, nil
}

// atEnd is what happens where nothing more is to be read. It reports whether there is
// another file to go on with.
func (s *Source) atEnd(g *file, h Handler) (on bool, err error) {
	f := s.follower
	waited := f.now.Sub(s.came) >= f.opt.Idle
	if g.pos() > g.start && g.tooLong == 0 && (waited || g.static) {
		if err := s.cut(g, h); err != nil {
			return false, err
		}
	}
	if len(s.chain) == 1 {
		return false, nil
	}
	if len(s.chain) == 2 && s.chain[1].size == 0 && s.chain[1].gap == nil {
		return false, nil // its writer may not have moved on
	}
	if !g.static {
		if s.quiet.IsZero() {
			s.quiet = f.now
		}
		wait := f.opt.Poll
		if s.slow {
			wait = f.opt.Idle
		}
		if f.now.Sub(s.quiet) < wait || g.pos() > g.start && !waited {
			return false, nil
		}
	}
	if err := s.cut(g, h); err != nil {
		return false, err
	}
	s.next(nil)
	return true, nil
}

// rest tells that nothing comes, and lets go of what is no longer there.
func (s *Source) rest(h Handler) {
	f := s.follower
	if f.now.Sub(s.came) < f.opt.Idle {
		return
	}
	if !s.idle && (s.seen || s.told) {
		s.idle = true
		h.Idle(s)
	}
	if len(s.chain) == 1 && !s.gone.IsZero() && f.now.Sub(s.gone) >= goneFor && f.now.Sub(s.came) >= goneFor {
		s.next(nil)
	}
}

// State is where the source stands.
func (s *Source) State() State {
	st := State{}
	switch {
	case s.last != nil:
		st = *s.last
	case len(s.chain) > 0:
		st = s.chain[0].state()
		for _, g := range s.chain[1:] {
			if g.gap != nil {
				st.Lost += g.gap.bytes
				st.Why = g.gap.why
			}
		}
	case len(s.past) > 0:
		st = s.past[len(s.past)-1]
	}
	st.Path, st.Index = s.Path, s.Index
	if len(s.chain) == 1 && s.glob == nil {
		st.Target = linkTarget(s.Path, s.chain[0].info)
	}
	return st
}

// linkTarget is where a symbolic link leads, "" if it is none or no longer leads to the file.
func linkTarget(path string, file fs.FileInfo) string {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return ""
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(target); err != nil || !os.SameFile(info, file) {
		return ""
	}
	if target, err = filepath.Abs(target); err != nil {
		return ""
	}
	return target
}
