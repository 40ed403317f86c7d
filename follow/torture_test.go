package follow

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var rotations = flag.Int("rotations", 100, "how often the torture test rotates")
var firstSeed = flag.Uint64("seed", 0, "of the torture test")

// writer is a server whose log is rotated in every way, step by step, and what must be
// read of it. It writes lines in pieces.
type writer struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	out   *os.File
	line  int    // number of the last line begun
	rest  string // of a line that is not written to its end
	lines []mark
	gone  []int // lines that truncation destroyed, or may have, in order
	seen  int   // the last line that was read, or lies where nothing destroys it
	turn  int   // rotations so far
	kinds [7]int
	fresh bool   // no look has seen anything in the file that is written now
	look  func() // one look
	story []string
	dead  [2]int // lines behind the first, up to the second, lie in a file that was deleted
}

// tell keeps what happened last, for a failure.
func (w *writer) tell(form string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(form, args...))
	w.story = w.story[max(0, len(w.story)-40):]
}

// mark is where a line was written.
type mark struct {
	n     int
	bytes int64
}

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) path() string { return filepath.Join(w.dir, "x.log") }

func (w *writer) open() {
	if w.out != nil {
		w.must(w.out.Close())
	}
	var err error
	w.out, err = os.OpenFile(w.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	w.must(err)
	w.fresh = true
}

// write writes some bytes, seldom to the end of a line.
func (w *writer) write() {
	for range 1 + w.r.IntN(12) {
		if w.rest == "" {
			w.line++
			w.rest = fmt.Sprintf("line %d %s\n", w.line, strings.Repeat("abcdefg ", w.r.IntN(30)))
			if w.r.IntN(200) == 0 {
				w.rest = fmt.Sprintf("line %d %s\n", w.line, strings.Repeat("long ", 100_000))
			}
			w.lines = append(w.lines, mark{w.line, int64(len(w.rest))})
		}
		n := len(w.rest)
		if w.r.IntN(3) == 0 {
			n = 1 + w.r.IntN(n)
		}
		_, err := w.out.WriteString(w.rest[:n])
		w.must(err)
		w.rest = w.rest[n:]
	}
}

// finish writes the rest of a line: a rotation by rename lets its writer do so.
func (w *writer) finish() {
	_, err := w.out.WriteString(w.rest)
	w.must(err)
	w.rest = ""
}

// shift makes room for x.log.1, as logrotate does, and keeps six.
func (w *writer) shift() {
	for i := 6; i >= 1; i-- {
		for _, ext := range []string{"", ".gz"} {
			from := fmt.Sprintf("%s.%d%s", w.path(), i, ext)
			if i == 6 {
				os.Remove(from)
			} else {
				os.Rename(from, fmt.Sprintf("%s.%d%s", w.path(), i+1, ext))
			}
		}
	}
}

// rotate rotates in one of the ways; look lets the Follower read all.
func (w *writer) rotate(look func()) {
	w.turn++
	kind := w.r.IntN(7)
	w.kinds[kind]++
	w.tell("rotation %d of kind %d at line %d", w.turn, kind, w.line)
	switch kind {
	case 0, 1: // renamed, the writer goes on in the old file for a while
		w.shift()
		w.must(os.Rename(w.path(), w.path()+".1"))
		if kind == 1 {
			w.must(os.WriteFile(w.path(), nil, 0o644))
		}
		w.write()
		if w.r.IntN(2) == 0 {
			look()
		}
		w.write()
		w.finish()
		w.open()
		w.seen = w.line // the old file keeps them
	case 2: // renamed and packed
		w.finish()
		w.shift()
		w.must(os.Rename(w.path(), w.path()+".1"))
		w.open()
		w.seen = w.line
		w.write()
		w.gzip(w.path() + ".1")
	case 3: // deleted: what was in it must have been seen
		w.finish()
		look()
		w.must(os.Remove(w.path()))
		w.write()
		w.finish()
		w.dead = [2]int{w.seen, w.line}
		w.open()
		w.seen = w.line // the Follower holds it open
	case 4: // truncated: what came since the last look is gone
		w.finish()
		w.destroy()
		w.must(os.Truncate(w.path(), 0))
	case 5: // truncated again and longer than before, with nothing read between
		w.finish()
		w.destroy()
		w.must(os.Truncate(w.path(), 0))
		w.write()
		w.finish()
		w.destroy()
		w.must(os.Truncate(w.path(), 0))
		for range 5 {
			w.write()
		}
	case 6: // copied and truncated
		w.finish()
		w.shift()
		b, err := os.ReadFile(w.path())
		w.must(err)
		w.must(os.WriteFile(w.path()+".1", b, 0o644))
		w.seen = w.line // the copy holds them
		if w.r.IntN(3) == 0 {
			w.write()
			w.finish()
			w.destroy()
		}
		w.must(os.Truncate(w.path(), 0))
	}
	w.write()
}

func (w *writer) gzip(name string) {
	s := &stage{t: w.t, dir: w.dir}
	s.gzip(filepath.Base(name))
}

// sight notes that a look has seen what is in the file.
func (w *writer) sight() {
	if info, err := w.out.Stat(); err == nil && info.Size() > 0 {
		w.fresh = false
	}
}

// destroy notes that the lines since the last look may not be read. The file must have
// been seen: what came and was destroyed between two looks leaves no trace.
func (w *writer) destroy() {
	if w.fresh {
		w.look()
	}
	for n := w.seen + 1; n <= w.line; n++ {
		w.gone = append(w.gone, n)
	}
	w.seen = w.line
}

// ear checks the order of lines while they come.
type ear struct {
	t        *testing.T
	w        *writer
	last     int
	lost     int   // calls of Lost
	bytes    int64 // that they told
	missing  []int
	lostThen int // value of lost when the last line came
	turned   int
	refuse   func() bool
}

var errRefused = fmt.Errorf("refused")

func (e *ear) Line(s *Source, line []byte, n, offset int64) error {
	if e.refuse != nil && e.refuse() {
		return errRefused
	}
	var number int
	if k, _ := fmt.Sscanf(string(line[:min(len(line), 40)]), "line %d ", &number); k != 1 || !bytes.HasSuffix(line, []byte(" ")) {
		e.t.Fatalf("not a whole line after line %d: %.60q", e.last, line)
	}
	if number <= e.last {
		e.t.Fatalf("line %d came after line %d:\n%s", number, e.last, strings.Join(e.w.story, "\n"))
	}
	for m := e.last + 1; m < number; m++ {
		e.missing = append(e.missing, m)
		if !slices.Contains(e.w.gone, m) {
			e.t.Fatalf("line %d was lost, and no truncation destroyed it:\n%s", m, strings.Join(e.w.story, "\n"))
		}
		if e.lost == e.lostThen {
			e.t.Fatalf("line %d was lost and Lost did not tell:\n%s", m, strings.Join(e.w.story, "\n"))
		}
	}
	e.last, e.lostThen = number, e.lost
	return nil
}
func (e *ear) Lost(s *Source, bytes int64, why string) {
	e.lost++
	e.bytes += bytes
	e.w.tell("  lost %d: %s", bytes, why)
}
func (e *ear) Turned(s *Source) { e.turned++; e.w.tell("  turned after line %d", e.last) }
func (e *ear) Idle(s *Source)   {}

// TestTorture rotates a log under load in every way, with looks and restarts at random.
func TestTorture(t *testing.T) {
	f := func(seed uint64, turns int, restarts bool) {
		t.Helper()
		w := &writer{t: t, r: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir()}
		w.open()
		defer func() { w.out.Close() }()
		clock := &handClock{now: time.Unix(1_800_000_000, 0)}
		e := &ear{t: t, w: w}
		opt := Options{Clock: clock, From: From{Start: true}, Share: 64 << 10}
		fol, err := New([]string{w.path()}, opt)
		w.must(err)
		files := descriptors(t)
		look := func() {
			clock.now = clock.now.Add(time.Duration(w.r.IntN(250)) * time.Millisecond)
			_, err := fol.Look(e)
			if err != errRefused {
				w.must(err)
			}
			w.sight()
			w.tell(" looked, line %d read of %d", e.last, w.line)
		}
		w.look = look
		settle := func() {
			e.refuse = nil
			for i := 0; i < 100; i++ {
				clock.now = clock.now.Add(250 * time.Millisecond)
				for {
					busy, err := fol.Look(e)
					w.must(err)
					if !busy {
						break
					}
				}
			}
		}
		// settled: everything written so far that is whole is read.
		settled := func() {
			w.finish()
			settle()
			w.seen = w.line
			w.sight()
			w.tell(" settled, line %d read of %d", e.last, w.line)
		}
		settled()
		for w.turn < turns {
			for range w.r.IntN(4) {
				w.write()
				look()
			}
			if w.r.IntN(3) > 0 {
				settled()
				w.write()
			}
			if restarts && w.r.IntN(4) == 0 {
				settledBefore := w.seen
				e.refuse = func() bool { return w.r.IntN(20) == 0 }
				look()
				e.refuse = nil
				states := fol.States()
				w.tell(" restarted with %+v", states)
				fol.Close()
				for n := max(e.last, w.dead[0]) + 1; n <= w.dead[1]; n++ {
					w.gone = append(w.gone, n)
				}
				opt.States = states
				w.write()
				if settledBefore == w.line && w.r.IntN(2) == 0 {
					w.write()
				}
				fol, err = New([]string{w.path()}, opt)
				w.must(err)
				look()
			}
			w.rotate(settled)
			if w.r.IntN(3) > 0 {
				settled()
			}
			if n := descriptors(t); n > files+maxChain+3 {
				t.Fatalf("%d descriptors are open after %d rotations, %d before", n, w.turn, files)
			}
		}
		settled()
		if e.last != w.line {
			t.Errorf("seed %d: the last line is %d, want %d", seed, e.last, w.line)
		}
		var most int64
		for _, n := range w.gone {
			most += w.lines[n-1].bytes
		}
		if e.bytes > most {
			t.Errorf("seed %d: Lost tells %d bytes, but %d were destroyed at most", seed, e.bytes, most)
		}
		fol.Close()
		if n := descriptors(t); n > files {
			t.Errorf("seed %d: %d descriptors are open at the end, %d before", seed, n, files)
		}
		t.Logf("seed %d: %d lines, %d rotations (%v), %d turned, %d lines destroyed, %d missing, %d times Lost told %d of at most %d bytes",
			seed, w.line, w.turn, w.kinds, e.turned, len(w.gone), len(e.missing), e.lost, e.bytes, most)
	}
	for seed := range uint64(4) {
		if t.Failed() {
			break
		}
		f(seed+*firstSeed, max(1, *rotations/4), seed%2 == 1)
	}
}

// descriptors counts what this process has open, 0 where the system does not tell.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
