package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// failing is the incident with its gate applied.
func failing() *Report {
	res, in := incident()
	for i := range res.Findings {
		f := &res.Findings[i]
		f.Fails = f.Strength >= signals.Probable && f.Rejected == ""
	}
	return Build(res, in, Options{Version: "0.1.0", Show: Show{Hazard: true, Rejected: true, Notes: true}})
}

func render(t *testing.T, name string, r *Report, to Target) []byte {
	t.Helper()
	for _, o := range Outputs() {
		if o.Name == name {
			var b bytes.Buffer
			if err := o.Write(&b, r, to); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
	}
	t.Fatalf("no output is called %s", name)
	return nil
}

func TestOutputs(t *testing.T) {
	r := failing()
	to := Target{Style: Style{Width: 100}, Base: "/home/u", Trail: "out/report.sarif.trail.jsonl"}
	f := func(format, file string) {
		t.Helper()
		golden(t, file, render(t, format, r, to))
	}
	f("sarif", "report.golden.sarif")
	f("junit", "junit.golden.xml")
	f("github", "github.golden")
	f("gitlab", "gitlab.golden.json")
	f("markdown", "report.golden.md")
	f("jsonl", "report.golden.jsonl")
	var b bytes.Buffer
	if err := Trail(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "trail.golden.jsonl", b.Bytes())
}

// Whatever the outcome, every format writes something that its readers can parse,
// and a run that judged nothing is never a document that looks like a pass.
func TestOutputsOfOtherOutcomes(t *testing.T) {
	for code, outcome := range []string{verdict.OutcomeClean, verdict.OutcomeSignals, verdict.OutcomeError, verdict.OutcomeInconclusive} {
		r := Build(&verdict.Result{Outcome: outcome, ExitCode: code, Why: "<because> & \x1b[31m"}, nil, Options{Version: "0.1.0"})
		for _, o := range Outputs() {
			if got := render(t, o.Name, r, Target{Style: Style{Width: 80}}); len(got) == 0 || bytes.ContainsRune(got, 0x1b) {
				t.Errorf("%s of %s: %q", o.Name, outcome, got)
			}
		}
		validSARIF(t, render(t, "sarif", r, Target{}))
		var suites junitSuites
		if err := xml.Unmarshal(render(t, "junit", r, Target{}), &suites); err != nil {
			t.Error(err)
		}
		if passed := suites.Failures+suites.Errors == 0; passed != (code == 0) {
			t.Errorf("JUnit of %s: %d failures, %d errors", outcome, suites.Failures, suites.Errors)
		}
	}
}

func validSARIF(t *testing.T, doc []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("not SARIF 2.1.0: %v", err)
	}
}

// A consumer finds each record of a capture by its line in the trail.
func TestSARIFPointsAtTheTrail(t *testing.T) {
	r := failing()
	doc := render(t, "sarif", r, Target{Trail: "r.trail.jsonl"})
	validSARIF(t, doc)
	var log sarifLog
	if err := json.Unmarshal(doc, &log); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Trail(&b, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	n := 0
	for _, res := range log.Runs[0].Results {
		for _, flow := range res.Flows {
			for _, thread := range flow.Threads {
				for _, step := range thread.Locations {
					l := step.Location
					if l.Physical.Artifact.URI != "r.trail.jsonl" {
						continue
					}
					n++
					var rec trailLine
					if err := json.Unmarshal([]byte(lines[l.Physical.Region.Line-1]), &rec); err != nil {
						t.Fatal(err)
					}
					if rec.Excerpt != l.Physical.Region.Snippet.Text {
						t.Errorf("line %d is %q, want %q", l.Physical.Region.Line, rec.Excerpt, l.Physical.Region.Snippet.Text)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no record of a capture was looked at")
	}
	if without := render(t, "sarif", r, Target{}); strings.Contains(string(without), "startLine") {
		t.Error("a line in a capture, which has none")
	}
}

func TestSARIFIsCut(t *testing.T) {
	r := failing()
	for len(r.Findings) <= maxResults {
		r.Findings = append(r.Findings, r.Findings...)
	}
	var log sarifLog
	if err := json.Unmarshal(render(t, "sarif", r, Target{}), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != maxResults || !strings.Contains(fmt.Sprint(run.Invocations[0].Notes), "findings are left out") {
		t.Errorf("%d results, %v", len(run.Results), run.Invocations[0].Notes)
	}
}

func TestMarkdownIsBounded(t *testing.T) {
	r := failing()
	for len(r.Findings) < 1000 {
		r.Findings = append(r.Findings, r.Findings...)
	}
	d := r.Domains[0]
	d.ID = strings.Repeat("é|`", 200)
	for range 400 {
		r.Domains = append(r.Domains, d)
	}
	got := render(t, "markdown", r, Target{})
	if len(got) > maxMarkdown || !strings.Contains(string(got), "left out") || !strings.Contains(string(got), "exit code 1") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestTargetURI(t *testing.T) {
	f := func(base, path, want string) {
		t.Helper()
		if got := (Target{Base: base}).uri(path); got != want {
			t.Errorf("%s in %s: %s, want %s", path, base, got, want)
		}
	}
	f("/home/u", "/home/u/logs/a b.log", "logs/a%20b.log")
	f("/home/u", "logs/../x.log", "x.log")
	f("/home/u", "/home/user/x.log", "file:///home/user/x.log")
	f("/home/u", "-", "stdin")
	f("/home/u", "a:b.log", "./a:b.log")
	f("", "/x/y", "file:///x/y")
}

func TestMarkdownEscapes(t *testing.T) {
	f := func(in, text, span string) {
		t.Helper()
		if got := md(in); got != text {
			t.Errorf("%q as text: %q, want %q", in, got, text)
		}
		if got := code(in); got != span {
			t.Errorf("%q as code: %q, want %q", in, got, span)
		}
	}
	f("a_b", `a\_b`, "`a_b`")
	f("<script>", `\<script\>`, "`<script>`")
	f("x\ny", "x y", "`x y`")
	f("a``b", "a\\`\\`b", "``` a``b ```")
	f("@all", `\@all`, "`@all`")
}

func TestGitHubEscapes(t *testing.T) {
	if got := githubProperty("a:b,c%\n"); got != `a%3Ab%2Cc%25\n` {
		t.Error(got)
	}
	if got := githubText("a%\r\n::error::b"); got != "a%25%0D%0A::error::b" {
		t.Error(got)
	}
}
