package pattern

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Suggestions collects the wordings of lines that were not understood, from any
// number of inputs, to propose a file of patterns to begin with.
type Suggestions struct {
	mu     sync.Mutex
	inputs map[int32]*Shapes
}

// Shapes are the wordings of one input. They take room for maxShapes.
type Shapes struct {
	path   string
	of     map[string]*seen
	lost   int64 // lines of wordings for which there was no room
	shapes int64
}

// Shape is what lines of one wording have in common.
type Shape struct {
	Line  string   // template of the message, all of whose placeholders are {}; "" = none
	Holes []string // the field that each of them seems to be; "" = none
	Keys  []Hint
	Event string // what such a line may mean; "" = that does not show
}

// Hint is a key of a line and what its value is for.
type Hint struct {
	Path  string
	Field string // it seems to be this field; "" = the value is the same in all lines of the wording
	Text  string
}

// seen is a wording, how often it was met, and where first.
type seen struct {
	Shape
	lines int64
	path  string
	row   int64
	order int64
}

const maxShapes = 1000

// Input returns where the wordings of one input are collected.
func (s *Suggestions) Input(index int32, path string) *Shapes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inputs == nil {
		s.inputs = map[int32]*Shapes{}
	}
	if s.inputs[index] == nil {
		s.inputs[index] = &Shapes{path: path, of: map[string]*seen{}}
	}
	return s.inputs[index]
}

// Add counts a line.
func (s *Shapes) Add(shape Shape, row int64) {
	if len(shape.Keys) == 0 && !saysSomething(shape.Line) {
		return // it would be every line
	}
	key := shape.key()
	if g := s.of[key]; g != nil {
		g.lines++
		return
	}
	if len(s.of) >= maxShapes { // what was met once so far gives its room up
		for k, g := range s.of {
			if g.lines == 1 {
				delete(s.of, k)
				s.lost++
			}
		}
	}
	if len(s.of) >= maxShapes {
		s.lost++
		return
	}
	s.shapes++
	s.of[key] = &seen{Shape: shape, lines: 1, path: s.path, row: row, order: s.shapes}
}

func (s *Shape) key() string {
	var b strings.Builder
	b.WriteString(s.Line)
	for _, k := range s.Keys {
		b.WriteString("\x00" + k.Path + "\x01" + k.Field + "\x01" + k.Text)
	}
	return b.String()
}

// merged returns the wordings of all inputs, the most frequent first, and how
// many lines are of others.
func (s *Suggestions) merged() (all []*seen, lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var indexes []int32
	for i := range s.inputs {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	at := map[string]*seen{}
	for _, i := range indexes {
		in := s.inputs[i]
		lost += in.lost
		var list []*seen
		for _, g := range in.of {
			list = append(list, g)
		}
		slices.SortFunc(list, func(a, b *seen) int { return cmp.Compare(a.order, b.order) })
		for _, g := range list {
			if first := at[g.key()]; first != nil {
				first.lines += g.lines
				continue
			}
			copied := *g
			at[g.key()] = &copied
			all = append(all, &copied)
		}
	}
	all = alike(all)
	slices.SortStableFunc(all, func(a, b *seen) int { return cmp.Compare(b.lines, a.lines) })
	return all, lost
}

// names is from how many different words on a place of a template is a name
// rather than part of the wording.
const names = 4

// alike makes one of wordings that differ in one word only, such as the name of a client.
func alike(all []*seen) []*seen {
	masks := map[string][]*seen{}
	for _, g := range all {
		words := strings.Split(g.Line, " ")
		for i := range words {
			if m, ok := masked(g, words, i); ok {
				masks[m] = append(masks[m], g)
			}
		}
	}
	gone := map[*seen]bool{}
	for _, g := range all {
		if gone[g] {
			continue
		}
		words := strings.Split(g.Line, " ")
		for i := range words {
			m, ok := masked(g, words, i)
			like := slices.DeleteFunc(slices.Clone(masks[m]), func(o *seen) bool { return gone[o] })
			if !ok || len(like) < names {
				continue
			}
			holes := strings.Count(strings.Join(words[:i], " "), "{}")
			words[i] = "{}"
			g.Line, g.Holes = strings.Join(words, " "), slices.Insert(slices.Clone(g.Holes), holes, "")
			for _, o := range like {
				if o != g {
					gone[o] = true
					g.lines += o.lines
				}
			}
			break
		}
	}
	return slices.DeleteFunc(all, func(g *seen) bool { return gone[g] })
}

// masked returns what a wording is without its i-th word, if that may be a name.
func masked(g *seen, words []string, i int) (string, bool) {
	if len(words) < 3 || len(words) > 40 || strings.ContainsAny(words[i], "{}") || words[i] == "" {
		return "", false
	}
	w := slices.Clone(words)
	w[i] = "\x02"
	s := Shape{Line: strings.Join(w, " "), Keys: g.Keys}
	if len(g.Keys) == 0 && !saysSomething(s.Line) {
		return "", false
	}
	return g.Event + "\x03" + s.key(), true
}
