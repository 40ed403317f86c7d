// Package promql holds the evaluator of gates against the engine of Prometheus,
// on what both know: random findings, random expressions, at every time at which
// something changes. It is a module of its own, so that isodetect does not depend
// on Prometheus. increase and rate are left out, for ours do not extrapolate, and
// every selector names strength, for ours otherwise takes what is probable or more.
package promql

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

var (
	amount = flag.Int("expressions", 1000, "how many expressions to compare")
	seed   = flag.Uint64("seed", 1, "which random findings and expressions")
)

func TestGateAgreesWithPrometheus(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	r := rand.New(rand.NewPCG(*seed, 0))
	var seen tally
	for seen.Expressions < *amount && !t.Failed() {
		findings := randomFindings(r)
		c := comparison{engine: engine, store: storeOf(findings), findings: findings, times: timesOf(findings)}
		for range 20 {
			text := writer{r}.expression(3)
			if err := c.compare(text, &seen); err != nil {
				t.Errorf("%s\n%v\nover %s", text, err, describe(findings))
				break
			}
		}
	}
	t.Logf("%+v", seen)
	if seen.Held < seen.Times/50 || seen.Errors == 0 {
		t.Errorf("too little was compared: %+v", seen)
	}
}

// tally counts what was compared.
type tally struct{ Expressions, Refused, Times, Held, Elements, Errors int }

type comparison struct {
	engine   *promql.Engine
	store    storage.Queryable
	findings []*signals.Finding
	times    []int64 // ms
}

// compare evaluates an expression in both at all times, and judges with it.
func (c *comparison) compare(text string, seen *tally) error {
	g, err := gate.Parse(text)
	_, theirs := c.prometheus(text, start)
	if err != nil && (theirs != nil || stricter(err)) || theirs != nil && strings.Contains(theirs.Error(), "comparisons between scalars") {
		seen.Refused++ // parentheses were left out where they were needed
		return nil
	}
	if err != nil {
		return fmt.Errorf("the gate does not take it: %w", err)
	}
	seen.Expressions++
	held, failed := 0, false
	for _, at := range c.times {
		want, wantErr := c.prometheus(text, at)
		got, gotErr := c.gate(g, at)
		seen.Times++
		if (wantErr != nil) != (gotErr != nil) {
			return fmt.Errorf("at %d ms: error %v, Prometheus %v", at, gotErr, wantErr)
		}
		if gotErr != nil {
			seen.Errors, failed = seen.Errors+1, true
			continue
		}
		if !slices.EqualFunc(got, want, same) {
			return fmt.Errorf("at %d ms: %v, Prometheus %v", at, got, want)
		}
		if seen.Elements += len(got); len(got) > 0 {
			seen.Held++
			if c.occurs(at) {
				held++
			}
		}
	}
	ruling, err := g.Judge(c.findings)
	switch {
	case err == nil && ruling.Times != held && !failed:
		return fmt.Errorf("Judge: it held at %d times, Prometheus %d", ruling.Times, held)
	case err != nil && !failed:
		return fmt.Errorf("Judge: %w, at no time anywhere else", err)
	}
	return nil
}

// stricter reports whether a gate refuses on purpose what Prometheus takes:
// "on ()" beside a number, and constants that are no number, such as 2 % 0.
func stricter(err error) bool {
	return strings.Contains(err.Error(), "matches labels with a number") || strings.Contains(err.Error(), "compares constants")
}

// element is one element of a result, its labels written as a selector.
type element struct {
	of    string
	value float64
}

func same(a, b element) bool {
	return a.of == b.of && (a.value == b.value || math.IsNaN(a.value) && math.IsNaN(b.value) || math.Abs(a.value-b.value) <= 1e-9*math.Abs(b.value))
}

func sorted(list []element) []element {
	slices.SortFunc(list, func(a, b element) int { return strings.Compare(a.of, b.of) })
	return list
}

func (c *comparison) gate(g gate.Gate, at int64) (out []element, err error) {
	result, err := g.At(c.findings, at*1e6)
	for _, h := range result {
		out = append(out, element{h.Of, h.Value})
	}
	return sorted(out), err
}

func (c *comparison) prometheus(text string, at int64) (out []element, err error) {
	q, err := c.engine.NewInstantQuery(context.Background(), c.store, nil, text, time.UnixMilli(at))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	vector, err := q.Exec(context.Background()).Vector()
	for _, s := range vector {
		var parts []string
		for _, name := range labelNames {
			if v := s.Metric.Get(name); v != "" {
				parts = append(parts, fmt.Sprintf("%s=%q", name, v))
			}
		}
		out = append(out, element{"{" + strings.Join(parts, ",") + "}", s.F})
	}
	return sorted(out), err
}

func (c *comparison) occurs(at int64) bool {
	return slices.ContainsFunc(c.findings, func(f *signals.Finding) bool {
		return slices.ContainsFunc(f.Times, func(o signals.Occurred) bool { return o.At == at*1e6 })
	})
}

// labelNames in the order in which a gate writes them.
var labelNames = []string{"signal", "variant", "strength", "family", "era", "domain", "method"}

func valuesOf(f *signals.Finding) []string {
	return []string{f.Signal.Name, f.Variant, f.Strength.String(), string(f.Family), f.Era, f.Domain, f.Method}
}

// storeOf is what an exporter of the findings would have left in a Prometheus:
// for each set of labels one sample an occurrence, whose value is their number.
func storeOf(findings []*signals.Finding) storage.Queryable {
	times := map[string][]int64{}
	pairs := map[string][]string{}
	for _, f := range findings {
		list := []string{model.MetricNameLabel, "isodetect_finding"}
		for i, v := range valuesOf(f) {
			if v != "" {
				list = append(list, labelNames[i], v)
			}
		}
		key := strings.Join(list, "\x00")
		pairs[key] = list
		for _, o := range f.Times {
			times[key] = append(times[key], o.At/1e6)
		}
	}
	var all []storage.Series
	for key, list := range times {
		slices.Sort(list)
		s := promql.Series{Metric: labels.FromStrings(pairs[key]...)}
		for i, t := range list {
			s.Floats = append(s.Floats, promql.FPoint{T: t, F: float64(i + 1)})
		}
		all = append(all, promql.NewStorageSeries(s))
	}
	slices.SortFunc(all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var taken []storage.Series
			for _, s := range all {
				if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
					taken = append(taken, s)
				}
			}
			return &set{list: taken}
		},
	}}
}

// set walks over series.
type set struct {
	list []storage.Series
	n    int
}

func (s *set) Next() bool                        { s.n++; return s.n <= len(s.list) }
func (s *set) At() storage.Series                { return s.list[s.n-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
