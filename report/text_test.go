package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func textOf(t *testing.T, r *Report, st Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, st); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	res, in := incident()
	r := Build(res, in, Options{Version: "0.1.0", Show: Show{Notes: true, Rejected: true}})
	for _, width := range []int{80, 120} {
		golden(t, fmt.Sprintf("text_%d.golden", width), []byte(textOf(t, r, Style{Width: width})))
	}
	golden(t, "quiet.golden", []byte(textOf(t, r, Style{Width: 80, Quiet: true})))
}

// Where a report is about several endpoints, a finding names its own.
func TestTextNamesTheEndpoint(t *testing.T) {
	res, in := incident()
	r := Build(res, in, Options{})
	if got := textOf(t, r, Style{Width: 120}); strings.Contains(got, "at "+endpoint) != (len(r.Domains) > 1) {
		t.Errorf("%d domains:\n%s", len(r.Domains), got)
	}
	r.Domains = append(r.Domains[:1:1], Domain{ID: "another"})
	if got := textOf(t, r, Style{Width: 120}); !strings.Contains(got, "at "+endpoint) {
		t.Errorf("no finding names its endpoint:\n%s", got)
	}
	r.Domains = r.Domains[:1]
	if got := textOf(t, r, Style{Width: 120}); strings.Contains(got, "at "+endpoint) {
		t.Errorf("a finding names the only endpoint:\n%s", got)
	}
}

func TestJSON(t *testing.T) {
	res, in := incident()
	var b bytes.Buffer
	if err := JSON(&b, Build(res, in, Options{Version: "0.1.0"})); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.golden.json", b.Bytes())
}

// Colour may carry nothing that the words do not.
func TestTextColorOnlyAccents(t *testing.T) {
	res, in := incident()
	r := Build(res, in, Options{Show: Show{Hazard: true, Rejected: true}})
	bare, painted := textOf(t, r, Style{Width: 80}), textOf(t, r, Style{Width: 80, Color: true})
	if strings.Contains(bare, "\x1b") {
		t.Error("an escape sequence without colour")
	}
	if !strings.Contains(painted, "\x1b[") {
		t.Error("no escape sequence with colour")
	}
	if got := stripSGR(painted); got != bare {
		t.Errorf("colour changes the text:\n%s", cmp.Diff(bare, got))
	}
}

func stripSGR(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}

// Only commands may be wider than the page.
func TestTextFitsWidth(t *testing.T) {
	res, in := incident()
	res.Findings[0].Summary = strings.Repeat("verylongword", 30) + " 日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語"
	r := Build(res, in, Options{Show: Show{Possible: true, Hazard: true, Rejected: true, Notes: true}})
	for width := minWidth; width <= maxWidth; width += 5 {
		for line := range strings.Lines(textOf(t, r, Style{Width: width})) {
			line = strings.TrimSuffix(line, "\n")
			if strings.Contains(line, "jq '") || strings.Contains(line, "frame.number") {
				continue
			}
			if n := lipgloss.Width(line); n > width {
				t.Errorf("width %d: %d columns in %q", width, n, line)
			}
		}
	}
}

// What comes from inputs and rules may not command a terminal.
func TestTextHostile(t *testing.T) {
	const evil = "\x1b]0;pwned\x07\u202e\r\n"
	res, in := incident()
	f := &res.Findings[0]
	f.Summary, f.Method, f.Tool, f.Assumption = evil, evil, evil, evil
	f.Tokens, f.URIs, f.RequestIDs, f.Because = []string{evil}, []string{evil}, []string{evil}, []string{evil}
	f.Parties[0].Text, f.Parties[0].Session = evil, ""
	f.Parties[1].Alias, f.Variant = evil, evil
	f.Evidence[0].Excerpt, f.Evidence[0].Says, f.Evidence[0].Party = evil, evil, evil
	d := &res.Domains[0]
	d.ID, d.Why, d.Help, d.AlsoIn = evil, evil, []string{evil}, []string{evil}
	d.Conditions[0].Why, d.Signals[0].Why = evil, evil
	f.Domain = evil
	res.Without, res.Help = verdict.WithoutMCP{URLs: 1, Named: []string{evil}}, []string{evil}
	res.Notes[0].Text, res.Why = evil, evil
	st := &in[0].Stats
	in[0].Path, st.Err, st.Notes, st.Wrappers = evil, evil, []string{evil}, []string{evil}
	r := Build(res, in, Options{Show: Show{Hazard: true, Rejected: true, Notes: true}, Reveal: true})
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": textOf(t, r, Style{Width: 80}), "json": b.String()} {
		for _, bad := range []string{"\x1b", "\u202e", "\x07", "\r"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}

func TestTextOutcomes(t *testing.T) {
	f := func(v verdict.Result, want string) {
		t.Helper()
		got, _, _ := strings.Cut(textOf(t, Build(&v, nil, Options{}), Style{Width: 80}), "\n")
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(verdict.Result{Outcome: verdict.OutcomeClean, Why: "3 signals judged, none found"}, "CLEAN  3 signals judged, none found")
	f(verdict.Result{Outcome: verdict.OutcomeInconclusive, Why: "the traffic is encrypted"}, "INCONCLUSIVE  the traffic is encrypted")
	f(verdict.Result{Outcome: verdict.OutcomeError, Why: "cannot read a.har: no such file"}, "INPUT ERROR  cannot read a.har: no such file")
	f(verdict.Result{Outcome: verdict.OutcomeSignals, Findings: []signals.Finding{{Signal: signals.SharedSession, Strength: signals.Confirmed}}}, "ISOLATION FAILURE  1 confirmed")
}

// What is one is told as one, and in words of the user.
func TestTextOfOne(t *testing.T) {
	res, in := incident()
	in[0].Stats.Repeated, in[0].Stats.Ignored = 1, 1
	in[1].Stats.Repeated, in[1].Stats.Ignored = 2, 2
	in[1].Stats.Notes = []string{signals.NoteSameInputTwice + ": the first line is the last of a.har"}
	got := textOf(t, Build(res, in, Options{}), Style{Width: 120})
	for _, want := range []string{"Not shown: 1 hazard, 1 rejected, 1 note (", "1 packet captured twice", "2 read in the file before", "    the first line is the last of a.har"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
