package report

import (
	"io"
	"net/url"
	"path"
	"strings"
)

// Output is one format that a report is written in. All are made from Report
// alone, and none decides anything: the exit code is the same for all.
type Output struct {
	Name  string // as in --format
	Title string
	Write func(w io.Writer, r *Report, to Target) error
}

// Target says where an output goes, as far as it shows in it.
type Target struct {
	Style Style  // of the text
	Base  string // directory, absolute with slashes, to which paths in the output are relative; "" = paths stay as they are
	// Trail is the path of the trail that is written beside the output, as the
	// output shall name it; "" = there is none.
	Trail string
}

// Outputs lists the formats in the order in which help shows them.
func Outputs() []Output {
	return []Output{
		{"text", "for a person at a terminal", func(w io.Writer, r *Report, to Target) error { return Text(w, r, to.Style) }},
		{"json", "the whole report, schema " + Schema, func(w io.Writer, r *Report, _ Target) error { return JSON(w, r) }},
		{"jsonl", "one JSON object a line: inputs, domains, findings, notes, verdict", func(w io.Writer, r *Report, _ Target) error { return JSONLines(w, r) }},
		{"sarif", "SARIF 2.1.0, for code scanning", SARIF},
		{"junit", "JUnit XML, one test case a signal and domain", func(w io.Writer, r *Report, _ Target) error { return JUnit(w, r) }},
		{"github", "annotations of GitHub Actions", GitHub},
		{"gitlab", "GitLab code quality", GitLab},
		{"markdown", "for a ticket, below 60 kB", func(w io.Writer, r *Report, _ Target) error { return Markdown(w, r) }},
	}
}

// uri writes the path of an input relative to base, as a URI reference.
func (to Target) uri(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if to.Base != "" && path.IsAbs(p) {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(to.Base, "/")+"/"); ok {
			p = rest
		}
	}
	switch {
	case p == "-":
		return "stdin"
	case path.IsAbs(p):
		return (&url.URL{Scheme: "file", Path: p}).String()
	}
	return (&url.URL{Path: path.Clean(p)}).String()
}

// line returns the line of an input at which an editor can show a record, 0 if it has none.
func (e *Evidence) line() int64 {
	if e.At.Unit == "line" {
		return e.At.N
	}
	return 0
}

// level maps a finding to the three levels that other tools know.
func level(f *Finding) string {
	switch {
	case f.Fails:
		return "error"
	case f.Strength == "hazard", f.Rejected != "", f.Suppressed != "":
		return "note"
	}
	return "warning"
}
