package event

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTokens(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		var got []string
		Tokens(in, func(tok string) bool { got = append(got, tok); return true })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("")
	f(" \t\r\n")
	f("...")
	f("a b", "a", "b")
	f("done: BOR-1070.", "done", "BOR-1070")
	f(`{"k":["v1","v2"]}`, "k", "v1", "v2")
	f("k=v|w;x,y", "k", "v", "w", "x", "y")
	f("<b>(bold)</b>", "b", "bold", "/b")
	f("doc://a/b?c", "doc://a/b?c")
	f("10:30:00!", "10:30:00")
	f("3.14.", "3.14")
	f("**note**", "note")
	f("größe, ½", "größe", "½")
	f("a\x00b", "a", "b")
}

func TestTokensStop(t *testing.T) {
	n := 0
	Tokens("a b c d", func(string) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("called %d times after it was told to stop at the second", n)
	}
}

// A value is found by its first tokens wherever a scalar holds them together, and nowhere else.
func TestRunsAndScalars(t *testing.T) {
	f := func(value string, scalars []string, want bool) {
		t.Helper()
		if got := RunOf(value).In(marks(scalars...)); got != want {
			t.Errorf("%q in %q: %v", value, scalars, got)
		}
	}
	f("north wing 4", []string{"x", "to the north wing 4 now", "y"}, true)
	f("north wing 4", []string{"north wing", "4"}, false)
	f("north wing 4", []string{"north wing north wing 4"}, true) // a false start before
	f("north wing", []string{"north"}, false)                    // the text ends first
	f("...", []string{"..."}, false)                             // no token at all
}

func mark(tok string) uint64 { return markOf(hash(tok), len(tok)) }

// Marks are those of the tokens, one by one.
func TestMarksOfTokens(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const letters = "ab7-/é .:!*?,=\"\x00"
	for range 20_000 {
		text := make([]byte, rng.IntN(40))
		for i := range text {
			text[i] = letters[rng.IntN(len(letters))]
		}
		limit := 1 + rng.IntN(12)
		var want []uint64
		all := true
		Tokens(string(text), func(tok string) bool {
			if all = len(want)+1 < limit; all {
				want = append(want, mark(tok))
			}
			return all
		})
		want = append(want, 0)
		if got, whole := AddMarks(nil, string(text), limit); !slices.Equal(got, want) || whole != all {
			t.Fatalf("%q up to %d: %x %v, want %x %v", text, limit, got, whole, want, all)
		}
		var first Run
		copy(first[:], want[:min(len(want)-1, MarkGram)])
		if got := RunOf(string(text)); limit > MarkGram && got != first {
			t.Fatalf("%q begins with %x, want %x", text, got, first)
		}
	}
}

func TestMarksStopAtTheLimit(t *testing.T) {
	for limit := 1; limit < 12; limit++ {
		m, all := AddMarks(nil, "one two three", limit)
		if len(m) > limit || all != (limit >= 4) || m[len(m)-1] != 0 {
			t.Errorf("limit %d: %d marks, all %v", limit, len(m), all)
		}
	}
}

func TestMarksOfWholeTokens(t *testing.T) {
	seen := map[uint64]string{}
	for i := range 20_000 {
		tok := fmt.Sprint("job-", i)
		m := RunOf(tok)[0]
		if o, ok := seen[m]; ok {
			t.Fatalf("%s and %s have one mark", tok, o)
		}
		if seen[m] = tok; m == 0 || !Telling(m) {
			t.Fatalf("the mark of %s is %d", tok, m)
		}
	}
}
