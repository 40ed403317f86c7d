package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/signals"
)

// Who has which part, and how often, stands in the list at every width; names give
// way, with a mark.
func TestOverview(t *testing.T) {
	res, in := incident()
	one := res.Findings[0]
	res.Findings = nil
	add := func(s *signals.Signal, variant string, count int, parties ...signals.Party) {
		f := one
		f.Signal, f.Variant, f.Count, f.Parties = s, variant, count, parties
		res.Findings = append(res.Findings, f)
	}
	party := func(alias string, r signals.Role) signals.Party { return signals.Party{Alias: alias, Role: r} }
	crowd := []signals.Party{party("P1", signals.Cause)}
	for i := range 8 {
		crowd = append(crowd, party(fmt.Sprintf("S%d", i+10), signals.Candidate))
	}
	add(signals.FallbackResolution, "unresolved_by_anybody_at_all", 12, crowd...)
	add(signals.CancellationCrosstalk, "cancelled", 8, party("? an unknown sender with a long name", signals.Cause), party("S4", signals.Candidate))
	add(signals.ResponseCrossing, "shared_session", 3, party("S15·a", signals.Cause), party("S15·b", signals.Victim))
	add(signals.SubscriptionBleed, "unsubscribed", 1000, party("S11", signals.Cause), party("S12", signals.Victim))
	r := Build(res, in, Options{})
	for width := minWidth; width <= maxWidth; width += 5 {
		var rows []string
		for line := range strings.Lines(textOf(t, r, Style{Width: width})) {
			if strings.Contains(line[:min(len(line), 20)], "  confirmed  ") {
				rows = append(rows, strings.TrimSuffix(line, "\n"))
			}
		}
		if len(rows) != 4 {
			t.Fatalf("width %d: %d rows", width, len(rows))
		}
		for i, want := range [][]string{{"P1 cause", "candidate", "×12"}, {"cause", "S4 candidate", "×8"}, {"S15·a cause", "S15·b victim", "×3"}, {"S11 receiver", "S12 victim", "×1000"}} {
			for _, w := range want {
				if !strings.Contains(rows[i], w) {
					t.Errorf("width %d: no %q in %q", width, w, rows[i])
				}
			}
			if lipgloss.Width(rows[i]) > width {
				t.Errorf("width %d: %q is wider", width, rows[i])
			}
			if !strings.Contains(rows[i], title(&r.Findings[i])) && !strings.Contains(rows[i], "…") {
				t.Errorf("width %d: cut without a mark: %q", width, rows[i])
			}
		}
	}
	if got, want := parties(&r.Findings[0], true), "P1 cause, S10 +7 candidate"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
