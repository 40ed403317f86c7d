package logs

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
)

// proposed returns the patterns proposed for a log.
func proposed(t testing.TB, log string) (string, int) {
	t.Helper()
	var s pattern.Suggestions
	scan(t, []byte(log), source.Options{Suggest: &s})
	doc, n := s.Propose()
	if _, err := pattern.Compile("proposal", doc); err != nil {
		t.Fatalf("%s\ncannot be loaded: %s", doc, err)
	}
	return string(doc), n
}

const unknownWording = `2026-03-09 08:00:00,000 INFO  pool: link 7c41b0e2f9aa opened for planner
2026-03-09 08:00:00,040 INFO  pool: link 91d3a6c87e15 opened for writer
2026-03-09 08:00:00,080 INFO  pool: link 5b24eff6ccd5 opened for auditor
2026-03-09 08:00:00,090 INFO  pool: link 1e6deb056902 opened for desk
2026-03-09 08:00:01,904 WARN  pool: job #5 of 91d3a6c87e15 cancelled, Bearer Xyzzyplugh
2026-03-09 08:00:01,905 INFO  pool: session 91d3a6c87e15 registered from alice@example.org
2026-03-09 08:00:01,906 INFO  pool: 12 connections, 3 waiting
{"t":"2026-03-09T08:00:02.001Z","what":"push","peer":{"key":"91d3a6c87e15","secret":"hunter"},"doc":"ledger://north","n":4}
{"t":"2026-03-09T08:00:03.001Z","what":"push","peer":{"key":"7c41b0e2f9aa","secret":"hunted"},"doc":"ledger://south","n":5}
{"time":"2026-03-09T08:00:04.001Z","msg":"flushed 12 rows","took":4}
{"time":"2026-03-09T08:00:04.001Z","what":"table","open":{"5d0c1f7e9a3b":"7c41b0e2f9ab"},"owner":"a1b2c3d4e5f6"}
time=2026-03-09T08:00:05.001Z level=INFO msg="hub report 3 of 8" ptoken=5 to=91d3a6c87e15
session_resolved source=fallback session_id=91d3a6c87e15
`

// A proposal holds the wording of what was not understood, the most frequent
// first, and nothing that stood in it.
func TestSuggest(t *testing.T) {
	doc, n := proposed(t, unknownWording)
	_, got, _ := strings.Cut(doc, "version: 1\n")
	want, err := os.ReadFile("testdata/suggest.golden")
	if *update {
		want, err = []byte(got), os.WriteFile("testdata/suggest.golden", []byte(got), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) || n != 5 {
		t.Errorf("%d patterns:\n%s\nwant\n%s", n, got, want)
	}
	for _, secret := range []string{"7c41b0e2f9aa", "91d3a6c87e15", "Xyzzy", "hunter", "hunted", "alice", "5d0c1f7e9a3b", "7c41b0e2f9ab", "a1b2c3d4e5f6", "ledger", "planner", "writer"} {
		if strings.Contains(doc, secret) {
			t.Errorf("%q of the log stands in the proposal", secret)
		}
	}
	if again, _ := proposed(t, unknownWording); again != doc {
		t.Error("the same log gives another proposal")
	}
	_, stats := scan(t, []byte(unknownWording), source.Options{Patterns: patterns(t, strings.TrimPrefix(got, "patterns:\n"))})
	for _, u := range stats.Patterns {
		if u.Lines == 0 {
			t.Errorf("the proposal %q claims no line", u.Name)
		}
	}
}

// However many wordings there are, a bounded number is kept, and the rest is counted.
func TestSuggestIsBounded(t *testing.T) {
	var log strings.Builder
	word := func(i int) string {
		return string([]byte{'a' + byte(i/676%26), 'a' + byte(i/26%26), 'a' + byte(i%26)})
	}
	for i := range 5000 {
		fmt.Fprintf(&log, "%s%s link 7c41b0e2f9aa\n", word(i), word(i*7))
		fmt.Fprintf(&log, "frequent link 7c41b0e2f9a%d\n", i%10)
	}
	doc, n := proposed(t, log.String())
	if n != 1 || !strings.Contains(doc, "# 4995 more lines, of rarer wordings") || !strings.Contains(doc, "# 5005 lines; the first is line 2 of") {
		t.Errorf("%d patterns: %.600s", n, doc)
	}
}

func TestSuggestNothing(t *testing.T) {
	for _, log := range []string{"", "hello\n", "started in 12 ms\n", "{}\n", `{"msg":"flushed","n":12}` + "\n", "{\n", "GET /x?session=7c41b0e2f9aa HTTP/1.1\n"} {
		if doc, n := proposed(t, log); n != 0 || !strings.HasSuffix(doc, "patterns: []\n") {
			t.Errorf("%q: %s", log, doc)
		}
	}
}

// Whatever stands in a log, the proposal can be loaded, and the log be read by it.
func FuzzSuggest(f *testing.F) {
	for line := range strings.Lines(unknownWording) {
		f.Add(line)
	}
	f.Add("session {a{} \"}} {{ x: 'y' 12 : session=\n session \x7f \u0085 \u2028 \ufeff id=1")
	f.Add(`{"session id":"7c41b0e2f9aa","a.b|c":"7c41b0e2f9aa","":"7c41b0e2f9aa","msg":"a {} 7 {x} 8 session"}`)
	for _, log := range []string{"0000000A", `{"":{"":""}}`, `A= msg=" "`} { // met once
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log string) {
		doc, _ := proposed(t, log)
		set, err := pattern.Compile("proposal", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		_, stats := scan(t, []byte(log), source.Options{Patterns: set})
		if stats.Records != stats.Used+stats.Ignored+stats.Malformed {
			t.Fatalf("%d records are not %d used + %d ignored + %d malformed", stats.Records, stats.Used, stats.Ignored, stats.Malformed)
		}
	})
}

// Whatever the patterns and the log, reading ends and counts every record.
func FuzzPatterns(f *testing.F) {
	f.Add("- {name: a, line: 'x {session}', event: session_created}", "x ab12\n")
	f.Add("- {name: a, keys: {msg: 'a {id}', s|t: '{session}'}, event: request, fields: {method: ping}}", `{"msg":"a 7","t":"ab12"}`)
	f.Add("- {name: a, regexp: '(?P<session>.+) (?P<uri>.+)', event: updated}", "time=1 msg=\"a b\" c=d\n")
	f.Fuzz(func(t *testing.T, doc, log string) {
		set, err := pattern.Compile("p", []byte("version: 1\npatterns:\n"+doc))
		if err != nil {
			return
		}
		_, stats := scan(t, []byte(log), source.Options{Patterns: set})
		if stats.Records != stats.Used+stats.Ignored+stats.Malformed {
			t.Fatalf("%d records are not %d used + %d ignored + %d malformed", stats.Records, stats.Used, stats.Ignored, stats.Malformed)
		}
	})
}
