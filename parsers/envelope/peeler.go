package envelope

import "bytes"

// Peeler takes the envelopes off the lines of one source.
type Peeler struct {
	take      func(inner []byte, m *Meta) `snapshot:"-"`
	envelopes []Envelope                  `snapshot:"-"`
	byClass   [6][]int                    `snapshot:"-"` // indexes of envelopes by the bit of their class
	layers    [MaxDepth]layer
	meta      Meta `snapshot:"-"`
	at        Address
	line      []byte `snapshot:"-"` // the physical line
	indents   bool   // the line before is of a format whose further lines are indented
	server    []byte `snapshot:"-"` // of the envelopes around the current layer
	writer    []byte `snapshot:"-"`
	open      []*partial
	held      int // bytes in open
	path      place
	sequence  sequence
	seen      []string // names of the envelopes met, in the order of their first meeting

	// Overlong counts lines in parts that grew beyond the limit, Unended those whose end is missing.
	Overlong, Unended int
}

// layer is the work space of one envelope, and what it tells about the line in it.
type layer struct {
	depth  int
	last   int // the envelope that fitted last, counted from 1
	host   []byte
	ended  bool   // Docker: lines end with a newline in this source
	fields fields `snapshot:"-"`
	buf    []byte `snapshot:"-"`
	object []byte `snapshot:"-"`

	inner  []byte `snapshot:"-"`
	time   []byte `snapshot:"-"`
	stream []byte `snapshot:"-"`
	who    place  `snapshot:"-"`
	why    string `snapshot:"-"` // of a lost text
	many   bool
	final  bool
}

// place is whose line it is.
type place struct{ namespace, pod, container, host, program, pid, id, restart []byte }

// New returns a Peeler that hands every line inside to take. path is that of the
// input: container runtimes put pod, container and restart into it.
func New(path string, take func(inner []byte, m *Meta)) *Peeler {
	p := &Peeler{path: placeOf(path)}
	for i := range p.layers {
		p.layers[i].depth = i
	}
	p.Resume(take)
	return p
}

// Resume makes what a snapshot of a Peeler does not hold.
func (p *Peeler) Resume(take func(inner []byte, m *Meta)) {
	p.take, p.envelopes, p.byClass = take, All(), [6][]int{}
	for i := range p.envelopes {
		for bit := range p.byClass {
			if p.envelopes[i].begins&(1<<bit) != 0 {
				p.byClass[bit] = append(p.byClass[bit], i)
			}
		}
	}
}

// Turn goes on to another file of the same log, at the same path or another one.
func (p *Peeler) Turn(path string) { p.path = placeOf(path) }

// Wrappers returns the names of the envelopes met so far. For a source that is
// wrapped the same way throughout they are the chain, the outermost first.
func (p *Peeler) Wrappers() []string { return p.seen }

// Peel takes the envelopes off one physical line and hands what is inside to take:
// nothing where the line holds a part of one only, the line itself where it is not
// wrapped. take must not call Peel.
func (p *Peeler) Peel(line []byte, at Address) {
	p.begin(line, at)
	if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') && p.indents {
		return // journalctl indents the further lines of a message
	}
	p.indents = false
	p.peel(0, line)
}

func (p *Peeler) begin(line []byte, at Address) {
	p.line, p.at = line, at
	p.server, p.writer = p.server[:0], p.writer[:0]
	m := &p.meta
	m.Depth, m.Server, m.Epoch, m.Writer, m.Lost, m.Single, m.Parts, m.Shares = 0, nil, nil, nil, "", true, 0, nil
}

// peel takes off the envelope of b, if it has one.
func (p *Peeler) peel(depth int, b []byte) {
	if depth == MaxDepth || len(b) < minWrapped {
		p.deliver(b)
		return
	}
	if b[0] == 0x1e { // RFC 7464: a text sequence, as journalctl -o json-seq writes it
		b = b[1:]
	}
	l := &p.layers[depth]
	c := classOf(b[0])
	if !possible(b, c) || c == brace && !l.fields.read(b) {
		p.deliver(b)
		return
	}
	if k := l.last - 1; k >= 0 && p.envelopes[k].begins&c != 0 && p.try(l, k, b) {
		return
	}
	for _, k := range p.byClass[bitOf(c)] {
		if k != l.last-1 && p.try(l, k, b) {
			l.last = k + 1
			return
		}
	}
	p.deliver(b)
}

// possible is a quick look at whether a line may have an envelope: most lines of
// most logs have none.
func possible(b []byte, c class) bool {
	switch head := b[:min(len(b), 64)]; c {
	case digit: // a time, the length in front of RFC 5424, or the name of a service
		return len(head) > 20 && (b[10] == 'T' || b[10] == '.') || behindBlank(head[:min(len(head), 12)], '<') || behindBlank(head, '|')
	case letter: // Jul 19, Sun 2026, I0719, or the name of a pod or service
		if b[3] == ' ' && (isDigit(b[4]) || isDigit(b[5])) || b[0] <= 'W' && isDigit(b[1]) && isDigit(b[4]) && b[5] == ' ' {
			return true
		}
		words := 0
		for _, c := range b[:min(len(b), 253)] { // a dash in its first two words
			switch {
			case c == '-':
				return true
			case c == ' ':
				if words++; words == 2 {
					return false
				}
			case !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '.' && c != '_':
				return false
			}
		}
		return false
	}
	return c != 0
}

// behindBlank reports whether c stands behind a blank.
func behindBlank(b []byte, c byte) bool {
	for i := 0; ; i++ {
		k := bytes.IndexByte(b[i:], c)
		if k < 0 {
			return false
		}
		if i += k; i > 0 && b[i-1] == ' ' {
			return true
		}
	}
}

// Bare reports whether a line has no envelope for certain, whatever the lines
// around it are: Peel would hand it over as it is.
func Bare(b []byte) bool {
	if len(b) == 0 || b[0] == ' ' || b[0] == '\t' || b[0] == 0x1e {
		return false
	}
	return len(b) < minWrapped || !possible(b, classOf(b[0]))
}

// Bare is called in place of Peel for a line that has no envelope.
func (p *Peeler) Bare() { p.indents = false }

// minWrapped is the length of the shortest line with an envelope around it.
const minWrapped = 8

func bitOf(c class) int {
	for bit := range 6 {
		if c&(1<<bit) != 0 {
			return bit
		}
	}
	panic("BUG: no class")
}

// try lets one envelope have the line and reports whether it is its own.
func (p *Peeler) try(l *layer, k int, b []byte) bool {
	l.inner, l.time, l.stream, l.who, l.why, l.many, l.final = nil, nil, nil, place{}, "", false, false
	depth := p.meta.Depth
	switch p.envelopes[k].peel(p, l, b) {
	case other:
		return false
	case whole:
		p.met(k)
		p.into(l, false)
	case record:
		p.met(k)
		l.final = true
		p.into(l, false)
	case part:
		p.met(k)
		p.into(l, true)
	case lost:
		p.met(k)
		l.inner = nil
		p.into(l, false)
	default:
		p.met(k)
	}
	p.meta.Depth = depth
	p.trim(l)
	return true
}

// met remembers that an envelope occurs in this source.
func (p *Peeler) met(k int) { p.saw(p.envelopes[k].Name) }

func (p *Peeler) saw(name string) {
	for _, s := range p.seen {
		if s == name {
			return
		}
	}
	p.seen = append(p.seen, name)
}

// into goes on with what is inside a layer.
func (p *Peeler) into(l *layer, partial bool) {
	m := &p.meta
	outer, server, writer := *m, len(p.server), len(p.writer)
	m.Times[l.depth] = l.time
	m.Depth = l.depth + 1
	m.Lost = l.why
	m.Single = m.Single && !l.many
	p.server = l.who.append(p.server)
	if e := l.who.epoch(); len(e) > 0 {
		m.Epoch = e
	}
	p.writer = append(append(append(p.writer, l.who.pid...), l.stream...), '|')
	switch {
	case l.why != "":
		p.deliver(nil)
	case l.final:
		p.deliver(l.inner)
	case partial:
		p.hold(l)
	default:
		p.rest(l)
	}
	*m, p.server, p.writer = outer, p.server[:server], p.writer[:writer]
}

// deliver hands a line over that has no further envelope.
func (p *Peeler) deliver(b []byte) {
	m := &p.meta
	m.Server = p.server
	p.writer = append(p.writer, p.server...)
	m.Writer = p.writer
	p.take(b, m)
	p.writer = p.writer[:len(p.writer)-len(p.server)]
}

// trim gives the room of huge lines back.
func (p *Peeler) trim(l *layer) {
	if cap(l.buf) > maxKept {
		l.buf = nil
	}
	if cap(l.object) > maxKept {
		l.object = nil
	}
}

const maxKept = 4 << 20

// append adds the name of the place to that which the envelopes around it gave.
func (w *place) append(dst []byte) []byte {
	if len(w.pod)+len(w.container) == 0 {
		return join(join(dst, w.host), w.program)
	}
	return join(join(join(dst, w.namespace), w.pod), w.container)
}

func join(dst, s []byte) []byte {
	if len(s) == 0 {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, '/')
	}
	return append(dst, s[:min(len(s), maxName)]...)
}

// maxName bounds one part of the name of a process.
const maxName = 256

// epoch is what changes when the process starts anew.
func (w *place) epoch() []byte {
	switch {
	case len(w.id) > 12:
		return w.id[:12]
	case len(w.id) > 0:
		return w.id
	case len(w.restart) > 0:
		return w.restart
	case len(w.pid) > 0 && string(w.pid) != "-":
		return w.pid[:min(len(w.pid), maxName)]
	}
	return nil
}
