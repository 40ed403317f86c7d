package parsers

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/isodetect/isodetect/parsers/source"
)

// ErrInterrupted is source.ErrInterrupted.
var ErrInterrupted = source.ErrInterrupted

// Meter counts the bytes that were read from disk over all inputs and ends the
// reading when its context does. It is safe for use by several goroutines.
type Meter struct {
	ctx   context.Context
	read  atomic.Int64
	watch func(read int64)
}

// NewMeter returns a Meter that ends all reading with ctx.
func NewMeter(ctx context.Context) *Meter { return &Meter{ctx: ctx} }

// Read is the number of bytes read so far.
func (m *Meter) Read() int64 { return m.read.Load() }

// Watch has f called after every read from disk. Call it before the reading begins.
func (m *Meter) Watch(f func(read int64)) { m.watch = f }

func (m *Meter) add(n int64) {
	read := m.read.Add(n)
	if m.watch != nil {
		m.watch(read)
	}
}

func (m *Meter) err() error {
	if m.ctx.Err() != nil {
		return ErrInterrupted
	}
	return nil
}

// metered counts what is read through it.
type metered struct {
	r io.Reader
	m *Meter
	n int64
}

func (r *metered) Read(p []byte) (int, error) {
	if err := r.m.err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	r.n += int64(n)
	r.m.add(int64(n))
	return n, err
}

// meteredAt counts random reads. A format that asks for them reads its input
// about twice, so every byte counts half, and none past the size.
type meteredAt struct {
	source.RandomReader
	m    *Meter
	left atomic.Int64 // half bytes that may still be counted
}

func newMeteredAt(r source.RandomReader, m *Meter, size int64) *meteredAt {
	a := &meteredAt{RandomReader: r, m: m}
	a.left.Store(2 * size)
	return a
}

func (r *meteredAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.m.err(); err != nil {
		return 0, err
	}
	n, err := r.RandomReader.ReadAt(p, off)
	if r.left.Add(-int64(n)) >= 0 {
		r.m.add(int64(n) / 2)
	}
	return n, err
}

// pump reads r in a goroutine, so that a reading that waits for the other end of
// a pipe can be interrupted. The goroutine lasts until r yields or ends.
type pump struct {
	m    *Meter
	full chan piece
	free chan []byte
	cur  []byte
	buf  []byte
	err  error
}

type piece struct {
	buf []byte
	n   int
	err error
}

const pumpSize = 64 << 10

func newPump(r io.Reader, m *Meter) *pump {
	p := &pump{m: m, full: make(chan piece, 2), free: make(chan []byte, 4)}
	p.free <- make([]byte, pumpSize)
	p.free <- make([]byte, pumpSize)
	go p.run(r)
	return p
}

func (p *pump) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-p.free:
		case <-p.m.ctx.Done():
			return
		}
		n, err := r.Read(buf)
		select {
		case p.full <- piece{buf, n, err}:
		case <-p.m.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *pump) Read(b []byte) (int, error) {
	for len(p.cur) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if p.buf != nil {
			p.free <- p.buf
			p.buf = nil
		}
		select {
		case c := <-p.full:
			p.buf, p.cur, p.err = c.buf, c.buf[:c.n], c.err
		case <-p.m.ctx.Done():
			return 0, ErrInterrupted
		}
	}
	n := copy(b, p.cur)
	p.cur = p.cur[n:]
	p.m.add(int64(n))
	return n, nil
}
