package report

import (
	"fmt"
	"io"
	"strings"
)

// Inspect writes what the inputs hold and what can be judged from it.
func Inspect(w io.Writer, r *Report, st Style) error {
	p := newPage(w, st)
	p.line(p.bold.Render("What was read"))
	p.blank()
	for i := range r.Inputs {
		p.input(&r.Inputs[i])
		p.patterns(&r.Inputs[i])
	}
	p.domains(r)
	if len(r.Domains) == 0 {
		p.blank()
		p.para("", "Nothing about MCP over HTTP was recognised. "+strings.TrimSpace(escape(r.Verdict.Why)), p.yellow)
	}
	return p.err
}

// patterns says what each of the user's patterns was good for.
func (p *page) patterns(in *Input) {
	for _, u := range in.Patterns {
		text := "claimed " + plural(int(u.Lines), "line", "lines")
		if u.Lines == 0 {
			text = "claimed no line"
		}
		p.para("    pattern ", fmt.Sprintf("%s (line %d): %s", escape(u.Name), u.Row, text), p.dim)
	}
}
