// Package pattern holds what a user says about the wording of a log: which lines
// there are, and what each means. A file of patterns is compiled here; package
// logs holds its lines against them. docs/patterns.md tells users the format.
package pattern

import "regexp"

// Set is a file of patterns. It is read only once compiled, and any number of
// inputs may share it.
type Set struct {
	File     string // as errors and notes show it
	Patterns []Pattern
	Paths    []string       // the key paths that the patterns look at
	index    map[string]int // of Paths
	within   map[string]bool
}

// Pattern is one wording and what it means. Of two that fit a line the first counts.
type Pattern struct {
	Name  string
	Row   int // line of the file
	Event *Event

	Message  *Template      // what the message is; nil = any
	Regexp   *regexp.Regexp // in place of Message, for the whole message
	groups   []int          // capture of each group of Regexp, -1 = none
	Keys     []Key
	Captures []string // names of what the left side takes, by index
	Fields   []Assign
}

// Key is a key of a line and what its value must be.
type Key struct {
	Paths    []int     // indexes in Set.Paths: the first that the line has counts
	Value    *Template // nil = the key must be there and say nothing: null, "", "-"
	Optional bool      // the line may do without it
}

// Assign fills a field of the event.
type Assign struct {
	Field   *Field
	Text    []byte // the constant, if Capture is negative
	Capture int    // index in Pattern.Captures
}

// Limits of a file of patterns, whoever wrote it.
const (
	MaxFile      = 1 << 20 // bytes
	MaxPatterns  = 500
	MaxKeys      = 32   // of one pattern
	MaxCaptures  = 32   // of one pattern
	MaxSpellings = 8    // of one key
	MaxTemplate  = 2000 // bytes
	MaxRegexp    = 1000 // bytes
	MaxText      = 64 << 10
	// MaxText bounds the messages that are held against regular expressions.
)

// Path returns the index in Paths of a key path. inner reports that longer paths
// begin with it, so that an object under it is to be looked into.
func (s *Set) Path(path []byte) (i int, known, inner bool) {
	i, known = s.index[string(path)]
	return i, known, s.within[string(path)]
}

// path returns the index of a key path and adds it if it is new.
func (s *Set) path(path string) int {
	if i, ok := s.index[path]; ok {
		return i
	}
	if s.index == nil {
		s.index, s.within = map[string]int{}, map[string]bool{}
	}
	i := len(s.Paths)
	s.index[path] = i
	s.Paths = append(s.Paths, path)
	for k := range path {
		if path[k] == '.' {
			s.within[path[:k]] = true
		}
	}
	return i
}

// Match holds a message against the pattern and fills into, by the index of each
// capture, with parts of msg. Captures of keys are left as they are.
func (p *Pattern) Match(msg []byte, into [][]byte) bool {
	if p.Message != nil {
		return p.Message.Match(msg, into)
	}
	if p.Regexp == nil {
		return true
	}
	if len(msg) > MaxText {
		return false
	}
	at := p.Regexp.FindSubmatchIndex(msg)
	if at == nil {
		return false
	}
	for g, c := range p.groups {
		if c >= 0 && at[2*g] >= 0 {
			into[c] = msg[at[2*g]:at[2*g+1]]
		}
	}
	return true
}
