package promql

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/signals"
)

// start is when the first finding may occur, in ms.
const start = 1_780_000_000_000

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// randomFindings makes a few findings, some with the same labels, whose times
// are all different: two samples of one time cannot be in a Prometheus.
func randomFindings(r *rand.Rand) (out []*signals.Finding) {
	span := pick(r, 60_000, 600_000, 1_800_000)
	taken := map[int]bool{}
	for range 1 + r.IntN(10) {
		sig := pick(r, signals.All()...)
		f := &signals.Finding{
			Signal: sig, Variant: pick(r, "", "v1", "v2"), Strength: pick(r, signals.Hazard, signals.Possible, signals.Probable, signals.Confirmed),
			Family: sig.Family, Era: pick(r, "legacy", "modern"), Domain: pick(r, "http://a/mcp", "http://b/mcp", "c d\n\"e\""),
			Method: pick(r, "", "tools/call", "tools/list", "resources/read"),
		}
		var times []int
		for range 1 + r.IntN(8) {
			if t := r.IntN(span); !taken[t] {
				taken[t] = true
				times = append(times, t)
			}
		}
		slices.Sort(times)
		for _, t := range times {
			f.Occur((start+int64(t))*1e6, 1)
		}
		out = append(out, f)
	}
	return out
}

// timesOf lists every time of an occurrence, and times at which one leaves a window.
func timesOf(findings []*signals.Finding) (out []int64) {
	for i, f := range findings {
		for k, o := range f.Times {
			at := o.At / 1e6
			edge := at + windows[(i+k)%len(windows)].ms
			out = append(out, at, edge-1, edge)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// windows of functions over time; five minutes is also how long a series alone is seen.
var windows = []struct {
	text string
	ms   int64
}{{"5m", 300_000}, {"1m30s", 90_000}, {"250ms", 250}, {"20s", 20_000}, {"1h", 3_600_000}, {"7m", 420_000}}

// writer writes random expressions of what both know. Parentheses are left out
// now and then, so that the order of operators is compared, too.
type writer struct{ *rand.Rand }

func (w writer) expression(depth int) string {
	if depth == 0 {
		return w.leaf()
	}
	switch w.IntN(9) {
	case 0:
		return w.leaf()
	case 1, 2:
		return w.aggregate(depth)
	case 3, 4, 5:
		return w.withNumber(depth)
	case 6:
		return w.paired(depth, pick(w.Rand, "+", "-", "*", "/", "%", "^"))
	case 7:
		return w.paired(depth, pick(w.Rand, "==", "!=", "<", "<=", ">", ">="))
	}
	return w.paired(depth, pick(w.Rand, "and", "or", "unless"))
}

func (w writer) leaf() string {
	if w.IntN(2) == 0 {
		return w.selector()
	}
	return "count_over_time(" + w.selector() + "[" + pick(w.Rand, windows...).text + "])"
}

func (w writer) selector() string {
	filters := []string{w.strength()}
	for range w.IntN(3) {
		filters = append(filters, pick(w.Rand,
			fmt.Sprintf("signal%s%q", pick(w.Rand, "=", "!="), pick(w.Rand, signals.Names()...)),
			`signal=~"token.*|.*_bleed"`, `signal!~".*ss.*"`, `domain=~"http://[ab]/mcp"`, `domain!~"http.*"`, `domain=~"c.*e."`,
			`method=~"tools/.*"`, `method!~"tools"`, `method=""`, `method!=""`, `method=~".*"`, `method=~".+"`, `method=~"|tools/call"`,
			`era='legacy'`, `variant=~"v[12]"`, `variant!="v1"`, `family="lifetime-and-namespace"`, `family=~"keying|exchange-keying"`))
	}
	w.Shuffle(len(filters), func(i, k int) { filters[i], filters[k] = filters[k], filters[i] })
	if w.IntN(8) == 0 {
		return `{__name__="isodetect_finding",` + strings.Join(filters, ",") + "}"
	}
	return "isodetect_finding{" + strings.Join(filters, ", ") + "}"
}

func (w writer) strength() string {
	return pick(w.Rand, `strength=~"probable|confirmed"`, `strength!=""`, `strength=~".+"`, `strength!="hazard"`, `strength="confirmed"`, `strength!~"p.*"`)
}

func (w writer) labels() string {
	var names []string
	for _, name := range labelNames {
		if w.IntN(3) == 0 {
			names = append(names, name)
		}
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (w writer) aggregate(depth int) string {
	fn, arg := pick(w.Rand, "sum", "count", "min", "max", "avg"), "("+w.expression(depth-1)+")"
	group := pick(w.Rand, "by ", "without ") + w.labels()
	switch w.IntN(3) {
	case 0:
		return fn + arg
	case 1:
		return fn + " " + group + " " + arg
	}
	return fn + arg + " " + group
}

func (w writer) withNumber(depth int) string {
	op := pick(w.Rand, "+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", ">", ">=")
	number := pick(w.Rand, "0", "1", "2", "3", "0.5", "-1", "(1 + 1)", "2 * 2", "1e1")
	if w.IntN(4) == 0 {
		return number + " " + op + " " + w.operand(depth)
	}
	return w.operand(depth) + " " + op + " " + number
}

func (w writer) paired(depth int, op string) string {
	how := pick(w.Rand, "", "", " on "+w.labels(), " ignoring "+w.labels(), " on (domain)")
	return w.operand(depth) + " " + op + how + " " + w.operand(depth)
}

func (w writer) operand(depth int) string {
	switch text := w.expression(depth - 1); w.IntN(8) {
	case 0:
		return text
	case 1:
		return "(-(" + text + "))" // MetricsQL: 0 - …, which differs from - only in the sign of zero, but binds otherwise
	default:
		return "(" + text + ")"
	}
}

// describe shows findings for a failure.
func describe(findings []*signals.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "\n  %q at", valuesOf(f))
		for _, o := range f.Times {
			fmt.Fprintf(&b, " %d", o.At/1e6)
		}
	}
	return b.String()
}
