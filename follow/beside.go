package follow

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/parsers/rotation"
)

// beside is the files in the directory of a path whose names have to do with it, in
// the order in which they were written, the oldest first. Empty ones are among them: a
// log that was rotated while nothing was written is there, and not missing.
type beside struct {
	root    *os.Root
	found   []*found
	counted bool // numbers in the names tell the order
}

type found struct {
	name string
	info fs.FileInfo
	part rotation.Part
	ours bool // a name that a rotation of the path gives
}

// maxBeside bounds how many files of a log are looked at, the newest.
const maxBeside = 1000

// beside looks into a directory for files that may have been base. Symbolic links are left out.
func lookBeside(root *os.Root, base string) (*beside, error) {
	b := &beside{root: root}
	dir, err := root.Open(".")
	if err != nil {
		return b, err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	slices.Sort(names)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	for _, name := range names {
		plain, packed := rotation.Packed(name)
		part := rotation.PartOf(name)
		ours := part.Log == base && (part.Rotated() || packed)
		if name == base || !ours && !strings.Contains(name, stem) || packed && slices.Contains(names, plain) {
			continue
		}
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() && (info.Size() > 0 || !packed) { // a compressed file is never empty
			b.found = append(b.found, &found{name, info, part, ours})
		}
	}
	b.sort()
	b.found = b.found[max(0, len(b.found)-maxBeside):]
	return b, err
}

// sort orders by numbers in the names where the times do not contradict them, by dates
// where all have one of the same length, and otherwise by when they were last written to.
func (b *beside) sort() {
	written := func(x, y *found) int { return x.info.ModTime().Compare(y.info.ModTime()) }
	slices.SortStableFunc(b.found, func(x, y *found) int {
		return cmp.Or(written(x, y), rotation.Older(x.part, y.part))
	})
	numbers, dates, length, last := true, true, -1, 1<<30
	for _, x := range b.found {
		if !x.ours {
			continue
		}
		numbers = numbers && x.part.Date == "" && x.part.Number > 0
		dates = dates && x.part.Date != "" && (length < 0 || length == len(x.part.Date))
		length = len(x.part.Date)
		if _, packed := rotation.Packed(x.name); !packed {
			numbers = numbers && x.part.Number <= last
			last = x.part.Number
		}
	}
	if numbers || dates {
		slices.SortStableFunc(b.found, func(x, y *found) int {
			if !x.ours || !y.ours {
				return 0
			}
			if numbers {
				return rotation.Older(x.part, y.part)
			}
			return cmp.Or(strings.Compare(x.part.Date, y.part.Date), written(x, y))
		})
	}
	b.counted = numbers && length >= 0
}

// open opens what was found, if it is still the same file.
func (b *beside) open(x *found) (*file, error) {
	f, err := b.root.OpenFile(x.name, os.O_RDONLY|notBlocking, 0)
	if err != nil {
		return nil, err
	}
	g, err := openFound(x.name, f)
	if err == nil && !os.SameFile(g.info, x.info) {
		g.close()
		return nil, fs.ErrNotExist
	}
	return g, err
}

// find returns the file that the state tells of, nil if it is not there.
func (b *beside) find(st State, inodeToo bool) *file {
	for i := len(b.found) - 1; i >= 0; i-- {
		x := b.found[i]
		if device, number := inode(x.info); inodeToo && !st.ID.sameInode(Identity{Device: device, Inode: number}) {
			continue
		}
		g, err := b.open(x)
		if err != nil {
			continue
		}
		if g.holds(st) {
			return g
		}
		g.close()
	}
	return nil
}

// after returns what was written after a file: as the names tell if it is found among
// them, and otherwise what was written to since it was.
func (b *beside) after(g *file, st State) (list []*found, at *found) {
	if g != nil {
		i := slices.IndexFunc(b.found, func(x *found) bool { return os.SameFile(x.info, g.info) })
		if i >= 0 {
			at = b.found[i]
			list = b.found[i+1:]
		}
	}
	if at == nil || !at.ours {
		for _, x := range b.found {
			if x.info.ModTime().UnixNano() >= st.Modified && !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
	}
	unsure := at != nil && at.part.Unsure
	return slices.DeleteFunc(slices.Clone(list), func(x *found) bool {
		return !x.ours || x == at || x.part.Unsure && !unsure
	}), at
}

// missing says whether the numbers of the names leave one out between two files; b nil
// stands for the path itself.
func missing(a, b *found) *gap {
	if a == nil || !a.ours || a.part.Number == 0 || a.part.Date != "" || b != nil && b.part.Date != "" {
		return nil
	}
	switch {
	case b == nil && a.part.Number > 2:
		return &gap{0, fmt.Sprintf("the file that came after %s is not there", a.name)}
	case b != nil && a.part.Number > b.part.Number+1:
		return &gap{0, fmt.Sprintf("the file between %s and %s is not there", a.name, b.name)}
	}
	return nil
}
