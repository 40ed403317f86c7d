package document

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
)

// Clock reads the time at the beginning of a text, in ns since 1970 UTC; ok is false for none.
type Clock func(text []byte) (ns int64, ok bool)

// survey is the first reading: it finds the records and their times.
type survey struct {
	*splitter
	x      *Index
	kind   *Kind
	clock  Clock
	limit  int // bytes of a record
	times  [][]string
	ids    []string
	until  []string
	took   []string
	seed   maphash.Seed
	more   string
	room   []byte
	odd    bool   // of a table: a quote is open
	lineOf []byte // of a table: the row as a line
	rowOf  rowReader
	probe  func(raw []byte) // takes the first record, of which the end may be missing, and ends the reading
}

// errProbed ends a reading that looked for the first record only.
var errProbed = errors.New("the first record was found")

var bufferFull = bufio.ErrBufferFull

// errFull ends a reading that found more records than an index holds.
var errFull = errors.New("too many records")

// Read reads a document once and returns its index. limit bounds the bytes of one
// record. Its error is that of the input: what is wrong with the text is in the index.
func Read(kind *Kind, r io.Reader, limit int, clock Clock) (*Index, error) {
	s := begin(kind, r, limit, clock)
	var err error
	switch {
	case kind.plain:
		err = s.plainLines()
	case kind.rows:
		err = s.table()
	default:
		err = s.values()
	}
	if err != nil {
		return nil, err
	}
	if n := s.x.frames.over; n > 0 {
		s.x.note("what %d lists say about all of their records was too long to be kept: whose those are is not known", n)
	}
	s.x.order()
	s.x.capped(s.more)
	return s.x, nil
}

func begin(kind *Kind, r io.Reader, limit int, clock Clock) *survey {
	s := &survey{
		splitter: newSplitter(r), x: &Index{kind: kind}, kind: kind, clock: clock, limit: limit,
		ids: strings.Fields(kind.id), seed: maphash.MakeSeed(),
	}
	s.x.frames.of("")
	for _, path := range strings.Fields(kind.time) {
		s.times = append(s.times, split(path))
	}
	s.until, s.took = split(kind.until), split(kind.took)
	return s
}

func split(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// values reads the values at the top, of which a stream of objects has many.
func (s *survey) values() error {
	var paths [][]step
	for _, p := range s.kind.paths {
		paths = append(paths, stepsOf(p))
	}
	if b, _ := s.br.Peek(3); string(b) == "\xef\xbb\xbf" {
		s.skip(b)
	}
	for {
		c, err := s.peek()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c == ',' || c == 0x1e {
			s.take()
			continue
		}
		if err = s.top(paths, 0); err == nil {
			continue
		}
		if errors.Is(err, errProbed) {
			return err
		}
		again, err := s.broken(err)
		if !again || err != nil {
			return err
		}
	}
}

// broken says what is wrong with the text and reports whether the reading goes on.
func (s *survey) broken(err error) (again bool, _ error) {
	var syntax *syntaxError
	switch {
	case errors.Is(err, errFull):
		why := fmt.Sprintf("the document holds more than %d records; what stands behind them was not read", maxEntries)
		s.x.flaw(s.here(), false, why)
		s.x.note("%s", why)
		s.x.Missing = append(s.x.Missing, Hole{why, true}, Hole{why, false})
		return false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		why := "the document ends in the middle: what followed is not there"
		s.x.flaw(s.here(), true, why+"; what stands before it counts")
		s.x.Missing = append(s.x.Missing, Hole{why, true}, Hole{why, false})
		return false, nil
	case errors.As(err, &syntax):
		again, end := s.resume()
		why := "the text is no JSON from here on"
		if again {
			why += fmt.Sprintf(" to line %d", s.line)
		}
		s.x.flaw(syntax.at, true, why+" and was skipped; what stands before it counts")
		if !again && !errors.Is(end, io.EOF) {
			return false, end
		}
		why = "a part of the document could not be read"
		if n := len(s.x.Missing); n == 0 || s.x.Missing[n-1].Why != why {
			s.x.Missing = append(s.x.Missing, Hole{why, true}, Hole{why, false})
		}
		return again, nil
	}
	return false, err
}

// top reads a value at the top: arrays hold what could stand there by itself.
func (s *survey) top(paths [][]step, depth int) error {
	c, err := s.peek()
	if err != nil {
		return cut(err)
	}
	if c == '[' && depth < maxTop {
		return s.array(func() error { return s.top(paths, depth+1) })
	}
	if c != '{' && depth == 0 {
		return s.bad()
	}
	return s.descend(paths)
}

// maxTop is how many arrays at the top may lie in each other.
const maxTop = 2

// descend goes from a value towards the records in it.
func (s *survey) descend(paths [][]step) error {
	for _, p := range paths {
		if len(p) == 0 {
			return s.record()
		}
	}
	c, err := s.peek()
	if err != nil {
		return cut(err)
	}
	if c != '{' {
		_, err := s.value(0)
		return err
	}
	kept := ""
	type run struct {
		from, to int
		step     step
	}
	var runs []run
	err = s.object(func(key string) error {
		var below [][]step
		var at step
		for _, p := range paths {
			if p[0].name == key {
				at, below = p[0], append(below, p[1:])
			}
		}
		if below == nil {
			return s.beside(key, &kept)
		}
		from := len(s.x.entries)
		err := s.member(at, below)
		runs = append(runs, run{from, len(s.x.entries), at})
		return err
	})
	for _, r := range runs {
		s.x.frames.around(s.x.entries[r.from:r.to], s.level(r.step, kept))
	}
	return err
}

// member reads the member that leads on: a list, or an object.
func (s *survey) member(at step, below [][]step) error {
	c, err := s.peek()
	switch {
	case err != nil:
		return cut(err)
	case at.list && c == '[':
		return s.array(func() error { return s.descend(below) })
	case at.list:
		_, err := s.value(0)
		return err
	}
	return s.descend(below)
}

// level is what one level puts in front of its records.
func (s *survey) level(at step, kept string) string {
	if at.as == "" {
		return ""
	}
	text := "{" + kept + `"` + at.as + `":`
	if at.list {
		text += "["
	}
	return text
}

// beside keeps a member that belongs to the records below, and notes that there is more.
func (s *survey) beside(key string, kept *string) error {
	limit := 0
	wanted := contains(s.kind.keep, key)
	more := contains(s.kind.more, key)
	if wanted || more {
		limit = maxFrame
	}
	p, err := s.value(limit)
	if err != nil {
		return err
	}
	if more && len(p.raw) > 2 && string(p.raw) != "null" && string(p.raw) != "false" {
		s.more = key
	}
	if !wanted {
		return nil
	}
	if p.raw == nil || len(*kept)+len(p.raw) > maxFrame {
		s.x.frames.over++
		return nil
	}
	*kept += `"` + key + `":` + string(p.raw) + ","
	return nil
}

func contains(list, word string) bool {
	for _, w := range strings.Fields(list) {
		if w == word {
			return true
		}
	}
	return false
}
