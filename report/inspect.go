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
	}
	p.patterns(r)
	p.domains(r)
	if len(r.Domains) == 0 {
		p.blank()
		p.para("", "Nothing about MCP over HTTP was recognised. "+strings.TrimSpace(escape(r.Verdict.Why)), p.yellow)
	}
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
