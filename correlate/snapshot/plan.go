package snapshot

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"runtime"
	"slices"
	"unsafe"
)

// plan is how the types of a graph are written, made once for each Write and Read.
type plan struct {
	codecs map[reflect.Type]*codec
	root   *codec
	hash   uint64

	types   []*codec             // of what stands in interfaces, in the order of their names
	typeOf  map[reflect.Type]int // index in types
	shared  []unsafe.Pointer     // in the order of their names
	nameOf  map[target]int       // index in shared
	sharedT []reflect.Type
}

// codec writes and reads the values of one type.
type codec struct {
	t     reflect.Type
	flat  bool // holds no pointers: it is written as it lies in memory
	write func(*encoder, unsafe.Pointer)
	read  func(*decoder, unsafe.Pointer)
}

func newPlan(root reflect.Type, known Known) (*plan, error) {
	p := &plan{codecs: map[reflect.Type]*codec{}, typeOf: map[reflect.Type]int{}, nameOf: map[target]int{}}
	names := make([]string, 0, len(known.Shared))
	for name := range known.Shared {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		v := reflect.ValueOf(known.Shared[name])
		p.shared = append(p.shared, v.UnsafePointer())
		p.sharedT = append(p.sharedT, v.Type().Elem())
		p.nameOf[target{v.UnsafePointer(), v.Type().Elem()}] = i
	}
	types := slices.Clone(known.Types)
	slices.SortFunc(types, func(a, b any) int { return compare(reflect.TypeOf(a).String(), reflect.TypeOf(b).String()) })
	for i, v := range types {
		t := reflect.TypeOf(v)
		c, err := p.codec(t)
		if err != nil {
			return nil, err
		}
		p.types = append(p.types, c)
		p.typeOf[t] = i
	}
	var err error
	if p.root, err = p.codec(root); err != nil {
		return nil, err
	}
	p.hash = p.fingerprint(names)
	return p, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// fingerprint hashes the shape of every type, so that only a program with the same
// types reads a snapshot.
func (p *plan) fingerprint(shared []string) uint64 {
	var lines []string
	for t := range p.codecs {
		line := t.PkgPath() + " " + t.String() + " " + t.Kind().String()
		if t.Kind() == reflect.Struct {
			for i := range t.NumField() {
				f := t.Field(i)
				line += fmt.Sprintf(" %s@%d:%s", f.Name, f.Offset, f.Type)
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	h := fnv.New64a()
	fmt.Fprintln(h, runtime.GOARCH, shared)
	for _, l := range lines {
		fmt.Fprintln(h, l)
	}
	return h.Sum64()
}

// codec returns the codec of a type and makes it if it is new. A type may hold
// itself, so it is registered before it is filled.
func (p *plan) codec(t reflect.Type) (*codec, error) {
	if c := p.codecs[t]; c != nil {
		return c, nil
	}
	c := &codec{t: t}
	p.codecs[t] = c
	if flat(t) {
		c.flat = true
		c.write, c.read = flatCodec(t.Size())
		return c, nil
	}
	var err error
	switch t.Kind() {
	case reflect.String:
		c.write, c.read = writeString, readString
	case reflect.Pointer:
		err = p.pointer(c)
	case reflect.Slice:
		err = p.slice(c)
	case reflect.Array:
		err = p.array(c)
	case reflect.Map:
		err = p.mapping(c)
	case reflect.Struct:
		err = p.structure(c)
	case reflect.Interface:
		p.iface(c)
	default:
		err = fmt.Errorf("BUG: cannot take a snapshot of %s", t)
	}
	return c, err
}

// flat reports whether values of a type hold no pointers of any kind.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return flat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
