package main

import (
	"fmt"
	"strings"
)

// command is a workflow command, a line such as ::error file=a,line=1::text.
type command struct {
	name       string
	properties map[string]string
	text       string
}

// parseCommands reads the workflow commands of a log as the runner does: from lines
// that begin with ::, unless commands are stopped. One that there is not is an error.
func parseCommands(log string) (out []command, err error) {
	token := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if token != "" {
			if line == "::"+token+"::" {
				token = ""
			}
			continue
		}
		if strings.Contains(line, "##[") {
			return nil, fmt.Errorf("a line holds a command of the old form: %.100s", line)
		}
		if !strings.HasPrefix(line, "::") {
			continue
		}
		c, err := parseCommand(line)
		if err != nil {
			return nil, err
		}
		if c.name == "stop-commands" {
			token = c.text
			continue
		}
		out = append(out, c)
	}
	if token != "" {
		return nil, fmt.Errorf("commands were stopped and never begun again")
	}
	return out, nil
}

func parseCommand(line string) (command, error) {
	head, text, ok := strings.Cut(line[2:], "::")
	if !ok {
		return command{}, fmt.Errorf("the command does not end: %.100s", line)
	}
	name, list, _ := strings.Cut(head, " ")
	c := command{name: name, properties: map[string]string{}, text: unescape(text, false)}
	switch name {
	case "error", "warning", "notice":
		for p := range strings.SplitSeq(list, ",") {
			key, value, ok := strings.Cut(p, "=")
			switch {
			case !ok, key != "title" && key != "file" && key != "line":
				return c, fmt.Errorf("cannot use the property %q of %.100s", p, line)
			}
			c.properties[key] = unescape(value, true)
		}
	case "stop-commands":
	default:
		return c, fmt.Errorf("there is no command %q", name)
	}
	return c, nil
}

// unescape undoes what the runner undoes, % last.
func unescape(s string, property bool) string {
	s = strings.NewReplacer("%0D", "\r", "%0A", "\n").Replace(s)
	if property {
		s = strings.NewReplacer("%3A", ":", "%2C", ",").Replace(s)
	}
	return strings.ReplaceAll(s, "%25", "%")
}
