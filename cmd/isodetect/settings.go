package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// settingsFile is the configuration that is looked for in the working directory
// and above it, up to the root of the repository.
const settingsFile = "isodetect.yaml"

// settingNames are the flags that a configuration file may set: what belongs to a
// server or a pipeline. What shows secrets or writes files stays with whoever runs it.
var settingNames = []string{
	"input-format", "domain", "join", "assume", "shared-sessions-by-design", "assume-tz", "cancel-window", "limit", "patterns",
	"fail-on", "require", "baseline", "strict-baseline", "inconclusive", "require-complete", "show",
}

// pathSettings are those whose values are paths, relative to the file's directory.
var pathSettings = []string{"baseline", "patterns"}

// settings is a configuration file as it was read.
type settings struct {
	path   string
	values map[string]setting
}

// setting is one value, or several, with the line where it stands.
type setting struct {
	values []string
	line   int
}

// findSettings returns the configuration file that is in force in a directory, "" if there is none.
func findSettings(dir string) string {
	for {
		path := filepath.Join(dir, settingsFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// loadSettings reads the file that --config names, or the one in force; "none" is none.
func loadSettings(named string) (*settings, error) {
	path := named
	switch named {
	case "none":
		return &settings{}, nil
	case "":
		dir, err := os.Getwd()
		if err != nil {
			return &settings{}, nil
		}
		if path = findSettings(dir); path == "" {
			return &settings{}, nil
		}
		if rel, err := filepath.Rel(dir, path); err == nil {
			path = rel
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	s, err := parseSettings(data)
	if err != nil {
		return nil, fmt.Errorf("cannot use the configuration %s: %w", path, err)
	}
	s.path = path
	return s, nil
}

// parseSettings reads a configuration strictly: every key is known and stands once.
func parseSettings(data []byte) (*settings, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	s := &settings{values: map[string]setting{}}
	if len(doc.Content) == 0 {
		return nil, errors.New(`it is empty; it begins with "version: 1"`)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: it is no mapping of settings", root.Line)
	}
	version := ""
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		if k.Value == "version" {
			version = v.Value
			continue
		}
		if !slices.Contains(settingNames, k.Value) {
			return nil, fmt.Errorf("line %d, column %d: there is no setting %q; settings: %s", k.Line, k.Column, k.Value, strings.Join(settingNames, ", "))
		}
		if old, twice := s.values[k.Value]; twice {
			return nil, fmt.Errorf("line %d: %s stands in line %d already", k.Line, k.Value, old.line)
		}
		values, err := scalars(v)
		if err != nil {
			return nil, fmt.Errorf("line %d, column %d: %s %w", v.Line, v.Column, k.Value, err)
		}
		s.values[k.Value] = setting{values, k.Line}
	}
	if version != "1" {
		return nil, fmt.Errorf("version is %q; this isodetect reads version 1", version)
	}
	return s, nil
}

func scalars(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		var out []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return nil, errors.New("takes a list of plain values")
			}
			out = append(out, c.Value)
		}
		return out, nil
	}
	return nil, errors.New("takes a value or a list of values")
}

// origin tells where the value of a flag comes from.
type origin map[string]string

// blame adds to the text of an error where the flag that it names was set, if
// that was not on the command line.
func (o origin) blame(text string) string {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if strings.Contains(text, "--"+name+" ") || strings.Contains(text, "--"+name+":") {
			return text + " (--" + name + " is set by " + o[name] + ")"
		}
	}
	return text
}

// apply gives every flag that nobody set the value of the configuration.
func (s *settings) apply(flags *pflag.FlagSet, from origin) error {
	for _, name := range settingNames {
		v, ok := s.values[name]
		f := flags.Lookup(name)
		if !ok || f == nil || f.Changed {
			continue
		}
		for _, text := range v.values {
			if slices.Contains(pathSettings, name) && text != "" && !filepath.IsAbs(text) {
				text = filepath.Join(filepath.Dir(s.path), text)
			}
			if err := flags.Set(name, text); err != nil {
				return fmt.Errorf("cannot use the configuration %s: line %d: %s %q: %w", s.path, v.line, name, text, err)
			}
		}
		from[name] = fmt.Sprintf("%s:%d", s.path, v.line)
	}
	return nil
}
