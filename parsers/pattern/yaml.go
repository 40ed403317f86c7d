package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/mcp"
	"go.yaml.in/yaml/v3"
)

// Error is what is wrong with a file of patterns, and where.
type Error struct {
	File      string
	Row, Col  int
	Text      string
	lowLevel  bool // the text is of the YAML reader
	ofPattern string
}

func (e *Error) Error() string {
	text := e.Text
	if e.ofPattern != "" {
		text = "pattern " + strconv.Quote(e.ofPattern) + ": " + text
	}
	if e.lowLevel {
		text = "not YAML: " + text
	}
	return fmt.Sprintf("cannot use patterns of %s: line %d, column %d: %s", e.File, e.Row, e.Col, mcp.Cut(text, 1000))
}

// at makes an error about a node.
func at(n *yaml.Node, format string, args ...any) *Error {
	return &Error{Row: n.Line, Col: n.Column, Text: fmt.Sprintf(format, args...)}
}

// inside makes an error about a place in the text of a scalar.
func inside(n *yaml.Node, f *fault) *Error {
	e := at(n, "%s", f.text)
	switch n.Style {
	case 0: // plain
		e.Col += f.at
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		e.Col += f.at + 1
	}
	return e
}

// document reads the one document of a file.
func document(doc []byte) (*yaml.Node, *Error) {
	dec := yaml.NewDecoder(bytes.NewReader(doc))
	var n, more yaml.Node
	err := dec.Decode(&n)
	if errors.Is(err, io.EOF) || err == nil && len(n.Content) == 0 {
		return nil, &Error{Row: 1, Col: 1, Text: "the file is empty; docs/patterns.md shows one to begin with"}
	}
	if err != nil {
		return nil, brokenYAML(doc, err)
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		return nil, at(&more, "a second document begins here; a file holds one")
	case !errors.Is(err, io.EOF):
		return nil, brokenYAML(doc, err)
	}
	return n.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// brokenYAML says where the YAML reader stopped. It tells the line only, so the
// column is where the text of that line begins.
func brokenYAML(doc []byte, err error) *Error {
	m := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	e := &Error{Row: 1, Col: 1, Text: err.Error(), lowLevel: true}
	if m == nil {
		return e
	}
	e.Text = m[2]
	if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
		e.Row = n
		if lines := bytes.Split(doc, []byte("\n")); n <= len(lines) {
			e.Col = 1 + len(lines[n-1]) - len(bytes.TrimLeft(lines[n-1], " \t"))
		}
	}
	return e
}

// members calls f for every member of a mapping, and refuses other nodes, keys
// that are no text, and keys that stand twice.
func members(n *yaml.Node, what string, f func(key, value *yaml.Node) *Error) *Error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return at(n, "anchors and aliases are not read; write it out")
	}
	if n.Kind != yaml.MappingNode {
		return at(n, "%s must be a mapping of keys to values", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Value == "" {
			return at(key, "a key of %s must be a text", what)
		}
		if seen[key.Value] {
			return at(key, "%q stands twice in %s", key.Value, what)
		}
		seen[key.Value] = true
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// scalar returns the text of a value, however it is written. null reports one that says nothing.
func scalar(n *yaml.Node, what string) (text string, null bool, err *Error) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return "", false, at(n, "anchors and aliases are not read; write it out")
	case n.Kind != yaml.ScalarNode:
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 {
			return "", false, at(n, "%s must be a text; one that begins with a brace needs quotes", what)
		}
		return "", false, at(n, "%s must be a text", what)
	}
	switch n.ShortTag() {
	case "!!null":
		return "", true, nil
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return n.Value, false, nil
	}
	return "", false, at(n, "%s must be a text, not %s", what, n.ShortTag())
}
