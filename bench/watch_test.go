package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A replayed log keeps its lines, each with the time of its writing, and counts them.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	r, err := newReplay(dir, 0, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	now := time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC)
	if err := r.write(100, now, true, 7); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.out.Name())
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(dir, "made-0"))
	if err != nil {
		t.Fatal(err)
	}
	lines, old := strings.Split(strings.TrimSpace(string(text)), "\n"), strings.Split(string(made), "\n")
	if len(lines) != 101 || r.lines != 101 {
		t.Fatalf("%d lines, counted %d", len(lines), r.lines)
	}
	for i, line := range lines {
		rest, ok := strings.CutPrefix(line, `{"time":"2026-11-30T12:00:00.123456Z","`)
		if !ok {
			t.Errorf("line %d: %s", i+1, line)
		}
		if i < 100 && !strings.HasSuffix(old[i], `Z","`+rest) {
			t.Errorf("line %d is another: %s", i+1, line)
		}
	}
	if !strings.Contains(lines[100], `"source":"fallback"`) {
		t.Errorf("the last line decides nothing: %s", lines[100])
	}
}

// A finding is timed by the line that it shows, once.
func TestTiming(t *testing.T) {
	tm := &timing{wrote: map[string]time.Time{"a.log7": time.Now().Add(-time.Second)}}
	tm.hear([]byte(`{"finding":{"evidence":[{"source":"a.log","at":{"n":6}},{"source":"b.log","at":{"n":7}}]}}`))
	tm.hear([]byte(`no JSON`))
	if len(tm.took) != 0 {
		t.Errorf("timed %v", tm.took)
	}
	told := []byte(`{"finding":{"evidence":[{"source":"a.log","at":{"n":6}},{"source":"a.log","at":{"n":7}}]}}`)
	tm.hear(told)
	tm.hear(told)
	if len(tm.took) != 1 || tm.took[0] < time.Second || len(tm.wrote) != 0 {
		t.Errorf("timed %v, left %v", tm.took, tm.wrote)
	}
}
