package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// tailFlagSet is what tail takes: the command's own, or, in a build without the
// command, what deploy and docs/tail.md were written for.
func tailFlagSet() *pflag.FlagSet {
	if cmd, _, err := newRoot().Find([]string{"tail"}); err == nil && cmd.Name() == "tail" {
		return cmd.Flags()
	}
	fs := pflag.NewFlagSet("tail", pflag.ContinueOnError)
	for _, name := range []string{"from", "checkpoint", "fail-on", "baseline", "webhook", "webhook-secret", "listen"} {
		fs.String(name, "", "")
	}
	fs.StringArray("format", nil, "")
	fs.Bool("fresh", false, "")
	fs.Int("webhook-per-minute", 60, "")
	new(inputFlags).register(fs)
	return fs
}

func readDeployed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What deploy/ starts are arguments that tail takes, and each names what to watch.
func TestDeployedArguments(t *testing.T) {
	f := func(path string, args []string) {
		t.Helper()
		fs := tailFlagSet()
		if args[0] != "tail" {
			t.Errorf("%s runs %q", path, args)
		} else if err := fs.Parse(args[1:]); err != nil {
			t.Errorf("%s: %s", path, err)
		} else if fs.NArg() == 0 {
			t.Errorf("%s watches nothing", path)
		}
	}
	for _, path := range []string{"deploy/kubernetes/daemonset.yaml", "deploy/kubernetes/sidecar.yaml"} {
		var found [][]string
		dec := yaml.NewDecoder(strings.NewReader(readDeployed(t, path)))
		for {
			var doc any // a key that stands twice is an error
			if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %s", path, err)
			}
			found = append(found, argsOf(doc)...)
		}
		if len(found) != 1 {
			t.Fatalf("%s: %d containers of isodetect", path, len(found))
		}
		f(path, found[0])
	}
	const unit = "deploy/systemd/isodetect-tail.service"
	m := regexp.MustCompile(`(?m)^ExecStart=\S+/isodetect (.*)$`).FindStringSubmatch(readDeployed(t, unit))
	if m == nil {
		t.Fatalf("%s starts something else", unit)
	}
	f(unit, strings.Fields(m[1]))
}

// argsOf lists the arguments of all containers in a manifest that have a checkpoint.
func argsOf(node any) (all [][]string) {
	switch node := node.(type) {
	case []any:
		for _, n := range node {
			all = append(all, argsOf(n)...)
		}
	case map[string]any:
		for key, n := range node {
			list, _ := n.([]any)
			if key == "args" && slices.ContainsFunc(list, func(a any) bool { s, _ := a.(string); return strings.HasPrefix(s, "--checkpoint") }) {
				var args []string
				for _, a := range list {
					args = append(args, a.(string))
				}
				all = append(all, args)
			}
			all = append(all, argsOf(n)...)
		}
	}
	return all
}

// The unit's settings are variables of flags that tail has, with values that they take.
func TestDeployedEnvironment(t *testing.T) {
	const path, paths = "deploy/systemd/tail.env.example", "ISODETECT_PATHS"
	fs := tailFlagSet()
	names := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { names[envName(f.Name)] = f.Name })
	set := 0
	for _, m := range regexp.MustCompile(`(?m)^#?([A-Z_]+)=(.*)$`).FindAllStringSubmatch(readDeployed(t, path), -1) {
		set++
		if m[1] == paths {
			continue
		}
		lookup := func(name string) (string, bool) { return m[2], name == m[1] }
		if err := setFromEnvironment(tailFlagSet(), lookup, origin{}); names[m[1]] == "" || err != nil {
			t.Errorf("%s: %s is of no flag (%v)", path, m[0], err)
		}
	}
	if set < 5 || !strings.Contains(readDeployed(t, "deploy/systemd/isodetect-tail.service"), " $"+paths) {
		t.Errorf("%s sets %d variables, and the unit takes no paths from it", path, set)
	}
}

// docs/tail.md speaks of flags that there are, and of each that is tail's own.
func TestTailPageKnowsTheFlags(t *testing.T) {
	page := []byte(readDeployed(t, "docs/tail.md"))
	fs := tailFlagSet()
	page = bytes.ReplaceAll(page, []byte("`--all`, journalctl"), nil) // the one flag of another program
	named := regexp.MustCompile("`--([a-z-]+)")
	for _, m := range named.FindAllSubmatch(page, -1) {
		if fs.Lookup(string(m[1])) == nil {
			t.Errorf("tail has no --%s", m[1])
		}
	}
	lines := 0
	for _, m := range regexp.MustCompile("isodetect tail ([^`#|\n]*)").FindAllSubmatch(page, -1) {
		lines++
		for _, word := range bytes.Fields(m[1]) {
			name, _, _ := bytes.Cut(bytes.TrimPrefix(word, []byte("--")), []byte("="))
			if bytes.HasPrefix(word, []byte("--")) && fs.Lookup(string(name)) == nil {
				t.Errorf("isodetect tail %s: there is no --%s", m[1], name)
			}
		}
	}
	if lines < 3 {
		t.Errorf("only %d commands", lines)
	}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(inputFlags).register(shared)
	fs.VisitAll(func(f *pflag.Flag) {
		if shared.Lookup(f.Name) == nil && f.Name != "help" && !bytes.Contains(page, []byte("--"+f.Name)) {
			t.Errorf("docs/tail.md does not know --%s", f.Name)
		}
	})
}
