package correlate

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestNormalURI(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := NormalURI(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("HTTP://Example.ORG/A", "http://example.org/A")
	f("http://Example.org", "http://example.org")
	f("http://EXAMPLE.org?Q", "http://example.org?Q")
	f("file:/x", "file:///x")
	f("file://localhost/x", "file:///x")
	f("FILE:///x/", "file:///x")
	f("urn:Isbn:1", "urn:Isbn:1")
	f("doc://a/%7Eb", "doc://a/~b")
	f("doc://a/%zz", "doc://a/%zz") // a broken escape stays
	f(" doc://a ", "doc://a")
	f("notes/", "notes")
	f(":x", ":x")
	f("", "")
}

// Templates match what the regular expression of the same meaning matches.
func TestTemplatesMatchLikeExpressions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	word := func(alphabet string, n int) string {
		var b strings.Builder
		for range rng.IntN(n) {
			b.WriteByte(alphabet[rng.IntN(len(alphabet))])
		}
		return b.String()
	}
	hits := 0
	for range 20_000 {
		tmpl, expr := "", "^"
		for range 1 + rng.IntN(4) {
			lit := word("a/", 3)
			tmpl, expr = tmpl+lit, expr+lit
			switch rng.IntN(3) {
			case 0:
				tmpl, expr = tmpl+"{x}", expr+"[^/]*"
			case 1:
				tmpl, expr = tmpl+"{+x}", expr+".*"
			}
		}
		u := word("aab/", 8)
		want := regexp.MustCompile(expr + "$").MatchString(u)
		if got := matchTemplate(tmpl, u); got != want {
			t.Fatalf("%q against %q: %v", u, tmpl, got)
		}
		if want {
			hits++
		}
	}
	if hits < 500 || hits > 19_500 {
		t.Errorf("%d of 20000 match: the words prove nothing", hits)
	}
}

// A template is the wire's: many expressions end in time, and more than anybody
// writes are not looked into.
func TestTemplateOfManyExpressions(t *testing.T) {
	f := func(n int, u string, want bool) {
		t.Helper()
		if got := NewURI("x://" + strings.Repeat("{+a}", n) + "b").Covers(NewURI(u)); got != want {
			t.Errorf("%d expressions against %.10s…: %v", n, u, got)
		}
	}
	f(maxExpressions, "x://"+strings.Repeat("a", 2000), false)
	f(maxExpressions, "x://"+strings.Repeat("a", 2000)+"b", true)
	f(400, "x://"+strings.Repeat("a", 2000), true)
	f(400, "y://"+strings.Repeat("a", 2000), false)
}
