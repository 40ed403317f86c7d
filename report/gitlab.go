package report

import (
	"io"

	"github.com/isodetect/isodetect/signals"
)

// GitLab writes the findings as a GitLab code quality report. What was not judged
// has no place in that format: the exit code tells it.
func GitLab(w io.Writer, r *Report, to Target) error {
	issues := []gitlabIssue{}
	for i := range r.Findings {
		f := &r.Findings[i]
		v := gitlabIssue{
			Description: sentence(f.Summary), Check: f.Signal, Severity: gitlabSeverity(f),
			Fingerprint: signals.Digest(32, f.Fingerprint, f.Occurrence),
		}
		v.Location.Lines.Begin = 1
		if len(f.Evidence) > 0 {
			e := &f.Evidence[0]
			v.Location.Path = to.place(e.Source)
			v.Location.Lines.Begin = max(e.line(), 1)
		}
		issues = append(issues, v)
	}
	return writeJSON(w, "a GitLab code quality report", issues)
}

type gitlabIssue struct {
	Description string `json:"description"`
	Check       string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int64 `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

func gitlabSeverity(f *Finding) string {
	switch {
	case f.Rejected != "":
		return "info"
	case f.Strength == "confirmed":
		return "critical"
	case f.Strength == "probable":
		return "major"
	case f.Strength == "possible":
		return "minor"
	}
	return "info"
}
