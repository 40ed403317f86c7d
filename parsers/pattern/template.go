package pattern

import (
	"bytes"
	"fmt"
	"strings"
)

// Template is a text with placeholders, held against texts without regular
// expressions: `opened {session} for {}`.
type Template struct {
	literals [][]byte // around the placeholders: one more than there are of these
	captures []int    // of each placeholder, -1 = it takes nothing
}

// Match reports whether the template is the whole text, and fills into. Each
// placeholder takes as little as it can, the last one what is left. That is
// decided in one pass: the first place where a literal stands is the best one.
func (t *Template) Match(text []byte, into [][]byte) bool {
	first, last := t.literals[0], t.literals[len(t.literals)-1]
	if len(t.captures) == 0 {
		return bytes.Equal(text, first)
	}
	if !bytes.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	if !bytes.HasSuffix(text, last) {
		return false
	}
	text = text[:len(text)-len(last)]
	for i, c := range t.captures {
		taken := text
		if i+1 < len(t.captures) {
			between := t.literals[i+1]
			k := bytes.Index(text, between)
			if k < 0 {
				return false
			}
			taken, text = text[:k], text[k+len(between):]
		}
		if c >= 0 {
			into[c] = taken
		}
	}
	return true
}

// Whole returns the capture of a template that is one placeholder and nothing
// else, so that a value keeps its type.
func (t *Template) Whole() (capture int, ok bool) {
	if len(t.captures) == 1 && len(t.literals[0]) == 0 && len(t.literals[1]) == 0 {
		return t.captures[0], true
	}
	return 0, false
}

// fault is what is wrong with a text, and where in it.
type fault struct {
	at   int // bytes from its beginning
	text string
}

func (f *fault) Error() string { return f.text }

// parseTemplate reads a template. name returns the index of a capture.
func parseTemplate(s string, name func(string) (int, error)) (*Template, *fault) {
	if len(s) > MaxTemplate {
		return nil, &fault{0, fmt.Sprintf("a text may have at most %d bytes", MaxTemplate)}
	}
	t := &Template{}
	var literal []byte
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"):
			literal = append(literal, s[i])
			i += 2
		case s[i] == '}':
			return nil, &fault{i, `"}" closes nothing; a brace of the line itself is written "}}"`}
		case s[i] == '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return nil, &fault{i, `"{" is not closed; a brace of the line itself is written "{{"`}
			}
			if len(t.captures) > 0 && len(literal) == 0 {
				return nil, &fault{i, "two placeholders need text between them"}
			}
			if len(t.captures) == MaxCaptures {
				return nil, &fault{i, fmt.Sprintf("a text may have at most %d placeholders", MaxCaptures)}
			}
			capture, err := -1, error(nil)
			if word := s[i+1 : i+end]; word != "" {
				if capture, err = name(word); err != nil {
					return nil, &fault{i, err.Error()}
				}
			}
			t.literals, t.captures = append(t.literals, literal), append(t.captures, capture)
			literal = nil
			i += end + 1
		default:
			literal = append(literal, s[i])
			i++
		}
	}
	t.literals = append(t.literals, literal)
	return t, nil
}

// Escape writes a text so that a template means it as it stands.
func Escape(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(s)
}

// captureName reports whether a word may name a capture.
func captureName(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}
