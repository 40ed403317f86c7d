package pcap

import (
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

// What is remembered of closed connections tells a new one between the same
// endpoints from what is repeated, and stays bounded.
func TestGraves(t *testing.T) {
	stats := &source.Input{}
	a := newAssembler(&emitter{}, nil, func(int32) *source.Input { return stats })
	key := func(n int) connKey {
		return connKey{endpoint{port: uint16(n)}, endpoint{port: uint16(n >> 16), ip: [16]byte{1}}}
	}
	c := a.create(key(1), 3)
	c.half[0] = half{base: 100, next: 200, known: true, spoke: true}
	a.bury(c)
	f := func(want, i int, s segment) {
		t.Helper()
		known := a.graves.known[key(1)]
		if got := a.graves.rise(key(1), i, &s); got != want {
			t.Errorf("half %d, %+v: %d, want %d", i, s, got, want)
		}
		a.graves.known[key(1)] = known
	}
	data, far := []byte("x"), uint32(1<<32-maxAheadAll+199)
	f(0, 0, segment{seq: 100, flags: flagSYN | flagRST})
	f(0, 0, segment{seq: 99, flags: flagSYN}) // repeated
	f(4, 0, segment{seq: 5000, flags: flagSYN})
	f(4, 1, segment{seq: 99, flags: flagSYN}) // that half was not seen to begin
	f(0, 0, segment{seq: 150, data: data})
	f(4, 0, segment{seq: 200 + maxAhead + 1, data: data})
	f(4, 0, segment{seq: far, data: data})
	f(0, 0, segment{seq: 200 + maxAhead + 1})
	f(0, 1, segment{seq: 1, data: data})
	if n := a.graves.rise(key(2), 0, &segment{flags: flagRST}); n != 0 {
		t.Errorf("a reset of nothing begins number %d", n)
	}
	for i := range maxGraves + 100 {
		c := a.create(key(10+i), 1)
		a.bury(c)
	}
	if len(a.graves.known) > maxGraves || len(a.graves.order) > maxGraves || len(a.conns) != 0 || a.rest.n != 0 {
		t.Errorf("%d graves in order of %d, %d connections, %d listed", len(a.graves.known), len(a.graves.order), len(a.conns), a.rest.n)
	}
	if n := a.graves.rise(key(1), 0, &segment{flags: flagSYN}); n != 1 {
		t.Errorf("the oldest is remembered: number %d", n)
	}
}
