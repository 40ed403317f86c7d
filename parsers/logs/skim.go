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
type skimmer struct{ p *parser }

// newSkimmer returns nil where the parser has to see every line: patterns of the user
// may claim any of them, and proposals are made from those that carry nothing.
func newSkimmer(opt source.Options) *skimmer {
	if opt.Patterns != nil || opt.Suggest != nil {
		return nil
	}
	return &skimmer{newParser(&source.Stats{}, opt)}
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
	switch {
	case templateOf(b[i:]) != nil || many && i > 0:
		return bare
	case many:
		return pairs
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

// pass takes a line that was told ahead to carry nothing, and reports whether
// that holds here: it does not where a record of several lines is open, or the line
// answers for one before it. What else was told is kept for reading it.
func (p *parser) pass(b []byte, g glance) bool {
	p.seen = unclear
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
	if g == uvicorn || g == clf {
		p.forms.last = glanceForms[g].k + 1
	}
	return true
}
