package parsers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/parsers/rotation"
	"github.com/isodetect/isodetect/parsers/source"
)

// candidates finds the files whose names make them one log, before they are opened.
func (s *Set) candidates() {
	byLog := map[string][]*Member{}
	var logs []string
	for _, m := range s.Members {
		if _, ok := m.Opener.(*regular); !ok || m.Err != nil || m.skip != "" {
			continue
		}
		m.part = rotation.PartOf(m.Path)
		if byLog[m.part.Log] == nil {
			logs = append(logs, m.part.Log)
		}
		byLog[m.part.Log] = append(byLog[m.part.Log], m)
	}
	for _, name := range logs {
		list := byLog[name]
		if len(list) > 1 && slices.ContainsFunc(list, func(m *Member) bool { return m.part.Rotated() }) {
			s.rotated = append(s.rotated, &rotated{log: name, files: list})
			for _, m := range list {
				m.file = &logFile{}
			}
		}
	}
}

// rotated is a log in several files.
type rotated struct {
	log   string
	files []*Member // in order of content time once they are joined
}

// logFile is what was seen of a file that may belong to a rotated log.
type logFile struct {
	lead  []byte         // its first bytes
	first []int64        // times of its first lines
	last  []int64        // times of its last lines, nil = not looked at
	weak  *source.Format // what it would have been read as, had its beginning told more
	at    int64          // what orders it
}

const (
	maxLead  = 4 << 10
	maxTimes = 16
)

// glance keeps what is needed later of the beginning of a file.
func (m *Member) glance(head []byte, format *source.Format, opt source.Options) {
	f := m.file
	if f == nil {
		return
	}
	f.lead = bytes.Clone(head[:min(len(head), maxLead)])
	if format == nil || format.Times == nil {
		return
	}
	f.weak = format
	f.first = format.Times(wholeLines(head), m.Input, opt)
	f.first = slices.Clone(f.first[:min(len(f.first), maxTimes)])
}

// wholeLines drops a line that the piece does not hold to its end.
func wholeLines(piece []byte) []byte {
	if k := bytes.LastIndexByte(piece, '\n'); k >= 0 {
		return piece[:k+1]
	}
	return piece
}

// join makes one log of the files of each rotated log, unless their times say that
// several servers wrote at the same time.
func (s *Set) join() {
	joined := s.rotated[:0]
	for _, l := range s.rotated {
		l.adopt()
		l.files = slices.DeleteFunc(l.files, func(m *Member) bool {
			return m.SameAs != "" || m.skip != "" || m.Err == nil && (m.Format == nil || m.Format.Times == nil)
		})
		l.copies()
		l.order()
		if len(l.files) < 2 || !slices.ContainsFunc(l.files, func(m *Member) bool { return m.Err == nil }) {
			continue
		}
		if why := l.apart(s.opt); why != "" {
			for _, m := range l.files {
				m.Stats.Note(why)
			}
			continue
		}
		for i, m := range l.files {
			m.Log, m.rotated = l.log, l
			m.Stats.Note(fmt.Sprintf("file %d of %d of the log %s, from the oldest", i+1, len(l.files), filepath.Base(l.log)))
		}
		l.missing()
		joined = append(joined, l)
	}
	s.rotated = joined
}

// missing marks where the numbers of the files show that some are not there. A file
// that cannot be read stays in its place and leaves its own gap.
func (l *rotated) missing() {
	if !slices.IsSortedFunc(l.files, func(a, b *Member) int { return b.part.Number - a.part.Number }) {
		return // they do not count as rotations do
	}
	for i, m := range l.files[1:] {
		a, b := l.files[i].part, m.part
		step := a.Number - b.Number
		if b.Number == 0 {
			step-- // x.log.1 comes before x.log, with no x.log.0 between
		}
		if a.Date == "" && b.Date == "" && step > 1 {
			m.Missing = fmt.Sprintf("a file between %s and %s is not there", filepath.Base(l.files[i].Path), filepath.Base(m.Path))
			m.Stats.Note(m.Missing)
		}
	}
}

// adopt reads as log what stands beside the other files of a log and is text too: a
// file that was found in a directory may begin with lines that tell nothing.
func (l *rotated) adopt() {
	i := slices.IndexFunc(l.files, func(m *Member) bool { return m.Format != nil && m.Format.Times != nil && m.SameAs == "" })
	if i < 0 {
		return
	}
	for _, m := range l.files {
		if m.Format == nil && m.Err == nil && m.SameAs == "" && m.skip == "" && m.file.weak != nil {
			m.Format = m.file.weak
			m.Stats.Format = m.Format.Name
		}
	}
}

// copies drops a file that is the beginning of another: a copy that was made while
// the log was written, or is still being compressed.
func (l *rotated) copies() {
	files := slices.Clone(l.files) // what begins alike stands together
	slices.SortStableFunc(files, func(a, b *Member) int {
		return cmp.Or(bytes.Compare(a.file.lead, b.file.lead), cmp.Compare(a.Path, b.Path))
	})
	for i, m := range files {
		for _, o := range files[i+1 : min(i+1+maxAlike, len(files))] {
			if m.SameAs != "" {
				break
			}
			if o.SameAs != "" || !alike(m.file, o.file) {
				continue
			}
			switch shorter, err := prefix(m, o); {
			case err != nil:
			case shorter == m:
				m.copyOf(o)
			case shorter == o:
				o.copyOf(m)
			}
		}
	}
	l.files = slices.DeleteFunc(l.files, func(m *Member) bool { return m.SameAs != "" })
}

// maxAlike is with how many files that begin alike a file is compared.
const maxAlike = 8

func (m *Member) copyOf(whole *Member) {
	m.SameAs, m.partly, m.Format, m.Stats.Format = whole.Path, true, nil, ""
}

// alike reports that two files begin with the same bytes, enough of them to say so.
func alike(a, b *logFile) bool {
	n := min(len(a.lead), len(b.lead))
	return n > 0 && bytes.Equal(a.lead[:n], b.lead[:n]) && (len(a.first) > 0 && len(b.first) > 0 || n >= 256)
}

// prefix returns which of two files holds the beginning of the other and nothing
// else, nil if neither does.
func prefix(a, b *Member) (*Member, error) {
	ra, err := a.Stream()
	if err != nil {
		return nil, err
	}
	defer ra.Close()
	rb, err := b.Stream()
	if err != nil {
		return nil, err
	}
	defer rb.Close()
	pa, pb := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		na, ea := fill(ra, pa)
		nb, eb := fill(rb, pb)
		if errors.Is(ea, ErrInterrupted) || errors.Is(eb, ErrInterrupted) {
			return nil, ErrInterrupted
		}
		n := min(na, nb)
		switch {
		case !bytes.Equal(pa[:n], pb[:n]):
			return nil, nil
		case na < len(pa) && na <= nb:
			return a, nil
		case nb < len(pb):
			return b, nil
		}
	}
}

// fill reads until p is full or nothing more comes.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = r.Read(p[n:])
		n += k
	}
	return n, err
}

// order sorts the files by the time of their first lines. Where two have the same,
// or one has none, their names decide.
func (l *rotated) order() {
	slices.SortStableFunc(l.files, func(a, b *Member) int {
		return cmp.Or(rotation.Older(a.part, b.part), cmp.Compare(a.Path, b.Path))
	})
	known := int64(0)
	for _, m := range l.files { // what says no time stays behind the file before it
		if t := middle(m.file.first); t != 0 {
			known = t
		}
		m.file.at = known
	}
	for i := len(l.files) - 1; i >= 0; i-- { // and before the first that does
		if l.files[i].file.at == 0 {
			l.files[i].file.at = known
		}
		known = l.files[i].file.at
	}
	slices.SortStableFunc(l.files, func(a, b *Member) int { return cmp.Compare(a.file.at, b.file.at) })
}

// middle is the time of the first lines of a file: the median of the first nine,
// since some are written long after the moment that they tell.
func middle(first []int64) int64 {
	if len(first) == 0 {
		return 0
	}
	few := slices.Clone(first[:min(len(first), 9)])
	slices.Sort(few)
	return few[len(few)/2]
}

// apart says why the files are no one log, "" if they are.
func (l *rotated) apart(opt source.Options) string {
	base := slices.ContainsFunc(l.files, func(m *Member) bool { return !m.part.Rotated() })
	unsure := slices.ContainsFunc(l.files, func(m *Member) bool { return m.part.Unsure })
	if unsure && (!base || !l.counted()) {
		return "not joined with the files of similar names: their numbers do not fall as their times grow, as those of a rotation do"
	}
	for i, m := range l.files[1:] {
		before := l.files[i]
		before.ending(opt)
		if unsure && (len(before.file.last) == 0 || len(m.file.first) == 0) {
			return "not joined with the files of similar names: not all of them say when they were written"
		}
		if share := inverted(before.file.last, m.file.first); share > maxInverted && !before.repeats(m) {
			return fmt.Sprintf("not joined with the files of similar names: %s and %s were written at the same time", before.Path, m.Path)
		}
	}
	return ""
}

// maxInverted is the share of pairs of a last line of a file and a first line of the
// next, in per cent, that may say the contrary of the order of the files.
const maxInverted = 10

// counted reports whether numbers fall as times grow, down to the log itself.
func (l *rotated) counted() bool {
	for i, m := range l.files[1:] {
		a, b := l.files[i], m
		if a.part.Number <= b.part.Number || a.file.at >= b.file.at {
			return false
		}
	}
	return true
}

// inverted is the share of pairs, in per cent, of which the first is later than the
// second by more than what threads and whole seconds explain.
func inverted(last, first []int64) int {
	const slack = 2_000_000_000
	n := 0
	for _, a := range last {
		for _, b := range first {
			if a > b+slack {
				n++
			}
		}
	}
	return n * 100 / max(1, len(last)*len(first))
}

// ending reads the times of the last lines. A compressed file is not read for that.
func (m *Member) ending(opt source.Options) {
	f := m.file
	if f.last != nil || len(m.Stats.Wrappers) > 0 || m.Format == nil {
		return
	}
	tail := m.tail(source.HeadForSniff)
	if k := bytes.IndexByte(tail, '\n'); k >= 0 && len(tail) == source.HeadForSniff {
		tail = tail[k+1:]
	}
	f.last = m.Format.Times(tail, m.Input, opt)
	f.last = slices.Clone(f.last[max(0, len(f.last)-maxTimes):])
}

// tail is the last n bytes of a file that is neither compressed nor transcoded.
func (m *Member) tail(n int64) []byte {
	r, size, err := m.Random()
	if err != nil {
		return nil
	}
	defer r.Close()
	tail := make([]byte, min(n, size))
	k, _ := r.ReadAt(tail, size-int64(len(tail)))
	return tail[:k]
}

// repeats reports whether the beginning of the next file stands at the end of this
// one: then their times overlap because it was copied.
func (m *Member) repeats(next *Member) bool {
	lines := bytes.SplitAfterN(next.file.lead, []byte{'\n'}, 4)
	first := bytes.Join(lines[:min(len(lines), 3)], nil)
	return len(first) >= 32 && bytes.Contains(m.tail(maxRepeated), first)
}

// maxRepeated is how much of the end of a file the next one may repeat.
const maxRepeated = 1 << 20

// same says what an input repeats of another.
func (m *Member) same() string {
	if m.partly {
		return "holds the beginning of " + m.SameAs + " and nothing else; that was read once"
	}
	return "holds the same bytes as " + m.SameAs + ", which were read once"
}

// Repeats says what of this input another one held already: all of it, lines at its
// beginning, ids. Call it after reading.
func (m *Member) Repeats() (out []string) {
	if m.SameAs != "" {
		return []string{m.Path + " " + m.same()}
	}
	for _, n := range m.Stats.Notes {
		if text, ok := strings.CutPrefix(n, "same_input_twice: "); ok {
			out = append(out, m.Path+": "+text)
		}
	}
	return out
}
