package tail

import "testing"

func TestMemoryLimit(t *testing.T) {
	f := func(most, live, want int64) {
		t.Helper()
		if got := memoryLimit(most<<20, live<<20); got != want<<20 {
			t.Errorf("%d MiB live of %d: %d MiB, want %d", live, most, got>>20, want)
		}
	}
	f(224, 0, 224)
	f(224, 170, 224)
	f(224, 200, 256)
	f(224, 1000, 1216)
}
