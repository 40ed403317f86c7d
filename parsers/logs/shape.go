package logs

import "bytes"

// A program writes the same keys around other values again and again. What a line of
// pairs tells by its keys and its message alone is remembered by its shape: the text
// that stands between its values. Only lines whose time is the first pair have one, so
// that no form of access log and no envelope can claim them whatever their values are.

// shapes remembers the shapes of lines of pairs as a tree of their texts. A value
// stands between two of them.
type shapes struct {
	first  []*shapeText
	texts  int
	budget int         // what may still be spent on shapes that come once
	cells  []cell      // of the line that was split last
	values []valueSpan // of the line whose shape was found last
}

// shapeText is text of a shape.
type shapeText struct {
	text []byte
	next []*shapeText // what may stand behind the value behind it
	end  *shape       // what a line is that ends behind that value, nil = none does
	last *shape       // not nil: no value stands behind the text, and such a line is this
}

// shape is what is known of the lines of one shape. It does not change.
type shape struct {
	seen  glance
	pairs []shapePair
}

// shapePair is a pair of a shape.
type shapePair struct {
	slot slot
	key  []byte
	text int // which of the texts its value stands behind, or in
	// Of a value that is part of the text: where it begins there, how long it is, and how
	// it is written. size is -1 for others.
	at, size int
	form     form
}

// valueSpan is where a text of a shape begins in a line, and where the value behind it
// begins and ends.
type valueSpan struct {
	text, from, to int32
	form           form
}

// cell is one pair of a line: where its key begins, its sign, and its value with its quotes begins and ends.
type cell struct{ key, sign, end int }

const (
	maxShapes  = 512 // texts
	maxCells   = 24
	shapeCosts = 32 // lines that have to be known for each shape that is learned
	shapeLoan  = 256 * shapeCosts
)

// inQuotes are the bytes that a value between quotes may hold. It is read only.
var inQuotes = func() (is [256]bool) {
	for c := byte(' '); c <= '~'; c++ {
		is[c] = c != '"' && c != '\\' && c != ']' && c != '}'
	}
	return is
}()

// mayHaveShape reports whether nothing stands in a line by which its pairs would not end
// at blanks, or by which it could be another kind of line.
func mayHaveShape(b []byte) bool {
	if last := b[len(b)-1]; last == ']' || last == '}' {
		return false
	}
	return bytes.IndexByte(b, '[') < 0 && bytes.IndexByte(b, '{') < 0 && bytes.IndexByte(b, '\t') < 0 && bytes.IndexByte(b, 0x1b) < 0
}

// shapedValue returns where the value at b[i] begins and ends, and what is behind it; -1 = it
// is none of a shape.
func shapedValue(b []byte, i int) (from, to, end int) {
	if i < len(b) && b[i] == '"' {
		from, to = i+1, i+1
		for to < len(b) && inQuotes[b[to]] {
			to++
		}
		if to == len(b) || b[to] != '"' || to-from >= 7 && !plain(b[from:to]) {
			return -1, -1, -1
		}
		end = to + 1
	} else {
		if from, to = i, len(b); i < len(b) && b[i] == '\'' {
			return -1, -1, -1
		}
		if n := bytes.IndexByte(b[i:], ' '); n >= 0 {
			to = i + n
		}
		end = to
	}
	if end < len(b) && b[end] != ' ' {
		return -1, -1, -1
	}
	return from, to, end
}

// plain reports a text that is no message and no request line.
func plain(b []byte) bool {
	return !bytes.Contains(b, []byte("jsonrpc")) && !requestLine(b)
}

// of returns the shape of a line, nil if it is not known. Where its values stand is in
// s.values.
func (s *shapes) of(b []byte, c *timeMemo) *shape {
	s.values = s.values[:0]
	if len(s.first) == 0 || !mayHaveShape(b) {
		return nil
	}
	for all, i := s.first, 0; ; {
		t := follows(all, b[i:])
		if t == nil {
			return nil
		}
		at := i
		if i += len(t.text); t.last != nil {
			return s.found(t.last, valueSpan{text: int32(at)})
		}
		from, to, end := shapedValue(b, i)
		if end < 0 || at == 0 && !plainTime(b[from:to], c) {
			return nil
		}
		v := valueSpan{int32(at), int32(from), int32(to), formBare}
		if from > i {
			v.form = formString
		}
		if i = end; i == len(b) {
			return s.found(t.end, v)
		}
		s.values = append(s.values, v)
		all = t.next
	}
}

func (s *shapes) found(known *shape, last valueSpan) *shape {
	s.values = append(s.values, last)
	s.budget = min(s.budget+1, shapeLoan)
	return known
}

// follows returns the text that b begins with, or nil. What was found moves to the front.
func follows(all []*shapeText, b []byte) *shapeText {
	for k, t := range all {
		if len(b) >= len(t.text) && string(b[:len(t.text)]) == string(t.text) && (t.last == nil || len(b) == len(t.text)) {
			if k > 0 {
				all[k-1], all[k] = t, all[k-1]
			}
			return t
		}
	}
	return nil
}

// plainTime reports a time that tells nothing but itself: it has a date, a zone and a
// fraction of the second.
func plainTime(b []byte, c *timeMemo) bool {
	if len(b) < len("2026-07-19T22:20:43.0Z") || b[10] != 'T' || b[19] != '.' {
		return false
	}
	st, ok := c.parse(b, 0)
	return ok && st.dated && st.zoned && st.length == len(b)
}

// split takes a line of pairs apart that may have a shape.
func (s *shapes) split(b []byte) bool {
	s.cells = s.cells[:0]
	if !mayHaveShape(b) {
		return false
	}
	for i := 0; i < len(b); {
		if i > 0 {
			i++ // the blank
		}
		key := i
		for i < len(b) && keyByte(b[i]) {
			i++
		}
		if i == key || i == len(b) || b[i] != '=' || len(s.cells) == maxCells {
			return false
		}
		sign := i
		if _, _, i = shapedValue(b, i+1); i < 0 {
			return false
		}
		s.cells = append(s.cells, cell{key, sign, i})
	}
	return len(s.cells) >= 2
}

// learn remembers the shape of the line that was split, whose pairs name names. Those in
// fixed are part of it with their values.
func (s *shapes) learn(b []byte, names []slot, fixed func(slot) bool, seen glance) *shape {
	if s.budget -= shapeCosts; s.texts >= maxShapes {
		s.first, s.texts = nil, 0
	}
	known := &shape{seen: seen}
	all, from, texts := &s.first, 0, 0
	for k, c := range s.cells {
		p := shapePair{slot: names[k], key: bytes.Clone(b[c.key:c.sign]), text: texts, size: -1}
		if fixed(p.slot) {
			at, to, _ := shapedValue(b, c.sign+1)
			p.at, p.size, p.form = at-from, to-at, formBare
			if at > c.sign+1 {
				p.form = formString
			}
			known.pairs = append(known.pairs, p)
			continue
		}
		known.pairs = append(known.pairs, p)
		t := s.text(all, b[from:c.sign+1])
		if from, texts, all = c.end, texts+1, &t.next; from == len(b) {
			t.end = known
			return known
		}
	}
	t := &shapeText{text: bytes.Clone(b[from:]), last: known}
	s.texts++
	*all = append(*all, t)
	return known
}

// text returns the one of all that reads text, which is made if it is new.
func (s *shapes) text(all *[]*shapeText, text []byte) *shapeText {
	for _, t := range *all {
		if t.last == nil && string(t.text) == string(text) {
			return t
		}
	}
	s.texts++
	t := &shapeText{text: bytes.Clone(text)}
	*all = append(*all, t)
	return t
}

// fill files the pairs of a line of a known shape, as readMessage would.
func (r *record) fill(b []byte, known *shape, values []valueSpan) {
	r.textual, r.front = true, b[:0]
	for i := range known.pairs {
		p := &known.pairs[i]
		if p.slot <= slotInside {
			continue
		}
		at := values[p.text]
		if p.size < 0 {
			r.set(p.slot, p.key, value{b[at.from:at.to], at.form})
			continue
		}
		from := int(at.text) + p.at
		r.set(p.slot, p.key, value{b[from : from+p.size], p.form})
	}
}
