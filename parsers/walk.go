package parsers

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/isodetect/isodetect/parsers/source"
)

// collect finds the inputs of paths, sorts them by path and numbers them. An
// input that two paths lead to is read once.
func (s *Set) collect(paths []string, stdin io.Reader) {
	for _, p := range paths {
		switch {
		case p == "-":
			s.addPipe(p, stdin, nil)
		default:
			s.addPath(p)
		}
	}
	slices.SortStableFunc(s.Members, func(a, b *Member) int {
		if c := cmp.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return -cmp.Compare(btoi(a.Named), btoi(b.Named))
	})
	s.Members = slices.CompactFunc(s.Members, func(a, b *Member) bool { return a.Path == b.Path })
	seen := map[string]*Member{}
	for i, m := range s.Members {
		m.Index = int32(i)
		if m.real == "" {
			continue
		}
		if first, ok := seen[m.real]; ok {
			m.skip = "the same file as " + first.Path
			continue
		}
		seen[m.real] = m
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Set) add(p string, size int64) *Member {
	m := &Member{Input: &source.Input{Path: p, Size: size}}
	s.Members = append(s.Members, m)
	return m
}

func (s *Set) addPipe(p string, r io.Reader, closer func() error) {
	m := s.add(p, -1)
	m.Named = true
	if s.pipes != nil && r != nil {
		r, closer = s.pipes.of(p, r, closer)
	}
	m.Opener = &once{r: r, meter: s.Meter, stats: &m.Stats, close: closer}
	if r == nil {
		m.Err = errors.New("there is no standard input")
	}
}

// addPath adds a path of the command line.
func (s *Set) addPath(p string) {
	p = filepath.Clean(p)
	info, err := os.Stat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?["):
		s.addMatches(p)
	case err != nil:
		m := s.add(p, -1)
		m.Named, m.Err = true, plain(err)
	case info.IsDir():
		s.addDir(p)
	case !info.Mode().IsRegular(): // a named pipe, or what a shell makes of <(command)
		if r := s.pipes.again(p); r != nil {
			s.addPipe(p, r, nil)
			return
		}
		f, err := os.Open(p)
		if err != nil {
			m := s.add(p, -1)
			m.Named, m.Err = true, plain(err)
			return
		}
		s.addPipe(p, f, f.Close)
	default:
		m := s.add(p, info.Size())
		m.Named, m.real, m.Modified = true, realPath(p), info.ModTime().UnixNano()
		m.Opener = &regular{open: func() (*os.File, error) { return openPlain(os.Open(p)) }, meter: s.Meter, stats: &m.Stats}
	}
}

// addMatches adds what a pattern finds that no shell has put in its place. One that
// finds nothing is no input that could not be read: the run has nothing to judge there.
func (s *Set) addMatches(pattern string) {
	found, err := doublestar.FilepathGlob(pattern, doublestar.WithFailOnIOErrors())
	if err != nil || len(found) == 0 {
		m := s.add(pattern, -1)
		if m.Err = errors.New("nothing matches this pattern"); err != nil {
			m.Err, m.Named = plain(err), true
		}
		return
	}
	for _, p := range found {
		s.addPath(p)
	}
}

// addDir adds the files of a directory and of those below it. Names that begin
// with a dot are left out. os.Root keeps every opening inside the directory, also
// if a file is replaced by a symbolic link while we look.
func (s *Set) addDir(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		m := s.add(dir, -1)
		m.Named, m.Err = true, plain(err)
		return
	}
	s.roots = append(s.roots, root)
	before := len(s.Members)
	fs.WalkDir(root.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		hidden := rel != "." && strings.HasPrefix(path.Base(rel), ".")
		switch {
		case hidden && e != nil && e.IsDir():
			return fs.SkipDir
		case hidden:
			return nil
		case err != nil:
			m := s.add(filepath.Join(dir, filepath.FromSlash(rel)), -1)
			m.Err = plain(err)
			m.Named = rel == "."
			return nil
		case !e.IsDir():
			s.addMember(root, dir, filepath.FromSlash(rel))
		}
		return nil
	})
	if len(s.Members) == before {
		m := s.add(dir, -1)
		m.Named, m.empty, m.skip = true, true, "a directory without files"
	}
}

func (s *Set) addMember(root *os.Root, dir, rel string) {
	m := s.add(filepath.Join(dir, rel), -1)
	info, err := root.Stat(rel) // follows links, and fails on one that leads out
	switch {
	case err != nil && isLink(root, rel):
		m.skip = "a symbolic link that leads out of the directory or nowhere; name its target to read it"
	case err != nil:
		m.Err = plain(err)
	case info.IsDir():
		m.skip = "a symbolic link to a directory"
	case !info.Mode().IsRegular():
		m.skip = "not a regular file"
	default:
		m.Size, m.real, m.Modified = info.Size(), realPath(m.Path), info.ModTime().UnixNano()
		m.Opener = &regular{open: func() (*os.File, error) { return openPlain(root.Open(rel)) }, meter: s.Meter, stats: &m.Stats}
	}
}

func isLink(root *os.Root, rel string) bool {
	info, err := root.Lstat(rel)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// realPath tells whether two paths lead to one file; it opens nothing.
func realPath(p string) string {
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return ""
	}
	if abs, err := filepath.Abs(real); err == nil {
		return abs
	}
	return real
}

func openPlain(f *os.File, err error) (*os.File, error) { return f, plain(err) }

// plain drops the operation and path of a file error: every message names the path already.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
