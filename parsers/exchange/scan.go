package exchange

import "bytes"

// Scan follows one JSON value over pieces of text.
type Scan struct {
	depth  int
	quoted bool
	escape bool
	began  bool
}

// Advance returns how many bytes of p belong to the value, and whether it ends there.
func (s *Scan) Advance(p []byte) (n int, done bool) {
	for i := 0; i < len(p); i++ {
		if s.quoted {
			j, closed := s.inString(p[i:])
			i += j
			if !closed {
				return len(p), false
			}
			if s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		switch p[i] {
		case '"':
			s.quoted, s.began = true, true
		case '{', '[':
			s.depth++
			s.began = true
		case '}', ']':
			if s.depth == 0 {
				return i, true // of the container around a bare value
			}
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if s.depth == 0 && s.began {
				return i, true
			}
			if s.depth == 0 && (p[i] == ',' || p[i] == ':') {
				return i + 1, true // nothing that could be a value: step over it
			}
		default:
			s.began = true
		}
	}
	return len(p), false
}

// inString returns the position of the closing quote in p.
func (s *Scan) inString(p []byte) (n int, closed bool) {
	for i := 0; i < len(p); {
		if s.escape {
			s.escape = false
			i++
			continue
		}
		k := bytes.IndexByte(p[i:], '"')
		end := len(p)
		if k >= 0 {
			end = i + k
		}
		if e := bytes.IndexByte(p[i:end], '\\'); e >= 0 {
			s.escape = true
			i += e + 1
			continue
		}
		if k < 0 {
			return len(p), false
		}
		s.quoted = false
		return end, true
	}
	return len(p), false
}
