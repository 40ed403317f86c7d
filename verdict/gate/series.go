package gate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metricsql"

	"github.com/isodetect/isodetect/signals"
)

// labelNames are the labels of the series isodetect_finding, in the order of labels.
var labelNames = [...]string{"signal", "variant", "strength", "family", "era", "domain", "method"}

// labels are the values of one series; "" is an absent label.
type labels [len(labelNames)]string

func labelsOf(f *signals.Finding) labels {
	return labels{f.Signal.Name, f.Variant, f.Strength.String(), string(f.Family), f.Era, f.Domain, f.Method}
}

// String writes labels as a selector does.
func (l labels) String() string {
	var parts []string
	for i, v := range l {
		if v != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", labelNames[i], v))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// series is what findings with the same labels form: one sample per occurrence
// whose value is how many there were up to it.
type series struct {
	labels labels
	times  []int64   // ns, ascending
	counts []float64 // occurrences up to and including times[i]
}

// until returns how many occurrences there were up to t.
func (s *series) until(t int64) float64 {
	i, found := slices.BinarySearch(s.times, t)
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return s.counts[i]
}

// seriesOf turns findings into series, in the order of their labels.
func seriesOf(findings []*signals.Finding) []*series {
	by := map[labels][]signals.Occurred{}
	var order []labels
	for _, f := range findings {
		l := labelsOf(f)
		if _, ok := by[l]; !ok {
			order = append(order, l)
		}
		by[l] = append(by[l], f.Times...)
	}
	slices.SortFunc(order, func(a, b labels) int { return slices.Compare(a[:], b[:]) })
	out := make([]*series, 0, len(order))
	for _, l := range order {
		all := by[l]
		slices.SortFunc(all, func(a, b signals.Occurred) int { return compare(a.At, b.At) })
		s := &series{labels: l}
		n := 0.0
		for _, o := range all {
			n += float64(o.N)
			if k := len(s.times) - 1; k >= 0 && s.times[k] == o.At {
				s.counts[k] = n
				continue
			}
			s.times, s.counts = append(s.times, o.At), append(s.counts, n)
		}
		out = append(out, s)
	}
	return out
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Selector chooses findings by their labels.
type Selector struct {
	text    string
	filters []filter
	least   signals.Strength // without a filter on strength; None = all
}

// leastCounted is what a gate's selector takes that does not name a strength:
// hazards and possibilities are the normal state of many healthy servers.
const leastCounted = signals.Probable

type filter struct {
	label    int
	value    string
	negative bool
	re       *regexp.Regexp // nil = equality
}

// ParseSelector reads a selector such as {signal="token_collision",method=~"tools/.*"}.
func ParseSelector(text string) (*Selector, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxText)
	}
	if err := words(text); err != nil {
		return nil, err
	}
	ast, err := metricsql.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is no selector: %w", err)
	}
	m, ok := ast.(*metricsql.MetricExpr)
	if !ok {
		return nil, fmt.Errorf(`it is no selector such as {signal="token_collision"}`)
	}
	return selector(m, text)
}

func selector(m *metricsql.MetricExpr, text string) (*Selector, error) {
	if len(m.LabelFilterss) > 1 {
		return nil, fmt.Errorf("%s: or between filters is not supported; use =~", text)
	}
	s := &Selector{text: text}
	for _, group := range m.LabelFilterss {
		for _, lf := range group {
			if lf.Label == "__name__" {
				if lf.Value != metric || lf.IsNegative || lf.IsRegexp {
					return nil, fmt.Errorf("%s: the only series is %s", text, metric)
				}
				continue
			}
			f, err := filterOf(lf)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			s.filters = append(s.filters, f)
		}
	}
	return s, nil
}

func filterOf(lf metricsql.LabelFilter) (filter, error) {
	f := filter{label: slices.Index(labelNames[:], lf.Label), value: lf.Value, negative: lf.IsNegative}
	if f.label < 0 {
		return f, fmt.Errorf("%s has no label %q; labels: %s", metric, lf.Label, strings.Join(labelNames[:], ", "))
	}
	if lf.IsRegexp {
		re, err := regexp.Compile("^(?s:" + lf.Value + ")$")
		if err != nil {
			return f, fmt.Errorf("cannot use the pattern of %s: %w", lf.Label, err)
		}
		f.re = re
		return f, nil
	}
	if known := valuesOf(lf.Label); known != nil && lf.Value != "" && !slices.Contains(known, lf.Value) {
		return f, fmt.Errorf("there is no %s %q; there are: %s", lf.Label, lf.Value, strings.Join(known, ", "))
	}
	return f, nil
}

// valuesOf lists the values of a label that has a closed list, else nil.
func valuesOf(label string) []string {
	switch label {
	case "signal":
		return signalNames()
	case "family":
		return familyNames()
	case "era":
		return []string{"legacy", "modern"}
	case "strength":
		return []string{"hazard", "possible", "probable", "confirmed"}
	}
	return nil
}

func (s *Selector) String() string { return s.text }

// Matches reports whether a finding is selected.
func (s *Selector) Matches(f *signals.Finding) bool { return s.matches(labelsOf(f)) }

func (s *Selector) matches(l labels) bool {
	if s.least != signals.None {
		if st, ok := signals.ParseStrength(l[2]); ok && st < s.least {
			return false
		}
	}
	for _, f := range s.filters {
		v := l[f.label]
		if ok := f.re == nil && v == f.value || f.re != nil && f.re.MatchString(v); ok == f.negative {
			return false
		}
	}
	return true
}

// names reports whether a label is filtered.
func (s *Selector) names(label string) bool {
	return slices.ContainsFunc(s.filters, func(f filter) bool { return labelNames[f.label] == label })
}
