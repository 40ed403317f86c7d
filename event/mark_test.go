package event

import "testing"

func marks(scalars ...string) []uint64 {
	var m []uint64
	for _, s := range scalars {
		m, _ = AddMarks(m, s, 1000)
	}
	return m
}

func TestRunsAreFoundWhole(t *testing.T) {
	f := func(value string, want bool, scalars ...string) {
		t.Helper()
		if got := RunOf(value).In(marks(scalars...)); got != want {
			t.Errorf("%q in %q: %v", value, scalars, got)
		}
	}
	f("BOR-1070", true, "done: BOR-1070.")
	f("BOR-1070", false, "BOR-10701", "XBOR-1070")
	f("4711", true, `{"n":4711}`)
	f("north wing", true, "the north wing, closed")
	f("north wing", false, "north", "wing") // two scalars are no run
	f("north wing", false, "wing north")
	f("a b c d e f", true, "x a b c d y") // a long text is found by its first four tokens
	f("a b c d", false, "a b c")
	f("", false, "anything")
	f("doc://apollo/plan", true, `updated "doc://apollo/plan"!`)
}

func TestMarksAreBoundedAndTelling(t *testing.T) {
	m, all := AddMarks(nil, "one two three four", 3)
	if all || len(m) > 3 || m[len(m)-1] != 0 {
		t.Errorf("%d marks, all %v", len(m), all)
	}
	if Telling(RunOf("abc")[0]) || !Telling(RunOf("abcd")[0]) {
		t.Error("tokens of four bytes tell, shorter ones do not")
	}
	for _, v := range marks("short and longer words")[:4] {
		if v == 0 {
			t.Error("a token has the mark 0, which divides scalars")
		}
	}
}
