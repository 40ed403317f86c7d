package report

import (
	"fmt"
	"io"
	"strings"
)

// GitHub writes annotations for GitHub Actions, one workflow command a finding.
func GitHub(w io.Writer, r *Report, to Target) error {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		cmd := map[string]string{"error": "error", "warning": "warning", "note": "notice"}[level(f)]
		props := []string{"title=" + githubProperty("isodetect: "+f.Signal+" ("+f.Strength+")")}
		if len(f.Evidence) > 0 {
			e := &f.Evidence[0]
			props = append(props, "file="+githubProperty(to.place(e.Source)))
			if n := e.line(); n > 0 {
				props = append(props, fmt.Sprintf("line=%d", n))
			}
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", cmd, strings.Join(props, ","), githubText(plainFinding(f)))
	}
	switch v := &r.Verdict; {
	case v.ExitCode == 3 || v.ExitCode == 2:
		fmt.Fprintf(&b, "::error title=%s::%s\n", githubProperty("isodetect: "+v.Outcome), githubText(escape(v.Why)))
	case v.Outcome == "inconclusive":
		fmt.Fprintf(&b, "::warning title=%s::%s\n", githubProperty("isodetect: "+v.Outcome), githubText(escape(v.Why)))
	default:
		fmt.Fprintf(&b, "::notice title=%s::%s\n", githubProperty("isodetect: "+v.Outcome), githubText(escape(v.Why)))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write the annotations: %w", err)
	}
	return nil
}

// place is the path of an input relative to the base, as it is on disk.
func (to Target) place(p string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(to.Base, "/")+"/"); ok && to.Base != "" {
		return rest
	}
	return p
}

// githubText escapes the text of a workflow command.
func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// githubProperty escapes a property of a workflow command.
func githubProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(escape(s))
}
