package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
)

// Some records take several lines: rich folds them, Node prints objects over
// many lines, .NET and tracing write a head and indented lines below it. Such a
// record is made into one line first and then read as any other. Its address is
// that of its first line.

// joinKind is one way in which records of several lines are written.
type joinKind struct {
	name string
	// begins takes the line into q if a record of this kind begins with it.
	begins func(p *parser, q *pending, line []byte) bool
	// more takes the line if it belongs to the record in q.
	more func(q *pending, line []byte) belongs
	// whole is the record as one line, valid until q is used again.
	whole func(q *pending) []byte
}

// belongs is what a line has to do with the record before it.
type belongs uint8

const (
	another belongs = iota // it does not belong to it
	inside                 // it does, and more may follow
	last                   // it ends it
)

// pending is a record whose lines are still coming.
type pending struct {
	stream  string    // whose line it is, where several writers are mixed
	wrap    wrap      // what the envelopes of its first line tell
	kind    *joinKind `snapshot:"-"`
	number  int       // of kind, counted from 1; 0 = none
	at      event.Address
	counted int64 // lines that were counted as ignored so far
	in      []envelope.Share
	buf     []byte // what was joined
	first   int    // length of the first line in buf
	open    int    // inspect: where the object begins
	depth   int    // inspect: brackets that are open
	column  int    // rich: where the text begins
	width   int    // rich: how wide the text is; 0 = not known
	row     int    // rich: length of the last row of text
	over    bool   // the rest belongs to the record and says nothing
}

const (
	maxJoined  = 1 << 20 // bytes of a joined record
	maxRows    = 5000    // lines of a joined record
	maxStreams = 64      // writers whose records are joined at the same time
)

// joinKinds holds the kinds in the order in which they are tried.
var joinKinds = [...]joinKind{
	{"rich", richBegins, richMore, joinedText},
	{"pino", pinoBegins, pinoMore, pinoWhole},
	{"inspect", inspectBegins, inspectMore, inspectWhole},
	{"tracing", prettyBegins, prettyMore, joinedText},
	{"dotnet", dotnetBegins, dotnetMore, joinedText},
	{"traceback", tracebackBegins, tracebackMore, nil},
}

func joinedText(q *pending) []byte { return q.buf }

// join takes a line that belongs to a record of several lines. done is false for
// any other line, before which the record that was open is read.
func (p *parser) join(b []byte, at event.Address) (f fate, done bool) {
	q := p.forms.open(p.forms.stream)
	waiting := q != nil && q.kind != nil
	if !waiting && !mayJoin(b) {
		return ignored, false
	}
	line := b
	if bytes.IndexByte(b[:min(len(b), maxJoined)], 0x1b) >= 0 {
		p.forms.strip = stripANSI(p.forms.strip[:0], b[:min(len(b), maxJoined)])
		line = p.forms.strip
	}
	if waiting {
		verdict := another
		if q.counted < maxRows && len(q.buf)+len(line) <= maxJoined {
			verdict = q.kind.more(q, line)
		}
		switch verdict {
		case inside:
			q.counted++
			q.in = envelope.Count(q.in, p.source)
			return ignored, true
		case last:
			return p.joined(q), true
		}
		p.joined(q)
	}
	if len(line) == 0 || !mayJoin(b) {
		return ignored, false
	}
	if q == nil {
		q = p.forms.fresh(p)
	}
	for i := range joinKinds {
		k := &joinKinds[i]
		*q = pending{stream: p.forms.stream, at: at, buf: q.buf[:0], in: q.in[:0]}
		if k.begins(p, q, line) {
			q.kind, q.number, q.counted, q.wrap = k, i+1, 1, p.wrap.kept()
			q.in = envelope.Count(q.in, p.source)
			return ignored, true
		}
	}
	return ignored, false
}

// mayJoin is a quick look at whether a record of several lines may begin here.
func mayJoin(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch end := b[len(b)-1]; {
	case end == '{' || end == '[':
		return len(b) <= maxText
	case b[0] == '{':
		return false
	}
	switch b[0] {
	case ' ', '[', 0x1b:
		return true
	case 'T':
		return bytes.HasPrefix(b, []byte("Traceback ("))
	}
	switch {
	case len(b) <= 6 || len(b) >= 512:
		return false
	case b[len(b)-1] == ']':
		return true
	}
	return b[4] == ':' && b[5] == ' ' && bytes.IndexByte(b, 0x1b) >= 0 // colours may stand behind the bracket
}

// joined reads the record in q and says what became of its lines.
func (p *parser) joined(q *pending) fate {
	k := q.kind
	q.kind, q.number = nil, 0
	if k.whole == nil || len(q.buf) == 0 {
		return ignored
	}
	wrap, text, stream := p.wrap, p.outer.text, p.forms.stream
	p.wrap, p.outer.text, p.forms.stream = q.wrap, nil, q.stream
	f, _ := p.single(k.whole(q), q.at)
	p.wrap, p.outer.text, p.forms.stream = wrap, text, stream
	if f != used {
		return ignored
	}
	p.used(q.in)
	return used
}

// flush reads the records that are still open when the input ends, and reports
// whether they gave events.
func (p *parser) flush() bool {
	before := len(p.queue)
	if p.peeler != nil {
		p.outer = outer{}
		unended := p.peeler.Unended
		if p.peeler.Flush(); p.peeler.Unended > unended {
			p.unended()
		}
	}
	p.settle()
	return len(p.queue) > before
}

// settle reads the records of several lines to which no line will come any more.
func (p *parser) settle() {
	for _, q := range p.forms.waiting {
		if q.kind != nil {
			p.joined(q)
		}
	}
}

// open returns the record of a stream, or nil.
func (s *formState) open(stream string) *pending {
	for _, q := range s.waiting {
		if q.stream == stream {
			return q
		}
	}
	return nil
}

// fresh makes room for the records of one more stream; the oldest stream gives
// its room up where there are too many.
func (s *formState) fresh(p *parser) *pending {
	if len(s.waiting) == maxStreams {
		q := s.waiting[0]
		if q.kind != nil {
			p.joined(q)
		}
		copy(s.waiting, s.waiting[1:])
		s.waiting[maxStreams-1] = q
		return q
	}
	q := &pending{}
	s.waiting = append(s.waiting, q)
	return q
}

// tracebackBegins takes the stack of a Python error, which says nothing here: its
// last line may quote a message that reads like the log's own.
func tracebackBegins(_ *parser, _ *pending, line []byte) bool {
	return bytes.HasPrefix(line, []byte("Traceback (most recent call last)"))
}

func tracebackMore(_ *pending, line []byte) belongs {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return inside
	}
	if end := bytes.IndexByte(line, ':'); end > 0 && bytes.IndexByte(line[:end], ' ') < 0 && !level(line[:end]) {
		return last // SomeError: text
	}
	return another
}
