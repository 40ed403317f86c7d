package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/scenario"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Two recordings of one scenario, whatever their clocks, show together what each shows
// alone: nothing is lost, nobody new is accused, and no fact stands twice.
func TestTwoRecordingsOfOneScenario(t *testing.T) {
	pairs := [][2]scenario.Format{{scenario.Wire, scenario.Native}, {scenario.HAR, scenario.Pcap}, {scenario.Pcap, scenario.Native}}
	joined := 0
	for i, s := range load(t) {
		for k, p := range pairs {
			clock := []time.Duration{0, 90 * time.Second, -4 * time.Minute}[(i+k)%3]
			t.Run(fmt.Sprintf("%s/%s+%s%+v", s.Name, p[0], p[1], clock), func(t *testing.T) {
				joined += together(t, s, p, clock)
			})
		}
	}
	if joined < 300 {
		t.Errorf("only %d pairs of recordings were joined", joined)
	}
}

// together joins two recordings, of which the second has a clock that differs, and
// returns 1 if they have become one domain. A capture may deny what a log claims.
func together(t *testing.T, s *scenario.Scenario, formats [2]scenario.Format, clock time.Duration) int {
	var paths []string
	var alone [][]signals.Finding
	dir := t.TempDir()
	for i, f := range formats {
		if _, ok := s.ExpectIn(f); !ok {
			return 0
		}
		tr, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		tr.Start = tr.Start.Add(time.Duration(i) * clock)
		data, ok := tr.Compile(f)
		if !ok {
			return 0
		}
		path := filepath.Join(dir, f.FileName())
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		alone = append(alone, certain(scanned(t, false, path)))
	}
	res := scanned(t, true, paths...)
	got := certain(res)
	capture, _ := s.ExpectIn(formats[0])
	for i, fs := range alone {
		for _, f := range fs {
			denied := formats[i] == scenario.Native && !slices.ContainsFunc(capture.Want, func(w scenario.Wanted) bool { return w.Signal == f.Signal.Name })
			if !denied && !slices.ContainsFunc(got, func(g signals.Finding) bool { return same(f, g) }) {
				t.Errorf("lost: %s.%s %s: %s", f.Signal.Name, f.Variant, f.Strength, f.Summary)
			}
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(slices.Concat(alone...), func(f signals.Finding) bool { return same(g, f) }) {
			t.Errorf("new: %s.%s %s: %s", g.Signal.Name, g.Variant, g.Strength, g.Summary)
		}
	}
	if n := max(len(alone[0]), len(alone[1])); len(got) > n {
		t.Errorf("%d findings, alone %d and %d", len(got), len(alone[0]), len(alone[1]))
		for _, g := range got {
			t.Logf("%s.%s %s: %s", g.Signal.Name, g.Variant, g.Strength, g.Summary)
		}
	}
	return oneDomain(res)
}

func oneDomain(res *verdict.Result) int {
	if len(res.Domains) == 1 {
		return 1
	}
	return 0
}

func scanned(t *testing.T, join bool, paths ...string) *verdict.Result {
	t.Helper()
	res, _, err := scan.Run(t.Context(), scan.Options{Paths: paths, Join: join, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// certain returns the findings that count.
func certain(res *verdict.Result) (out []signals.Finding) {
	for _, f := range res.Findings {
		if f.Strength >= signals.Probable && f.Rejected == "" {
			out = append(out, f)
		}
	}
	return out
}

// same reports whether b names all sessions that a accuses or pities of the same.
func same(a, b signals.Finding) bool {
	return a.Signal == b.Signal && !slices.ContainsFunc(concerned(a), func(id string) bool {
		return !slices.ContainsFunc(b.Parties, func(p signals.Party) bool { return p.Session == id })
	})
}

func concerned(f signals.Finding) (names []string) {
	for _, p := range f.Parties {
		if p.Session != "" && (p.Role == signals.Cause || p.Role == signals.Victim) {
			names = append(names, p.Session)
		}
	}
	return names
}
