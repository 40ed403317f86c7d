// Package gate decides which findings fail a run: by strength, by signal or
// family, or by an expression in MetricsQL over the findings as time series.
package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/signals"
)

// Gate is a condition on findings. The zero value counts what is probable or confirmed.
type Gate struct {
	text  string
	least signals.Strength // weakest strength that counts; None = nothing counts, or the expression says so
	names []string         // signals and families that count, nil = all
	expr  *expression      // nil = no expression
}

// MaxText bounds the text of a gate in bytes.
const MaxText = 16 << 10

// AtLeast is the gate that findings of this strength and above fail; None = nothing does.
func AtLeast(s signals.Strength) Gate { return Gate{text: s.String(), least: s} }

// Parse reads a gate: a strength; signals and families divided by commas, which
// count from probable on; or an expression in MetricsQL. The error says what
// cannot be used and why.
func Parse(text string) (Gate, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Gate{}, fmt.Errorf("it is empty")
	}
	if len(text) > MaxText {
		return Gate{}, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxText)
	}
	if s, ok := signals.ParseStrength(text); ok {
		return AtLeast(s), nil
	}
	if names, ok := list(text); ok {
		for _, n := range names {
			if !isSignal(n) && !isFamily(n) {
				return Gate{}, fmt.Errorf("%q is no strength, signal or family; strengths: none, hazard, possible, probable, confirmed; signals: %s; families: %s",
					n, strings.Join(signalNames(), ", "), strings.Join(familyNames(), ", "))
			}
		}
		return Gate{text: text, least: signals.Probable, names: names}, nil
	}
	e, err := compile(text)
	if err != nil {
		return Gate{}, err
	}
	return Gate{text: text, expr: e}, nil
}

// list reads names divided by commas. ok is false for anything that is no such list.
func list(text string) (names []string, ok bool) {
	for _, n := range strings.Split(text, ",") {
		n = strings.TrimSpace(n)
		if n == "" || strings.ContainsFunc(n, func(r rune) bool { return r != '_' && r != '-' && (r < 'a' || r > 'z') }) {
			return nil, false
		}
		names = append(names, n)
	}
	return names, names[0] != metric
}

func (g Gate) String() string {
	if g.text == "" {
		return signals.Probable.String()
	}
	return g.text
}

// Ruling is what a gate makes of findings.
type Ruling struct {
	Counts map[*signals.Finding]bool // the findings that fail the run
	Held   []Held                    // an expression: when it held first, in order; at most maxHeld
	Times  int                       // at how many times it held
}

const maxHeld = 8

// Held is one element of the result of an expression at a time when it held.
type Held struct {
	At    int64 // event time, ns
	Of    string
	Value float64
}

// Fails reports whether the run fails.
func (r Ruling) Fails() bool { return len(r.Counts) > 0 || r.Times > 0 }

// Judge says which findings fail the run. The findings must not be rejected
// ones. An error is about an expression whose operands do not fit together.
func (g Gate) Judge(findings []*signals.Finding) (Ruling, error) {
	if g.expr != nil {
		return g.expr.judge(findings)
	}
	if g.text == "" {
		g.least = signals.Probable
	}
	r := Ruling{Counts: map[*signals.Finding]bool{}}
	for _, f := range findings {
		if g.counts(f) {
			r.Counts[f] = true
		}
	}
	return r, nil
}

// At returns the whole result of an expression at an event time (ns), in no
// certain order; of other gates, nothing.
func (g Gate) At(findings []*signals.Finding, t int64) ([]Held, error) {
	if g.expr == nil {
		return nil, nil
	}
	run := g.expr.evaluate(seriesOf(findings))
	run.t = t
	result, err := run.vector(&g.expr.root)
	out := make([]Held, 0, len(result))
	for _, el := range result {
		out = append(out, Held{At: t, Of: el.labels.String(), Value: el.value})
	}
	return out, err
}

func (g Gate) counts(f *signals.Finding) bool {
	switch {
	case g.least == signals.None:
		return false
	case g.names == nil:
		return f.Strength >= g.least
	case slices.Contains(g.names, f.Signal.Name):
		return f.Strength >= g.least || f.Signal.Hazard // who names a hazard means it
	}
	return f.Strength >= g.least && slices.Contains(g.names, string(f.Family))
}

func isSignal(name string) bool { return slices.Contains(signalNames(), name) }
func isFamily(name string) bool { return slices.Contains(familyNames(), name) }

func signalNames() (names []string) {
	for _, s := range signals.All() {
		names = append(names, s.Name)
	}
	return names
}

func familyNames() (names []string) {
	for _, f := range signals.Families() {
		names = append(names, string(f))
	}
	return names
}
