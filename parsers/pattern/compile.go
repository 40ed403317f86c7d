package pattern

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Version is the version of the format that is read.
const Version = "1"

// Load reads and compiles a file of patterns.
func Load(path string) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read patterns: %w", err)
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read patterns: %w", err)
	}
	return Compile(path, doc)
}

// Compile compiles the text of a file of patterns. The error is an *Error.
func Compile(file string, doc []byte) (*Set, error) {
	s, err := compile(file, doc)
	if err != nil {
		err.File = file
		return nil, err
	}
	return s, nil
}

func compile(file string, doc []byte) (*Set, *Error) {
	if len(doc) > MaxFile {
		return nil, &Error{Row: 1, Col: 1, Text: fmt.Sprintf("the file is larger than %d bytes", MaxFile)}
	}
	root, err := document(doc)
	if err != nil {
		return nil, err
	}
	s := &Set{File: file}
	var version, list *yaml.Node
	err = members(root, "the file", func(key, value *yaml.Node) *Error {
		switch key.Value {
		case "version":
			version = value
		case "patterns":
			list = value
		default:
			return at(key, "unknown key %q; a file has version and patterns", key.Value)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case version == nil:
		return nil, at(root, "version is missing; write \"version: %s\"", Version)
	case version.Kind != yaml.ScalarNode || version.Value != Version:
		return nil, at(version, "this isodetect reads version %s", Version)
	case list == nil:
		return nil, at(root, "patterns is missing")
	case list.Kind != yaml.SequenceNode:
		return nil, at(list, "patterns must be a list")
	case len(list.Content) > MaxPatterns:
		return nil, at(list.Content[MaxPatterns], "a file may have at most %d patterns", MaxPatterns)
	}
	for _, n := range list.Content {
		if err := s.add(n); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parts are the nodes of one pattern.
type parts struct{ name, event, line, regexp, keys, optional, fields *yaml.Node }

// add compiles one pattern.
func (s *Set) add(n *yaml.Node) *Error {
	var q parts
	known := map[string]**yaml.Node{"name": &q.name, "event": &q.event, "line": &q.line, "regexp": &q.regexp, "keys": &q.keys, "optional": &q.optional, "fields": &q.fields}
	err := members(n, "a pattern", func(key, value *yaml.Node) *Error {
		to := known[key.Value]
		if to == nil {
			return at(key, "unknown key %q; a pattern has name, line or regexp, keys, optional, event and fields", key.Value)
		}
		*to = value
		return nil
	})
	if err != nil {
		return err
	}
	p := Pattern{Row: n.Line}
	if err := s.named(&p, n, q.name); err != nil {
		return err
	}
	for _, step := range []func(*Pattern, *yaml.Node, *parts) *Error{s.means, s.message, s.allKeys, s.fields} {
		if err := step(&p, n, &q); err != nil {
			err.ofPattern = p.Name
			return err
		}
	}
	s.Patterns = append(s.Patterns, p)
	return nil
}

func (s *Set) named(p *Pattern, n, name *yaml.Node) *Error {
	if name == nil {
		return at(n, "a pattern needs a name, by which reports call it")
	}
	text, null, err := scalar(name, "name")
	switch {
	case err != nil:
		return err
	case null || text == "" || len(text) > 100:
		return at(name, "a name has 1 to 100 bytes")
	case slices.ContainsFunc(s.Patterns, func(o Pattern) bool { return o.Name == text }):
		return at(name, "another pattern is called %q already", text)
	}
	p.Name = text
	return nil
}

func (s *Set) means(p *Pattern, n *yaml.Node, q *parts) *Error {
	if q.event == nil {
		return at(n, "event is missing; it is one of %s", eventNames())
	}
	name, _, err := scalar(q.event, "event")
	if err != nil {
		return err
	}
	if p.Event = eventOf(name); p.Event == nil {
		return at(q.event, "unknown event %q; use one of %s", name, eventNames())
	}
	return nil
}

// message compiles what the message must be.
func (s *Set) message(p *Pattern, n *yaml.Node, q *parts) *Error {
	switch {
	case q.line != nil && q.regexp != nil:
		return at(q.regexp, "a pattern has line or regexp, not both")
	case q.line == nil && q.regexp == nil && q.keys == nil:
		return at(n, "line, regexp or keys is missing: nothing says which lines are meant")
	case q.line != nil:
		text, null, err := scalar(q.line, "line")
		if err != nil {
			return err
		}
		if null || strings.Trim(text, " ") == "" {
			return at(q.line, "line is empty")
		}
		t, f := parseTemplate(text, p.capture)
		if f != nil {
			return inside(q.line, f)
		}
		if !t.telling() && q.keys == nil {
			return at(q.line, "line has no text of its own, so that it is every line")
		}
		p.Message = t
	case q.regexp != nil:
		return p.expression(q.regexp)
	}
	return nil
}

// telling reports whether a template holds a letter or digit of its own.
func (t *Template) telling() bool {
	return slices.ContainsFunc(t.literals, func(l []byte) bool { return saysSomething(string(l)) })
}

// saysSomething reports a text with a letter or digit in it.
func saysSomething(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 {
			return true
		}
	}
	return false
}

func (p *Pattern) expression(n *yaml.Node) *Error {
	text, null, err := scalar(n, "regexp")
	switch {
	case err != nil:
		return err
	case null || text == "":
		return at(n, "regexp is empty")
	case len(text) > MaxRegexp:
		return at(n, "a regular expression may have at most %d bytes", MaxRegexp)
	}
	if _, err := regexp.Compile(text); err != nil { // alone: its faults are not those of the anchors
		return at(n, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re, bad := regexp.Compile(`\A(?:` + text + `)\z`)
	if bad != nil {
		return at(n, "%s", bad)
	}
	if re.MatchString("") {
		return at(n, "the expression fits an empty message, so that it may fit any")
	}
	p.Regexp = re
	for _, name := range re.SubexpNames() {
		c := -1
		if name != "" {
			if c, bad = p.capture(name); bad != nil {
				return at(n, "%s", bad)
			}
		}
		p.groups = append(p.groups, c)
	}
	return nil
}

// capture returns the index of a new capture.
func (p *Pattern) capture(name string) (int, error) {
	switch {
	case !captureName(name):
		return 0, fmt.Errorf("%q is no name: use small letters, digits and _", name)
	case slices.Contains(p.Captures, name):
		return 0, fmt.Errorf("%q is taken twice", name)
	case len(p.Captures) == MaxCaptures:
		return 0, fmt.Errorf("a pattern may take at most %d values", MaxCaptures)
	}
	p.Captures = append(p.Captures, name)
	return len(p.Captures) - 1, nil
}
