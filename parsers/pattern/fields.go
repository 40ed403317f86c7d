package pattern

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// allKeys compiles what the keys of a line must be, and may be.
func (s *Set) allKeys(p *Pattern, _ *yaml.Node, q *parts) *Error {
	for _, m := range []struct {
		node     *yaml.Node
		what     string
		optional bool
	}{{q.keys, "keys", false}, {q.optional, "optional", true}} {
		if m.node == nil {
			continue
		}
		err := members(m.node, m.what, func(key, value *yaml.Node) *Error { return s.key(p, key, value, m.optional) })
		if err != nil {
			return err
		}
		if len(m.node.Content) == 0 {
			return at(m.node, "%s is empty", m.what)
		}
	}
	return nil
}

// IsPath reports whether a text may be a path of keys.
func IsPath(s string) bool {
	return s != "" && len(s) <= 200 && s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..") && !strings.Contains(s, "|")
}

func (s *Set) key(p *Pattern, key, value *yaml.Node, optional bool) *Error {
	if len(p.Keys) == MaxKeys {
		return at(key, "a pattern may name at most %d keys", MaxKeys)
	}
	k := Key{Optional: optional}
	for path := range strings.SplitSeq(key.Value, "|") {
		if !IsPath(path) {
			return at(key, "%q is no path of keys: use names with dots between them, at most 200 bytes, and | between several spellings", key.Value)
		}
		if len(k.Paths) == MaxSpellings {
			return at(key, "a key may have at most %d spellings", MaxSpellings)
		}
		i := s.path(path)
		if slices.Contains(k.Paths, i) || slices.ContainsFunc(p.Keys, func(o Key) bool { return slices.Contains(o.Paths, i) }) {
			return at(key, "%q stands in this pattern already", path)
		}
		k.Paths = append(k.Paths, i)
	}
	text, null, err := scalar(value, "the value of a key")
	if err != nil {
		return err
	}
	if !null {
		t, f := parseTemplate(text, p.capture)
		if f != nil {
			return inside(value, f)
		}
		k.Value = t
	}
	if optional && (k.Value == nil || len(k.Value.captures) == 0) {
		return at(value, "an optional key takes nothing: give it a {placeholder}, or leave it out")
	}
	p.Keys = append(p.Keys, k)
	return nil
}

// fields says what each field of the event is: what the file says, else the
// capture of the same name.
func (s *Set) fields(p *Pattern, n *yaml.Node, q *parts) *Error {
	taken := make([]bool, len(p.Captures))
	if q.fields != nil {
		err := members(q.fields, "fields", func(key, value *yaml.Node) *Error { return p.assign(key, value, taken) })
		if err != nil {
			return err
		}
	}
	for c, name := range p.Captures {
		f := fieldOf(name)
		fits := f != nil && slices.Contains(p.Event.all(), name)
		switch {
		case fits && !p.has(f):
			p.Fields = append(p.Fields, Assign{Field: f, Capture: c})
		case !taken[c]:
			return at(left(q, n), "{%s} is no field of %s, and fields does not use it; write {} for what does not matter. The fields are %s",
				name, p.Event.Name, strings.Join(p.Event.all(), ", "))
		}
	}
	for _, must := range p.Event.Must {
		if !p.has(fieldOf(must)) {
			return at(q.event, "%s needs %s: take it with {%s}, or say it in fields", p.Event.Name, must, must)
		}
	}
	return nil
}

// left is where the left side of a pattern stands.
func left(q *parts, n *yaml.Node) *yaml.Node {
	for _, side := range []*yaml.Node{q.line, q.regexp, q.keys} {
		if side != nil {
			return side
		}
	}
	return n
}

func (p *Pattern) has(f *Field) bool {
	return slices.ContainsFunc(p.Fields, func(a Assign) bool { return a.Field == f })
}

func (p *Pattern) assign(key, value *yaml.Node, taken []bool) *Error {
	f := fieldOf(key.Value)
	if f == nil || !slices.Contains(p.Event.all(), key.Value) {
		return at(key, "%q is no field of %s; its fields are %s", key.Value, p.Event.Name, strings.Join(p.Event.all(), ", "))
	}
	text, null, err := scalar(value, "a field")
	if err != nil {
		return err
	}
	if null {
		return at(value, "%s is empty; leave it out", f.Name)
	}
	a := Assign{Field: f, Capture: -1}
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") && !strings.HasPrefix(text, "{{") {
		a.Capture = slices.Index(p.Captures, text[1:len(text)-1])
		if a.Capture < 0 {
			return at(value, "nothing takes %s; what is taken: %s", text, strings.Join(p.Captures, ", "))
		}
		taken[a.Capture] = true
	} else if err := a.constant(text, value); err != nil {
		return err
	}
	p.Fields = append(p.Fields, a)
	return nil
}

// constant takes a value that is the same for every line.
func (a *Assign) constant(text string, n *yaml.Node) *Error {
	t, fault := parseTemplate(text, func(string) (int, error) { return -1, nil })
	switch {
	case fault != nil:
		return inside(n, fault)
	case len(t.captures) > 0:
		return at(n, "a field is a text or one {placeholder}, not both")
	case a.Field.Of != nil && !slices.Contains(a.Field.Of, text):
		return at(n, "%s cannot be %q; use one of %s", a.Field.Name, text, strings.Join(a.Field.Of, ", "))
	case a.Field.Word && (text == "" || strings.ContainsAny(text, " \t")):
		return at(n, "%s must be one word", a.Field.Name)
	}
	a.Text = t.literals[0]
	return nil
}
