package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/signals"
)

// overviewFrom is from how many findings on a list of them comes first.
const overviewFrom = 4

// Columns of the list. What a finding is called gives way to who and how often.
const (
	numberColumn   = 6
	strengthColumn = 11
	maxTitle       = 40
	minTitle       = 8
	maxAlias       = 12
	shortAlias     = 7
)

// overview lists the findings, one a line. Nothing is cut without a mark.
func (p *page) overview(r *Report) {
	if len(r.Findings) < overviewFrom {
		return
	}
	room := p.width - numberColumn - strengthColumn - 2
	titles := 0
	for i := range r.Findings {
		titles = min(maxTitle, max(titles, lipgloss.Width(title(&r.Findings[i]))))
	}
	who, longest := make([]string, len(r.Findings)), 0
	for i := range r.Findings {
		f := &r.Findings[i]
		left := room - minTitle - lipgloss.Width(times(f))
		if who[i] = parties(f, false); lipgloss.Width(who[i]+times(f)) > room-titles {
			who[i] = ellipsis(parties(f, true), left)
		}
		who[i] += times(f)
		longest = max(longest, lipgloss.Width(who[i]))
	}
	titles = max(minTitle, min(titles, room-longest))
	p.blank()
	for i := range r.Findings {
		f := &r.Findings[i]
		strength := f.Strength
		if f.Rejected != "" {
			strength = "rejected"
		}
		p.line(pad(fmt.Sprintf("  %d", i+1), numberColumn), pad(strength, strengthColumn), pad(ellipsis(title(f), titles), titles), "  ", who[i])
	}
}

// parties names who has which part in a finding. short names one of each part and counts the others.
func parties(f *Finding, short bool) string {
	var parts []string
	var words []string
	more, room := map[string]int{}, maxAlias
	if short {
		room = shortAlias
	}
	for _, q := range f.Parties {
		word := roleWord(f, q.Role)
		switch {
		case q.Role == signals.Context.String():
		case short && slices.Contains(words, word):
			more[word]++
		default:
			words = append(words, word)
			parts = append(parts, ellipsis(escape(q.Alias), room))
		}
	}
	for i, word := range words {
		if more[word] > 0 {
			parts[i] += fmt.Sprintf(" +%d", more[word])
		}
		parts[i] += " " + word
	}
	return strings.Join(parts, ", ")
}

// ellipsis shortens a text to a width, and says so.
func ellipsis(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	return strings.TrimRight(shorten(s, width-1), " ") + "…"
}
