package document

import "bytes"

// scan follows one JSON value over pieces of text and notices where it breaks: a
// torn line must not take along what stands behind it.
type scan struct {
	open   []byte // the closing brackets of what is open
	state  state
	quoted bool
	key    bool // the string is a key
	escape bool
	atom   bool // inside a number or word
}

type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKeyOrEnd
	wantKey
	wantColon
	wantNext // a comma or the end of what is open
)

// maxOpen is how deep values may lie in each other.
const maxOpen = 512

// ends reports that the value is whole if nothing follows: a number at the top.
func (s *scan) ends() bool { return s.atom && len(s.open) == 0 }

// advance returns how many bytes of p belong to the value, whether it ends there,
// and false where it breaks.
func (s *scan) advance(p []byte) (n int, done, ok bool) {
	for i := 0; i < len(p); {
		if s.quoted {
			n, ok := s.text(p[i:])
			if i += n; !ok {
				return i, false, false
			}
			if !s.quoted && !s.key && s.closed() {
				return i, true, true
			}
			continue
		}
		c := p[i]
		if s.atom {
			if atomic(c) {
				i++
				continue
			}
			s.atom = false
			if s.closed() {
				return i, true, true
			}
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			i++
			continue
		}
		if !s.token(c) {
			return i, false, false
		}
		i++
		if (c == '}' || c == ']') && len(s.open) == 0 {
			return i, true, true
		}
	}
	return len(p), false, true
}

// closed goes on behind a value and reports whether it was the whole one.
func (s *scan) closed() bool {
	s.state = wantNext
	return len(s.open) == 0
}

// token takes a byte outside of strings, numbers and words.
func (s *scan) token(c byte) bool {
	value := s.state == wantValue || s.state == wantValueOrEnd
	switch {
	case c == '"' && (s.state == wantKey || s.state == wantKeyOrEnd):
		s.quoted, s.key = true, true
	case c == '"' && value:
		s.quoted, s.key = true, false
	case (c == '{' || c == '[') && value:
		if len(s.open) == maxOpen {
			return false
		}
		s.open = append(s.open, c+2)
		if s.state = wantValueOrEnd; c == '{' {
			s.state = wantKeyOrEnd
		}
	case c == '}' && (s.state == wantNext || s.state == wantKeyOrEnd), c == ']' && (s.state == wantNext || s.state == wantValueOrEnd):
		last := len(s.open) - 1
		if last < 0 || s.open[last] != c {
			return false
		}
		s.open, s.state = s.open[:last], wantNext
	case c == ':' && s.state == wantColon:
		s.state = wantValue
	case c == ',' && s.state == wantNext && len(s.open) > 0:
		s.state = wantValue
		if s.open[len(s.open)-1] == '}' {
			s.state = wantKey
		}
	case value && atomic(c):
		s.atom = true
	default:
		return false
	}
	return true
}

func atomic(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// text goes on inside a string. A newline in it says that its line was torn.
func (s *scan) text(p []byte) (n int, ok bool) {
	for i := 0; i < len(p); {
		if s.escape {
			s.escape = false
			i++
			continue
		}
		end := bytes.IndexByte(p[i:], '"')
		if end < 0 {
			end = len(p)
		} else {
			end += i
		}
		if k := bytes.IndexByte(p[i:end], '\n'); k >= 0 {
			return i + k, false
		}
		if k := bytes.IndexByte(p[i:end], '\\'); k >= 0 {
			s.escape = true
			i += k + 1
			continue
		}
		if end == len(p) {
			break
		}
		s.quoted = false
		if s.key {
			s.state = wantColon
		}
		return end + 1, true
	}
	return len(p), true
}
