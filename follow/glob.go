package follow

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/isodetect/isodetect/parsers/rotation"
)

// glob is a pattern of paths. Everything is opened through the directory at its
// beginning, so that no symbolic link leads out of it.
type glob struct {
	base, pattern string
	root          *os.Root // nil = the directory is not there
	told          map[string]bool
}

// newGlob returns nil for a path without pattern, or one that names a file as it is.
func newGlob(p string) (*glob, error) {
	if !strings.ContainsAny(p, `*?[{`) {
		return nil, nil
	}
	if _, err := os.Lstat(p); err == nil {
		return nil, nil
	}
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(p))
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("cannot follow %q: its pattern is not valid; * ? [a-z] {a,b} and ** are, and \\ before a character that is meant as it is", p)
	}
	return &glob{base: filepath.FromSlash(base), pattern: pattern, told: map[string]bool{}}, nil
}

// matches reports whether the pattern finds the path.
func (g *glob) matches(path string) bool {
	rel, err := filepath.Rel(g.base, path)
	if err != nil {
		return false
	}
	ok, err := doublestar.Match(g.pattern, filepath.ToSlash(rel))
	return err == nil && ok
}

// settle opens the directory, again if it was replaced.
func (g *glob) settle() error {
	info, err := os.Stat(g.base)
	if g.root != nil {
		if now, e := g.root.Stat("."); err == nil && e == nil && os.SameFile(info, now) {
			return nil
		}
		g.root.Close()
		g.root = nil
	}
	if err != nil {
		return err
	}
	g.root, err = os.OpenRoot(g.base)
	return err
}

func (g *glob) rel(path string) (string, error) {
	if g.root == nil {
		return "", fs.ErrNotExist
	}
	return filepath.Rel(g.base, path)
}

func (g *glob) stat(path string) (fs.FileInfo, error) {
	rel, err := g.rel(path)
	if err != nil {
		return nil, err
	}
	return g.root.Stat(rel)
}

func (g *glob) open(path string) (*os.File, error) {
	rel, err := g.rel(path)
	if err != nil {
		return nil, err
	}
	return g.root.OpenFile(rel, os.O_RDONLY|notBlocking, 0)
}

func (g *glob) openDir(dir string) (*os.Root, error) {
	rel, err := g.rel(dir)
	if err != nil {
		return nil, err
	}
	return g.root.OpenRoot(rel)
}

// scan looks for files that the pattern finds and that are not followed yet.
func (f *Follower) scan(g *glob) {
	if g.settle() != nil {
		return
	}
	var paths []string
	doublestar.GlobWalk(g.root.FS(), g.pattern, func(rel string, d fs.DirEntry) error {
		if !d.IsDir() && len(paths) <= maxSources {
			paths = append(paths, filepath.Join(g.base, filepath.FromSlash(rel)))
		}
		return nil
	}, doublestar.WithNoFollow(), doublestar.WithNoHidden())
	slices.Sort(paths)
	told := map[string]bool{}
	for _, path := range paths {
		if f.byPath[path] != nil || f.rotatedFrom(g, path) {
			continue
		}
		err := f.admit(g, path)
		if err != nil {
			told[path] = true
			if !g.told[path] && f.opt.Trouble != nil {
				f.opt.Trouble(&Source{Index: -1, Path: path}, err)
			}
		}
	}
	g.told = told
}

// admit follows a file that a pattern found. It returns nil also where there is
// nothing to follow and nothing to tell.
func (f *Follower) admit(g *glob, path string) error {
	info, err := g.stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot follow %s: it does not lead to a file below %s; name its target to follow it: %w", path, g.base, err)
	case !info.Mode().IsRegular():
		return nil
	case len(f.sources) >= maxSources:
		return fmt.Errorf("cannot follow %s: more than %d files", path, maxSources)
	}
	file, err := g.open(path)
	if err != nil {
		return err
	}
	content, err := newFile(path, file)
	if err != nil {
		return err
	}
	defer content.close()
	if _, err := content.readHead(); err != nil {
		return err
	}
	reads, read := f.owner(content, nil)
	if reads != nil {
		return nil // renamed by a rotation, or followed under another name
	}
	s := f.add(path, g)
	s.asked, s.came = f.looked, f.now
	if read != nil { // all of it, under another name
		s.last, s.seen = read, true
	}
	return nil
}

// rotatedFrom reports a file that belongs to a log that is followed or lies beside it.
func (f *Follower) rotatedFrom(g *glob, path string) bool {
	if _, packed := rotation.Packed(path); packed {
		return true
	}
	part := rotation.PartOf(path)
	if !part.Rotated() || part.Unsure {
		return false
	}
	if f.byPath[part.Log] != nil {
		return true
	}
	_, err := g.stat(part.Log)
	return err == nil
}
