package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Text writes the report for a person who is on call: the verdict and who is
// affected first, then every finding as a witness, then what to change, what
// could not be judged, and what was read.
func Text(w io.Writer, r *Report, st Style) error {
	p := newPage(w, st)
	if st.Quiet {
		p.width = math.MaxInt32 // one line, for scripts
		p.verdict(r)
		return p.err
	}
	p.several = len(r.Domains) > 1
	p.verdict(r)
	p.affected(r)
	p.overview(r)
	for i := range r.Findings {
		if j := likeBefore(r, i); j >= 0 {
			p.again(i+1, j+1, &r.Findings[i])
			continue
		}
		p.finding(i+1, &r.Findings[i])
	}
	p.hidden(r)
	p.baseline(r)
	p.boundary(r)
	p.notes(r)
	p.domains(r)
	p.inputs(r)
	return p.err
}

// verdict writes the first line: the outcome in words.
func (p *page) verdict(r *Report) {
	v := &r.Verdict
	word, style := "INCONCLUSIVE", p.yellow
	switch v.Outcome {
	case verdict.OutcomeSignals:
		word, style = "ISOLATION FAILURE", p.red
		if v.ExitCode == 1 && !r.fails() {
			word = "GATE FAILED"
		}
	case verdict.OutcomeClean:
		word, style = "CLEAN", p.green
	case verdict.OutcomeError:
		word, style = "INPUT ERROR", p.red
	}
	head := paint(style, word)
	why := escape(v.Why)
	if v.Outcome == verdict.OutcomeSignals {
		why = strings.Join(nonEmpty(strings.Join(counted(r), ", "), why), " · ")
	}
	if v.Below != "" && v.Outcome == verdict.OutcomeClean {
		word, why = "BELOW THRESHOLD", v.Below+" · "+why
		head = paint(p.yellow, word)
	}
	if why == "" {
		p.line(head)
		return
	}
	lines := wrap(why, p.width-lipgloss.Width(word)-2)
	for i, l := range lines {
		if i > 0 {
			head = strings.Repeat(" ", lipgloss.Width(word))
		}
		p.line(head, "  ", l)
	}
}

// fails reports whether any finding fails the run, shown or not.
func (r *Report) fails() bool {
	return r.Failing > 0 || slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fails })
}

// counted tells how many findings there are of each strength.
func counted(r *Report) []string {
	var out []string
	for s := signals.Confirmed; s > signals.None; s-- {
		n := 0
		for i := range r.Findings {
			if r.Findings[i].Strength == s.String() && r.Findings[i].Rejected == "" && r.Findings[i].Suppressed == "" {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, s))
		}
	}
	return out
}

// affected writes, for each domain with findings, whom they hit and when.
func (p *page) affected(r *Report) {
	for i := range r.Domains {
		d := &r.Domains[i]
		who := map[string][]string{} // what the role is called → parties in order of appearance
		first, last, n := "", "", 0
		for j := range r.Findings {
			f := &r.Findings[j]
			if f.Domain != d.ID || f.Rejected != "" || f.Suppressed != "" {
				continue
			}
			n++
			for _, q := range f.Parties {
				word, name := roleWord(f, q.Role), partyName(q)
				if !slices.Contains(who[word], name) {
					who[word] = append(who[word], name)
				}
			}
			if f.FirstSeen != "" && (first == "" || f.FirstSeen < first) {
				first = f.FirstSeen
			}
			last = max(last, f.LastSeen)
		}
		if n == 0 {
			continue
		}
		p.blank()
		p.para("  Endpoint  ", escape(d.ID), p.bold)
		p.para("  Affected  ", someOf(who["victim"], d.Parties), p.bold)
		p.para("  Cause     ", someOf(who["cause"], 0), lipgloss.Style{})
		p.para("  Receiver  ", someOf(who["receiver"], 0), lipgloss.Style{})
		p.para("  Donor     ", someOf(who["donor"], 0), lipgloss.Style{})
		p.para("  Perhaps   ", someOf(who["candidate"], 0), lipgloss.Style{})
		p.para("  When      ", span(first, last), lipgloss.Style{})
	}
}

func title(f *Finding) string {
	if f.Variant == "" {
		return escape(f.Signal)
	}
	return escape(f.Signal + " · " + f.Variant)
}

func times(f *Finding) string {
	if f.Count < 2 {
		return ""
	}
	return fmt.Sprintf("  ×%d", f.Count)
}

// maxNamed is how many parties the head of a report names.
const maxNamed = 12

func someOf(names []string, of int) string {
	if len(names) == 0 {
		return ""
	}
	slices.SortFunc(names, naturally)
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if of > 1 {
		text += fmt.Sprintf(" (%d of %s)", len(names), plural(of, "party", "parties"))
	}
	return text
}

func partyName(q Party) string {
	switch {
	case q.Session != "":
		return escape(q.Alias + " " + q.Session)
	case q.Party != "":
		return escape(q.Alias + " " + q.Party)
	}
	return escape(q.Alias)
}

// hidden tells what --show would bring.
func (p *page) hidden(r *Report) {
	var parts []string
	for _, w := range r.sortedHidden() {
		n, what := r.Hidden[w], w
		if n == 1 && w == "notes" {
			what = "note"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, what))
	}
	if len(parts) > 0 {
		p.blank()
		p.para("", "Not shown: "+strings.Join(parts, ", ")+" (--show "+strings.Join(r.sortedHidden(), ",")+").", p.dim)
	}
	if r.Unselected > 0 {
		p.blank()
		text := "Not selected by --where: " + plural(r.Unselected, "finding", "findings")
		if r.Failing > 0 {
			text += fmt.Sprintf(", of which %s the run", plural(r.Failing, "fails", "fail"))
		}
		p.para("", text+".", p.dim)
	}
}

// baseline writes the entries of the baseline that are over.
func (p *page) baseline(r *Report) {
	if len(r.Baseline) == 0 {
		return
	}
	p.heading("Baseline")
	for i, e := range r.Baseline {
		if i == maxNamed {
			p.para("  ", fmt.Sprintf("and %d more", len(r.Baseline)-i), p.dim)
			break
		}
		p.para("  "+pad(e.State, 10)+" "+e.Entry+"  ", e.Why, lipgloss.Style{})
	}
}

// boundary writes what class of repair the findings call for, once per family.
func (p *page) boundary(r *Report) {
	fams := families(r)
	if len(fams) == 0 {
		return
	}
	p.heading("What to change")
	for i, fam := range fams {
		if i > 0 {
			p.blank()
		}
		p.line("  ", p.bold.Render(string(fam)), p.dim.Render("  "+findingsOf(r, fam)))
		p.para("    ", signals.FamilyText(fam), lipgloss.Style{})
		for _, s := range signals.All() {
			if remedy := remedyOf(r, fam, s.Name); remedy != "" {
				p.para("    "+pad(s.Name, 22)+"  ", remedy, lipgloss.Style{})
			}
		}
	}
}

func findingsOf(r *Report, fam signals.Family) string {
	var ns []string
	for i := range r.Findings {
		if r.Findings[i].Family == string(fam) && r.Findings[i].Rejected == "" {
			ns = append(ns, fmt.Sprint(i+1))
		}
	}
	switch {
	case len(ns) == 0:
		return ""
	case len(ns) == 1:
		return "finding " + ns[0]
	case len(ns) > 8:
		return fmt.Sprintf("%d findings", len(ns))
	}
	return "findings " + strings.Join(ns, ", ")
}

func remedyOf(r *Report, fam signals.Family, signal string) string {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Family == string(fam) && f.Signal == signal && f.Rejected == "" {
			return f.Remedy
		}
	}
	return ""
}

func (p *page) notes(r *Report) {
	if len(r.Notes) == 0 {
		return
	}
	p.heading("Notes")
	for _, n := range r.Notes {
		text := escape(n.Text)
		if n.Count > 1 {
			text += fmt.Sprintf(" (%d times)", n.Count)
		}
		if n.Domain != "" && len(r.Domains) > 1 {
			text += " In " + escape(n.Domain) + "."
		}
		p.para("  "+pad(n.Kind, 24)+"  ", text, lipgloss.Style{})
	}
}
