package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// domains writes for every domain what was judged, and what was not and why.
func (p *page) domains(r *Report) {
	if len(r.Domains) == 0 && r.Without == nil && len(r.Verdict.Help) == 0 {
		return
	}
	if len(r.Domains) == 0 && r.Without == nil {
		p.heading("What would help")
	} else {
		p.heading("What was judged, and what not")
	}
	for i := range r.Domains {
		if i > 0 {
			p.blank()
		}
		p.domain(&r.Domains[i])
	}
	if r.Without != nil {
		if len(r.Domains) > 0 {
			p.blank()
		}
		p.para("  ", without(r), lipgloss.Style{})
	}
	if len(r.Verdict.Help) > 0 && len(r.Domains) > 0 {
		p.blank()
	}
	for _, h := range r.Verdict.Help {
		p.para("  → ", h, lipgloss.Style{})
	}
}

// maxWithout is how many URLs without MCP a text names.
const maxWithout = 3

// without names what was read and carried no MCP.
func without(r *Report) string {
	w, other := r.Without, ""
	if len(r.Domains) > 0 {
		other = "other "
	}
	var named []string
	for _, id := range w.Named[:min(len(w.Named), maxWithout)] {
		named = append(named, escape(clip(id)))
	}
	text := plural(w.URLs, other+"URL", other+"URLs") + " carried no MCP: " + strings.Join(named, ", ")
	if more := w.URLs - len(named); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

func (p *page) domain(d *Domain) {
	p.line("  ", p.bold.Render(cmp.Or(escape(d.ID), "a server that names neither address nor instance")), "  ", p.outcome(d.Outcome))
	size := []string{plural(d.Parties, "party", "parties"), plural(d.Sessions, "session", "sessions")}
	if len(d.Eras) > 0 {
		size = append(size, strings.Join(d.Eras, " and "))
	}
	p.para("  ", strings.Join(nonEmpty(append(size, span(d.First, d.Last))...), " · "), p.dim)
	if d.Why != "" {
		p.para("  ", d.Why, lipgloss.Style{})
	}
	if len(d.AlsoIn) > 0 {
		p.para("  also in ", strings.Join(d.AlsoIn, ", ")+" (one of its session ids is seen there; --domain joins them)", lipgloss.Style{})
	}
	last := ""
	for _, row := range stateRows(d) {
		state := row.state
		if state == last {
			state = ""
		}
		p.para("    "+pad(state, stateColumn), row.text, lipgloss.Style{})
		last = row.state
	}
	for _, c := range d.Conditions {
		if c.State != verdict.Met {
			p.para("    "+pad("condition", stateColumn), c.Name+" "+c.State+": "+c.Why, lipgloss.Style{})
		}
	}
	for _, h := range d.Help {
		p.para("  → ", h, lipgloss.Style{})
	}
}

func (p *page) outcome(o string) string {
	switch o {
	case verdict.OutcomeSignals:
		return p.red.Render(o)
	case verdict.OutcomeClean:
		return p.green.Render(o)
	}
	return p.yellow.Render(o)
}

// stateColumn is the width of the state of a signal, and nameColumn that of a signal's name.
const (
	stateColumn = 16
	nameColumn  = 24
)

type stateRow struct{ state, why, text string }

// stateRows brings signals together that are in one state for one reason.
func stateRows(d *Domain) []stateRow {
	var rows []stateRow
	for _, state := range []string{verdict.Judged, verdict.NotObserved, verdict.NotAssessable} {
		from := len(rows)
		for _, s := range d.Signals {
			if s.State != state {
				continue
			}
			name := s.Signal
			if state == verdict.Judged {
				name += fmt.Sprintf(" %d×", s.Judged)
			}
			i := slices.IndexFunc(rows[from:], func(r stateRow) bool { return r.why == s.Why })
			if i < 0 {
				rows = append(rows, stateRow{strings.ReplaceAll(state, "_", " "), s.Why, name})
				continue
			}
			rows[from+i].text += ", " + name
		}
	}
	for i := range rows {
		if rows[i].why != "" {
			rows[i].text += ": " + rows[i].why
		}
	}
	return rows
}

// inputs writes what was read. Files of a directory that were left out are only counted.
func (p *page) inputs(r *Report) {
	if len(r.Inputs) == 0 {
		return
	}
	p.heading("Inputs")
	ignored := 0
	for i := range r.Inputs {
		in := &r.Inputs[i]
		if !in.named && in.Format == "" && in.Error == "" && len(in.Notes) == 1 && strings.HasPrefix(in.Notes[0], "ignored:") && len(r.Inputs) > 1 {
			ignored++
			continue
		}
		p.input(in)
	}
	if ignored > 0 {
		p.para("  ", plural(ignored, "other file was", "other files were")+" left out: not recognised, or links; the JSON report names them", p.dim)
	}
}

func (p *page) input(in *Input) {
	kind := cmp.Or(strings.Join(nonEmpty(append([]string{in.Format}, in.Wrappers...)...), " in "), "not read")
	p.para("  ", escape(in.Path)+"  ·  "+escape(kind), lipgloss.Style{})
	var parts []string
	once, twice := "read in the file before", "read in the file before"
	if in.Format == "pcap" {
		once, twice = "packet captured twice", "packets captured twice"
	}
	if in.Records > 0 {
		parts = append(parts, records(in))
	}
	for _, c := range []struct {
		n         int64
		one, many string
	}{
		{in.Used, "used", "used"}, {in.Ignored - in.Repeated, "without MCP", "without MCP"}, {in.Repeated, once, twice}, {in.Malformed, "malformed", "malformed"},
		{in.Conns, "connection", "connections"}, {in.Gaps, "gap", "gaps"}, {in.BackSteps, "step back in time", "steps back in time"},
	} {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.one)
		case c.n > 1:
			parts = append(parts, grouped(c.n)+" "+c.many)
		}
	}
	if s := span(in.First, in.Last); s != "" {
		parts = append(parts, s)
	}
	if len(parts) > 0 {
		p.para("    ", strings.Join(parts, " · "), p.dim)
	}
	if in.Error != "" {
		p.para("    ! ", in.Error, p.yellow)
	}
	for _, n := range in.Notes {
		p.para("    ", strings.TrimPrefix(n, signals.NoteSameInputTwice+": "), lipgloss.Style{})
	}
	for _, q := range in.Problems[:min(len(in.Problems), maxProblemLines)] {
		p.para(fmt.Sprintf("    %s %d: ", q.At.Unit, q.At.N), q.Text, lipgloss.Style{})
	}
	if more := len(in.Problems) - maxProblemLines; more > 0 {
		p.para("    ", fmt.Sprintf("and %d more", more), p.dim)
	}
}

func records(in *Input) string {
	one := "record"
	if in.Format == "pcap" {
		one = "packet"
	}
	if in.Records == 1 {
		return "1 " + one
	}
	return grouped(in.Records) + " " + one + "s"
}

// maxProblemLines is how many malformed records of an input the text names.
const maxProblemLines = 3

// grouped writes a number with its digits grouped in threes.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// naturally compares names so that S2 comes before S10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		if isDigit(a) && isDigit(b) {
			x, y := digits(a), digits(b)
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if c := cmp.Compare(a[0], b[0]); c != 0 {
			return c
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(s string) bool { return unicode.IsDigit(rune(s[0])) }

func digits(s string) string {
	n := 0
	for n < len(s) && isDigit(s[n:]) {
		n++
	}
	return s[:n]
}
