package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// Most lines of most logs carry nothing, and that shows in the line alone. Such
// lines are told from the others ahead of the parser, on another goroutine; the parser
// then does for them what reading them whole would have done, and no more.

// glance is what a line shows by itself.
type glance uint8

const (
	unclear glance = iota // the parser has to read it
	bare                  // it too, but no envelope is around it, and no record of several lines begins with it
	dull                  // running text that tells nothing
	pairs                 // running text without a prefix, and no template: pairs from its beginning on
	mute                  // such pairs that tell nothing
	muteMCP               // such pairs that tell nothing but that the log is one of MCP
	uvicorn               // a uvicorn access line that tells nothing by itself
	clf                   // the same of the common log format
)

// glanceForms are the forms whose silent lines are told ahead, by glance.
var glanceForms = [...]struct {
	name string
	k    int
}{uvicorn: {"uvicorn", formNamed("uvicorn")}, clf: {"clf", formNamed("clf")}}

func formNamed(name string) int {
	for i := range textForms {
		if textForms[i].name == name {
			return i
		}
	}
	panic("BUG: no form " + name)
}

// skimmer looks at lines one by one. Its parser is a scratch pad: nothing that it
// keeps of a line counts for another.
type skimmer struct {
	p      *parser
	shapes shapes
	shape  *shape // of the line that was looked at last, nil = not known
	slots  []slot
	texts  textMemo
	tails  tails
}

// newSkimmer returns nil where the parser has to see every line: patterns of the user
// may claim any of them, and proposals are made from those that carry nothing.
func newSkimmer(opt source.Options) *skimmer {
	if opt.Patterns != nil || opt.Suggest != nil {
		return nil
	}
	return &skimmer{p: newParser(&source.Stats{}, opt), shapes: shapes{budget: shapeLoan}}
}

const maxSkimmed = 4 << 10 // longer lines are rare, and costly to read twice

// look says what a line shows. It depends on its bytes only.
func (s *skimmer) look(b []byte) glance {
	if len(b) == 0 {
		return dull
	}
	c := b[0]
	if len(b) > maxSkimmed || !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
		return unclear
	}
	if s.shape = nil; c == 't' {
		if s.shape = s.shapes.of(b, &s.p.rec.clock); s.shape != nil {
			return s.shape.seen
		}
	}
	switch {
	case isDigit(c):
		return s.timed(b)
	case c != 'I':
		return s.text(b)
	}
	tail := uvicornTail(b)
	if tail != nil && s.tails.has(tail) {
		return uvicorn
	}
	g := s.text(b)
	if tail != nil && g == uvicorn {
		s.tails.keep(tail)
	}
	return g
}

// text looks at a line of running text that begins with a letter or a digit.
func (s *skimmer) text(b []byte) glance {
	c := b[0]
	many := bytes.Count(b, []byte("=")) > 1
	if b[len(b)-1] == '}' && (!many || bytes.Contains(b, []byte("{ "))) || mayJoin(b) || bytes.IndexByte(b, 0x1b) >= 0 || !envelope.Bare(b) {
		return unclear
	}
	if wrapped(b) {
		return dull
	}
	p := s.p
	quote := bytes.IndexByte(b[:min(len(b), 512)], '"')
	claimed := -1
	for _, k := range formsOf(b, quote) {
		if textForms[k].probe(b, quote) {
			if claimed >= 0 {
				return bare
			}
			claimed = int(k)
		}
	}
	p.rec.reset()
	switch {
	case claimed >= 0:
		return s.access(b, claimed)
	case requestLine(b):
		return dull
	case many && isDigit(c):
		return bare
	}
	i := p.rec.prefix(b, p.opt.AssumeUTCOffset)
	switch t := templateOf(b[i:]); {
	case t != nil:
		return t.glance()
	case many && i > 0:
		return bare
	case many:
		return s.pairs(b)
	case telling(b[i:]):
		return bare
	}
	return dull
}

// access looks at a line of one form of access log.
func (s *skimmer) access(b []byte, form int) glance {
	for g := uvicorn; g <= clf; g++ {
		if form == glanceForms[g].k {
			if s.p.forms.begin(b); textForms[form].read(s.p, b) == silent {
				return g
			}
		}
	}
	return bare
}

// pairs looks at a line of pairs whose shape was not known.
func (s *skimmer) pairs(b []byte) glance {
	r := &s.p.rec
	if s.shapes.budget <= 0 || !s.shapes.split(b) {
		return pairs
	}
	idle := true
	s.slots = s.slots[:0]
	for k, c := range s.shapes.cells {
		name, _ := r.again.of(r, b[c.key:c.sign])
		if k == 0 && (name != slotTime || b[0] != 't' || c.sign < 2 || !plainTime(b[c.sign+1:c.end], &r.clock)) {
			return pairs
		}
		s.slots = append(s.slots, name)
		idle = idle && (idleSlots[name] || partOfShape(name))
	}
	g := pairs
	if r.reset(); idle {
		g = s.muted(b)
	}
	s.shapes.learn(b, s.slots, partOfShape, g)
	return g
}

// partOfShape reports the slots whose values are taken for part of the shape of a line.
func partOfShape(s slot) bool { return s == slotMessage || s == slotEvent }

// idleSlots are the slots that decide nothing about a line which has no others but a
// message, whatever they hold. It is read only.
var idleSlots = [slots]bool{slotNone: true, slotTime: true, slotDuration: true, slotTool: true, slotOutcome: true, slotError: true, slotReason: true, slotPath: true, slotRemote: true}

// muted looks at pairs and says whether they would give no event whatever the log
// has said before: a parser to which everything counts makes none of them, and they
// are no reason to let more count from there on.
func (s *skimmer) muted(b []byte) glance {
	p, r := s.p, &s.p.rec
	p.forms.begin(b)
	if !r.readMessage(b, 0) || r.twice != "" || len(r.bodies) > 0 {
		return pairs
	}
	g := mute
	for _, before := range [...]bool{false, true} {
		p.queue, p.mcp = p.queue[:0], before
		p.record()
		switch {
		case len(p.queue) > 0:
			return pairs
		case p.mcp && !before:
			g = muteMCP
		}
	}
	return g
}

// pass takes a line that was told ahead to carry nothing, and reports whether
// that holds here: it does not where a record of several lines is open, or the line
// answers for one before it. What else was told is kept for reading it.
func (p *parser) pass(b []byte, l *line, values []valueSpan) bool {
	g := l.seen
	p.seen, p.shape, p.values = unclear, l.shape, values
	if g == unclear || p.peeler == nil {
		return false
	}
	if q := p.forms.open(""); q != nil && q.kind != nil {
		return false
	}
	if told := &p.forms.told.python; g == uvicorn && (told.fresh != "" || told.refused != "") {
		return false
	}
	p.peeler.Bare()
	p.wrappers() // a file is said to have those of the files before it
	p.wrap, p.forms.stream = wrap{}, ""
	if g == pairs || g == bare {
		p.seen = g
		return false
	}
	p.forms.begin(b)
	switch g {
	case uvicorn, clf:
		p.forms.last = glanceForms[g].k + 1
	case muteMCP:
		p.mcp = true
	}
	return true
}
