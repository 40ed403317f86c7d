package tail

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
)

// halves deals the traffic of pairs to two files: what subscribes is in the second.
func halves(t *testing.T, dir string, w *traffic) (paths []string) {
	t.Helper()
	var text [2]strings.Builder
	conn := regexp.MustCompile(`"conn":"[cs](\d+)"`)
	for _, line := range w.lines {
		n, err := strconv.Atoi(conn.FindStringSubmatch(line)[1])
		if err != nil {
			t.Fatal(err)
		}
		text[1-n%2].WriteString(line + "\n")
	}
	for i, name := range []string{"a.jsonl", "b.jsonl"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[i], []byte(text[i].String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// Two files that tell of one server, of which the first is read first, are told as a
// scan of both finds: their first lines wait for each other, however long the files are.
func TestTailReadsSeveralFilesAsOne(t *testing.T) {
	for _, pairs := range []int{1, 12, 300} {
		dir := t.TempDir()
		paths := halves(t, dir, bleeding(pairs))
		res, in, err := scan.Run(context.Background(), scan.Options{Paths: paths})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, f := range report.Build(res, in, report.Options{}).Findings {
			want = append(want, f.Strength+" "+f.Summary)
		}
		slices.Sort(want)
		for _, order := range [][]string{paths, {paths[1], paths[0]}} {
			ctx, cancel := context.WithCancel(context.Background())
			turns := 0
			clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), step: func() {
				if turns++; turns > 100 {
					cancel()
				}
			}}
			w, out := watched(t, clock, "", order...)
			if err := w.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := summaries(notices(t, out))
			if len(want) != pairs || !slices.Equal(got, want) {
				t.Errorf("%d pairs, %s first: %d told, %d found by a scan\n%.300s\nwant\n%.300s", pairs, filepath.Base(order[0]), len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, in := range w.graph.Live.Inputs() {
				if in.Stats.Late != 0 {
					t.Errorf("%d pairs: %d late lines of %s", pairs, in.Stats.Late, in.Path)
				}
			}
		}
	}
}

// A finding names the file that its records stand in, also where others are not there.
func TestTailNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "there.jsonl")
	if err := os.WriteFile(path, []byte(bleeding(1).text()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	turns := 0
	clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), step: func() {
		if turns++; turns > 30 {
			cancel()
		}
	}}
	w, out := watched(t, clock, "", filepath.Join(dir, "missing.jsonl"), path)
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range notices(t, out) {
		for _, e := range n.Finding.Evidence {
			if e.Source != path {
				t.Errorf("a record of %s is said to be of %q", path, e.Source)
			}
		}
	}
}

// A start some time back begins at the lines of that time: what was over before is not
// told, nor what was under way, and all that came later is.
func TestTailFromSomeTimeBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.jsonl")
	w := bleeding(12)
	if err := os.WriteFile(path, []byte(w.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	begins := w.at.Add(-w.at.Sub(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)) / 2).Add(time.Millisecond) // the middle of them
	ctx, cancel := context.WithCancel(context.Background())
	turns := 0
	clock := &stepClock{now: begins.Add(time.Hour), step: func() {
		if turns++; turns > 30 {
			cancel()
		}
	}}
	if err := os.Chtimes(path, w.at, w.at); err != nil {
		t.Fatal(err)
	}
	v, out := watched(t, clock, "", path)
	v.Close()
	opt := v.opt
	opt.Follow.From = follow.From{Back: time.Hour}
	opt.Follow.TimeOf = func(path string, written int64, line []byte) int64 {
		return parsers.LineTime(path, written, line, parsers.Options{})
	}
	v, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Run(ctx); err != nil {
		t.Fatal(err)
	}
	v.Close()
	var uris []string
	for _, n := range notices(t, out) {
		uris = append(uris, n.Finding.URIs...)
	}
	slices.Sort(uris)
	if want := "note://10/plan note://11/plan note://6/plan note://7/plan note://8/plan note://9/plan"; strings.Join(uris, " ") != want {
		t.Errorf("told of %q, want %s", uris, want)
	}
}
