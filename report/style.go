package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Style says how a text looks.
type Style struct {
	Width int  // columns
	Color bool // without, no escape sequence is written
	Quiet bool // the verdict only
}

// The width of a text is kept between these, whatever the terminal says: a line
// longer than maxWidth is hard to read.
const (
	minWidth = 60
	maxWidth = 120
)

// page writes a text in lines that fit its width. The first error of the writer is kept.
type page struct {
	w     io.Writer
	width int
	err   error

	several bool // the report is about several domains: each finding names its own

	bold, dim, red, yellow, green, cyan lipgloss.Style
}

func newPage(w io.Writer, st Style) *page {
	r := lipgloss.NewRenderer(w, termenv.WithUnsafe())
	r.SetColorProfile(termenv.Ascii)
	r.SetHasDarkBackground(true) // never ask the terminal
	if st.Color {
		r.SetColorProfile(termenv.ANSI)
	}
	s := func(color string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(color)) }
	return &page{
		w: w, width: min(max(st.Width, minWidth), maxWidth),
		bold: r.NewStyle().Bold(true), dim: r.NewStyle().Faint(true),
		red: s("1").Bold(true), yellow: s("3").Bold(true), green: s("2").Bold(true), cyan: s("6"),
	}
}

// line writes one line as it is.
func (p *page) line(parts ...string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(strings.Join(parts, ""), " ")+"\n")
	}
}

func (p *page) blank() { p.line() }

// para writes a text wrapped to the width. The first line begins with head, the
// others with as many blanks. Each line is painted by style.
func (p *page) para(head, text string, style lipgloss.Style) {
	indent := strings.Repeat(" ", lipgloss.Width(head))
	for _, l := range wrap(text, p.width-len(indent)) {
		p.line(head, paint(style, l))
		head = indent
	}
}

// command writes a command in one line, however long: a broken one cannot be copied.
func (p *page) command(head, cmd string) { p.line(head, paint(p.cyan, cmd)) }

// Entry writes a name and, from the given column on, a text in lines of at most width columns.
func Entry(w io.Writer, name, text string, column, width int) error {
	p := newPage(w, Style{Width: width})
	if lipgloss.Width(name) >= column {
		p.line(name)
		name = ""
	}
	p.para(pad(name, column), text, lipgloss.Style{})
	return p.err
}

// heading writes the title of a section.
func (p *page) heading(title string) {
	p.blank()
	p.line(p.bold.Render(title))
	p.blank()
}

func paint(style lipgloss.Style, s string) string {
	if s == "" {
		return ""
	}
	return style.Render(s)
}

// wrap breaks a text into lines of at most width columns, between words where it
// can, and keeps runs of blanks inside a line. It returns no line for an empty text.
func wrap(text string, width int) []string {
	width = max(width, 8)
	var lines []string
	line, used := "", 0
	push := func() { lines, line, used = append(lines, line), "", 0 }
	for text = flat(text); text != ""; {
		word := strings.TrimLeft(text, " ")
		gap := len(text) - len(word)
		end := strings.IndexByte(word, ' ')
		if end < 0 {
			end = len(word)
		}
		word, text = word[:end], word[end:]
		w := lipgloss.Width(word)
		if used > 0 && used+gap+w > width {
			push()
		}
		if used > 0 {
			line, used = line+strings.Repeat(" ", gap), used+gap
		}
		for w > width-used {
			head, rest := split(word, width-used)
			line += head
			push()
			word, w = rest, lipgloss.Width(rest)
		}
		line, used = line+word, used+w
	}
	if used > 0 {
		push()
	}
	return lines
}

// flat turns line feeds and tabs into blanks and drops those at the ends.
func flat(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, s), " ")
}

// fold breaks a text that is data, not prose: lines are filled, and broken behind
// a blank or comma if one is near the end.
func fold(text string, width int) []string {
	width = max(width, 8)
	var lines []string
	for text != "" {
		head, rest := split(text, width)
		lines, text = append(lines, head), rest
	}
	return lines
}

// split divides a text that is wider than width, behind a divider if one is near the end.
func split(text string, width int) (head, rest string) {
	used, at, soft := 0, len(text), 0
	for i, r := range text {
		w := lipgloss.Width(string(r))
		if used+w > width {
			at = i
			break
		}
		used += w
		if used*5 > width*3 && strings.ContainsRune(" ,;/&|", r) {
			soft = i + len(string(r))
		}
	}
	switch {
	case at == len(text):
	case at == 0: // not even one rune fits
		at = len(text)
	case soft > 0:
		at = soft
	}
	return text[:at], text[at:]
}

// pad fills s with blanks to a width.
func pad(s string, width int) string {
	if n := width - lipgloss.Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
