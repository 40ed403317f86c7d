package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// job is a job of GitLab CI, as far as ours uses what there is.
type job struct {
	Stage        string
	Image        string
	Variables    map[string]string
	BeforeScript []string `yaml:"before_script"`
	Script       []string
	Artifacts    struct {
		When     string
		ExpireIn string `yaml:"expire_in"`
		Paths    []string
		Reports  map[string]string
	}
}

// runGitLab runs a job in the present directory, and says which of its artifacts are there.
func runGitLab(file, name string, variables map[string]string) (int, error) {
	var jobs map[string]job
	if err := decode(file, &jobs); err != nil {
		return 0, err
	}
	j, ok := jobs[name]
	if !ok {
		return 0, fmt.Errorf("%s: there is no job %s", file, name)
	}
	env := maps.Clone(j.Variables)
	maps.Copy(env, variables)
	cmd := exec.Command("sh", "-e", "-c", strings.Join(append(slices.Clone(j.BeforeScript), j.Script...), "\n"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	code, err := execute(cmd, env)
	if err != nil {
		return 0, err
	}
	kinds := slices.Sorted(maps.Keys(j.Artifacts.Reports))
	for _, kind := range kinds {
		fmt.Printf("== report %s %s\n", kind, exists(j.Artifacts.Reports[kind]))
	}
	for _, path := range j.Artifacts.Paths {
		fmt.Printf("== artifact %s\n", exists(path))
	}
	return code, nil
}

func exists(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path + " is missing"
	}
	return path
}
