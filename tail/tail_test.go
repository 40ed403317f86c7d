package tail

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
)

// stepClock stands still but for the waits, and calls step at each.
type stepClock struct {
	now  time.Time
	step func()
}

func (c *stepClock) Now() time.Time { return c.now }

func (c *stepClock) Wait(_ context.Context, d time.Duration) {
	c.now = c.now.Add(d)
	c.step()
}

// watched is a tail of paths whose output is collected.
func watched(t *testing.T, clock Clock, checkpoint string, paths ...string) (*Tail, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	o := &Output{JSON: true}
	if err := o.Open(&out); err != nil {
		t.Fatal(err)
	}
	w, err := New(Options{
		Paths: paths, Follow: follow.Options{From: follow.From{Start: true}, Clock: clock}, Clock: clock,
		Checkpoint: checkpoint, Outputs: []*Output{o}, Gauges: NewGauges(), Log: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, &out
}

// notices reads what was told.
func notices(t *testing.T, out *bytes.Buffer) (all []report.Notice) {
	t.Helper()
	for line := range strings.Lines(out.String()) {
		var n report.Notice
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// summaries are what findings say, in order.
func summaries(all []report.Notice) (out []string) {
	for _, n := range all {
		out = append(out, n.Finding.Strength+" "+n.Finding.Summary)
	}
	slices.Sort(out)
	return out
}

// scanned is what a scan of the whole file finds.
func scanned(t *testing.T, path string) (out []string) {
	t.Helper()
	res, in, err := scan.Run(context.Background(), scan.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Build(res, in, report.Options{}).Findings {
		out = append(out, f.Strength+" "+f.Summary)
	}
	slices.Sort(out)
	return out
}

// A file that grows in pieces of any size is told like the whole, each finding once.
func TestTailTellsWhatAScanFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := bleeding(12).text()
	for _, most := range []int{50, 400, 9000} {
		dir := t.TempDir()
		path := filepath.Join(dir, "grow.jsonl")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		rest := text
		ctx, cancel := context.WithCancel(context.Background())
		idle := 0
		clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)}
		clock.step = func() {
			n := min(len(rest), 1+rng.IntN(most))
			if _, err := f.WriteString(rest[:n]); err != nil {
				t.Error(err)
			}
			if rest = rest[n:]; rest == "" {
				if idle++; idle > 40 {
					cancel()
				}
			}
		}
		w, out := watched(t, clock, filepath.Join(dir, "state.db"), path)
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got, want := summaries(notices(t, out)), scanned(t, path); !slices.Equal(got, want) || len(want) != 12 {
			t.Errorf("pieces of up to %d bytes: told\n%s\nwant\n%s", most, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A watch that is stopped anywhere and started again tells nothing twice and loses nothing.
func TestTailGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	path := filepath.Join(dir, "grow.jsonl")
	lines := bleeding(10).lines
	var all []report.Notice
	for len(lines) > 0 {
		n := min(len(lines), 1+rng.IntN(30))
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(strings.Join(lines[:n], "\n") + "\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
		lines = lines[n:]
		ctx, cancel := context.WithCancel(context.Background())
		turns := 0
		clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), step: func() {
			if turns++; turns > 30 {
				cancel()
			}
		}}
		w, out := watched(t, clock, filepath.Join(dir, "state.db"), path)
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, notices(t, out)...)
	}
	if got, want := summaries(all), scanned(t, path); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCheckpointOfOthersIsRefused(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "state.db")
	clock := &stepClock{step: func() {}}
	w, _ := watched(t, clock, db, filepath.Join(dir, "a.log"))
	if err := w.checkpoint(); err != nil {
		t.Fatal(err)
	}
	opt := w.opt
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "has it open") {
		t.Errorf("a checkpoint in use: %v", err)
	}
	w.Close()
	opt.Follow.States = nil
	opt.Paths = []string{filepath.Join(dir, "b.log")}
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "other inputs or settings; --fresh") {
		t.Errorf("other inputs: %v", err)
	}
	opt.Fresh = true
	w, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := os.WriteFile(db, bytes.Repeat([]byte("no database"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "cannot use the checkpoint") {
		t.Errorf("a damaged file: %v", err)
	}
}
