package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limit is how long the tests of one mutant may take; a mutant that hangs is noticed.
const limit = 60 * time.Second

// suite is one test function of a compiled package.
type suite struct {
	binary, dir string
	test        string // its name
	parts       []part // its subtests, if they can be run one by one
}

// part is a subtest with the mutants that would change the value of a condition in it.
type part struct {
	name    string
	reached map[int]bool
}

type suites []*suite

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build compiles the tests with the instrumented files in place of their own.
func build(root, dir string, files map[string][]byte) (suites, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("cannot write instrumented file: %w", err)
		}
		overlay.Replace[filepath.Join(root, name)] = path
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		return nil, fmt.Errorf("cannot write overlay: %w", err)
	}
	plan := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(plan, doc, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write overlay: %w", err)
	}
	// A copy, so that an edit while the mutants run kills none of them.
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join(root, "testdata"))); err != nil {
		return nil, fmt.Errorf("cannot copy test data: %w", err)
	}
	var all suites
	for _, pkg := range []string{"rules", "correlate", "scenario", "scan"} {
		binary := filepath.Join(dir, pkg+".test")
		cmd := exec.Command("go", "test", "-c", "-overlay", plan, "-o", binary, ".")
		cmd.Dir = filepath.Join(root, pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot compile the tests of %s: %w\n%s", pkg, err, out)
		}
		names, ok := map[string][]string{"scenario": {"TestScenarios", "TestMutations"}, "scan": {"TestRecordedCases"}}[pkg]
		if !ok {
			names = []string{"Test.*"}
		}
		work := filepath.Join(dir, pkg)
		if err := os.Mkdir(work, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make a working directory: %w", err)
		}
		for _, name := range names {
			all = append(all, &suite{binary: binary, dir: work, test: name})
		}
	}
	return all, nil
}

// run runs a test, or those subtests of it whose names match, and returns the
// first test that failed, "" if none did.
func (s *suite) run(ctx context.Context, subtests, env string) (failed string, out []byte) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pattern := "^" + s.test + "$"
	if subtests != "" {
		pattern += "/" + subtests
	}
	// Storms take long and decide nothing.
	cmd := exec.CommandContext(ctx, s.binary, "-test.run", pattern, "-test.skip", "Storm|Slow|MarkSet", "-test.failfast", "-test.v")
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	switch names := regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`).FindAllSubmatch(out, -1); {
	case err == nil:
		return "", out
	case len(names) > 0:
		return string(names[len(names)-1][1]), out
	case bytes.Contains(out, []byte("panic:")):
		return "a panic", out
	}
	return "a run that does not end", out
}

var subtest = regexp.MustCompile(`(?m)^=== RUN +[^/\s]+/([^/\s]+)$`)

// baseline holds that the tests pass without a mutant, and learns which
// mutants would change the value of a condition in which subtest.
func (ts suites) baseline(dir string) error {
	for _, s := range ts {
		log := filepath.Join(dir, "reached")
		reached := func(subtests string) (map[int]bool, []byte, error) {
			os.Remove(log)
			failed, out := s.run(context.Background(), subtests, "ISODETECT_MUTANT_LOG="+log)
			if failed != "" {
				return nil, nil, fmt.Errorf("cannot begin: without any mutant %s in %s fails", failed, s.dir)
			}
			set := map[int]bool{}
			text, _ := os.ReadFile(log) // not there: nothing reached
			for _, word := range strings.Fields(string(text)) {
				n, _ := strconv.Atoi(word)
				set[n] = true
			}
			return set, out, nil
		}
		all, out, err := reached("")
		if err != nil {
			return err
		}
		names := subtest.FindAllSubmatch(out, -1)
		if len(names) == 0 {
			s.parts = []part{{"", all}}
		}
		for _, n := range names {
			name := "^" + regexp.QuoteMeta(string(n[1])) + "$"
			set, _, err := reached(name)
			if err != nil {
				return err
			}
			s.parts = append(s.parts, part{name, set})
		}
	}
	return nil
}

// try runs the subtests that a mutant concerns.
func (ts suites) try(ctx context.Context, n int) (killer string, reached bool) {
	for _, s := range ts {
		var names []string
		for _, p := range s.parts {
			if p.reached[n] {
				names = append(names, p.name)
			}
		}
		if len(names) == 0 {
			continue
		}
		reached = true
		all := "(" + strings.Join(names, "|") + ")"
		if names[0] == "" {
			all = ""
		}
		if killer, _ := s.run(ctx, all, "ISODETECT_MUTANT="+strconv.Itoa(n)); killer != "" {
			return killer, true
		}
	}
	return "", reached
}

// Fate is what the tests made of a mutant.
type Fate struct {
	Mutant
	Reached bool
	Killer  string // the test that noticed, "" = survived
}

// runAll runs the mutants in order until the time is over.
func (ts suites) runAll(ctx context.Context, list []Mutant) []Fate {
	var out []Fate
	for i, m := range list {
		f := Fate{Mutant: m}
		f.Killer, f.Reached = ts.try(ctx, m.N)
		if ctx.Err() != nil {
			break
		}
		out = append(out, f)
		if i%100 == 99 {
			fmt.Fprintf(os.Stderr, "%d of %d mutants\n", i+1, len(list))
		}
	}
	return out
}

// report lists the survivors by file: first those that the tests reach, then
// those that no test reaches, then the bounds.
func report(w io.Writer, fates []Fate, chosen int) {
	killed := 0
	var survived []Fate
	for _, f := range fates {
		if f.Killer != "" {
			killed++
		} else {
			survived = append(survived, f)
		}
	}
	slices.SortFunc(survived, func(a, b Fate) int { return a.N - b.N })
	fmt.Fprintf(w, "%d of %d mutants run: %d killed, %d survived\n", len(fates), chosen, killed, len(survived))
	group := func(title string, in func(Fate) bool) {
		file := ""
		for _, f := range survived {
			if !in(f) {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n## %s\n", title)
				title = ""
			}
			if f.File != file {
				file = f.File
				fmt.Fprintf(w, "\n%s\n", file)
			}
			fmt.Fprintf(w, "  %s\n", strings.TrimPrefix(f.String(), f.File+":"))
		}
	}
	group("survived though a test reaches them", func(f Fate) bool { return f.Reached && !f.Bound })
	group("no test has another value there", func(f Fate) bool { return !f.Reached && !f.Bound })
	group("bounds", func(f Fate) bool { return f.Bound })
}
