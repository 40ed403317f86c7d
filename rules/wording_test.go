package rules

import (
	"testing"

	"github.com/isodetect/isodetect/correlate"
)

func TestWereLive(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		ps := make([]*correlate.Party, n)
		for i := range ps {
			ps[i] = &correlate.Party{Alias: "S1"}
		}
		if got := wereLive(ps); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(1, "S1 was live")
	f(2, "2 sessions were live")
	f(9, "more than 8 sessions were live")
}
