package exchange

import (
	"bytes"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// walker yields the scalars of valid JSON in one pass, without recursion. It
// looks at strings and numbers only; true, false and null say nothing about content.
type walker struct {
	raw   []byte
	i     int
	stack []uint64 // hash of the path at each open object or array
	key   uint64   // hash of the path of the value that comes
	paths bool     // somebody asks for paths
	skip  func(key []byte) bool
}

// scalar is one string (without its quotes, still escaped) or number.
type scalar struct {
	raw     []byte
	path    uint64
	number  bool
	escaped bool // raw has escapes
}

// reset starts at the beginning of raw. skip tells which keys of the outermost object are left out; nil = none.
func (w *walker) reset(raw []byte, skip func(key []byte) bool) {
	w.raw, w.i, w.stack, w.key, w.paths, w.skip = raw, 0, w.stack[:0], 0, false, skip
}

// pathsFrom asks for the paths of the scalars; path is the hash of the keys above raw.
func (w *walker) pathsFrom(path uint64) { w.key, w.paths = path, true }

func (w *walker) next() (s scalar, ok bool) {
	for w.i < len(w.raw) {
		switch c := w.raw[w.i]; {
		case c == '{' || c == '[':
			w.stack = append(w.stack, w.key)
			w.i++
		case c == '}' || c == ']':
			if n := len(w.stack); n > 0 {
				w.stack = w.stack[:n-1]
			}
			w.i++
		case c == ',':
			if n := len(w.stack); n > 0 {
				w.key = w.stack[n-1]
			}
			w.i++
		case c == '"':
			text, escaped := w.text()
			if !w.colon() {
				return scalar{raw: text, path: w.key, escaped: escaped}, true
			}
			if len(w.stack) == 1 && w.skip != nil && w.skip(text) {
				w.skipValue()
				continue
			}
			if n := len(w.stack); n > 0 && w.paths {
				w.key = pathHash(w.stack[n-1], text)
			}
		case c == '-' || c >= '0' && c <= '9':
			start := w.i
			for w.i < len(w.raw) && numeric(w.raw[w.i]) {
				w.i++
			}
			return scalar{raw: w.raw[start:w.i], path: w.key, number: true}, true
		default:
			w.i++
		}
	}
	return scalar{}, false
}

func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// text reads a string whose opening quote is next.
func (w *walker) text() (text []byte, escaped bool) {
	start := w.i + 1
	end, escaped := mcp.TextEnd(w.raw, start)
	w.i = min(end+1, len(w.raw))
	return w.raw[start:end], escaped
}

// colon eats a colon that follows, which makes the string before it a key.
func (w *walker) colon() bool {
	i := w.i
	for i < len(w.raw) && (w.raw[i] == ' ' || w.raw[i] == '\t' || w.raw[i] == '\n' || w.raw[i] == '\r') {
		i++
	}
	if i < len(w.raw) && w.raw[i] == ':' {
		w.i = i + 1
		return true
	}
	return false
}

// skipValue goes behind the value that comes.
func (w *walker) skipValue() {
	depth := 0
	for w.i < len(w.raw) {
		switch w.raw[w.i] {
		case '"':
			w.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
		case ',':
			if depth == 0 {
				return
			}
		}
		w.i++
	}
}

// pathHash extends the hash of a path by one key (FNV-1a with a separator).
func pathHash(path uint64, key []byte) uint64 {
	const prime = 1099511628211
	h := (path ^ 0xff) * prime
	for _, c := range key {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// hashBytes is event.Hash of bytes.
func hashBytes(h uint64, b []byte) uint64 {
	const prime = 1099511628211
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// nested returns the JSON text that a string value holds, nil if it holds none.
// text is the unescaped value.
func nested(text []byte) []byte {
	t := bytes.TrimSpace(text)
	if len(t) < 2 || t[0] != '{' && t[0] != '[' {
		return nil
	}
	if check(t) != "" {
		return nil
	}
	return t
}

// plain returns the text of a scalar, unescaped into buf if it has escapes.
func (s *scalar) plain(buf []byte) (text, _ []byte) {
	if !s.escaped {
		return s.raw, buf
	}
	if cap(buf) < len(s.raw) {
		buf = make([]byte, len(s.raw))
	}
	out, err := jsonparser.Unescape(s.raw, buf[:cap(buf)])
	if err != nil {
		return s.raw, buf
	}
	return out, buf
}

// readArgs collects the argument scalars of a request.
func (b *Builder) readArgs(raw []byte, skip func([]byte) bool) []event.Arg {
	b.args = b.args[:0]
	b.walk.reset(raw, skip)
	b.walk.pathsFrom(event.Hash(""))
	for len(b.args) < maxArgs {
		s, ok := b.walk.next()
		if !ok {
			break
		}
		if s.number {
			b.args = addArg(b.args, s.path, s.raw, true)
			continue
		}
		var text []byte
		text, b.text = s.plain(b.text)
		inner := nested(text)
		if inner == nil {
			b.args = addArg(b.args, s.path, text, false)
			continue
		}
		b.inner.reset(inner, nil)
		b.inner.pathsFrom(s.path)
		for len(b.args) < maxArgs {
			n, ok := b.inner.next()
			if !ok {
				break
			}
			var t []byte
			t, b.innerText = n.plain(b.innerText)
			b.args = addArg(b.args, n.path, t, n.number)
		}
	}
	if len(b.args) == 0 {
		return nil
	}
	return append([]event.Arg(nil), b.args...)
}

const maxArgs = 64

func addArg(args []event.Arg, path uint64, text []byte, number bool) []event.Arg {
	run := event.RunOf(view(text))
	if run == (event.Run{}) {
		return args
	}
	return append(args, event.Arg{Key: path, Run: run, Class: classOf(text, number)})
}

// classOf tells what an argument value may prove (DETECTION §1, marker).
func classOf(text []byte, number bool) event.ArgClass {
	n := 0
	for _, c := range text {
		if number {
			if c >= '0' && c <= '9' {
				n++
			}
		} else if c&0xC0 != 0x80 { // counts characters, not bytes
			n++
		}
	}
	switch {
	case number && n >= 5, !number && n >= 6:
		return event.ArgMarker
	case n >= 3:
		return event.ArgMedium
	}
	return event.ArgShort
}

// readMarks appends the marks of what a server sent.
func (b *Builder) readMarks(m []uint64, raw []byte) (marks []uint64, cut bool) {
	all := true
	b.walk.reset(raw, metaKey)
	for all {
		s, ok := b.walk.next()
		if !ok {
			break
		}
		if s.number {
			m, all = addNumber(m, s.raw)
			continue
		}
		var text []byte
		text, b.text = s.plain(b.text)
		m, all = event.AddMarks(m, view(text), maxMarks)
		if all && s.escaped && bytes.IndexByte(text, '\\') >= 0 {
			m, all = b.nestedMarks(m, text)
		}
	}
	return m, !all
}

const maxMarks = 4096

// nestedMarks adds the strings of JSON text inside a string whose own escapes
// would hide their tokens.
func (b *Builder) nestedMarks(m []uint64, text []byte) (_ []uint64, all bool) {
	all = true
	inner := nested(text)
	if inner == nil {
		return m, all
	}
	b.inner.reset(inner, nil)
	for all {
		n, ok := b.inner.next()
		if !ok {
			break
		}
		if !n.escaped {
			continue // its tokens stand in the outer text
		}
		var t []byte
		t, b.innerText = n.plain(b.innerText)
		m, all = event.AddMarks(m, view(t), maxMarks)
	}
	return m, all
}

func addNumber(m []uint64, raw []byte) (_ []uint64, all bool) {
	digits := 0
	for _, c := range raw {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	if digits < 5 {
		return m, true
	}
	return event.AddMarks(m, view(raw), maxMarks)
}

func metaKey(key []byte) bool { return string(key) == "_meta" }
