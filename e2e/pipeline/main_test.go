package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The action holds what the service knows, and no input is part of a script's text.
func TestAction(t *testing.T) {
	var a action
	if err := decode("../../action.yml", &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		t.Errorf("%+v", a)
	}
	values, err := a.given(map[string]string{"paths": "logs"})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if s.Shell != "bash" || s.ID == "" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: %+v", s.ID, s)
		}
		script := regexp.MustCompile(`\$GITHUB_ACTION_PATH/([a-z/.]+)`).FindStringSubmatch(s.Run)
		if script == nil {
			t.Fatalf("step %s runs no script of the action: %s", s.ID, s.Run)
		}
		text, err := os.ReadFile(filepath.Join("../..", script[1]))
		if err != nil {
			t.Fatal(err)
		}
		for name, e := range s.Env {
			used[strings.Trim(e, "${} ")] = true
			if !strings.Contains(string(text), "$"+name) {
				t.Errorf("%s does not read %s", script[1], name)
			}
		}
		for _, m := range regexp.MustCompile(`printf '([a-z-]+)=%`).FindAllStringSubmatch(string(text), -1) {
			values["steps."+s.ID+".outputs."+m[1]] = "x"
		}
	}
	for name, in := range a.Inputs {
		if !used["inputs."+name] || in.Description == "" || in.Required == (in.Default != nil) {
			t.Errorf("the input %s is not used, or not described, or both required and given", name)
		}
	}
	for name, out := range a.Outputs {
		if v, err := expand(out.Value, values); err != nil || v != "x" {
			t.Errorf("no step gives the output %s: %v", name, err)
		}
	}
}

func TestActionRefuses(t *testing.T) {
	f := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "action.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := decode(file, new(action)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	f("name: x\ninput: {}\n")
	f("name: x\nruns: {using: composite, steps: [{id: a, script: b}]}\n")
	if _, err := expand("${{ github.actor }}", nil); err == nil {
		t.Error("an expression that is not known is left in")
	}
}

func TestGitLabTemplate(t *testing.T) {
	var jobs map[string]job
	if err := decode("../../ci/isodetect.gitlab-ci.yml", &jobs); err != nil {
		t.Fatal(err)
	}
	j := jobs["isodetect"]
	if len(jobs) != 1 || j.Artifacts.When != "always" {
		t.Errorf("%+v", jobs)
	}
	script := strings.Join(j.Script, "\n")
	f := func(format, file string) {
		t.Helper()
		if file == "" || !strings.Contains(script, fmt.Sprintf("--format %s=%s ", format, file)) {
			t.Errorf("the script does not write %s to %s", format, file)
		}
	}
	f("gitlab", j.Artifacts.Reports["codequality"])
	f("junit", j.Artifacts.Reports["junit"])
	f("json", j.Artifacts.Paths[0])
}

// What --format github writes is what the runner reads.
func TestCommandsOfTheReport(t *testing.T) {
	text, err := os.ReadFile("../../report/testdata/github.golden")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := parseCommands(string(text))
	if err != nil || len(commands) < 2 {
		t.Fatalf("%d commands, %v", len(commands), err)
	}
	for _, c := range commands {
		if !strings.HasPrefix(c.properties["title"], "isodetect: ") {
			t.Errorf("%+v", c)
		}
	}
}

func TestParseCommands(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		var got []string
		commands, err := parseCommands(log)
		for _, c := range commands {
			got = append(got, fmt.Sprintf("%s %v %q", c.name, c.properties, c.text))
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if g := strings.Join(got, "|"); !strings.Contains(g, want) || want == "" && g != "" {
			t.Errorf("%q: %s, want %s", log, g, want)
		}
	}
	f("nothing\n", "")
	f("::error title=a%3A b,file=c%2Cd,line=3::e%0Af%2525\n", `error map[file:c,d line:3 title:a: b] "e\nf%25"`)
	f("  ::notice title=x::y", `notice map[title:x] "y"`)
	f("::stop-commands::t\n::error title=a::b\n::t::\n::notice title=x::y\n", `notice map[title:x] "y"`)
	f("::stop-commands::t\n::error title=a::b\n", "never begun again")
	f("::set-env name=PATH::x", "no command")
	f("::error title::x", "cannot use the property")
	f("::error title=x", "does not end")
	f("a ##[error]b", "of the old form")
}
