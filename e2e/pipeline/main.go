// Command pipeline runs what a pipeline would run, on this machine: the composite
// action of action.yml, or a job of a GitLab template. It also holds a YAML file
// against a JSON schema.
//
//	pipeline action DIR NAME=VALUE...        run DIR/action.yml with these inputs
//	pipeline gitlab FILE JOB NAME=VALUE...   run a job with these variables
//	pipeline schema SCHEMA FILE
//
// It ends with the exit code of the first step that failed, 99 if the file itself
// is wrong, and prints what a service would make of it: outputs, annotations, artifacts.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// exitWrong is for a file that no service would take.
const exitWrong = 99

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		code = exitWrong
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("usage: pipeline action DIR NAME=VALUE... | gitlab FILE JOB NAME=VALUE... | schema SCHEMA FILE")
	}
	switch what, rest := args[0], args[1:]; {
	case what == "action":
		return runAction(rest[0], pairs(rest[1:]))
	case what == "gitlab" && len(rest) >= 2:
		return runGitLab(rest[0], rest[1], pairs(rest[2:]))
	case what == "schema" && len(rest) == 2:
		return 0, keepsSchema(rest[0], rest[1])
	}
	return 0, fmt.Errorf("cannot use %q", args)
}

func pairs(list []string) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		name, value, _ := strings.Cut(p, "=")
		out[name] = value
	}
	return out
}

// decode reads a YAML file that may hold nothing but what v has.
func decode(file string, v any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// execute runs a script and returns its exit code.
func execute(cmd *exec.Cmd, env map[string]string) (int, error) {
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err := cmd.Run()
	if e := new(exec.ExitError); errors.As(err, &e) {
		return e.ExitCode(), nil
	}
	return 0, err
}

func keepsSchema(schema, file string) error {
	var doc any
	if err := decode(file, &doc); err != nil {
		return err
	}
	s, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		return err
	}
	return s.Validate(doc)
}
