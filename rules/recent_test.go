package rules

import "testing"

func TestRecent(t *testing.T) {
	var r Recent[int, string]
	if _, ok := r.Get(1); ok {
		t.Error("an empty one knows a key")
	}
	if !r.First(1, "a") || r.First(1, "b") {
		t.Error("a key is new exactly once")
	}
	if v, ok := r.Get(1); v != "a" || !ok {
		t.Errorf("got %q, %v", v, ok)
	}
	for i := range 10 * maxRecent {
		r.Put(i+2, "x")
		if i%1000 == 0 {
			r.Get(1) // used: stays
		}
	}
	if _, ok := r.Get(1); !ok {
		t.Error("a key that is used is forgotten")
	}
	if _, ok := r.Get(2); ok {
		t.Error("a key that nobody uses is kept")
	}
	if n := len(r.Young) + len(r.Old); n > 2*maxRecent {
		t.Errorf("%d keys kept", n)
	}
}
