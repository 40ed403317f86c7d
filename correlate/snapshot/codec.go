package snapshot

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// flatCodec copies memory. Its layout is part of the fingerprint.
func flatCodec(size uintptr) (func(*encoder, unsafe.Pointer), func(*decoder, unsafe.Pointer)) {
	return func(e *encoder, at unsafe.Pointer) { e.bytes(unsafe.Slice((*byte)(at), size)) },
		func(d *decoder, at unsafe.Pointer) { d.bytes(unsafe.Slice((*byte)(at), size)) }
}

func writeString(e *encoder, at unsafe.Pointer) {
	s := *(*string)(at)
	e.uint(uint64(len(s)))
	e.w.WriteString(s)
}

func readString(d *decoder, at unsafe.Pointer) {
	*(*string)(at) = string(d.chunk(d.length(), 1))
}

// step is how much is made at once for what a length announces.
const step = 1 << 20

// chunk reads n elements of a size as they lie in memory, growing as they come.
func (d *decoder) chunk(n int, size uintptr) []byte {
	if size > 0 && n > (1<<40)/int(size) {
		d.err = errors.New("it is damaged: a length is impossible")
	}
	total := n * int(size)
	var out []byte
	for len(out) < total && d.err == nil {
		k := min(total-len(out), step)
		out = append(out, make([]byte, k)...)
		d.bytes(out[len(out)-k:])
	}
	return out
}

func (p *plan) pointer(c *codec) error {
	elem, err := p.codec(c.t.Elem())
	if err != nil {
		return err
	}
	c.write = func(e *encoder, at unsafe.Pointer) { e.pointer(*(*unsafe.Pointer)(at), elem) }
	c.read = func(d *decoder, at unsafe.Pointer) { *(*unsafe.Pointer)(at) = d.pointer(elem) }
	return nil
}

func (e *encoder) pointer(to unsafe.Pointer, elem *codec) {
	if to == nil {
		e.uint(0)
		return
	}
	if i, ok := e.plan.nameOf[target{to, elem.t}]; ok {
		e.uint(uint64(i)<<1 | 1)
		return
	}
	k := place{to, elem}
	id, ok := e.ids[k]
	if !ok {
		id = uint32(len(e.ids)) + 1
		e.ids[k] = id
		e.queue = append(e.queue, pending{to, elem})
	}
	e.uint(uint64(id) << 1)
}

func (d *decoder) pointer(elem *codec) unsafe.Pointer {
	n := d.uint()
	switch {
	case d.err != nil || n == 0:
		return nil
	case n&1 == 1:
		if i := n >> 1; i < uint64(len(d.plan.shared)) && d.plan.sharedT[i] == elem.t {
			return d.plan.shared[i]
		}
	case n>>1 <= uint64(len(d.met)):
		if m := d.met[n>>1-1]; m.codec == elem {
			return m.at
		}
	case n>>1 == uint64(len(d.met))+1:
		at := reflect.New(elem.t).UnsafePointer()
		d.met = append(d.met, pending{at, elem})
		return at
	}
	d.err = errors.New("it is damaged: a pointer leads nowhere")
	return nil
}

func (p *plan) slice(c *codec) error {
	elem, err := p.codec(c.t.Elem())
	if err != nil {
		return err
	}
	size, t := elem.t.Size(), c.t
	c.write = func(e *encoder, at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			e.uint(0)
			return
		}
		n := v.Len()
		e.uint(uint64(n) + 1)
		base := v.UnsafePointer()
		if elem.flat {
			e.bytes(unsafe.Slice((*byte)(base), uintptr(n)*size))
			return
		}
		for i := range n {
			elem.write(e, unsafe.Add(base, uintptr(i)*size))
		}
	}
	c.read = func(d *decoder, at unsafe.Pointer) {
		n := d.length()
		if n == 0 || d.err != nil {
			return
		}
		n--
		v := reflect.NewAt(t, at).Elem()
		if elem.flat && size > 0 {
			raw := d.chunk(n, size)
			if d.err == nil {
				v.Set(reflect.MakeSlice(t, n, n))
				copy(unsafe.Slice((*byte)(v.UnsafePointer()), uintptr(n)*size), raw)
			}
			return
		}
		v.Set(reflect.MakeSlice(t, 0, min(n, 1024)))
		for i := 0; i < n && d.err == nil; i++ {
			if i == v.Cap() {
				v.Grow(1)
			}
			v.SetLen(i + 1)
			elem.read(d, unsafe.Add(v.UnsafePointer(), uintptr(i)*size))
		}
	}
	return nil
}

func (p *plan) array(c *codec) error {
	elem, err := p.codec(c.t.Elem())
	if err != nil {
		return err
	}
	n, size := c.t.Len(), elem.t.Size()
	c.write = func(e *encoder, at unsafe.Pointer) {
		for i := range n {
			elem.write(e, unsafe.Add(at, uintptr(i)*size))
		}
	}
	c.read = func(d *decoder, at unsafe.Pointer) {
		for i := 0; i < n && d.err == nil; i++ {
			elem.read(d, unsafe.Add(at, uintptr(i)*size))
		}
	}
	return nil
}

// field is one field of a struct that is written.
type field struct {
	offset uintptr
	codec  *codec
}

func (p *plan) structure(c *codec) error {
	var fields []field
	for i := range c.t.NumField() {
		f := c.t.Field(i)
		if f.Tag.Get("snapshot") == "-" {
			continue // made anew, or scratch space that nothing rests on
		}
		fc, err := p.codec(f.Type)
		if err != nil {
			return fmt.Errorf("%w (%s.%s)", err, c.t, f.Name)
		}
		fields = append(fields, field{f.Offset, fc})
	}
	c.write = func(e *encoder, at unsafe.Pointer) {
		for _, f := range fields {
			f.codec.write(e, unsafe.Add(at, f.offset))
		}
	}
	c.read = func(d *decoder, at unsafe.Pointer) {
		for _, f := range fields {
			if d.err != nil {
				return
			}
			f.codec.read(d, unsafe.Add(at, f.offset))
		}
	}
	return nil
}

func (p *plan) mapping(c *codec) error {
	key, err := p.codec(c.t.Key())
	if err != nil {
		return err
	}
	value, err := p.codec(c.t.Elem())
	if err != nil {
		return err
	}
	t := c.t
	c.write = func(e *encoder, at unsafe.Pointer) {
		m := reflect.NewAt(t, at).Elem()
		if m.IsNil() {
			e.uint(0)
			return
		}
		e.uint(uint64(m.Len()) + 1)
		k, v := reflect.New(t.Key()), reflect.New(t.Elem()) // what a map holds has no address
		for it := m.MapRange(); it.Next(); {
			k.Elem().SetIterKey(it)
			v.Elem().SetIterValue(it)
			key.write(e, k.UnsafePointer())
			value.write(e, v.UnsafePointer())
		}
	}
	c.read = func(d *decoder, at unsafe.Pointer) {
		n := d.length()
		if n == 0 || d.err != nil {
			return
		}
		n--
		m := reflect.MakeMapWithSize(t, min(n, 1024))
		reflect.NewAt(t, at).Elem().Set(m)
		for i := 0; i < n && d.err == nil; i++ {
			k, v := reflect.New(t.Key()), reflect.New(t.Elem())
			key.read(d, k.UnsafePointer())
			value.read(d, v.UnsafePointer())
			if d.err == nil {
				m.SetMapIndex(k.Elem(), v.Elem())
			}
		}
	}
	return nil
}

// iface writes the number of the concrete type and the value.
func (p *plan) iface(c *codec) {
	t := c.t
	c.write = func(e *encoder, at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			e.uint(0)
			return
		}
		i, ok := e.plan.typeOf[v.Elem().Type()]
		if !ok {
			e.err = fmt.Errorf("BUG: %s stands in an interface of the state and is not among the known types", v.Elem().Type())
			return
		}
		e.uint(uint64(i) + 1)
		held := reflect.New(v.Elem().Type())
		held.Elem().Set(v.Elem())
		e.plan.types[i].write(e, held.UnsafePointer())
	}
	c.read = func(d *decoder, at unsafe.Pointer) {
		n := d.uint()
		if n == 0 || d.err != nil {
			return
		}
		if n > uint64(len(d.plan.types)) || !d.plan.types[n-1].t.Implements(t) {
			d.err = errors.New("it is damaged: a type is not known")
			return
		}
		held := reflect.New(d.plan.types[n-1].t)
		d.plan.types[n-1].read(d, held.UnsafePointer())
		reflect.NewAt(t, at).Elem().Set(held.Elem())
	}
}
