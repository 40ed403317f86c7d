package report

import (
	"fmt"
	"io"
	"strings"
)

// maxMarkdown bounds a Markdown report in bytes: what ticket systems take.
const maxMarkdown = 60_000

// Markdown writes the report for a ticket: the verdict, each finding with its
// evidence, what to change, what was not judged. What goes beyond the size is
// left out and said.
func Markdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## isodetect: %s\n\n%s\n", md(strings.ReplaceAll(r.Verdict.Outcome, "_", " ")), md(sentence(r.Verdict.Why)))
	tail := markdownTail(r)
	room := maxMarkdown - b.Len() - len(tail) - 200
	left := 0
	for i := range r.Findings {
		part := markdownFinding(i+1, &r.Findings[i])
		if left > 0 || len(part) > room {
			left++
			continue
		}
		room -= len(part)
		b.WriteString(part)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n**%s left out, since this text would be too long; the JSON report has all.**\n", plural(left, "finding is", "findings are"))
	}
	b.WriteString(tail)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write the report as Markdown: %w", err)
	}
	return nil
}

func markdownFinding(n int, f *Finding) string {
	var b strings.Builder
	state := f.Strength
	if why := discounted(f.Rejected, f.Suppressed); why != "" {
		state += ", does not count: " + why
	}
	name := f.Signal
	if f.Variant != "" {
		name += " · " + f.Variant
	}
	fmt.Fprintf(&b, "\n### %d. %s (%s)\n\n%s\n\n", n, md(name), md(state), md(sentence(f.Summary)))
	fmt.Fprintf(&b, "%s · at %s · fingerprint %s\n\n", md(strings.Join(facts(f), " · ")), code(f.Domain), code(f.Fingerprint))
	for i := range f.Evidence {
		e := &f.Evidence[i]
		fmt.Fprintf(&b, "%d. %s %s, %s %d: %s\n", i+1, md(e.Time), code(e.Source), e.At.Unit, e.At.N, md(strings.Join(nonEmpty(e.Party, e.Says), ": ")))
		if e.Excerpt != "" {
			fmt.Fprintf(&b, "   %s\n", code(e.Excerpt))
		}
	}
	b.WriteByte('\n')
	for _, why := range f.Because {
		fmt.Fprintf(&b, "- %s\n", md(why))
	}
	if f.Assumption != "" {
		fmt.Fprintf(&b, "- assuming that %s\n", md(f.Assumption))
	}
	return b.String()
}

// maxTailRows bounds the table of what was judged.
const maxTailRows = 200

func markdownTail(r *Report) string {
	var b strings.Builder
	if fams := families(r); len(fams) > 0 {
		b.WriteString("\n### What to change\n\n")
		for i := range r.Findings {
			f := &r.Findings[i]
			if f.Remedy != "" && remedyFirst(r, i) {
				fmt.Fprintf(&b, "- **%s**: %s\n", md(f.Signal), md(f.Remedy))
			}
		}
	}
	b.WriteString("\n### What was judged\n\n| domain | signal | state | |\n| --- | --- | --- | --- |\n")
	rows := 0
	for i := range r.Domains {
		for _, st := range r.Domains[i].Signals {
			if rows++; rows > maxTailRows {
				continue
			}
			why := st.Why
			if st.State == "judged" {
				why = strings.Join(nonEmpty(plural(st.Judged, "occasion", "occasions"), why), "; ")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(clip(r.Domains[i].ID)), st.Signal, strings.ReplaceAll(st.State, "_", " "), md(clip(why)))
		}
	}
	if rows == 0 {
		b.WriteString("| none | | | |\n")
	}
	if rows > maxTailRows {
		fmt.Fprintf(&b, "\n%d more rows are left out.\n", rows-maxTailRows)
	}
	if r.Without != nil {
		fmt.Fprintf(&b, "\n%s\n", md(sentence(without(r))))
	}
	for _, h := range r.Verdict.Help {
		fmt.Fprintf(&b, "\n- %s\n", md(h))
	}
	fmt.Fprintf(&b, "\n%s %s, exit code %d\n", r.Tool.Name, r.Tool.Version, r.Verdict.ExitCode)
	return b.String()
}

// clip cuts a text that stands in every row of a table.
func clip(s string) string { return ellipsis(s, 100) }

// remedyFirst reports whether the finding is the first valid one of its signal.
func remedyFirst(r *Report, i int) bool {
	for j := range r.Findings[:i] {
		if r.Findings[j].Signal == r.Findings[i].Signal && r.Findings[j].Rejected == "" {
			return false
		}
	}
	return r.Findings[i].Rejected == ""
}

// md escapes what Markdown and HTML would take for more than text.
func md(s string) string {
	var b strings.Builder
	for _, c := range escape(strings.ReplaceAll(s, "\n", " ")) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// code writes a text between enough backquotes that it cannot end them.
func code(s string) string {
	s = strings.ReplaceAll(escape(strings.ReplaceAll(s, "\n", " ")), "|", "\u2223")
	run, most := 0, 0
	for _, c := range s {
		if c == '`' {
			run++
			most = max(most, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", most+1)
	if most > 0 {
		s = " " + s + " "
	}
	return fence + s + fence
}
