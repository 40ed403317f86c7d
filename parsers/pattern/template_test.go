package pattern

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func template(t *testing.T, s string) (*Template, []string) {
	t.Helper()
	var names []string
	tpl, f := parseTemplate(s, func(name string) (int, error) {
		names = append(names, name)
		return len(names) - 1, nil
	})
	if f != nil {
		t.Fatalf("cannot parse %q: %s", s, f)
	}
	return tpl, names
}

func TestTemplate(t *testing.T) {
	f := func(tpl, text, want string) {
		t.Helper()
		tp, names := template(t, tpl)
		into := make([][]byte, len(names))
		got := "no"
		if tp.Match([]byte(text), into) {
			got = ""
			for i, n := range names {
				got += fmt.Sprintf("%s=%s;", n, into[i])
			}
		}
		if got != want {
			t.Errorf("%q on %q gives %q, want %q", tpl, text, got, want)
		}
	}
	f("opened {s}", "opened ab12", "s=ab12;")
	f("opened {s}", "opened ", "s=;")
	f("opened {s}", "reopened ab12", "no")
	f("opened {s} for {c}", "opened ab12 for planner 1.4", "s=ab12;c=planner 1.4;")
	f("opened {s} for {c}", "opened ab12", "no")
	f("{} opened {s}.", "the gateway opened ab.12.", "s=ab.12;")
	f("{a}, {b}", "x, y, z", "a=x;b=y, z;")
	f("{a}={b} end", "k=v end end", "a=k;b=v end;")
	f("plain", "plain", "")
	f("plain", "plain text", "no")
	f("{{{s}}}", "{ab}", "s=ab;")
	f("ab{x}ba", "aba", "no")
	f("a{x}b{y}b", "ab", "no")
	f("sid={s} rpc=", "sid= rpc=", "s=;")
	f("{s}", "", "s=;")
	f("größe {s}", "größe ü", "s=ü;")
}

func TestTemplateRefused(t *testing.T) {
	f := func(s string, at int, want string) {
		t.Helper()
		_, fault := parseTemplate(s, (&Pattern{}).capture)
		if fault == nil || fault.at != at || !strings.Contains(fault.text, want) {
			t.Errorf("%q: %+v, want %q at %d", s, fault, want, at)
		}
	}
	f("opened {s", 7, "not closed")
	f("opened s}", 8, "closes nothing")
	f("{a}{b}", 3, "text between")
	f("{a} {a}", 4, "taken twice")
	f("{A}", 0, "no name")
	f("{a b}", 0, "no name")
	f(strings.Repeat("{} ", 40), 96, "at most 32")
	f(strings.Repeat("x", MaxTemplate+1), 0, "at most 2000 bytes")
}

// A template matches as the regular expression with the same meaning does.
func FuzzTemplate(f *testing.F) {
	f.Add("opened {s} for {c}", "opened ab12 for planner")
	f.Add("{a}={b} end", "k=v end end")
	f.Add("a{x}b{y}b", "aabbb")
	f.Add("{{{s}}}", "{ab}")
	f.Fuzz(func(t *testing.T, tpl, text string) {
		var names []string
		tp, fault := parseTemplate(tpl, func(name string) (int, error) {
			names = append(names, name)
			return len(names) - 1, nil
		})
		if fault != nil {
			return
		}
		re := `(?s)\A`
		for i, l := range tp.literals {
			re += regexp.QuoteMeta(string(l))
			if i < len(tp.captures) {
				re += "(.*?)"
			}
		}
		expr, err := regexp.Compile(re + `\z`)
		if err != nil {
			t.Skip() // text that RE2 does not take, such as broken UTF-8
		}
		into := make([][]byte, len(names))
		want := expr.FindStringSubmatch(text)
		if got := tp.Match([]byte(text), into); got != (want != nil) {
			t.Fatalf("%q on %q: %v, want %v", tpl, text, got, want != nil)
		}
		if want == nil {
			return
		}
		for i, c := range tp.captures {
			if c >= 0 && string(into[c]) != want[i+1] {
				t.Fatalf("%q on %q takes %q, want %q", tpl, text, into[c], want[i+1])
			}
		}
	})
}
