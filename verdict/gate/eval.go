package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/isodetect/isodetect/signals"
)

// sample is one element of an instant vector.
type sample struct {
	labels labels
	value  float64
}

// judge evaluates the expression at the time of every occurrence. A finding
// counts if a selector takes it, it occurred within the longest window before
// a time at which the expression held, and no label of the result says otherwise.
func (e *expression) judge(findings []*signals.Finding) (Ruling, error) {
	r := Ruling{Counts: map[*signals.Finding]bool{}}
	all := seriesOf(findings)
	run := e.evaluate(all)
	var taken []*signals.Finding
	for _, f := range findings {
		if slices.ContainsFunc(e.leaves, func(s *Selector) bool { return s.Matches(f) }) {
			taken = append(taken, f)
		}
	}
	for _, t := range times(all) {
		run.t = t
		result, err := run.vector(&e.root)
		if err != nil {
			return r, err
		}
		if run.steps += len(result) * (1 + len(taken)); run.steps > maxSteps {
			return r, fmt.Errorf("cannot evaluate %s: %d findings at %d times are too much for it; select fewer, or fail on a strength", e.root.text, len(findings), len(times(all)))
		}
		if len(result) == 0 {
			continue
		}
		r.Times++
		for _, el := range result {
			if len(r.Held) < maxHeld {
				r.Held = append(r.Held, Held{At: t, Of: el.labels.String(), Value: el.value})
			}
		}
		taken = slices.DeleteFunc(taken, func(f *signals.Finding) bool {
			if occurred(f, t-e.window, t) && slices.ContainsFunc(result, func(el sample) bool { return agrees(labelsOf(f), el.labels) }) {
				r.Counts[f] = true
			}
			return r.Counts[f]
		})
	}
	return r, nil
}

// evaluate begins an evaluation over these series.
func (e *expression) evaluate(all []*series) *evaluation {
	run := &evaluation{matched: map[*Selector][]*series{}}
	for _, s := range e.leaves {
		for _, one := range all {
			if s.matches(one.labels) {
				run.matched[s] = append(run.matched[s], one)
			}
		}
	}
	return run
}

// times lists the times of all samples, each once.
func times(all []*series) (out []int64) {
	for _, s := range all {
		out = append(out, s.times...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// occurred reports whether a finding occurred in (from, to].
func occurred(f *signals.Finding, from, to int64) bool {
	return slices.ContainsFunc(f.Times, func(o signals.Occurred) bool { return o.At > from && o.At <= to })
}

// agrees reports whether no label of a result has another value than the finding's.
func agrees(of, result labels) bool {
	for i, v := range result {
		if v != "" && v != of[i] {
			return false
		}
	}
	return true
}

// evaluation is the state of one evaluation at one time.
type evaluation struct {
	t       int64
	matched map[*Selector][]*series
	steps   int // elements looked at, over all times
}

// maxSteps bounds the work of one expression: what a hostile log makes of it must
// end, and a gate that could not be evaluated is an error, never a pass.
const maxSteps = 5_000_000

func (ev *evaluation) vector(n *node) ([]sample, error) {
	switch n.kind {
	case kindNumber:
		return nil, fmt.Errorf("BUG: a number where series are wanted: %s", n.text)
	case kindSeries, kindRollup:
		return ev.leaf(n), nil
	case kindAggregate:
		in, err := ev.vector(&n.args[0])
		if err != nil {
			return nil, err
		}
		return aggregate(n, in), nil
	}
	if n.args[0].kind == kindNumber || n.args[1].kind == kindNumber {
		return ev.withNumber(n)
	}
	left, err := ev.vector(&n.args[0])
	if err != nil {
		return nil, err
	}
	right, err := ev.vector(&n.args[1])
	if err != nil {
		return nil, err
	}
	switch n.fn {
	case "and", "or", "unless":
		return set(n, left, right), nil
	}
	return pair(n, left, right)
}

// leaf evaluates a selector, alone or inside a function over time, in (t-window, t].
func (ev *evaluation) leaf(n *node) (out []sample) {
	ev.steps += len(ev.matched[n.selector])
	for _, s := range ev.matched[n.selector] {
		now, before := s.until(ev.t), s.until(ev.t-n.window)
		if now == before {
			continue // no sample in the window
		}
		v := now
		switch n.fn {
		case "count_over_time", "increase":
			v = now - before
		case "rate":
			v = (now - before) / (float64(n.window) / 1e9)
		}
		out = append(out, sample{s.labels, v})
	}
	return out
}

// withNumber applies an operator between series and a number.
func (ev *evaluation) withNumber(n *node) ([]sample, error) {
	series, number, left := &n.args[0], n.args[1].number, true
	if n.args[0].kind == kindNumber {
		series, number, left = &n.args[1], n.args[0].number, false
	}
	in, err := ev.vector(series)
	if err != nil {
		return nil, err
	}
	out := in[:0]
	for _, el := range in {
		a, b := el.value, number
		if !left {
			a, b = b, a
		}
		if v, keep := apply(n.fn, a, b); keep {
			if !isComparison(n.fn) {
				el.value = v
			}
			out = append(out, el)
		}
	}
	return out, nil
}

// pair applies an operator between two vectors, one to one by the labels that match.
func pair(n *node, left, right []sample) ([]sample, error) {
	if len(left) == 0 || len(right) == 0 {
		return nil, nil // nothing to match, and nothing that could match twice
	}
	by := make(map[labels]int, len(right))
	for i, el := range right {
		k := n.keep(el.labels)
		if j, twice := by[k]; twice {
			return nil, fmt.Errorf("cannot evaluate %s: %s and %s on the right match the same %s; say with by (…), on (…) or ignoring (…) which belong together", n.text, right[j].labels, el.labels, k)
		}
		by[k] = i
	}
	used := map[labels]labels{}
	var out []sample
	for _, el := range left {
		k := n.keep(el.labels)
		i, ok := by[k]
		if !ok {
			continue
		}
		if other, twice := used[k]; twice {
			return nil, fmt.Errorf("cannot evaluate %s: %s and %s on the left match the same %s; say with by (…), on (…) or ignoring (…) which belong together", n.text, other, el.labels, k)
		}
		used[k] = el.labels
		if v, keep := apply(n.fn, el.value, right[i].value); keep {
			if isComparison(n.fn) {
				v = el.value
			}
			out = append(out, sample{k, v})
		}
	}
	return out, nil
}

// set applies and, or, unless.
func set(n *node, left, right []sample) []sample {
	keys := func(list []sample) map[labels]bool {
		m := make(map[labels]bool, len(list))
		for _, el := range list {
			m[n.keep(el.labels)] = true
		}
		return m
	}
	if n.fn == "or" {
		has := keys(left)
		out := slices.Clone(left)
		for _, el := range right {
			if !has[n.keep(el.labels)] {
				out = append(out, el)
			}
		}
		return out
	}
	has := keys(right)
	return slices.DeleteFunc(left, func(el sample) bool { return has[n.keep(el.labels)] != (n.fn == "and") })
}

// apply computes a op b. A comparison keeps an element or not.
func apply(op string, a, b float64) (v float64, keep bool) {
	switch op {
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/":
		return a / b, true
	case "%":
		return math.Mod(a, b), true
	case "^":
		return math.Pow(a, b), true
	case "==":
		return a, a == b
	case "!=":
		return a, a != b
	case "<":
		return a, a < b
	case "<=":
		return a, a <= b
	case ">":
		return a, a > b
	case ">=":
		return a, a >= b
	}
	panic("BUG: operator " + op)
}

func isComparison(op string) bool {
	return slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, op)
}

// aggregate joins the elements of each group, in the order of their first element.
func aggregate(n *node, in []sample) (out []sample) {
	at := map[labels]int{}
	var counts []float64
	for _, el := range in {
		k := n.keep(el.labels)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out, counts = append(out, sample{k, el.value}), append(counts, 1)
			continue
		}
		counts[i]++
		switch v := &out[i].value; n.fn {
		case "sum", "avg":
			*v += el.value
		case "min":
			if el.value < *v || math.IsNaN(*v) {
				*v = el.value
			}
		case "max":
			if el.value > *v || math.IsNaN(*v) {
				*v = el.value
			}
		}
	}
	for i := range out {
		switch n.fn {
		case "avg":
			out[i].value /= counts[i]
		case "count":
			out[i].value = counts[i]
		}
	}
	return out
}
