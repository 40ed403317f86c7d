package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestAnyCut writes one content in pieces of every size, with a look after each: the
// lines are the same, and so they are if each look is by a new Follower that goes on.
func TestAnyCut(t *testing.T) {
	content := "\xef\xbb\xbfone\r\n\ntwo \x00 three\n\x00\x00four\x00\n" + strings.Repeat("long ", 40) + "\n\r\nend\n"
	var want string
	f := func(size int, restart bool) {
		t.Helper()
		s := newStage(t, Options{From: From{Start: true}, Share: 16}, "x.log")
		s.t = t
		s.add("x.log", "")
		s.look(0)
		for rest := content; rest != ""; {
			n := min(size, len(rest))
			s.add("x.log", rest[:n])
			rest = rest[n:]
			s.look(100 * time.Millisecond)
			if restart {
				s.restart(func() {})
			}
		}
		s.look(100 * time.Millisecond)
		got := strings.Join(s.h.log, "|")
		s.f.Close()
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("in pieces of %d, restarted %v:\ngot  %q\nwant %q", size, restart, got, want)
		}
	}
	f(len(content), false)
	if n := strings.Count(want, "|"); n != 6 {
		t.Fatalf("%d lines: %q", n+1, want)
	}
	for size := 1; size <= len(content); size++ {
		f(size, false)
		if size < 40 {
			f(size, true)
		}
	}
}

// doze is a clock of which a long wait ends only if something wakes.
type doze struct{ handClock }

func (c *doze) Wait(ctx context.Context, d time.Duration) {
	if d > minGap {
		<-ctx.Done()
	}
	c.now = c.now.Add(d)
}

type bell chan struct{}

func (bell) Watch(string)            {}
func (b bell) Wake() <-chan struct{} { return b }

// TestWoken is woken by a hint, and by what arrives at standard input.
func TestWoken(t *testing.T) {
	before := runtime.NumGoroutine()
	path := filepath.Join(t.TempDir(), "x.log")
	ring := make(bell, 1)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f, err := New([]string{path, "-"}, Options{From: From{Start: true}, Clock: &doze{}, Wake: ring, Stdin: in})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h := &heard{t: t, paths: true}
	h.fail = func(line string) error {
		switch line {
		case "one":
			os.WriteFile(path, []byte("two\n"), 0o644)
			ring <- struct{}{}
		case "two":
			cancel()
		}
		return nil
	}
	out.WriteString("one\n")
	if err := f.Run(ctx, h); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.log, "|"); got != "- 1@0:one|x.log 1@0:two" {
		t.Errorf("got %s", got)
	}
	out.Close()
	f.Close()
	for range f.streams[0].full { // ends with the goroutine
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestHostileState goes on from states that no Follower has written.
func TestHostileState(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := newStage(t, Options{From: From{Start: true}}, "x.log")
		s.add("x.log", "one\ntwo\n")
		info, err := os.Stat(s.path("x.log"))
		s.must(err)
		device, number := inode(info)
		odd := func() int64 { return []int64{-1, 0, 1, 4, 8, 9, 1 << 40, -1 << 62}[r.IntN(8)] }
		s.start([]State{{Path: s.path("x.log"), ID: Identity{Device: device, Inode: number, Head: uint64(odd()), HeadLen: odd()}, Offset: odd(), N: odd(), TailLen: odd(), Tail: uint64(odd()), Target: s.dir}})
		s.look(time.Second)
		s.f.Close()
	}
}

func BenchmarkFollow(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.log")
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "2026-07-19T22:20:00.%06dZ INFO a line of a server that says something about request %d\n", i, i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		f, err := New([]string{path}, Options{From: From{Start: true}})
		if err != nil {
			b.Fatal(err)
		}
		h := &count{}
		for busy := true; busy; {
			if busy, err = f.Look(h); err != nil {
				b.Fatal(err)
			}
		}
		if h.lines != 100_000 {
			b.Fatalf("%d lines", h.lines)
		}
		f.Close()
	}
}

// BenchmarkQuiet is a look at 1,000 files to which nothing was written.
func BenchmarkQuiet(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.log", i)), []byte("one\n"), 0o644)
	}
	clock := &handClock{now: time.Unix(1_800_000_000, 0)}
	f, err := New([]string{filepath.Join(dir, "*.log")}, Options{Clock: clock, MaxOpen: 2000})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	h := &count{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Look(h); err != nil {
			b.Fatal(err)
		}
	}
}

type count struct{ lines int }

func (c *count) Line(*Source, []byte, int64, int64) error { c.lines++; return nil }
func (c *count) Lost(*Source, int64, string)              {}
func (c *count) Turned(*Source)                           {}
func (c *count) Idle(*Source)                             {}
