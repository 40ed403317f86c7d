package scenario_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/scenario"
	"github.com/isodetect/isodetect/verdict"
)

// Every scenario, compiled to every format, gives exactly what it expects.
func TestScenarios(t *testing.T) {
	for _, s := range load(t) {
		t.Run(s.Name, func(t *testing.T) {
			tr, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range scenario.Formats {
				want, ok := s.ExpectIn(f)
				if !ok {
					continue
				}
				t.Run(string(f), func(t *testing.T) {
					check(t, tr, f, want)
				})
			}
		})
	}
}

// With one condition taken away the outcome is another one: off, weaker, or,
// where nothing was expected, found.
func TestMutations(t *testing.T) {
	n := 0
	for _, s := range load(t) {
		mutants, err := s.Mutations()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			n++
			t.Run(m.String(), func(t *testing.T) {
				tr, err := m.Run()
				if err != nil {
					t.Fatal(err)
				}
				check(t, tr, scenario.Wire, m.Want)
			})
		}
	}
	if n < 80 {
		t.Errorf("only %d mutations", n)
	}
}

// Every scenario that expects a finding names at least one condition of it.
func TestFindingsHaveMutants(t *testing.T) {
	for _, s := range load(t) {
		mutants, err := s.Mutations()
		if err != nil {
			t.Fatal(err)
		}
		_, wire := s.ExpectIn(scenario.Wire)
		if wire && len(s.Expect.Want) > 0 && len(mutants) == 0 {
			t.Errorf("%s.txt: no line says what its removal does; add ` !off`", s.Name)
		}
	}
}

func load(t *testing.T) []*scenario.Scenario {
	t.Helper()
	all, err := scenario.Load("../testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func check(t *testing.T, tr *scenario.Trace, f scenario.Format, want scenario.Expectation) {
	t.Helper()
	data, ok := tr.Compile(f)
	if !ok {
		t.Fatalf("nothing to compile to %s", f)
	}
	path := filepath.Join(t.TempDir(), f.FileName())
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	res, inputs, err := scan.Run(context.Background(), scan.Options{Paths: []string{path}, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range inputs {
		for _, p := range in.Stats.Problems {
			t.Errorf("%s has a flaw at %s %d: %s", f, p.At.Unit, p.At.N, p.Text)
		}
	}
	for _, wrong := range want.Check(outcome(res), tr.Sessions()) {
		t.Error(wrong)
	}
}

func outcome(res *verdict.Result) scenario.Outcome {
	out := scenario.Outcome{Findings: res.Findings, Notes: res.Notes, States: map[string]string{}}
	for _, d := range res.Domains {
		for _, s := range d.Signals {
			if out.States[s.Signal] != verdict.Judged {
				out.States[s.Signal] = s.State
			}
		}
	}
	return out
}
