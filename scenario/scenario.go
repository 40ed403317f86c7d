// Package scenario supports tests: a small readable language for what several
// parties do at one MCP endpoint and what the server answers where, and
// compilers that turn one such text into every input format. One behaviour is
// one file, with the expected findings inside, so that all formats must tell
// the same story as far as each can carry it.
//
// The language is described in testdata/scenarios/README.md.
package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Scenario is one parsed file.
type Scenario struct {
	Name    string // file name without .txt
	Rows    []Row  // what of the rows it shows
	Server  Step   // options of the server line
	Steps   []Step
	Expect  Expectation
	Formats map[Format]Carries
}

// Row is a reference to one row of rows.txt with words quoted from it.
type Row struct {
	ID    string
	Quote string
	Line  int
}

// Step is one line that happens: at a time a subject does something.
type Step struct {
	Line    int // from 1
	At      time.Duration
	Subject string // a party (upper case), an exchange (lower case), "window" or "server"
	Verb    string
	Words   []string // positional arguments, quotes removed
	Opt     map[string]string
	Mutants []Mutant
	text    string // as written, without time and mutants
}

// Has reports whether the step gives the option at all.
func (s *Step) Has(key string) bool { _, ok := s.Opt[key]; return ok }

// Get returns an option or its default.
func (s *Step) Get(key, otherwise string) string {
	if v, ok := s.Opt[key]; ok {
		return v
	}
	return otherwise
}

// Flag reports whether word stands among the positional arguments.
func (s *Step) Flag(word string) bool {
	for _, w := range s.Words {
		if w == word {
			return true
		}
	}
	return false
}

// Mutant says what must come of the scenario when its step is taken away, or
// written differently.
type Mutant struct {
	Instead string // the step that takes its place, "" = none
	Want    Expectation
	Text    string // as written
}

// Format is a form that a scenario can be compiled to.
type Format string

// The formats.
const (
	Wire   Format = "wire"
	HAR    Format = "har"
	Pcap   Format = "pcap"
	Native Format = "native"
	Log    Format = "log" // the literal lines of the scenario
	H2     Format = "h2"  // a capture of HTTP/2; as pcap where a scenario does not state it
)

// Formats lists all formats in the order in which scenarios state them.
var Formats = []Format{Wire, HAR, Pcap, Native, Log, H2}

// Carries tells what a format makes of a scenario.
type Carries struct {
	How    string       // found, silent, weaker, not assessable, skip, or instead
	Why    string       // in parentheses
	Expect *Expectation // nil = the scenario's own
}

// Load parses every scenario under dir, in order of name.
func Load(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, fmt.Errorf("cannot list scenarios: %w", err)
	}
	var all []*Scenario
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".txt")
		if name == "rows" {
			continue
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, fmt.Errorf("cannot read scenario: %w", err)
		}
		s, err := Parse(name, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// ExpectIn returns what a format must show; ok is false if the scenario skips it.
func (s *Scenario) ExpectIn(f Format) (want Expectation, ok bool) {
	c, stated := s.Formats[f]
	if !stated && f == H2 {
		c, stated = s.Formats[Pcap]
	}
	switch {
	case !stated || c.How == "skip":
		return Expectation{}, false
	case c.Expect != nil:
		want = *c.Expect
	default:
		want = s.Expect
	}
	want.Allowed = append(append([]Wanted(nil), want.Allowed...), s.Expect.Allowed...)
	if f == Native || c.How == "not assessable" {
		want.Notes = nil // notes are about the wire
	}
	if c.How == "not assessable" {
		for _, w := range s.Expect.Want {
			want.Unjudged = append(want.Unjudged, w.Signal)
		}
	}
	return want, true
}
