package tail

import "testing"

func TestMemoryLimit(t *testing.T) {
	f := func(most, live, want int64) {
		t.Helper()
		if got := memoryLimit(most<<20, live<<20); got != want<<20 {
			t.Errorf("%d MiB live of %d: %d MiB, want %d", live, most, got>>20, want)
		}
	}
	f(448, 0, 448)
	f(448, 300, 448)
	f(448, 400, 552)
	f(448, 1000, 1332)
}
