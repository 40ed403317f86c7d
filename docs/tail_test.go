package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/metrics"
)

// The page shows the receivers that tests run, and every metric as its package names it.
func TestTailPageShowsWhatThereIs(t *testing.T) {
	page := read(t, "tail.md")
	shown := map[string]bool{}
	got := regexp.MustCompile(`(?s)<!-- FILE (\S+) -->\n.*?<!-- /FILE -->`).ReplaceAllStringFunc(page, func(block string) string {
		name := strings.Fields(block)[2]
		shown[name] = true
		return "<!-- FILE " + name + " -->\n```" + language(name) + "\n" + read(t, name) + "```\n<!-- /FILE -->"
	})
	var table strings.Builder
	table.WriteString("<!-- METRICS -->\n| metric | | labels |\n| --- | --- | --- |\n")
	for _, m := range metrics.All() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m.Name, m.Help, strings.Join(m.Labels, ", "))
	}
	got = regexp.MustCompile(`(?s)<!-- METRICS -->.*<!-- /METRICS -->`).ReplaceAllLiteralString(got, table.String()+"<!-- /METRICS -->")
	if *update {
		if err := os.WriteFile("tail.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != page {
		t.Error("tail.md shows other receivers or metrics than there are; go test ./docs -update puts them in")
	}
	for _, pattern := range []string{"receivers/*.*", "receivers/*/*.go"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Errorf("no files are %s", pattern)
		}
		for _, f := range files {
			if !shown[f] && !strings.HasSuffix(f, "_test.go") {
				t.Errorf("tail.md does not show %s", f)
			}
		}
	}
}
