package pattern

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxProposals bounds a proposed file.
const maxProposals = 100

// Propose returns a file of patterns to begin with, and how many patterns it
// holds. It can be loaded as it is. Nothing that stood in a line is in it but
// words of its wording: no ids, numbers or values.
func (s *Suggestions) Propose() (doc []byte, n int) {
	all, lost := s.merged()
	var left int64
	if len(all) > maxProposals {
		for _, g := range all[maxProposals:] {
			left += g.lines
		}
		all = all[:maxProposals]
	}
	var b strings.Builder
	b.WriteString(`# Patterns proposed from lines that carry ids, sessions, tokens or methods and were
# not understood, the most frequent first. Say what each means: an event of
# docs/patterns.md in place of "ignored", and {session}, {id}, {token} … in place
# of {}; take out what is noise. Then hold it against the log:
# isodetect inspect --patterns FILE LOG
`)
	if left += lost; left > 0 {
		fmt.Fprintf(&b, "# %d more lines, of rarer wordings, are not in here.\n", left)
	}
	b.WriteString("version: 1\npatterns:")
	if len(all) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	used := map[string]int{}
	for _, g := range all {
		g.write(&b, used)
	}
	return []byte(b.String()), len(all)
}

// write writes one proposal.
func (g *seen) write(b *strings.Builder, used map[string]int) {
	e := eventOf(g.Event)
	if e == nil || !harmless[e.Kind] || len(g.lacks(e)) > 0 {
		e = eventOf("ignored")
	}
	lines := "1 line"
	if g.lines != 1 {
		lines = fmt.Sprintf("%d lines", g.lines)
	}
	fmt.Fprintf(b, "\n  # %s; the first is line %d of %s\n", lines, g.row, comment(g.path))
	if e.Kind == Ignored {
		g.perhaps(b)
	}
	fmt.Fprintf(b, "  - name: %s\n", quote(g.name(used)))
	taken := map[string]bool{}
	if g.Line != "" {
		fmt.Fprintf(b, "    line: %s\n", quote(g.fillIn(e, taken)))
	}
	g.writeKeys(b, "    ", e, taken)
	fmt.Fprintf(b, "    event: %s", e.Name)
	if e.Kind == Ignored {
		b.WriteString(" # which one is it?")
	}
	b.WriteString("\n")
	g.writeMethod(b, "", e, taken)
}

// harmless are the events that a proposal says by itself: alone they prove
// nothing. The others decide, so that a person has to say them.
var harmless = map[Kind]bool{SessionCreated: true, SessionClosed: true, Request: true}

// writeMethod says the method of a call that names its tool only.
func (g *seen) writeMethod(b *strings.Builder, before string, e *Event, taken map[string]bool) {
	if slices.Contains(e.Must, "method") && !taken["method"] {
		b.WriteString(before + "    fields:\n" + before + "      method: tools/call\n")
	}
}

// perhaps says in comments what a line may mean and what its parts seem to be.
func (g *seen) perhaps(b *strings.Builder) {
	e := eventOf(g.Event)
	if e != nil && len(g.lacks(e)) == 0 {
		taken := map[string]bool{}
		b.WriteString("  # perhaps:\n")
		if g.Line != "" {
			fmt.Fprintf(b, "  #   line: %s\n", quote(g.fillIn(e, taken)))
		}
		g.writeKeys(b, "  #   ", e, taken)
		fmt.Fprintf(b, "  #   event: %s\n", e.Name)
		g.writeMethod(b, "  # ", e, taken)
		return
	}
	if e != nil {
		fmt.Fprintf(b, "  # perhaps %s, which needs %s as well\n", e.Name, strings.Join(g.lacks(e), " and "))
	}
	if slices.ContainsFunc(g.Holes, func(f string) bool { return f != "" }) {
		every := &Event{}
		for _, f := range Fields {
			every.May = append(every.May, f.Name)
		}
		fmt.Fprintf(b, "  # it seems to be %s\n", quote(g.fillIn(every, map[string]bool{})))
	}
}

// lacks lists the fields that an event must have and that the wording does not show.
func (g *seen) lacks(e *Event) (lacks []string) {
	for _, must := range e.Must {
		has := slices.Contains(g.Holes, must) || slices.ContainsFunc(g.Keys, func(k Hint) bool { return k.Field == must })
		if !has && !(must == "method" && g.Event == "request" && g.toolCall()) {
			lacks = append(lacks, must)
		}
	}
	return lacks
}

// toolCall reports a wording that names a tool, so that its method is known.
func (g *seen) toolCall() bool {
	return slices.Contains(g.Holes, "tool") || slices.ContainsFunc(g.Keys, func(k Hint) bool { return k.Field == "tool" })
}

// fillIn names the placeholders of the template that are fields of an event.
func (g *seen) fillIn(e *Event, taken map[string]bool) string {
	var b strings.Builder
	rest := g.Line
	for _, f := range g.Holes {
		before, after, _ := strings.Cut(rest, "{}")
		b.WriteString(before)
		if f != "" && !taken[f] && slices.Contains(e.all(), f) {
			taken[f] = true
			b.WriteString("{" + f + "}")
		} else {
			b.WriteString("{}")
		}
		rest = after
	}
	return b.String() + rest
}

// writeKeys writes the keys of a wording; before stands in front of each line.
func (g *seen) writeKeys(b *strings.Builder, before string, e *Event, taken map[string]bool) {
	if len(g.Keys) > 0 {
		b.WriteString(before + "keys:\n")
	}
	for _, k := range g.Keys {
		text := Escape(k.Text)
		if k.Field != "" {
			text = "{}"
			if !taken[k.Field] && slices.Contains(e.all(), k.Field) {
				taken[k.Field] = true
				text = "{" + k.Field + "}"
			}
		}
		fmt.Fprintf(b, "%s  %s: %s", before, quote(k.Path), quote(text))
		if text == "{}" {
			fmt.Fprintf(b, " # {%s}?", k.Field)
		}
		b.WriteString("\n")
	}
}

// name makes a name of the words of a wording.
func (g *seen) name(used map[string]int) string {
	text := g.Line
	for _, k := range g.Keys {
		if k.Field == "" {
			text += " " + k.Text
		}
	}
	words := strings.FieldsFunc(text, func(c rune) bool {
		return c < 0x80 && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	})
	name := strings.ToValidUTF8(strings.Join(words[:min(len(words), 6)], " "), "")
	if len(name) > 60 || name == "" {
		name = "wording"
	}
	used[name]++
	if n := used[name]; n > 1 {
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}

// quote writes a text as YAML and JSON both read it.
func quote(s string) string {
	q, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(q))
	return strings.Map(func(c rune) rune { // what YAML takes for control characters
		if c >= 0x7f && c < 0xa0 || c == 0xfeff || c >= 0xfffe && c <= 0xffff {
			return '?'
		}
		return c
	}, text)
}

// comment makes a text fit for one line of a comment.
func comment(s string) string {
	return strings.Trim(quote(s), `"`)
}
