package report

import (
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
	}
	p.domains(r)
	if len(r.Domains) == 0 {
		p.blank()
		p.para("", "Nothing about MCP over HTTP was recognised. "+strings.TrimSpace(escape(r.Verdict.Why)), p.yellow)
	}
	return p.err
}
