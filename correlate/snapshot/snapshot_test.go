package snapshot

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type node struct {
	Name   string
	next   *node
	Others map[string]*node
	List   []*node
	Flat   [3]uint16
	deep   struct{ A, B []int64 }
	Any    shape
	Entry  *entry
	Texts  []string
	Keyed  map[key][]byte
	skip   chan int `snapshot:"-"`
}

type key struct {
	A string
	B int
}

type shape interface{ area() int }

type square struct{ Side int }

func (s *square) area() int { return s.Side * s.Side }

type circle struct{ R int }

func (c circle) area() int { return 3 * c.R * c.R }

type entry struct{ Name string }

var known = &entry{"catalogue"}

func testKnown() Known {
	return Known{Types: []any{&square{}, circle{}}, Shared: map[string]any{"known": known}}
}

func example() *node {
	a, b := &node{Name: "a", Entry: known}, &node{Name: "b", Any: circle{2}}
	a.next, b.next = b, a // a ring
	a.Others = map[string]*node{"self": a, "b": b, "nil": nil}
	a.List = []*node{b, nil, a, b}
	a.Flat = [3]uint16{1, 2, 3}
	a.deep.A, a.deep.B = []int64{1, -2}, []int64{}
	a.Any = &square{3}
	a.Texts = []string{"", "x", strings.Repeat("y", 3<<20)}
	a.Keyed = map[key][]byte{{"k", 1}: []byte("v"), {"", 0}: nil}
	a.skip = make(chan int)
	return a
}

func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, example(), testKnown()); err != nil {
		t.Fatal(err)
	}
	got := &node{}
	if err := Read(&b, got, testKnown()); err != nil {
		t.Fatal(err)
	}
	want := example()
	want.skip = nil
	if got.next.next == got { // the root is a value of its own: what points to it points to a copy
		t.Error("the root is among what is pointed to")
	}
	self := got.next.next
	if self.next != got.next || self.Others["self"] != self || self.List[2] != self || self.List[0] != self.List[3] || self.Others["b"] != self.next {
		t.Error("what several places point to is not one value")
	}
	if self.Entry != known {
		t.Error("an entry of the catalogue was copied")
	}
	if self.deep.B == nil || self.List[1] != nil || self.Keyed[key{"", 0}] != nil {
		t.Error("nil and empty are mixed up")
	}
	want.next.next = want
	self.skip = nil
	if !reflect.DeepEqual(self, want) {
		t.Errorf("got %+v", self)
	}
}

func TestReadRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, example(), testKnown()); err != nil {
		t.Fatal(err)
	}
	if err := Read(bytes.NewReader(b.Bytes()), &entry{}, testKnown()); !errors.Is(err, ErrVersion) {
		t.Errorf("other types: %v", err)
	}
	if err := Read(bytes.NewReader(b.Bytes()), &node{}, Known{Types: testKnown().Types}); !errors.Is(err, ErrVersion) {
		t.Errorf("another catalogue: %v", err)
	}
	if err := Read(strings.NewReader("something else, and long enough"), &node{}, testKnown()); err == nil || !strings.Contains(err.Error(), "no snapshot") {
		t.Error(err)
	}
	for _, n := range []int{0, 10, len(magic) + 3, 200, b.Len() - 1} {
		if err := Read(bytes.NewReader(b.Bytes()[:n]), &node{}, testKnown()); err == nil {
			t.Errorf("%d bytes are taken for a whole snapshot", n)
		}
	}
	type bad struct{ F func() }
	if err := Write(&b, &bad{}, Known{}); err == nil {
		t.Error("a closure was written")
	}
	var i shape = &square{}
	if err := Write(&b, &i, Known{}); err == nil {
		t.Error("an unknown type was written")
	}
}

func FuzzRead(f *testing.F) {
	small := example()
	small.Texts = nil
	var b bytes.Buffer
	if err := Write(&b, small, testKnown()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes()[len(magic):])
	f.Fuzz(func(t *testing.T, data []byte) {
		var back bytes.Buffer
		got := &node{}
		if Read(bytes.NewReader(append([]byte(magic), data...)), got, testKnown()) == nil {
			if err := Write(&back, got, testKnown()); err != nil {
				t.Error(err)
			}
		}
	})
}
