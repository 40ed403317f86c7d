package envelope

import "bytes"

// Container runtimes cut long lines into parts of 16 KiB. The parts of one line
// follow each other on their stream, between parts of other streams.

// partial is a line of which more is to come.
type partial struct {
	key   []byte // whose line, which stream, how deep
	buf   []byte
	parts int
	in    []Share // the inputs of the parts
	first Address
	head  []byte // the beginning of its first physical line
	depth int    // of the layer whose parts they are
	time  []byte // of the last part
	over  bool   // it grew beyond the limit; the rest of it is passed over
	flush bool   // the input may end with it: it is whole as it stands

	server, writer, epoch []byte
}

const (
	maxOpen   = 64       // lines in parts at the same time
	maxJoined = 64 << 20 // bytes of all lines in parts
	maxHead   = 1024
)

// key tells the current stream of the current layer from all others.
func (p *Peeler) key(dst []byte, l *layer) []byte {
	dst = append(append(dst, byte('0'+l.depth)), p.writer...)
	return append(append(append(dst, p.server...), '|'), p.meta.Epoch...)
}

func (p *Peeler) find(l *layer) *partial {
	if len(p.open) == 0 {
		return nil
	}
	var room [256]byte
	key := p.key(room[:0], l)
	for _, q := range p.open {
		if bytes.Equal(q.key, key) {
			return q
		}
	}
	return nil
}

// hold keeps a part until the rest of its line comes.
func (p *Peeler) hold(l *layer) {
	q := p.find(l)
	if q == nil {
		q = p.fresh()
		q.key = p.key(nil, l)
		q.first = p.at
		q.head = append(q.head, p.line[:min(len(p.line), maxHead)]...)
		q.depth = l.depth
		q.server, q.writer, q.epoch = bytes.Clone(p.server), bytes.Clone(p.writer), bytes.Clone(p.meta.Epoch)
	}
	q.parts++
	q.in = Count(q.in, p.at.Source)
	q.flush = l.ended && len(l.inner) < dockerPart
	q.time = append(q.time[:0], l.time...)
	if q.over {
		return
	}
	if p.held+len(l.inner) > maxJoined {
		p.held -= len(q.buf)
		q.buf, q.over = nil, true
		p.Overlong++
		return
	}
	p.held += len(l.inner)
	q.buf = append(q.buf, l.inner...)
}

func (p *Peeler) fresh() *partial {
	if len(p.open) == maxOpen {
		p.drop(p.open[0])
		p.Unended++
	}
	q := &partial{}
	p.open = append(p.open, q)
	return q
}

func (p *Peeler) drop(q *partial) {
	p.held -= len(q.buf)
	for i := range p.open {
		if p.open[i] == q {
			p.open = append(p.open[:i], p.open[i+1:]...)
			return
		}
	}
}

// rest goes on with a line, in front of which stand its earlier parts.
func (p *Peeler) rest(l *layer) {
	q := p.find(l)
	if q == nil {
		p.peel(l.depth+1, l.inner)
		return
	}
	p.drop(q)
	switch {
	case q.over:
		return
	case len(q.buf)+len(l.inner) > maxJoined:
		p.Overlong++
		return
	}
	p.meta.Parts, p.meta.Shares, p.meta.First, p.meta.Head = q.parts, q.in, q.first, q.head
	p.peel(l.depth+1, append(q.buf, l.inner...))
}

// Flush hands over the lines that are whole although their last part says that
// more follows: what a program wrote last, without a newline. Others are counted as Unended.
func (p *Peeler) Flush() {
	p.Settle()
	p.Unended += len(p.open)
	for len(p.open) > 0 {
		p.drop(p.open[0])
	}
}

// Settle hands over the same lines because nothing came for a while. Others wait on.
func (p *Peeler) Settle() {
	for i := 0; i < len(p.open); {
		q := p.open[i]
		if q.over || !q.flush {
			i++
			continue
		}
		p.drop(q)
		p.begin(nil, q.first)
		p.server, p.writer = append(p.server, q.server...), append(p.writer, q.writer...)
		m := &p.meta
		m.Depth, m.Parts, m.Shares, m.First, m.Head, m.Epoch = q.depth+1, q.parts, q.in, q.first, q.head, q.epoch
		m.Times[q.depth] = q.time
		p.peel(q.depth+1, q.buf)
	}
}
