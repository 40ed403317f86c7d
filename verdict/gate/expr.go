package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metricsql"
)

// expression is a compiled gate expression.
type expression struct {
	root   node
	leaves []*Selector // of the whole expression, in order
	window int64       // the longest look back of a leaf, ns
	nodes  int
}

// maxNodes bounds the parts of an expression.
const maxNodes = 256

// node is a part of an expression: exactly one of its shapes.
type node struct {
	kind kind
	text string // as the user wrote it, for errors

	number   float64   // kindNumber
	selector *Selector // kindSeries, kindRollup
	fn       string    // kindRollup, kindAggregate: function; kindBinary: operator
	window   int64     // kindSeries, kindRollup: ns
	args     []node    // kindAggregate: one; kindBinary: two
	grouping
}

type kind uint8

const (
	kindNumber kind = iota
	kindSeries
	kindRollup
	kindAggregate
	kindBinary
)

// grouping is by/without of an aggregation, on/ignoring of an operator.
type grouping struct {
	only   bool // by, on: keep the labels; without, ignoring: drop them
	labels [len(labelNames)]bool
}

// keep blanks the labels that a grouping does not keep.
func (g *grouping) keep(l labels) labels {
	for i := range l {
		if g.labels[i] != g.only {
			l[i] = ""
		}
	}
	return l
}

// metric is the name of the series that findings form.
const metric = "isodetect_finding"

// lookback is how old the newest sample of a series may be for a selector without a window.
const lookback = 5 * time.Minute

var (
	rollups    = []string{"count_over_time", "increase", "rate"}
	aggregates = []string{"sum", "count", "min", "max", "avg"}
	operators  = []string{"+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or", "unless"}
	modifiers  = []string{"by", "without", "on", "ignoring"}
)

// compile reads an expression. What the evaluator does not know is refused by name.
func compile(text string) (*expression, error) {
	if err := words(text); err != nil {
		return nil, err
	}
	ast, err := metricsql.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is no expression of MetricsQL: %w", err)
	}
	e := &expression{}
	if e.root, err = e.compile(ast); err != nil {
		return nil, err
	}
	if len(e.leaves) == 0 {
		return nil, fmt.Errorf("%s does not look at findings, so it is always or never true; name the series %s", text, metric)
	}
	return e, nil
}

// words refuses functions that are not supported before the parser expands
// templates, which may make a short text a huge one.
func words(text string) error {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\'' || c == '`':
			n := quoted(text[i:])
			if n == 0 {
				return fmt.Errorf("the quote at byte %d is not closed", i+1)
			}
			i += n
		case c == '#':
			return fmt.Errorf("comments are not supported")
		case wordByte(c) && (c < '0' || c > '9'):
			j := i
			for j < len(text) && (wordByte(text[j]) || text[j] >= '0' && text[j] <= '9' || text[j] == '.') {
				j++
			}
			if err := word(text[i:j], strings.TrimLeft(text[j:], " \t\r\n")); err != nil {
				return err
			}
			i = j
		default:
			i++
		}
	}
	return nil
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' || c == '\\' || c >= 0x80
}

// quoted returns the length of the quoted text at the beginning of s, 0 if it does not end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] != '`':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return 0
}

func word(w, rest string) error {
	lower := strings.ToLower(w)
	if !strings.HasPrefix(rest, "(") {
		if lower == "with" {
			return fmt.Errorf("WITH templates are not supported")
		}
		return nil
	}
	for _, known := range [][]string{rollups, aggregates, operators, modifiers} {
		if slices.Contains(known, lower) {
			return nil
		}
	}
	return fmt.Errorf("%s(…) is not supported; functions: %s, %s", w, strings.Join(rollups, ", "), strings.Join(aggregates, ", "))
}

func (e *expression) compile(ast metricsql.Expr) (node, error) {
	if e.nodes++; e.nodes > maxNodes {
		return node{}, fmt.Errorf("it has more than %d parts", maxNodes)
	}
	text := string(ast.AppendString(nil))
	switch t := ast.(type) {
	case *metricsql.NumberExpr:
		if math.IsNaN(t.N) || math.IsInf(t.N, 0) {
			return node{}, fmt.Errorf("a part of it compares constants, so it is always or never true")
		}
		return node{kind: kindNumber, number: t.N, text: text}, nil
	case *metricsql.MetricExpr:
		return e.series(t, text)
	case *metricsql.FuncExpr:
		return e.rollup(t, text)
	case *metricsql.AggrFuncExpr:
		return e.aggregate(t, text)
	case *metricsql.BinaryOpExpr:
		return e.binary(t, text)
	case *metricsql.RollupExpr:
		return node{}, fmt.Errorf("%s is not supported: windows stand inside %s, without offset, @ and subqueries", text, strings.Join(rollups, ", "))
	}
	return node{}, fmt.Errorf("%s is not supported", text)
}

func (e *expression) series(t *metricsql.MetricExpr, text string) (node, error) {
	s, err := selector(t, text)
	if err != nil {
		return node{}, err
	}
	if !s.names("strength") {
		s.least = leastCounted
	}
	e.leaves = append(e.leaves, s)
	e.window = max(e.window, int64(lookback))
	return node{kind: kindSeries, selector: s, window: int64(lookback), text: text}, nil
}

func (e *expression) rollup(t *metricsql.FuncExpr, text string) (node, error) {
	if !slices.Contains(rollups, t.Name) || t.KeepMetricNames {
		return node{}, fmt.Errorf("%s is not supported; functions over time: %s", text, strings.Join(rollups, ", "))
	}
	if len(t.Args) != 1 {
		return node{}, fmt.Errorf("%s takes one argument, a series with a window such as %s[5m]", t.Name, metric)
	}
	r, ok := t.Args[0].(*metricsql.RollupExpr)
	if !ok {
		return node{}, fmt.Errorf("%s needs a series with a window, such as %s(%s[5m])", text, t.Name, metric)
	}
	m, ok := r.Expr.(*metricsql.MetricExpr)
	if !ok || r.ForSubquery() || r.Offset != nil || r.At != nil || r.Window == nil {
		return node{}, fmt.Errorf("%s is not supported: the argument of %s is a series with a window, such as %s[5m], without offset, @ and subqueries", text, t.Name, metric)
	}
	n, err := e.series(m, text)
	if err != nil {
		return node{}, err
	}
	ms, err := r.Window.NonNegativeDuration(0)
	if err != nil || ms <= 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return node{}, fmt.Errorf("the window of %s must be longer than 0 and must not depend on a step", text)
	}
	n.kind, n.fn, n.window = kindRollup, t.Name, ms*int64(time.Millisecond)
	e.window = max(e.window, n.window)
	return n, nil
}

func (e *expression) aggregate(t *metricsql.AggrFuncExpr, text string) (node, error) {
	name := strings.ToLower(t.Name)
	if !slices.Contains(aggregates, name) || t.Limit != 0 {
		return node{}, fmt.Errorf("%s is not supported; aggregations: %s, without limit", text, strings.Join(aggregates, ", "))
	}
	if len(t.Args) != 1 {
		return node{}, fmt.Errorf("%s takes one argument", name)
	}
	arg, err := e.compile(t.Args[0])
	if err != nil {
		return node{}, err
	}
	if arg.kind == kindNumber {
		return node{}, fmt.Errorf("%s aggregates a number", text)
	}
	n := node{kind: kindAggregate, fn: name, args: []node{arg}, text: text}
	n.grouping, err = group(&t.Modifier, t.Modifier.Op == "" || strings.EqualFold(t.Modifier.Op, "by"))
	return n, err
}

func (e *expression) binary(t *metricsql.BinaryOpExpr, text string) (node, error) {
	op := strings.ToLower(t.Op)
	switch {
	case !slices.Contains(operators, op):
		return node{}, fmt.Errorf("the operator %s is not supported; operators: %s", t.Op, strings.Join(operators, " "))
	case t.Bool:
		return node{}, fmt.Errorf("bool is not supported: it makes %s always true", text)
	case t.JoinModifier.Op != "" || t.KeepMetricNames || t.FillLeft != nil || t.FillRight != nil:
		return node{}, fmt.Errorf("%s is not supported: no group_left, group_right, fill and keep_metric_names", text)
	}
	n := node{kind: kindBinary, fn: op, args: make([]node, 2), text: text}
	for i, side := range []metricsql.Expr{t.Left, t.Right} {
		var err error
		if n.args[i], err = e.compile(side); err != nil {
			return node{}, err
		}
	}
	number := n.args[0].kind == kindNumber || n.args[1].kind == kindNumber
	if number && (op == "and" || op == "or" || op == "unless") {
		return node{}, fmt.Errorf("%s joins a number; %s takes series on both sides", text, op)
	}
	if number && t.GroupModifier.Op != "" {
		return node{}, fmt.Errorf("%s matches labels with a number", text)
	}
	var err error
	n.grouping, err = group(&t.GroupModifier, strings.EqualFold(t.GroupModifier.Op, "on"))
	return n, err
}

// group reads a list of labels.
func group(m *metricsql.ModifierExpr, only bool) (grouping, error) {
	g := grouping{only: only}
	for _, name := range m.Args {
		i := slices.Index(labelNames[:], name)
		if i < 0 {
			return g, fmt.Errorf("%s has no label %q; labels: %s", metric, name, strings.Join(labelNames[:], ", "))
		}
		g.labels[i] = true
	}
	return g, nil
}
