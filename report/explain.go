package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/signals"
)

// Catalogue writes the list of all signals.
func Catalogue(w io.Writer, st Style) error {
	p := newPage(w, st)
	for _, s := range signals.All() {
		p.para(paint(p.bold, pad(s.Name, nameColumn)), s.Title+" ("+string(s.Family)+")", lipgloss.Style{})
	}
	p.blank()
	p.line("isodetect explain SIGNAL tells more about one of them.")
	return p.err
}

// Explain writes one entry of the catalogue.
func Explain(w io.Writer, s *signals.Signal, st Style) error {
	p := newPage(w, st)
	p.line(p.bold.Render(s.Name), "  ", s.Title)
	p.para("", strings.Join(nonEmpty("family "+string(s.Family), "since "+s.Since, strings.Join(s.Protocol, " ")), " · "), p.dim)
	p.blank()
	p.para("", s.What, lipgloss.Style{})
	if len(s.Variants) > 0 {
		p.heading("Variants")
		for _, v := range s.Variants {
			what := v.What
			if v.Family != "" && v.Family != s.Family {
				what += " Family: " + string(v.Family) + "."
			}
			p.entry(v.Name, what)
		}
	}
	p.heading("Who is who")
	p.entry(nameOfCause(s), s.Cause)
	p.entry("victim", s.Victim)
	if len(s.Looks) > 0 {
		p.heading("How it looks")
		for _, l := range s.Looks {
			p.entry(l.Input, l.Text)
		}
	}
	p.bullets("What looks like it and is not reported", s.LookAlike)
	p.bullets("What it takes to judge it", s.Needs)
	p.heading("What a log must hold")
	p.para("  ", s.Log, lipgloss.Style{})
	p.heading("What to change")
	p.para("  ", s.Remedy, lipgloss.Style{})
	if s.Client != "" {
		p.blank()
		p.para("  In the client: ", s.Client, lipgloss.Style{})
	}
	if s.Example != "" {
		p.heading("Example")
		p.line("  isodetect scan samples/", s.Example)
		p.blank()
		for line := range strings.Lines(s.Witness()) {
			p.line("  ", strings.TrimSuffix(line, "\n"))
		}
	}
	return p.err
}

// nameOfCause is the role, behind what a text calls it.
func nameOfCause(s *signals.Signal) string {
	if s.Word == "" {
		return signals.Cause.String()
	}
	return s.Word + " (" + signals.Cause.String() + ")"
}

func (p *page) entry(name, text string) {
	p.para("  "+pad(name, 22), text, lipgloss.Style{})
}

func (p *page) bullets(title string, list []string) {
	if len(list) == 0 {
		return
	}
	p.heading(title)
	for _, s := range list {
		p.para("  • ", s, lipgloss.Style{})
	}
}

// Formats writes the list of input formats.
func Formats(w io.Writer, formats []source.Format, wrappers []source.Form, st Style) error {
	p := newPage(w, st)
	for i := range formats {
		f := &formats[i]
		if i > 0 {
			p.blank()
		}
		p.line(p.bold.Render(f.Name), "  ", f.Title)
		p.para("  carries  ", f.Carries, lipgloss.Style{})
		p.para("  checked  ", checked(f.Checked), lipgloss.Style{})
		for _, form := range f.Forms {
			p.para("  form     ", form.Name+": "+form.Title+". Carries "+form.Carries+"; checked "+checked(form.Checked)+".", lipgloss.Style{})
		}
	}
	if len(wrappers) > 0 {
		p.blank()
		p.line(p.bold.Render("wrappers"), "  around the lines of a log, up to five in each other, in any order")
	}
	for _, w := range wrappers {
		p.para("  wrapper  ", w.Name+": "+w.Title+"; checked "+checked(w.Checked)+".", lipgloss.Style{})
	}
	p.blank()
	p.para("", "Formats are recognised by content, after gzip, zstd and bzip2. --input-format FORMAT overrides.", p.dim)
	return p.err
}

func checked(how string) string {
	switch how {
	case "real":
		return "against output of the real tool"
	case "docs":
		return "from documentation only"
	}
	return fmt.Sprintf("%q", how)
}
