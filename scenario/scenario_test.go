package scenario

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

const dir = "../testdata/scenarios"

func load(t *testing.T) []*Scenario {
	t.Helper()
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("%d scenarios under %s", len(all), dir)
	}
	return all
}

// Every row and every "Never" clause has a scenario that quotes it.
func TestRowsHaveScenarios(t *testing.T) {
	ids, words, err := LoadRows(dir + "/rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, s := range load(t) {
		for _, r := range s.Rows {
			if words[r.ID] == "" {
				t.Errorf("%s.txt:%d: no row is called %s", s.Name, r.Line, r.ID)
			} else if !strings.Contains(words[r.ID], r.Quote) {
				t.Errorf("%s.txt:%d: row %s does not say %q", s.Name, r.Line, r.ID, r.Quote)
			}
			shown[r.ID] = true
		}
	}
	for _, id := range ids {
		if !shown[id] {
			t.Errorf("no scenario shows %s: %s", id, words[id])
		}
	}
}

// Every scenario and every mutation of it can be acted out and compiled, and
// gives the same bytes each time.
func TestCompileEverything(t *testing.T) {
	f := func(s *Scenario, name string) {
		t.Helper()
		var before [][]byte
		for round := 0; round < 2; round++ {
			tr, err := s.Run()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			got := [][]byte{tr.Wire(), tr.HAR(), tr.Pcap(), tr.Native()}
			if round == 0 {
				before = got
				checkJSON(t, name, got)
			}
			for i := range got {
				if !bytes.Equal(before[i], got[i]) {
					t.Errorf("%s: %s differs between two runs", name, Formats[i])
				}
			}
		}
	}
	for _, s := range load(t) {
		f(s, s.Name)
		mutants, err := s.Mutations()
		if err != nil {
			t.Error(err)
		}
		for _, m := range mutants {
			f(m.Scenario, m.String())
		}
	}
}

func checkJSON(t *testing.T, name string, got [][]byte) {
	t.Helper()
	for i, text := range got {
		if Formats[i] == Pcap {
			continue
		}
		if Formats[i] == HAR {
			if !json.Valid(text) {
				t.Errorf("%s: the HAR is no JSON", name)
			}
			continue
		}
		for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			if !json.Valid(line) {
				t.Errorf("%s: %s has a line that is no JSON: %s", name, Formats[i], line)
			}
		}
	}
}

// A scenario that is written wrongly is refused with its line.
func TestParseRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse("x", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	f("expect none", "names no row")
	f("row: a.1 \"q\"", "expects nothing")
	f("row: a.1", "x.txt:1")
	f("row: a.1 \"q\"\nexpect token_collision certain", "unknown strength")
	f("row: a.1 \"q\"\nexpect none\nwire: silent", "does not state what har")
	f("row: a.1 \"q\"\nexpect none\nwire: skip", "needs a reason")
	f("row: a.1 \"q\"\nA call r1 args={\"a\":1", "bracket")
	f("row: a.1 \"q\"\nA call r1 q=\"open", "quote")
	f("row: a.1 \"q\"\nat soon A call r1", "time")
}

// Running a scenario finds what the parser cannot.
func TestRunRefuses(t *testing.T) {
	const rest = "\nexpect none\nwire: silent\nhar: silent\npcap: silent\nnative: silent"
	f := func(steps, want string) {
		t.Helper()
		s, err := Parse("x", "row: a.1 \"q\"\n"+steps+rest)
		if err == nil {
			_, err = s.Run()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", steps, err, want)
		}
	}
	f("r1 result text=x", "no exchange is called")
	f("A call r1 id=1\nA call r1 id=2", "already")
	f("A fly r1", "unknown verb")
	f("A call r1 id=1\nr1 result text=x\nr1 result text=y", "ended before")
	f("server is sdk=gateway\nA call r1 id=1\nr1 log x", "JSON answer")
	f("A call r1 id=1 conn=c\nB call r2 id=1 conn=c", "one at a time")
	f("server is sdk=cobol\nA call r1", "unknown sdk")
}
