package main

import (
	"go/format"
	"strings"
	"testing"
)

// instrumented returns the text of a function body with its conditions wrapped.
func instrumented(t *testing.T, body string, funcs ...string) (string, []Mutant) {
	t.Helper()
	out, mutants, pkg, err := instrument("x.go", []byte("package p\n\nfunc f(a, b, c bool) bool {\n"+body+"\n}\n"), funcs, 0)
	if err != nil || pkg != "p" {
		t.Fatalf("package %q, %v", pkg, err)
	}
	if _, err := format.Source(out); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return strings.TrimSpace(strings.SplitN(string(out), "\n", 4)[3]), mutants
}

func TestInstrument(t *testing.T) {
	f := func(body, want string, mutants int) {
		t.Helper()
		got, list := instrumented(t, body)
		if got = strings.TrimSpace(strings.TrimSuffix(got, "}")); got != want || len(list) != mutants {
			t.Errorf("%s:\n%s\nwant\n%s\nwith %d mutants, not %d", body, got, want, mutants, len(list))
		}
	}
	f("if a { }; return b", "if (((a) || mutant(1)) && !mutant(2)) { }; return b", 2)
	f("return a == b", "return (((a == b) || mutant(1)) && !mutant(2))", 2)
	f("return a && b", "return (((((a) || mutant(3)) && ((b) || mutant(4))) || mutant(1)) && !mutant(2))", 4)
	f("return f(a || b, b, c)", "return f(((a) && !mutant(1)) || ((b) && !mutant(2)), b, c)", 2)
	f("for a && b { }; return c", "for a && b { }; return c", 0) // held at a value, a loop only hangs
	f("return f(a && b && c, b, c)", "return f(((a) || mutant(2)) && ((b) || mutant(3)) && ((c) || mutant(1)), b, c)", 3)
	f("switch { case a: return b }; return c", "switch { case (((a) || mutant(1)) && !mutant(2)): return b }; return c", 2)
	f("switch a { case b: }; return c", "switch a { case b: }; return c", 0)
}

func TestOnlyNamedFunctions(t *testing.T) {
	if _, list := instrumented(t, "return a && b", "g"); len(list) != 0 {
		t.Errorf("%d mutants in a function that was not asked for", len(list))
	}
	if _, list := instrumented(t, "return a && b", "f"); len(list) != 4 || list[0].Func != "f" || list[0].Line != 4 || list[0].Cond != "a && b" {
		t.Errorf("%+v", list)
	}
}

// Every target is there, and every function that it names.
func TestTargets(t *testing.T) {
	_, all, err := instrumentAll("../..", targets)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, m := range all {
		if m.N != i+1 {
			t.Fatalf("mutant %d has number %d", i+1, m.N)
		}
		seen[m.File], seen[m.File+" "+m.Func] = true, true
	}
	for file, funcs := range targets {
		if !seen[file] {
			t.Errorf("%s has no mutant", file)
		}
		for _, fn := range funcs {
			if !seen[file+" "+fn] {
				t.Errorf("%s has no mutant in %s", file, fn)
			}
		}
	}
}
