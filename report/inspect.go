package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Inspect writes what the inputs hold and what can be judged from it.
func Inspect(w io.Writer, r *Report, st Style) error {
	p := newPage(w, st)
	p.line(p.bold.Render("What was read"))
	p.blank()
	for i := range r.Inputs {
		p.input(&r.Inputs[i])
		p.carries(&r.Inputs[i])
	}
	p.patterns(r)
	if len(r.Domains) == 0 {
		p.blank()
		p.para("", sentence(strings.TrimSpace(escape(r.Verdict.Why))), p.yellow)
	}
	p.domains(r)
	return p.err
}

// patterns says what each of the user's patterns was good for, over all inputs.
func (p *page) patterns(r *Report) {
	var all []Pattern
	for i := range r.Inputs {
		for k, u := range r.Inputs[i].Patterns {
			if k == len(all) {
				all = append(all, Pattern{Name: u.Name, Row: u.Row})
			}
			all[k].Lines += u.Lines
		}
	}
	if len(all) == 0 {
		return
	}
	p.heading("Patterns")
	for _, u := range all {
		lines := grouped(u.Lines) + " lines"
		if u.Lines == 1 {
			lines = "1 line"
		}
		p.para("  ", fmt.Sprintf("%s (line %d): claimed %s", escape(u.Name), u.Row, lines), lipgloss.Style{})
	}
}

// carries writes what a log tells, and so which signals it could show.
func (p *page) carries(in *Input) {
	if len(in.Carries)+len(in.Lacks) == 0 {
		return
	}
	if in.Used < in.Records {
		p.para("    ", fmt.Sprintf("%d %% of its records were used; the others say nothing about MCP, or were not understood", 100*in.Used/in.Records), lipgloss.Style{})
	}
	if len(in.Carries) > 0 {
		p.para("    could show      ", strings.Join(in.Carries, ", "), lipgloss.Style{})
	}
	for i, l := range in.Lacks {
		head := "    could not show  "
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		p.para(head, l.Signal+": no line tells "+strings.Join(l.Missing, ", or "), lipgloss.Style{})
	}
}
