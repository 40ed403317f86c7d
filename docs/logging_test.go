package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/signals"
)

var update = flag.Bool("update", false, "put the present text of the files into logging.md")

func TestLoggingPageHasEverySignal(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "logging.md"), "\n## The least for each signal\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, s := range signals.All() {
		if row := "\n| `" + s.Name + "` | " + s.Log + " |\n"; !strings.Contains(table, row) {
			t.Errorf("logging.md lacks the row %s", strings.TrimSpace(row))
		}
	}
}

// The page shows the files that make e2e runs, and all of them.
func TestLoggingPageShowsItsFiles(t *testing.T) {
	page := read(t, "logging.md")
	shown := map[string]bool{}
	got := regexp.MustCompile(`(?s)<!-- FILE (\S+) -->\n.*?<!-- /FILE -->`).ReplaceAllStringFunc(page, func(block string) string {
		name := strings.Fields(block)[2]
		shown[name] = true
		return "<!-- FILE " + name + " -->\n```" + language(name) + "\n" + read(t, name) + "```\n<!-- /FILE -->"
	})
	if *update {
		if err := os.WriteFile("logging.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != page {
		t.Error("logging.md shows other files than those in emitters/ and proxies/; go test ./docs -update puts them in")
	}
	for _, pattern := range []string{"proxies/*", "emitters/*.*", "emitters/*/*.go"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Errorf("no files are %s", pattern)
		}
		for _, f := range files {
			if !shown[f] && !strings.HasSuffix(f, "_test.go") {
				t.Errorf("logging.md does not show %s", f)
			}
		}
	}
}

func language(name string) string {
	return map[string]string{".py": "python", ".mjs": "js", ".go": "go", ".yml": "yaml", ".yaml": "yaml", ".conf": "conf"}[filepath.Ext(name)]
}
