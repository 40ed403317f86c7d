package scan_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
)

// recording is one folder of testdata/cases: recorded traffic and, for each of
// its inputs, what that input alone must and may show.
type recording struct {
	Case   string
	Inputs map[string]expectation
}

type expectation struct {
	Must, May []string              // signals at probable or above
	Sessions  map[string][][]string // the parties of each incident, per signal
	Exit      []int                 // allowed exit codes, where they are certain
	Needs     string                // what reading it takes beyond HTTP/1.1 in the clear: h2, tls
	Args      []string

	patterns *pattern.Set // read its logs by these
}

// Every input of every recording, read alone, must show what happened in it and
// nothing else, name the parties, and point to records that prove it.
func TestRecordedCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/*/expect.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find the recorded cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("cannot read expectations: %s", err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("cannot parse %s: %s", file, err)
		}
		dir := filepath.Dir(file)
		for name, want := range r.Inputs {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				for _, failure := range judge(t, dir, name, want) {
					t.Error(failure)
				}
			})
		}
	}
}

// judge scans one input and returns what is wrong with the verdict, one line each.
func judge(t *testing.T, dir, name string, want expectation) []string {
	t.Helper()
	path := filepath.Join(dir, name)
	opt := input{path, want}.options(scan.Options{Paths: []string{path}, Patterns: want.patterns, CancelWindow: 500 * time.Millisecond})
	res, _, err := scan.Run(context.Background(), opt)
	if err != nil {
		t.Fatalf("cannot scan %s: %s", path, err)
	}
	live := map[string][]signals.Finding{}
	var failures []string
	for _, f := range res.Findings {
		if _, ok := f.Signal.Variant(f.Variant); !ok {
			failures = append(failures, fmt.Sprintf("VARIANT  %s has no variant %q in the catalogue", f.Signal.Name, f.Variant))
		}
		if f.Strength >= signals.Probable && f.Rejected == "" {
			live[f.Signal.Name] = append(live[f.Signal.Name], f)
		}
	}
	for _, s := range want.Must {
		failures = append(failures, missing(path, s, live[s], want.Sessions[s])...)
	}
	stray := false
	for s, found := range live {
		if slices.Contains(want.Must, s) {
			continue
		}
		stray = true
		if !slices.Contains(want.May, s) {
			failures = append(failures, fmt.Sprintf("FALSE  %s: %s", s, found[0].Summary))
		}
	}
	allowed := want.Exit
	switch {
	case len(want.Must) == 0 && stray:
		allowed = []int{1}
	case len(allowed) > 0:
	case len(want.Must) > 0:
		allowed = []int{1}
	default:
		allowed = []int{0, 3}
	}
	if !slices.Contains(allowed, res.ExitCode) {
		failures = append(failures, fmt.Sprintf("EXIT   %d, want one of %d: %s", res.ExitCode, allowed, res.Why))
	}
	return failures
}

func missing(path, signal string, found []signals.Finding, incidents [][]string) []string {
	if len(found) == 0 {
		return []string{"MISS   " + signal}
	}
	var failures []string
	if len(incidents) > 0 && !slices.ContainsFunc(incidents, func(parties []string) bool {
		return slices.ContainsFunc(found, func(f signals.Finding) bool { return namesParties(&f, parties) })
	}) {
		failures = append(failures, fmt.Sprintf("PARTY  %s: named %s", signal, partiesOf(&found[0])))
	}
	for _, f := range found {
		if why := unproven(&f, path); why != "" {
			failures = append(failures, fmt.Sprintf("PROOF  %s: %s", signal, why))
			break
		}
	}
	return failures
}

func partiesOf(f *signals.Finding) string {
	var b strings.Builder
	for _, p := range f.Parties {
		fmt.Fprintf(&b, "%s %s ", p.Session, p.Text)
	}
	return strings.ToLower(b.String())
}

// namesParties reports whether the finding names all parties of an incident; one
// is enough for a fallback, whose sender may have no session.
func namesParties(f *signals.Finding, parties []string) bool {
	names, hit := partiesOf(f), 0
	for _, p := range parties {
		if strings.Contains(names, strings.ToLower(p)) {
			hit++
		}
	}
	if f.Signal == signals.FallbackResolution {
		return hit > 0
	}
	return hit == len(parties)
}

// unproven opens the records that the evidence points to and says which of them
// holds nothing of the finding.
func unproven(f *signals.Finding, path string) string {
	if len(f.Evidence) == 0 {
		return "no evidence"
	}
	var marks []string
	for _, p := range f.Parties {
		marks = append(marks, p.Session[:min(8, len(p.Session))])
	}
	for _, list := range [][]string{f.RequestIDs, f.Tokens, f.URIs, {f.Method}} {
		for _, m := range list {
			marks = append(marks, strings.Trim(m, `"`))
		}
	}
	for _, e := range f.Evidence {
		text, readable := record(path, e.At)
		if readable && !slices.ContainsFunc(marks, func(m string) bool { return m != "" && strings.Contains(text, m) }) {
			return fmt.Sprintf("nothing of it stands at %s %d", e.At.Unit, e.At.N)
		}
	}
	return ""
}

// record returns the text at an address: a line with the three after it, or a HAR entry.
func record(path string, at event.Address) (text string, readable bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		if content, err = io.ReadAll(z); err != nil {
			return "", false
		}
	}
	switch at.Unit {
	case event.UnitLine:
		lines := bytes.Split(content, []byte("\n"))
		if at.N < 1 || at.N > int64(len(lines)) {
			return "", true
		}
		return string(bytes.Join(lines[at.N-1:min(int(at.N)+3, len(lines))], []byte("\n"))), true
	case event.UnitEntry:
		if !bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
			return "", false // another archive than a HAR
		}
		var har struct {
			Log struct{ Entries []json.RawMessage }
		}
		if err := json.Unmarshal(content, &har); err != nil || at.N < 0 || at.N >= int64(len(har.Log.Entries)) {
			return "", true
		}
		return string(har.Log.Entries[at.N]), true
	}
	return "", false
}
