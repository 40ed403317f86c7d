package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Handler receives what is read. Its calls come one at a time, from Look; nothing is
// read meanwhile. It must not call the Follower.
type Handler interface {
	// Line is a whole line without its end, valid during the call; n counts the lines of
	// its file from 1, offset is where it begins in that. An error ends the look; the
	// line counts as not delivered and comes again with the next look, unless it was
	// read from a stream.
	Line(s *Source, line []byte, n, offset int64) error
	// Lost is a gap: something before the next line was not read. bytes is how much of
	// that is known; 0 = not known how much, perhaps nothing.
	Lost(s *Source, bytes int64, why string)
	// Turned says that the next line is the first of another file under this path.
	Turned(s *Source)
	// Idle says that nothing came for Options.Idle: once until the next line.
	Idle(s *Source)
}

// Ender is a Handler that wants to know that a source is no longer followed: a file
// that a pattern found is gone, and was read to its end.
type Ender interface{ Ended(s *Source) }

// Expecter is a Handler that wants to know which sources there are before it gets a line
// of any: Expect comes once for each, in the look that finds its file, before the lines
// of that look. Idle follows if nothing comes of it.
type Expecter interface{ Expect(s *Source) }

// Options says how paths are followed. The zero value follows from now on.
type Options struct {
	From   From
	States []State   // where to go on, from Follower.States
	Stdin  io.Reader // what "-" reads; nil = os.Stdin
	// TimeOf is the time that a line tells, 0 = none, in a file that was written to at written, both
	// Unix nanoseconds; for From.Back.
	TimeOf  func(path string, written int64, line []byte) int64
	Trouble func(s *Source, err error) // told once per change: what keeps a source from being read, nil = it is over
	Clock   Clock
	Wake    Waker
	Poll    time.Duration // between looks; 0 = 250 ms
	Idle    time.Duration // how long a line may wait for its end; 0 = 2 s
	Rescan  time.Duration // between looks for new files of a pattern; 0 = 1 s
	MaxLine int           // bytes; 0 = 64 MiB
	MaxHeld int64         // bytes of unfinished lines of all sources, above which only short ones are kept; 0 = 128 MiB
	Share   int64         // bytes that a look reads of a source; 0 = 1 MiB
	MaxOpen int           // files open at once; 0 = 256
}

// maxSources bounds the files that are followed.
const maxSources = 10_000

// Follower reads growing files. Its methods are for one goroutine.
type Follower struct {
	opt     Options
	sources []*Source
	byPath  map[string]*Source
	globs   []*glob
	streams []*stream
	arrived chan struct{} // something came on a stream

	now     time.Time
	scanned time.Time
	looked  bool // the first look is over
	next    int32
	buf     []byte
	held    int64 // bytes of unfinished lines
	open    int   // files open, an upper bound
	owners  map[[2]uint64]*Source
}

// New follows paths: files, patterns, and "-" for standard input. Nothing is read yet.
// The error is about paths that nothing can be followed by.
func New(paths []string, opt Options) (*Follower, error) {
	opt.fill()
	f := &Follower{opt: opt, byPath: map[string]*Source{}, arrived: make(chan struct{}, 1), buf: make([]byte, tailLen+block)}
	if len(paths) == 0 {
		return nil, errors.New("nothing to follow: name files, patterns, or - for standard input")
	}
	var named []string
	for _, p := range paths {
		if p == "-" {
			named = append(named, p)
			continue
		}
		if p == "" {
			return nil, errors.New("cannot follow a path that is empty")
		}
		g, err := newGlob(p)
		if err != nil {
			return nil, err
		}
		if g == nil {
			named = append(named, filepath.Clean(p))
			continue
		}
		f.globs = append(f.globs, g)
	}
	f.restore(named)
	for _, p := range named {
		if f.byPath[p] == nil {
			f.add(p, nil)
		}
	}
	for _, s := range f.sources {
		if s.Path == "-" {
			s.stream = f.startStream("-", func() (io.Reader, error) { return opt.Stdin, nil })
		}
	}
	return f, nil
}

func (opt *Options) fill() {
	if opt.Clock == nil {
		opt.Clock = systemClock{}
	}
	if opt.Stdin == nil {
		opt.Stdin = os.Stdin
	}
	set := func(d *time.Duration, usual time.Duration) {
		if *d <= 0 {
			*d = usual
		}
	}
	set(&opt.Poll, 250*time.Millisecond)
	set(&opt.Idle, 2*time.Second)
	set(&opt.Rescan, time.Second)
	if opt.MaxLine <= 0 {
		opt.MaxLine = 64 << 20
	}
	if opt.MaxHeld <= 0 {
		opt.MaxHeld = 128 << 20
	}
	if opt.Share <= 0 {
		opt.Share = 1 << 20
	}
	if opt.MaxOpen <= 0 {
		opt.MaxOpen = 256
	}
}

// restore makes the sources of which states tell, as far as paths or patterns lead to
// them. A stream has no state: another one is another input.
func (f *Follower) restore(named []string) {
	for _, st := range f.opt.States {
		var from *glob
		if i := slices.IndexFunc(f.globs, func(g *glob) bool { return g.matches(st.Path) }); i >= 0 {
			from = f.globs[i]
		}
		isNamed := slices.Contains(named, st.Path)
		if f.byPath[st.Path] != nil || from == nil && !isNamed {
			continue
		}
		if isNamed {
			from = nil
		}
		f.next = max(f.next, st.Index)
		s := f.add(st.Path, from)
		s.Index = st.Index
		if st.Path != "-" && (st.ID.HeadLen > 0 || st.ID.Inode != 0 || st.Offset > 0) {
			s.last = &st
		}
	}
}

func (f *Follower) add(path string, g *glob) *Source {
	s := &Source{Index: f.next, Path: path, glob: g, follower: f}
	f.next++
	f.sources = append(f.sources, s)
	f.byPath[path] = s
	if f.opt.Wake != nil && path != "-" {
		f.opt.Wake.Watch(filepath.Dir(path))
	}
	return s
}

// Look takes one look at all sources. It reads a bounded share of each; busy says that
// there is more to read at once. The error is the handler's.
func (f *Follower) Look(h Handler) (busy bool, err error) {
	f.now = f.opt.Clock.Now()
	f.count()
	if len(f.globs) > 0 && (!f.looked || f.now.Sub(f.scanned) >= f.opt.Rescan) {
		f.scanned = f.now
		for _, g := range f.globs {
			f.scan(g)
		}
	}
	f.looked = true
	if e, ok := h.(Expecter); ok {
		f.expect(e)
	}
	ended := false
	for _, s := range f.sources {
		more, err := s.look(h)
		if err != nil {
			return false, err
		}
		busy = busy || more
		ended = ended || s.over()
	}
	if ended {
		f.forget(h)
	}
	return busy, nil
}

// expect tells which sources are there that were not before.
func (f *Follower) expect(e Expecter) {
	for _, s := range f.sources {
		if s.told {
			continue
		}
		info, err := s.stat()
		if s.stream != nil || err == nil && info.Mode().IsRegular() {
			s.told = true
			e.Expect(s)
		}
	}
}

// count begins the count of open files anew.
func (f *Follower) count() {
	f.open, f.owners = 0, nil
	for _, s := range f.sources {
		f.open += len(s.chain)
		if s.late != nil {
			f.open++
		}
	}
}

// over reports a file of a pattern that is gone and was read to its end.
func (s *Source) over() bool {
	return s.glob != nil && s.asked && len(s.chain) == 0 && !s.gone.IsZero() && s.follower.now.Sub(s.gone) >= goneFor && s.late == nil
}

func (f *Follower) forget(h Handler) {
	f.sources = slices.DeleteFunc(f.sources, func(s *Source) bool {
		if !s.over() {
			return false
		}
		delete(f.byPath, s.Path)
		if e, ok := h.(Ender); ok {
			e.Ended(s)
		}
		return true
	})
}

// Done reports that nothing more can come: all sources are streams that ended.
func (f *Follower) Done() bool {
	return len(f.globs) == 0 && !slices.ContainsFunc(f.sources, func(s *Source) bool { return !s.done })
}

// Run looks again and again until ctx ends or nothing more can come, and then once
// more, so that what was there by then is delivered. It returns the error of the handler.
func (f *Follower) Run(ctx context.Context, h Handler) error {
	for ctx.Err() == nil && !f.Done() {
		busy, err := f.Look(h)
		if err != nil {
			return err
		}
		if !busy && !f.Done() {
			f.wait(ctx, f.opt.Poll)
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	_, err := f.Look(h)
	return err
}

// States is where all sources stand, in the order of their indexes, for Options.States.
// Lines that were delivered are not delivered again; all others will be.
func (f *Follower) States() []State {
	out := make([]State, 0, len(f.sources))
	for _, s := range f.sources {
		out = append(out, s.State())
	}
	slices.SortFunc(out, func(a, b State) int { return int(a.Index) - int(b.Index) })
	return out
}

// Close closes all files. A goroutine that waits for standard input ends with that.
func (f *Follower) Close() error {
	for _, s := range f.sources {
		s.putDown()
		if s.late != nil {
			s.late.close()
			s.late = nil
		}
	}
	for _, g := range f.globs {
		if g.root != nil {
			g.root.Close()
			g.root = nil
		}
	}
	for _, t := range f.streams {
		t.end()
	}
	return nil
}

// room makes room for one more file; false = all that are open are being read.
func (f *Follower) room() error {
	f.open++
	if f.open <= f.opt.MaxOpen {
		return nil
	}
	var quiet *Source
	for _, s := range f.sources {
		if s.quietNow() && (quiet == nil || s.came.Before(quiet.came)) {
			quiet = s
		}
	}
	if quiet == nil && f.letGo() {
		return nil
	}
	if quiet == nil {
		f.open--
		return fmt.Errorf("%d files are being read at once; it waits for its turn", f.opt.MaxOpen)
	}
	quiet.putDown()
	f.open--
	return nil
}

// letGo closes a file that is no longer under its path and was read to its end, the one
// that was quiet longest: where there is room it is watched a while for a writer that
// still has it open, but others wait here.
func (f *Follower) letGo() bool {
	var gone *Source
	for _, s := range f.sources {
		over := len(s.chain) == 1 && s.stream == nil && !s.gone.IsZero() && s.chain[0].gap == nil && s.chain[0].start == s.chain[0].size &&
			f.now.Sub(s.came) >= f.opt.Idle
		if over && (gone == nil || s.came.Before(gone.came)) {
			gone = s
		}
	}
	if gone == nil {
		return false
	}
	gone.next(nil)
	if gone.late != nil {
		gone.late.close()
		gone.late = nil
	}
	f.open--
	return true
}

// quietNow reports a source whose only file is read to its end.
func (s *Source) quietNow() bool {
	return len(s.chain) == 1 && s.stream == nil && s.gone.IsZero() && !s.chain[0].fresh && s.chain[0].gap == nil &&
		s.chain[0].packed == nil && s.chain[0].start == s.chain[0].size && s.chain[0].start > 0
}

// owner returns the source, other than s, that reads a file, and what is known of the
// file if one has read it to its end.
func (f *Follower) owner(g *file, s *Source) (reads *Source, read *State) {
	id := g.identity()
	if id.Inode == 0 {
		return nil, nil
	}
	if f.owners == nil {
		f.owners = map[[2]uint64]*Source{}
		for _, o := range f.sources {
			f.own(o)
		}
	}
	o := f.owners[[2]uint64{id.Device, id.Inode}]
	if o == nil || o == s {
		return nil, nil
	}
	for i := range o.past {
		if p := &o.past[i]; p.ID.sameInode(id) {
			if g.holds(*p) {
				return nil, p
			}
			return nil, nil // the number was used again
		}
	}
	return o, nil
}

// own notes which files a source reads or has read.
func (f *Follower) own(s *Source) {
	for _, p := range s.past {
		f.owners[[2]uint64{p.ID.Device, p.ID.Inode}] = s
	}
	if s.last != nil {
		f.owners[[2]uint64{s.last.ID.Device, s.last.ID.Inode}] = s
	}
	for _, g := range s.chain {
		device, number := inode(g.info)
		f.owners[[2]uint64{device, number}] = s
	}
}
