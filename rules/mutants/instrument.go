package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// targets are the files that decide, with the functions in them that do; an
// empty list means all. What writes findings down decides nothing.
var targets = map[string][]string{
	"rules/cancel.go":           nil,
	"rules/cancel_effect.go":    nil,
	"rules/cancel_match.go":     nil,
	"rules/cancel_report.go":    {"logged"},
	"rules/crossing.go":         nil,
	"rules/crossing_pair.go":    nil,
	"rules/crossing_weigh.go":   {"starves", "judge", "refusedID", "weigh", "canCompare"},
	"rules/drift.go":            nil,
	"rules/drift_misrouted.go":  nil,
	"rules/drift_refusal.go":    nil,
	"rules/fallback.go":         nil,
	"rules/fallback_effect.go":  nil,
	"rules/fallback_log.go":     {"resolved", "logged"},
	"rules/shape.go":            nil,
	"rules/shared.go":           nil,
	"rules/sink.go":             {"capByAddress", "delivers", "unbound", "marked", "Raise"},
	"rules/subscription.go":     {"Observe", "covers", "judge"},
	"rules/token.go":            nil,
	"rules/token_log.go":        nil,
	"rules/token_series.go":     nil,
	"correlate/answer.go":       {"abandon", "answeredEarly", "serverAnswer", "own"},
	"correlate/message.go":      {"identify", "clientNotification", "giveUp", "toClient"},
	"correlate/sender.go":       nil,
	"correlate/subscription.go": {"subscribed", "Covers"},
}

// Mutant is one condition that is held at a value.
type Mutant struct {
	N     int // from 1, over all files
	File  string
	Line  int
	Func  string
	Cond  string // source text, on one line
	Value bool   // what the condition is held at
	Part  bool   // an operand of && or ||: holding it drops it
	Bound bool   // a limit on what is kept
}

func (m Mutant) String() string {
	what := fmt.Sprintf("held at %t", m.Value)
	if m.Part {
		what = "dropped"
	}
	return fmt.Sprintf("%s:%d %s: %s  [%s]", m.File, m.Line, m.Func, m.Cond, what)
}

// instrumentAll returns the instrumented text of every target file, and of one
// more file for each package, and the mutants inside.
func instrumentAll(root string, targets map[string][]string) (map[string][]byte, []Mutant, error) {
	var names []string
	for name := range targets {
		names = append(names, name)
	}
	slices.Sort(names)
	files, all := map[string][]byte{}, []Mutant(nil)
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read target: %w", err)
		}
		text, found, pkg, err := instrument(name, src, targets[name], len(all))
		if err != nil {
			return nil, nil, err
		}
		files[name] = text
		files[filepath.Join(filepath.Dir(name), "mutant_switch.go")] = []byte("package " + pkg + switchSource)
		all = append(all, found...)
	}
	return files, all, nil
}

// instrument wraps every condition of the functions named (all, if none is) so
// that it can be held at a value: c becomes (c || mutant(1)) && !mutant(2).
// A call of mutant happens only where the mutant would change the value.
func instrument(name string, src []byte, funcs []string, base int) ([]byte, []Mutant, string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, "", fmt.Errorf("cannot parse target: %w", err)
	}
	in := &instrumenter{src: src, fset: fset, file: name, n: base}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || len(funcs) > 0 && !slices.Contains(funcs, f.Name.Name) {
			continue
		}
		in.fn = f.Name.Name
		ast.Inspect(f.Body, in.visit)
	}
	return in.text(), in.mutants, file.Name.Name, nil
}

type instrumenter struct {
	src     []byte
	fset    *token.FileSet
	file    string
	fn      string
	n       int
	mutants []Mutant
	edits   []edit
}

// edit puts text in before offset at.
type edit struct {
	at   int
	text string
	rank int // among edits at one offset, lower first
}

// visit finds conditions. Those of loops are left alone: held at a value they only hang.
func (in *instrumenter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ForStmt:
		for _, part := range []ast.Node{n.Init, n.Post, n.Body} {
			if part != nil {
				ast.Inspect(part, in.visit)
			}
		}
		return false
	case *ast.IfStmt:
		in.whole(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					in.whole(e)
				}
			}
		}
	case *ast.ReturnStmt:
		in.values(n.Results)
	case *ast.AssignStmt:
		in.values(n.Rhs)
	case *ast.BinaryExpr:
		if logical(n.Op) {
			in.operand(n.X, n.Op)
			in.operand(n.Y, n.Op)
		}
	}
	return true
}

func logical(op token.Token) bool { return op == token.LAND || op == token.LOR }

func (in *instrumenter) values(list []ast.Expr) {
	for _, e := range list {
		switch b := ast.Unparen(e).(type) {
		case *ast.BinaryExpr:
			switch b.Op {
			case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				in.whole(e)
			}
		case *ast.UnaryExpr:
			if b.Op == token.NOT {
				in.whole(e)
			}
		}
	}
}

func (in *instrumenter) whole(e ast.Expr) { in.wrap(e, true, true, false) }

// operand drops e from a chain of && or ||.
func (in *instrumenter) operand(e ast.Expr, op token.Token) {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		return // its own operands are
	}
	in.wrap(e, op == token.LAND, op == token.LOR, true)
}

var bound = regexp.MustCompile(`\bmax[A-Z]\w*|\bkeepCancels\b|len\(.*\) *(>=|<) *\d\d+`)

func (in *instrumenter) wrap(e ast.Expr, atTrue, atFalse, part bool) {
	from, to := in.offset(e.Pos()), in.offset(e.End())
	cond := strings.Join(strings.Fields(string(in.src[from:to])), " ")
	add := func(value bool) int {
		in.n++
		in.mutants = append(in.mutants, Mutant{
			N: in.n, File: in.file, Line: in.fset.Position(e.Pos()).Line, Func: in.fn, Cond: cond, Value: value, Part: part, Bound: bound.MatchString(cond),
		})
		return in.n
	}
	before, after := "(", ")"
	if atTrue {
		before, after = "("+before, fmt.Sprintf(") || mutant(%d))", add(true))
	}
	if atFalse {
		before, after = "("+before, after+fmt.Sprintf(" && !mutant(%d))", add(false))
	}
	// Outer edits open first and close last.
	in.edits = append(in.edits, edit{from, before, len(in.src) - (to - from)}, edit{to, after, to - from})
}

func (in *instrumenter) offset(p token.Pos) int { return in.fset.Position(p).Offset }

func (in *instrumenter) text() []byte {
	slices.SortStableFunc(in.edits, func(a, b edit) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.rank - b.rank
	})
	var out bytes.Buffer
	done := 0
	for _, e := range in.edits {
		out.Write(in.src[done:e.at])
		out.WriteString(e.text)
		done = e.at
	}
	out.Write(in.src[done:])
	return out.Bytes()
}

// switchSource is the part of an instrumented package that knows which mutant
// is on, and, in the run without one, writes down which ones matter at all.
const switchSource = `

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	mutantOn, _  = strconv.Atoi(os.Getenv("ISODETECT_MUTANT"))
	mutantLog    = os.Getenv("ISODETECT_MUTANT_LOG")
	mutantSeen   = map[int]bool{}
	mutantMu     sync.Mutex
)

func mutant(n int) bool {
	if mutantLog != "" {
		mutantMu.Lock()
		defer mutantMu.Unlock()
		if !mutantSeen[n] {
			mutantSeen[n] = true
			f, err := os.OpenFile(mutantLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(f, n)
			f.Close()
		}
	}
	return n == mutantOn
}
`
