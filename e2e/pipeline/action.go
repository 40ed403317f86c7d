package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// action is a composite action, as far as ours uses what there is.
type action struct {
	Name        string
	Description string
	Branding    struct{ Icon, Color string }
	Inputs      map[string]struct {
		Description string
		Required    bool
		Default     *string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID    string `yaml:"id"`
	Shell string
	Env   map[string]string
	Run   string
}

// expression is the only kind that this runner knows: an input, or an output of a step.
var expression = regexp.MustCompile(`\$\{\{\s*(inputs|steps)\.([a-z0-9.-]+)\s*\}\}`)

// expand puts the values of expressions into a text.
func expand(text string, values map[string]string) (string, error) {
	var failed error
	out := expression.ReplaceAllStringFunc(text, func(e string) string {
		m := expression.FindStringSubmatch(e)
		v, ok := values[m[1]+"."+m[2]]
		if !ok {
			failed = fmt.Errorf("%s has no value", e)
		}
		return v
	})
	if failed == nil && strings.Contains(expression.ReplaceAllString(text, ""), "${{") {
		failed = fmt.Errorf("cannot evaluate %s", text)
	}
	return out, failed
}

// given returns the values of the inputs.
func (a *action) given(inputs map[string]string) (map[string]string, error) {
	values := map[string]string{}
	for name, in := range a.Inputs {
		v, ok := inputs[name]
		switch {
		case !ok && in.Required:
			return nil, fmt.Errorf("the input %s is required", name)
		case !ok && in.Default != nil:
			v = *in.Default
		}
		values["inputs."+name] = v
	}
	for name := range inputs {
		if _, ok := a.Inputs[name]; !ok {
			return nil, fmt.Errorf("there is no input %s", name)
		}
	}
	return values, nil
}

func runAction(dir string, inputs map[string]string) (int, error) {
	var a action
	if err := decode(filepath.Join(dir, "action.yml"), &a); err != nil {
		return 0, err
	}
	values, err := a.given(inputs)
	if err != nil {
		return 0, err
	}
	temp, err := os.MkdirTemp("", "runner")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	code := 0
	var log bytes.Buffer
	for i := range a.Runs.Steps {
		if code, err = runStep(&a.Runs.Steps[i], dir, temp, values, io.MultiWriter(os.Stdout, &log)); err != nil || code != 0 {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	if err := tell(&a, values, log.String(), filepath.Join(temp, "summary")); err != nil {
		return 0, err
	}
	return code, nil
}

// runStep runs a step as the runner does, and notes its outputs in values.
func runStep(s *step, dir, temp string, values map[string]string, out io.Writer) (int, error) {
	env := map[string]string{
		"GITHUB_ACTION_PATH": dir, "RUNNER_TEMP": temp, "GITHUB_ACTIONS": "true",
		"GITHUB_OUTPUT": filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary"),
	}
	for name, text := range s.Env {
		v, err := expand(text, values)
		if err != nil {
			return 0, err
		}
		env[name] = v
	}
	script := filepath.Join(temp, "script.sh")
	if err := os.WriteFile(script, []byte(s.Run), 0o600); err != nil {
		return 0, err
	}
	if err := os.WriteFile(env["GITHUB_OUTPUT"], nil, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
	cmd.Stdout, cmd.Stderr = out, out
	code, err := execute(cmd, env)
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(env["GITHUB_OUTPUT"])
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			return 0, fmt.Errorf("step %s: cannot read the output %q", s.ID, line)
		}
		values["steps."+s.ID+".outputs."+name] = value
	}
	return code, nil
}

// tell prints what the service would show.
func tell(a *action, values map[string]string, log, summary string) error {
	commands, err := parseCommands(log)
	if err != nil {
		return err
	}
	for _, c := range commands {
		fmt.Printf("== annotation %s %s:%s %s\n", c.name, c.properties["file"], c.properties["line"], c.properties["title"])
	}
	for _, name := range slices.Sorted(maps.Keys(a.Outputs)) {
		v, err := expand(a.Outputs[name].Value, values)
		if err != nil {
			v = "" // a step that did not run
		}
		fmt.Printf("== output %s=%s\n", name, v)
	}
	if page, err := os.ReadFile(summary); err == nil {
		fmt.Printf("== summary %d bytes\n", len(page))
	}
	return nil
}
