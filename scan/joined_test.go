package scan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Several recordings of the same traffic, joined to one domain, are several views of
// it: no request collides with itself, and nobody new is accused.
func TestTwoViewsOfOneTrafficRaiseNoFalseAlarm(t *testing.T) {
	joined := 0
	files, _ := filepath.Glob("../testdata/cases/*/expect.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		var paths []string
		var want expectation
		for name, in := range r.Inputs {
			if path := filepath.Join(filepath.Dir(file), name); in.Needs == "" && exists(path) {
				paths = append(paths, path)
				want.Must, want.May = append(want.Must, in.Must...), append(want.May, in.May...)
			}
		}
		slices.Sort(paths)
		if severalServers(t, paths) {
			continue
		}
		joined++
		shared := slices.ContainsFunc(paths, func(p string) bool { return sharesSession(run(t, scan.Options{Paths: []string{p}})) })
		for i, a := range paths {
			for _, b := range paths[i+1:] {
				res := run(t, scan.Options{Paths: []string{a, b}, Domains: []string{"one=*"}})
				for _, w := range wrong(res, want) {
					t.Errorf("%s joined with %s: %s", a, filepath.Base(b), w)
				}
				if !shared && sharesSession(res) {
					t.Errorf("%s joined with %s: a session is said to be shared", a, filepath.Base(b))
				}
			}
		}
		if len(paths) > 2 {
			res := run(t, scan.Options{Paths: paths, Domains: []string{"one=*"}})
			for _, w := range wrong(res, want) {
				t.Errorf("all of %s: %s", filepath.Dir(file), w)
			}
		}
	}
	if joined < 10 {
		t.Errorf("only %d recordings were joined", joined)
	}
}

func sharesSession(res *verdict.Result) bool {
	return slices.ContainsFunc(res.Findings, func(f signals.Finding) bool { return f.Signal == signals.SharedSession })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// severalServers reports that a recording shows more than one process, which --domain
// must not make one of.
func severalServers(t *testing.T, paths []string) bool {
	for _, p := range paths {
		if res := run(t, scan.Options{Paths: []string{p}}); len(res.Domains) > 1 {
			return true
		}
	}
	return false
}
