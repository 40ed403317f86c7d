package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/signals"
)

// finding writes one finding as a witness: what was seen, then why it follows,
// then what must be keyed wrongly.
func (p *page) finding(n int, f *Finding) {
	p.findingHead(n, f)
	p.evidence(f)
	p.conclusion(f)
}

// likeBefore is the first finding before r.Findings[i] with the same fault and
// strength in the same domain, which differs in its parties only; -1 if there is none.
func likeBefore(r *Report, i int) int {
	f := &r.Findings[i]
	return slices.IndexFunc(r.Findings[:i], func(g Finding) bool {
		return g.Fingerprint == f.Fingerprint && g.Strength == f.Strength && g.Rejected == f.Rejected && g.Suppressed == f.Suppressed && g.Domain == f.Domain
	})
}

// again writes a finding whose witness reads like that of an earlier one: what
// happened and where to see it.
func (p *page) again(n, before int, f *Finding) {
	p.findingHead(n, f)
	p.blank()
	p.para("   ", fmt.Sprintf("The witness reads as in finding %d:", before), lipgloss.Style{})
	for i := range f.Evidence {
		e := &f.Evidence[i]
		p.para(fmt.Sprintf("   [%d] ", i+1), strings.Join(nonEmpty(clock(e.Time, e.Until), byWhom(f, e), where(e)), "  "), lipgloss.Style{})
	}
	p.wireshark(f)
}

func (p *page) findingHead(n int, f *Finding) {
	p.blank()
	strength := strings.ToUpper(f.Strength)
	if f.Rejected != "" {
		strength += ", REJECTED: " + escape(f.Rejected)
	}
	if f.Suppressed != "" {
		strength += ", KNOWN"
	}
	number, name := fmt.Sprintf("%d  ", n), title(f)+times(f)
	if lipgloss.Width(number+strength+"  "+name) <= p.width {
		p.line(p.bold.Render(number), p.strength(f).Render(strength), "  ", p.bold.Render(name))
	} else {
		p.line(p.bold.Render(number), p.strength(f).Render(strength))
		p.para("   ", name, p.bold)
	}
	p.findingText(f)
}

// findingText writes what happened, to whom, when and where.
func (p *page) findingText(f *Finding) {
	p.para("   ", sentence(f.Summary), lipgloss.Style{})
	brief := facts(f)
	if p.several && f.Domain != "" {
		brief = append(brief, "at "+escape(f.Domain))
	}
	p.para("   ", strings.Join(brief, " · "), p.dim)
	if f.Suppressed != "" {
		p.para("   accepted by the baseline: ", f.Suppressed, p.dim)
	}
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

func (p *page) strength(f *Finding) lipgloss.Style {
	switch {
	case f.Rejected != "", f.Suppressed != "":
		return p.dim
	case f.Strength == signals.Confirmed.String():
		return p.red
	case f.Strength == signals.Probable.String():
		return p.yellow
	}
	return p.bold
}

// facts are the short facts of a finding: who, what, when, where.
func facts(f *Finding) []string {
	var out []string
	for _, q := range f.Parties {
		out = append(out, escape(q.Alias)+" "+roleWord(f, q.Role))
	}
	call := f.Method
	if f.Tool != "" {
		call += " " + f.Tool
	}
	if call != "" {
		out = append(out, escape(call))
	}
	for _, l := range []struct {
		name   string
		values []string
	}{{"id", f.RequestIDs}, {"token", f.Tokens}, {"uri", f.URIs}} {
		if len(l.values) > 0 {
			out = append(out, l.name+" "+escape(strings.Join(l.values[:min(len(l.values), 4)], ", ")))
		}
	}
	if s := span(f.FirstSeen, f.LastSeen); s != "" {
		out = append(out, s)
	}
	return out
}

// evidence writes the numbered records, each with its place and what shows it.
func (p *page) evidence(f *Finding) {
	for i := range f.Evidence {
		e := &f.Evidence[i]
		p.blank()
		head := fmt.Sprintf("   [%d] ", i+1)
		indent := strings.Repeat(" ", len(head))
		what := strings.Join(nonEmpty(clock(e.Time, e.Until), byWhom(f, e)), "  ")
		if e.Says != "" {
			what += ": " + e.Says
		}
		p.para(head, what, lipgloss.Style{})
		if i == 0 || e.Source != f.Evidence[i-1].Source || e.At != f.Evidence[i-1].At {
			p.place(indent, e)
		} else {
			p.para(indent, where(e), p.cyan) // its command stands above
		}
		if e.Excerpt != "" {
			p.excerpt(indent, e.Excerpt)
		}
	}
	p.wireshark(f)
}

// maxExcerptLines is how many lines of an excerpt the text shows; the JSON report has all.
const maxExcerptLines = 4

func (p *page) excerpt(indent, text string) {
	lines := fold(text, p.width-len(indent)-2)
	if len(lines) > maxExcerptLines {
		lines = lines[:maxExcerptLines]
		lines[maxExcerptLines-1] = strings.TrimRight(shorten(lines[maxExcerptLines-1], p.width-len(indent)-3), " ") + "…"
	}
	for _, l := range lines {
		p.line(indent, p.dim.Render("│ "), l)
	}
}

func shorten(s string, width int) string {
	for lipgloss.Width(s) > width {
		r := []rune(s)
		s = string(r[:len(r)-1])
	}
	return s
}

// byWhom is party and role of a piece of evidence.
func byWhom(f *Finding, e *Evidence) string {
	return strings.TrimSpace(escape(e.Party) + " " + roleWord(f, e.Role))
}

// roleWord is what a text calls a role: a cause that only received is no cause to a reader.
func roleWord(f *Finding, role string) string {
	if role != signals.Cause.String() {
		return role
	}
	for _, s := range signals.All() {
		if s.Name == f.Signal {
			return s.RoleWord(f.Variant, signals.Cause)
		}
	}
	return role
}

func where(e *Evidence) string {
	return fmt.Sprintf("%s, %s %d", escape(e.Source), e.At.Unit, e.At.N)
}

// place writes where a record stands, and the command that shows it.
func (p *page) place(indent string, e *Evidence) {
	at := where(e)
	if e.At.Unit == "frame" || e.Locate == "" {
		p.para(indent, at, p.cyan)
		return
	}
	if both := at + "   " + e.Locate; lipgloss.Width(both) <= p.width-len(indent) {
		p.command(indent, both)
		return
	}
	p.para(indent, at, p.cyan)
	p.command(indent, e.Locate)
}

// wireshark writes one display filter for all frames of a capture that a finding shows.
func (p *page) wireshark(f *Finding) {
	var sources []string
	frames := map[string][]string{}
	for i := range f.Evidence {
		e := &f.Evidence[i]
		if e.At.Unit != "frame" {
			continue
		}
		if frames[e.Source] == nil {
			sources = append(sources, e.Source)
		}
		if n := fmt.Sprint(e.At.N); !slices.Contains(frames[e.Source], n) {
			frames[e.Source] = append(frames[e.Source], n)
		}
	}
	head := "   Wireshark  "
	for i, source := range sources {
		if i == 0 {
			p.blank()
		}
		filter := "frame.number in {" + strings.Join(frames[source], ", ") + "}"
		if len(frames[source]) == 1 {
			filter = "frame.number == " + frames[source][0]
		}
		if len(sources) > 1 {
			filter += "   in " + escape(source)
		}
		p.command(head, filter)
		head = "              "
	}
}

// conclusion writes the argument from the evidence to the fault.
func (p *page) conclusion(f *Finding) {
	if len(f.Because)+len(f.Assumption)+len(f.Family) > 0 {
		p.blank()
	}
	because, therefore := f.Because, ""
	if n := len(because); n > 0 && strings.HasPrefix(because[n-1], "so ") {
		because, therefore = because[:n-1], strings.TrimPrefix(because[n-1], "so ")
	}
	head := "   because    "
	for _, b := range because {
		p.para(head, b, lipgloss.Style{})
		head = "       and    "
	}
	if therefore == "" {
		therefore = fault(f)
	}
	if therefore != "" {
		p.para("   therefore  ", therefore, p.bold)
	}
	if f.Assumption != "" {
		p.para("   assuming   ", f.Assumption, lipgloss.Style{})
	}
	if f.Rejected != "" {
		p.para("   however    ", "the condition "+f.Rejected+" does not hold, so this is not counted", lipgloss.Style{})
	}
}

// fault is what the family of a finding says must be wrong, "" where nothing follows.
func fault(f *Finding) string {
	if f.Rejected != "" || f.Strength == signals.Hazard.String() {
		return ""
	}
	text, _, _ := strings.Cut(signals.FamilyText(signals.Family(f.Family)), ". ")
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + strings.TrimSuffix(text[1:], ".")
}

func nonEmpty(list ...string) []string {
	out := list[:0]
	for _, s := range list {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

// clock is the time of a record without its date, in UTC; an interval as its two ends.
func clock(from, until string) string {
	t, err := time.Parse(time.RFC3339Nano, from)
	if err != nil {
		return ""
	}
	s := t.Format(clockLayout(t))
	if u, err := time.Parse(time.RFC3339Nano, until); err == nil {
		s += "–" + u.Format(clockLayout(u))
	}
	return s
}

// clockLayout shows milliseconds, and microseconds where the stamp has them.
func clockLayout(t time.Time) string {
	if t.Nanosecond()%1e6 != 0 {
		return "15:04:05.000000"
	}
	return "15:04:05.000"
}

// span is a time span with its date, in UTC.
func span(first, last string) string {
	a, err := time.Parse(time.RFC3339Nano, first)
	if err != nil {
		return ""
	}
	s := a.Format("2006-01-02 15:04:05.000")
	b, err := time.Parse(time.RFC3339Nano, last)
	switch {
	case err != nil || b.Sub(a) < time.Millisecond:
		return s + " UTC"
	case a.Format(time.DateOnly) == b.Format(time.DateOnly):
		s += b.Format(" – 15:04:05.000")
	default:
		s += b.Format(" – 2006-01-02 15:04:05.000")
	}
	return s + " UTC"
}
