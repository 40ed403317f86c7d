package follow

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// handClock is a clock that only moves when told.
type handClock struct {
	now  time.Time
	wait func() // what happens meanwhile
}

func (c *handClock) Now() time.Time { return c.now }

func (c *handClock) Wait(ctx context.Context, d time.Duration) {
	c.now = c.now.Add(d)
	if c.wait != nil {
		c.wait()
	}
}

// heard writes down what a Follower tells.
type heard struct {
	t     testing.TB
	paths bool
	log   []string
	fail  func(line string) error
}

func (h *heard) name(s *Source) string {
	if h.paths {
		return filepath.Base(s.Path) + " "
	}
	return ""
}

func (h *heard) Line(s *Source, line []byte, n, offset int64) error {
	if h.fail != nil {
		if err := h.fail(string(line)); err != nil {
			return err
		}
	}
	h.log = append(h.log, h.name(s)+fmt.Sprintf("%d@%d:%s", n, offset, line))
	return nil
}
func (h *heard) Lost(s *Source, bytes int64, why string) {
	h.log = append(h.log, h.name(s)+fmt.Sprintf("lost %d", bytes))
}
func (h *heard) Turned(s *Source) { h.log = append(h.log, h.name(s)+"turned") }
func (h *heard) Idle(s *Source)   { h.log = append(h.log, h.name(s)+"idle") }
func (h *heard) Ended(s *Source)  { h.log = append(h.log, h.name(s)+"ended") }

// stage is a directory, a Follower of files in it, and what it told since last asked.
type stage struct {
	t     *testing.T
	dir   string
	clock *handClock
	f     *Follower
	h     *heard
	opt   Options
	paths []string
	told  []string
}

func newStage(t *testing.T, opt Options, names ...string) *stage {
	s := &stage{t: t, dir: t.TempDir(), clock: &handClock{now: time.Unix(1_800_000_000, 0)}, opt: opt}
	s.h = &heard{t: t, paths: len(names) > 1 || strings.ContainsAny(names[0], "*")}
	s.opt.Clock = s.clock
	s.opt.Trouble = func(src *Source, err error) {
		what := "fine"
		if err != nil {
			what = err.Error()
		}
		s.told = append(s.told, strings.ReplaceAll(what, s.dir+"/", ""))
	}
	for _, n := range names {
		if n != "-" {
			n = s.path(n)
		}
		s.paths = append(s.paths, n)
	}
	s.start(nil)
	t.Cleanup(func() { s.f.Close() })
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) start(states []State) {
	s.t.Helper()
	s.opt.States = states
	f, err := New(s.paths, s.opt)
	if err != nil {
		s.t.Fatal(err)
	}
	s.f = f
}

// restart stops and goes on from the states; away happens between.
func (s *stage) restart(away func()) {
	s.t.Helper()
	states := s.f.States()
	s.f.Close()
	away()
	s.start(states)
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) add(name, text string) {
	s.t.Helper()
	f, err := os.OpenFile(s.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	s.must(err)
	_, err = f.WriteString(text)
	s.must(err)
	s.must(f.Close())
}

func (s *stage) rename(from, to string) {
	s.t.Helper()
	s.must(os.Rename(s.path(from), s.path(to)))
}
func (s *stage) remove(name string) { s.t.Helper(); s.must(os.Remove(s.path(name))) }
func (s *stage) copy(from, to string) {
	s.t.Helper()
	b, err := os.ReadFile(s.path(from))
	s.must(err)
	s.must(os.WriteFile(s.path(to), b, 0o644))
}
func (s *stage) truncate(name string) { s.t.Helper(); s.must(os.Truncate(s.path(name), 0)) }
func (s *stage) gzip(name string) {
	s.t.Helper()
	b, err := os.ReadFile(s.path(name))
	s.must(err)
	info, err := os.Stat(s.path(name))
	s.must(err)
	out, err := os.Create(s.path(name + ".gz"))
	s.must(err)
	z := gzip.NewWriter(out)
	z.Write(b)
	s.must(z.Close())
	s.must(out.Close())
	s.must(os.Chtimes(s.path(name+".gz"), info.ModTime(), info.ModTime()))
	s.remove(name)
}

// look looks until nothing more is to be read, d after the last time.
func (s *stage) look(d time.Duration) {
	s.t.Helper()
	s.clock.now = s.clock.now.Add(d)
	for {
		busy, err := s.f.Look(s.h)
		s.must(err)
		if !busy {
			return
		}
	}
}

// want looks as often as it takes to settle and compares what was told.
func (s *stage) want(want ...string) {
	s.t.Helper()
	for range 4 {
		s.look(s.f.opt.Poll)
	}
	s.wantNow(want...)
}

func (s *stage) wantNow(want ...string) {
	s.t.Helper()
	got := strings.Join(s.h.log, "|")
	s.h.log = nil
	if got != strings.Join(want, "|") {
		s.t.Errorf("got  %s\nwant %s", got, strings.Join(want, "|"))
	}
}

func TestRotations(t *testing.T) {
	f := func(name string, play func(s *stage)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{From: From{Start: true}}, "x.log")
			s.add("x.log", "a1\na2\n")
			s.want("1@0:a1", "2@3:a2")
			play(s)
		})
	}
	f("rename", func(s *stage) {
		s.add("x.log", "a3\n")
		s.rename("x.log", "x.log.1")
		s.add("x.log.1", "a4\n")
		s.want("3@6:a3", "4@9:a4")
		s.add("x.log.1", "a5\n")
		s.add("x.log", "b1\n")
		s.want("5@12:a5", "turned", "1@0:b1")
	})
	f("the new file is empty while the old is written to", func(s *stage) {
		s.rename("x.log", "x.log.1")
		s.add("x.log", "")
		s.add("x.log.1", "a3\n")
		s.want("3@6:a3")
		s.look(10 * time.Second)
		s.h.log = nil
		s.add("x.log.1", "a4\n")
		s.want("4@9:a4")
		s.add("x.log", "b1\n")
		s.want("turned", "1@0:b1")
	})
	f("written to after it was left", func(s *stage) {
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
		s.want("turned", "1@0:b1")
		s.add("x.log.1", "a3\n")
		s.look(2 * time.Second)
		s.wantNow("lost 3", "idle")
	})
	f("delete and create", func(s *stage) {
		s.add("x.log", "a3\n")
		s.remove("x.log")
		s.add("x.log", "b1\n")
		s.want("3@6:a3", "turned", "1@0:b1")
	})
	f("truncate", func(s *stage) {
		s.truncate("x.log")
		s.add("x.log", "b1\n")
		s.want("lost 0", "turned", "1@0:b1")
	})
	f("truncate, longer than before", func(s *stage) {
		s.truncate("x.log")
		s.add("x.log", "b1\nb2\nb3\nb4\n")
		s.want("lost 0", "turned", "1@0:b1", "2@3:b2", "3@6:b3", "4@9:b4")
	})
	f("truncate, as long and longer with the same head", func(s *stage) {
		s.truncate("x.log")
		s.add("x.log", "a1\nb2\n")
		s.want("lost 0", "turned", "1@0:a1", "2@3:b2")
		s.truncate("x.log")
		s.add("x.log", "a1\nc2\nc3\n")
		s.want("lost 0", "turned", "1@0:a1", "2@3:c2", "3@6:c3")
	})
	f("truncate with part of a line", func(s *stage) {
		s.add("x.log", "a3")
		s.want()
		s.truncate("x.log")
		s.add("x.log", "b1\n")
		s.want("lost 2", "turned", "1@0:b1")
	})
	f("copytruncate", func(s *stage) {
		s.add("x.log", "a3\na4 is long\n")
		s.copy("x.log", "x.log.1")
		s.truncate("x.log")
		s.add("x.log", "b1\n")
		s.want("3@6:a3", "4@9:a4 is long", "lost 0", "turned", "1@0:b1")
	})
	f("copytruncate twice between two looks", func(s *stage) {
		s.add("x.log", "a3\n")
		s.copy("x.log", "x.log.1")
		s.truncate("x.log")
		s.add("x.log", "b1\n")
		s.rename("x.log.1", "x.log.2")
		s.copy("x.log", "x.log.1")
		s.truncate("x.log")
		s.add("x.log", "c1\n")
		s.want("3@6:a3", "lost 0", "turned", "1@0:b1", "lost 0", "turned", "1@0:c1")
	})
	f("copied before the last look", func(s *stage) {
		s.copy("x.log", "x.log.1")
		s.add("x.log", "a3\n")
		s.want("3@6:a3")
		s.truncate("x.log")
		s.add("x.log", "b1\n")
		s.want("lost 0", "turned", "1@0:b1")
	})
	f("truncate under a writer that does not append", func(s *stage) {
		w, err := os.OpenFile(s.path("x.log"), os.O_WRONLY, 0)
		s.must(err)
		defer w.Close()
		w.Seek(6, io.SeekStart)
		s.truncate("x.log")
		w.WriteString("b1\n")
		s.want("lost 0", "turned", "1@6:b1")
		s.truncate("x.log")
		w.Seek(3<<20, io.SeekStart)
		w.WriteString("c1\nc2\n")
		s.want("lost 0", "turned", "1@3145728:c1", "2@3145731:c2")
	})
	f("several renames between two looks", func(s *stage) {
		s.add("x.log", "a3\n")
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
		s.rename("x.log.1", "x.log.2")
		s.rename("x.log", "x.log.1")
		s.gzip("x.log.2")
		s.add("x.log", "c1\n")
		s.want("3@6:a3", "turned", "1@0:b1", "turned", "1@0:c1")
	})
	f("an older file is packed meanwhile", func(s *stage) {
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
		s.want("turned", "1@0:b1")
		s.gzip("x.log.1")
		s.rename("x.log.1.gz", "x.log.2.gz")
		s.rename("x.log", "x.log.1")
		s.add("x.log", "c1\n")
		s.want("turned", "1@0:c1")
	})
	f("the file comes back under its old name", func(s *stage) {
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
		s.want("turned", "1@0:b1")
		s.rename("x.log", "x.log.2")
		s.rename("x.log.1", "x.log")
		s.add("x.log", "a3\n")
		s.want("turned", "3@6:a3")
	})
	f("a part of a line at the end of the old file", func(s *stage) {
		s.add("x.log", "a3")
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
		s.want()
		s.add("x.log.1", " end\n")
		s.look(250 * time.Millisecond)
		s.wantNow("3@6:a3 end")
		s.look(2 * time.Second)
		s.look(2 * time.Second)
		s.wantNow("turned", "1@0:b1", "idle")
	})
}

// Whatever a truncation destroyed is told as what is known of it: bytes that were seen and
// are nowhere, or that it is not known whether there were any.
func TestWhatATruncationLost(t *testing.T) {
	f := func(play func(s *stage), bytes int64, want string) {
		t.Helper()
		s := newStage(t, Options{From: From{Start: true}}, "x.log")
		s.add("x.log", "a1\na2\n")
		s.want("1@0:a1", "2@3:a2")
		play(s)
		var lost whys
		for range 4 {
			s.clock.now = s.clock.now.Add(s.f.opt.Poll)
			_, err := s.f.Look(&lost)
			s.must(err)
		}
		if len(lost) != 1 || !strings.HasPrefix(lost[0], fmt.Sprintf("%d ", bytes)) || !strings.Contains(lost[0], want) {
			t.Errorf("told %q, want %d bytes, %s", lost, bytes, want)
		}
	}
	f(func(s *stage) {
		s.add("x.log", "a3\n")
		s.copy("x.log", "x.log.1")
		s.truncate("x.log")
	}, 0, "whether anything was written in between cannot be known")
	f(func(s *stage) {
		s.add("x.log", strings.Repeat("a", headLen)+"\n") // so that the copy is known
		s.look(s.f.opt.Poll)
		s.copy("x.log", "x.log.1")
		s.add("x.log", "a3 ") // seen, not delivered, and not in the copy
		s.look(s.f.opt.Poll)
		s.truncate("x.log")
	}, 3, "what was written after its copy x.log.1 was made is lost")
	f(func(s *stage) { s.truncate("x.log") }, 0, "possibly more than was seen")
}

// whys is what was lost, and nothing else.
type whys []string

func (w *whys) Line(*Source, []byte, int64, int64) error { return nil }
func (w *whys) Lost(_ *Source, bytes int64, why string)  { *w = append(*w, fmt.Sprint(bytes, " ", why)) }
func (w *whys) Turned(*Source)                           {}
func (w *whys) Idle(*Source)                             {}

func TestSymbolicLink(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "x.log")
	s.add("one", "a1\n")
	s.must(os.Symlink("one", s.path("x.log")))
	s.want("1@0:a1")
	s.add("one", "a2\n")
	s.add("two", "b1\n")
	s.must(os.Symlink("two", s.path("new")))
	s.rename("new", "x.log")
	s.want("2@3:a2", "turned", "1@0:b1")
	s.restart(func() {
		s.add("two", "b2\n")
		s.add("three", "c1\n")
		s.must(os.Symlink("three", s.path("new")))
		s.rename("new", "x.log")
	})
	s.want("2@3:b2", "turned", "1@0:c1")
}

func TestWhileAway(t *testing.T) {
	f := func(name string, away func(s *stage), want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{}, "x.log")
			s.want()
			s.add("x.log", "a1\na2 \n")
			s.want("1@0:a1", "2@3:a2 ")
			s.add("x.log", "a3")
			s.want()
			s.restart(func() { away(s) })
			s.want(want...)
		})
	}
	f("nothing", func(s *stage) { s.add("x.log", " end\n") }, "3@7:a3 end")
	f("renamed", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
	}, "3@7:a3", "turned", "1@0:b1")
	f("renamed, nothing new", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log-20260719")
	}, "3@7:a3")
	f("renamed and packed", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.1")
		s.gzip("x.log.1")
		s.add("x.log", "b1\n")
	}, "3@7:a3", "turned", "1@0:b1")
	f("several", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.3")
		s.add("x.log.2", "b1\n")
		s.gzip("x.log.3")
		s.add("x.log.1", "c1\n")
		s.add("x.log", "d1\n")
	}, "3@7:a3", "turned", "1@0:b1", "turned", "1@0:c1", "turned", "1@0:d1")
	f("several, one missing", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.3")
		s.add("x.log.1", "c1\n")
		s.add("x.log", "d1\n")
	}, "3@7:a3", "lost 0", "turned", "1@0:c1", "turned", "1@0:d1")
	f("several, one of them empty", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.3")
		s.add("x.log.2", "")
		s.add("x.log.1", "c1\n")
		s.add("x.log", "d1\n")
	}, "3@7:a3", "turned", "1@0:c1", "turned", "1@0:d1")
	f("several, only empty ones after it", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.4")
		for _, name := range []string{"x.log.3", "x.log.2", "x.log.1", "x.log"} {
			s.add(name, "")
		}
		s.must(os.Chtimes(s.path("x.log.4"), s.clock.now.Add(-time.Hour), s.clock.now.Add(-time.Hour)))
	}, "3@7:a3")
	f("several, one empty and one missing", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.4")
		s.add("x.log.2", "")
		s.add("x.log.1", "c1\n")
		s.add("x.log", "d1\n")
	}, "3@7:a3", "lost 0", "turned", "1@0:c1", "turned", "1@0:d1")
	f("several, one damaged while it was compressed", func(s *stage) {
		s.add("x.log", "\n")
		s.rename("x.log", "x.log.3")
		s.add("x.log.2.gz", "")
		s.add("x.log.1", "c1\n")
		s.add("x.log", "d1\n")
	}, "3@7:a3", "lost 0", "turned", "1@0:c1", "turned", "1@0:d1")
	f("gone", func(s *stage) {
		s.add("new", "c1\n")
		s.remove("x.log")
		s.rename("new", "x.log.1")
		s.add("x.log", "d1\n")
	}, "lost 0", "turned", "1@0:c1", "turned", "1@0:d1")
	f("truncated", func(s *stage) {
		s.truncate("x.log")
		s.add("x.log", "b1 is longer\n")
	}, "lost 0", "turned", "1@0:b1 is longer")
	f("copied and truncated", func(s *stage) {
		s.add("x.log", "\na4\n")
		s.copy("x.log", "x.log.1")
		s.truncate("x.log")
		s.add("x.log", "b1 is longer\n")
	}, "3@7:a3", "4@10:a4", "lost 0", "turned", "1@0:b1 is longer")
}

// A log in which nothing stood yet is found again wherever rotations put it.
func TestEmptyWhileAway(t *testing.T) {
	f := func(name string, away func(s *stage), want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{From: From{Start: true}}, "x.log")
			s.add("x.log", "")
			s.want()
			s.restart(func() { away(s) })
			s.want(want...)
		})
	}
	f("renamed", func(s *stage) {
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
	}, "turned", "1@0:b1")
	f("written to and renamed", func(s *stage) {
		s.add("x.log", "a1\n")
		s.rename("x.log", "x.log.1")
		s.add("x.log", "b1\n")
	}, "1@0:a1", "turned", "1@0:b1")
	f("renamed three times", func(s *stage) {
		s.rename("x.log", "x.log.3")
		s.add("x.log.2", "")
		s.add("x.log.1", "b1\n")
		s.add("x.log", "c1\n")
	}, "turned", "1@0:b1", "turned", "1@0:c1")
	f("gone", func(s *stage) {
		s.add("new", "b1\n")
		s.remove("x.log")
		s.rename("new", "x.log")
	}, "lost 0", "turned", "1@0:b1")
}

func TestLineEnds(t *testing.T) {
	f := func(opt Options, play func(s *stage)) {
		t.Helper()
		opt.From.Start = true
		s := newStage(t, opt, "x.log")
		s.t = t
		play(s)
	}
	f(Options{}, func(s *stage) { // the rest comes within the wait
		s.add("x.log", "\xef\xbb\xbfone\r\ntw")
		s.want("1@3:one")
		s.add("x.log", "o\n")
		s.want("2@8:two")
		s.look(2 * time.Second)
		s.wantNow("idle")
		s.look(2 * time.Second)
		s.wantNow()
	})
	f(Options{}, func(s *stage) { // and after it
		s.add("x.log", "tw")
		s.want()
		s.look(2 * time.Second)
		s.wantNow("1@0:tw", "idle")
		s.add("x.log", "\r\nthree")
		s.want()
		s.look(2 * time.Second)
		s.wantNow("2@4:three", "idle")
		s.restart(func() { s.add("x.log", "\nfour\n") })
		s.want("3@10:four")
	})
	f(Options{}, func(s *stage) { // bytes that have not arrived
		s.add("x.log", "one\nt\x00\x00\x00")
		s.want("1@0:one")
		w, err := os.OpenFile(s.path("x.log"), os.O_WRONLY, 0)
		s.must(err)
		w.WriteAt([]byte("wo\n"), 5)
		w.Close()
		s.want("2@4:two")
	})
	f(Options{MaxLine: 10}, func(s *stage) {
		s.add("x.log", "short\nmuch too long a line\nshort again")
		s.want("1@0:short", "lost 20")
		s.add("x.log", " and longer")
		s.want()
		s.restart(func() { s.add("x.log", "\n\nend\n") })
		s.want("lost 22", "4@50:", "5@51:end")
	})
	f(Options{MaxHeld: 10}, func(s *stage) {
		s.add("x.log", strings.Repeat("x", 1<<20))
		s.want()
		s.add("x.log", "\nend\n")
		s.want("lost 1048576", "2@1048577:end")
		if s.f.held != 0 {
			t.Errorf("%d bytes are counted as held", s.f.held)
		}
	})
}

func TestFrom(t *testing.T) {
	f := func(from From, timeOf func(string, int64, []byte) int64, want ...string) {
		t.Helper()
		s := newStage(t, Options{From: from, TimeOf: timeOf}, "x.log")
		s.t = t
		var text strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&text, "%d %s\n", 1_799_995_000+i, strings.Repeat("x", 50))
		}
		s.add("x.log", text.String()+"torn")
		s.must(os.Chtimes(s.path("x.log"), s.clock.now, s.clock.now))
		s.look(0)
		if len(want) != len(s.h.log) {
			s.h.log = s.h.log[:min(len(want), len(s.h.log))]
		}
		s.wantNow(want...)
		s.h.log = nil
		s.add("x.log", " end\n")
		s.look(time.Second)
		if last := s.h.log[len(s.h.log)-1]; !strings.HasSuffix(last, "@310000:torn end") {
			t.Errorf("the last line is %s", last)
		}
	}
	seconds := func(_ string, _ int64, line []byte) int64 {
		var n int64
		fmt.Sscanf(string(line), "%d ", &n)
		return n * 1e9
	}
	x := " " + strings.Repeat("x", 50)
	f(From{}, nil, "lost 310000")
	f(From{Start: true}, nil, "1@0:1799995000"+x)
	f(From{Back: time.Minute}, nil, "1@0:1799995000"+x)
	f(From{Back: time.Minute}, seconds, "lost 306280", "1@306280:1799999940"+x)
	f(From{Back: 3600 * time.Second}, seconds, "lost 86800", "1@86800:1799996400"+x)
	f(From{Back: 24 * time.Hour}, seconds, "1@0:1799995000"+x)
	f(From{Back: time.Millisecond}, seconds, "lost 310000")
	none := func(string, int64, []byte) int64 { return 0 }
	f(From{Back: time.Minute}, none, "1@0:1799995000"+x)
}

// Whatever lines say, among others that say no time or are long, the reading begins at
// the first that is not older; and little of the file is looked at.
func TestFromFindsTheTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		s := newStage(t, Options{}, "x.log")
		now := s.clock.now.Unix()
		var text strings.Builder
		var begins []int64 // of the lines with a time
		count := rng.IntN(9000)
		for i := range count {
			switch rng.IntN(40) {
			case 0:
				fmt.Fprintf(&text, "  at %s\n", strings.Repeat("y", rng.IntN(300)))
			case 1:
				if rng.IntN(20) == 0 {
					fmt.Fprintf(&text, "%s\n", strings.Repeat("z", rng.IntN(200_000)))
				}
			}
			begins = append(begins, int64(text.Len()))
			fmt.Fprintf(&text, "%d %s\n", now-int64(count-i), strings.Repeat("x", rng.IntN(90)))
		}
		back := 1 + rng.IntN(max(count, 1)+50)
		looked := 0
		s.opt.From = From{Back: time.Duration(back) * time.Second}
		s.opt.TimeOf = func(path string, written int64, line []byte) int64 {
			if path != s.path("x.log") || written != s.clock.now.UnixNano() {
				t.Errorf("asked for %s, written at %d", path, written)
			}
			looked++
			var n int64
			fmt.Sscanf(string(line), "%d ", &n)
			return n * 1e9
		}
		s.start(nil)
		s.add("x.log", text.String())
		s.must(os.Chtimes(s.path("x.log"), s.clock.now, s.clock.now))
		s.look(0)
		want := int64(text.Len())
		if first := count - back; first <= 0 && count > 0 {
			want = begins[0]
		} else if count > 0 {
			want = begins[first]
		}
		got := int64(text.Len())
		if i := slices.IndexFunc(s.h.log, func(l string) bool { return !strings.HasPrefix(l, "lost") }); i >= 0 {
			fmt.Sscanf(s.h.log[i], "1@%d:", &got)
		}
		if got != want && !(want == begins[0] && got == 0) {
			t.Errorf("%d lines, %d s back: began at %d, want %d", count, back, got, want)
		}
		if looked > 8000 {
			t.Errorf("looked at %d of %d lines", looked, count)
		}
	}
}

func TestPatterns(t *testing.T) {
	outside := t.TempDir()
	os.WriteFile(filepath.Join(outside, "secret.log"), []byte("secret\n"), 0o644)
	s := newStage(t, Options{From: From{Start: true}}, "**/*.log*")
	s.want()
	s.must(os.Mkdir(s.path("d"), 0o755))
	s.must(os.Symlink(filepath.Join(outside, "secret.log"), s.path("d/link.log")))
	s.must(os.Symlink(outside, s.path("d/out")))
	s.add("d/a.log", "a1\n")
	s.add("d/a.log.1", "a0\n")
	s.add("d/a.log.2.gz", "\x1f\x8b")
	s.add("b.log", "b1\n")
	s.want("b.log 1@0:b1", "a.log 1@0:a1")
	if len(s.told) != 1 || !strings.Contains(s.told[0], "link.log") {
		t.Errorf("told %q", s.told)
	}
	s.rename("b.log", "c.log")
	s.add("c.log", "b2\n")
	s.add("b.log", "n1\n")
	s.look(time.Second)
	s.look(time.Second)
	s.want("b.log 2@3:b2", "b.log turned", "b.log 1@0:n1", "a.log idle")
	s.restart(func() { s.add("d/new.log", "new\n") })
	s.want("new.log 1@0:new")
	s.remove("d/a.log")
	s.remove("d/new.log")
	s.look(time.Second)
	s.h.log = nil
	s.look(2 * time.Minute)
	s.look(time.Minute)
	s.look(time.Minute)
	if got := strings.Join(s.h.log, "|"); strings.Count(got, "ended") != 2 {
		t.Errorf("told %s", got)
	}
}

func TestTrouble(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "x.log")
	s.want()
	s.must(os.Mkdir(s.path("x.log"), 0o755))
	s.want()
	s.remove("x.log")
	s.add("x.log", "a1\n")
	s.want("1@0:a1")
	s.remove("x.log")
	s.want()
	want := "stat x.log: no such file or directory|x.log is a directory; name its files, or a pattern such as x.log/*.log|fine"
	if got := strings.Join(s.told, "|"); got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
	for _, p := range []string{"", "[", "a/{b"} {
		if _, err := New([]string{p}, Options{}); err == nil {
			t.Errorf("New(%q) is no error", p)
		}
	}
}

func TestSameFileTwice(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "x.log", "y.log")
	s.add("x.log", "a1\n")
	s.must(os.Symlink("x.log", s.path("y.log")))
	s.want("x.log 1@0:a1")
	if len(s.told) != 1 || s.told[0] != "y.log is the same file as x.log, which is followed already" {
		t.Errorf("told %q", s.told)
	}
}

func TestRefusedLine(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "x.log")
	s.add("x.log", "one\ntw")
	s.want("1@0:one")
	s.add("x.log", "o\nthree\n")
	for _, bad := range []string{"two", "three"} {
		full := errors.New("full")
		s.h.fail = func(line string) error {
			if line == bad {
				return full
			}
			return nil
		}
		if _, err := s.f.Look(s.h); err != full {
			t.Errorf("Look gives %v", err)
		}
		s.h.fail = nil
	}
	s.want("2@4:two", "3@8:three")
}

// TestManyFiles has fewer files open than it follows.
func TestManyFiles(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}, MaxOpen: 5}, "*.log")
	for i := range 40 {
		s.add(fmt.Sprintf("%02d.log", i), "one\n")
	}
	s.look(0)
	if len(s.h.log) != 40 {
		t.Fatalf("%d lines", len(s.h.log))
	}
	s.h.log = nil
	s.add("03.log", "two\n")
	s.rename("03.log", "03.log.1")
	s.add("03.log", "three\n")
	s.add("30.log", "two\n")
	s.want("03.log 2@4:two", "30.log 2@4:two", "03.log turned", "03.log 1@0:three")
	if s.f.open > 7 {
		t.Errorf("%d files are open", s.f.open)
	}
}

// Files that are gone and were read do not keep others waiting.
func TestManyFilesThatAreGone(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}, MaxOpen: 5}, "*.log")
	for i := range 5 {
		s.add(fmt.Sprintf("%d.log", i), "one\n")
	}
	s.look(0)
	for i := range 5 {
		s.remove(fmt.Sprintf("%d.log", i))
	}
	s.look(3 * time.Second)
	s.h.log = nil
	s.add("z.log", "two\n")
	s.look(3 * time.Second)
	if !slices.Contains(s.h.log, "z.log 1@0:two") {
		t.Errorf("z.log is not read: %v", s.h.log)
	}
}

// partReader gives one line in so many parts, once it is let go.
type partReader struct {
	parts int
	begin chan struct{}
}

func (r *partReader) Read(b []byte) (int, error) {
	<-r.begin
	if r.parts--; r.parts < 0 {
		return 0, io.EOF
	}
	return copy(b, "xxxxxxxx"), nil
}

// What a writer has put into standard input is read in one look, also where it comes in
// small parts: looks are some time apart.
func TestFullStandardInput(t *testing.T) {
	in := &partReader{streamBlocks, make(chan struct{})}
	s := newStage(t, Options{Stdin: in}, "-")
	s.look(0)
	stream := s.f.streams[0]
	close(in.begin)
	for len(stream.full) < streamBlocks {
		runtime.Gosched()
	}
	s.look(0)
	if n := len(stream.full); n > 0 {
		t.Errorf("%d parts are left", n)
	}
}

func TestStandardInput(t *testing.T) {
	in := strings.NewReader("one\ntwo\nthree")
	s := newStage(t, Options{Stdin: in}, "-")
	s.must(s.f.Run(t.Context(), s.h))
	s.wantNow("1@0:one", "2@4:two", "3@8:three", "idle")
}

func TestRun(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "x.log")
	ctx, cancel := context.WithCancel(t.Context())
	s.clock.wait = func() {
		switch s.clock.now.Sub(time.Unix(1_800_000_000, 0)) {
		case 250 * time.Millisecond:
			s.add("x.log", "one\n")
		case 500 * time.Millisecond:
			s.add("x.log", "two\n")
			cancel()
		}
	}
	s.must(s.f.Run(ctx, s.h))
	s.wantNow("1@0:one", "2@4:two")
}

// TestHints follows real notifications.
func TestHints(t *testing.T) {
	hints, err := NewHints()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hints.Watch(dir)
	hints.Watch(filepath.Join(dir, "not there"))
	os.WriteFile(filepath.Join(dir, "x.log"), []byte("one\n"), 0o644)
	<-hints.Wake()
	if err := hints.Close(); err != nil {
		t.Error(err)
	}
}

// expectant is a handler that is told of sources before their lines.
type expectant struct{ heard }

func (h *expectant) Expect(s *Source) { h.log = append(h.log, h.name(s)+"there") }

// Which files are there is told once, before a line of any, and each of them is idle
// after a while, also if nothing ever comes of it.
func TestExpect(t *testing.T) {
	s := newStage(t, Options{From: From{Start: true}}, "a.log", "b.log", "c.log", "d*.log")
	h := &expectant{heard{t: t, paths: true}}
	want := func(want ...string) {
		t.Helper()
		if got := strings.Join(h.log, "|"); got != strings.Join(want, "|") {
			t.Errorf("got  %s\nwant %s", got, strings.Join(want, "|"))
		}
		h.log = nil
	}
	look := func(d time.Duration) {
		t.Helper()
		s.clock.now = s.clock.now.Add(d)
		_, err := s.f.Look(h)
		s.must(err)
	}
	s.add("a.log", "a1\n")
	s.add("b.log", "b1\n")
	s.add("d1.log", "")
	look(0)
	want("a.log there", "b.log there", "d1.log there", "a.log 1@0:a1", "b.log 1@0:b1")
	look(2 * time.Second)
	want("a.log idle", "b.log idle", "d1.log idle")
	s.add("c.log", "c1\n")
	s.add("d2.log", "d1\n")
	s.add("a.log", "a2\n")
	look(time.Second)
	want("c.log there", "d2.log there", "a.log 2@3:a2", "c.log 1@0:c1", "d2.log 1@0:d1")
	s.restart(func() { s.add("b.log", "b2\n") })
	look(0)
	want("a.log there", "b.log there", "c.log there", "d1.log there", "d2.log there", "b.log 2@3:b2")
	s.rename("b.log", "b.log.1")
	s.add("b.log", "b3\n")
	look(250 * time.Millisecond)
	look(250 * time.Millisecond)
	want("b.log turned", "b.log 1@0:b3")
}
