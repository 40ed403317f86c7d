package docs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
)

// blocks returns the fenced blocks of a page that are of one kind.
func blocks(page, kind string) (found []string) {
	for _, m := range regexp.MustCompile("(?s)\n```"+kind+"\n(.*?)\n```").FindAllStringSubmatch(page, -1) {
		found = append(found, m[1]+"\n")
	}
	return found
}

// Each worked example finds what the page says it does, and without its patterns nothing.
func TestPatternExamples(t *testing.T) {
	page := read(t, "patterns.md")
	logs, sets, found := blocks(page, "log"), blocks(page, "yaml")[1:], blocks(page, "finding")
	if len(logs) != 3 || len(sets) != 3 || len(found) != 3 {
		t.Fatalf("%d logs, %d sets of patterns and %d findings", len(logs), len(sets), len(found))
	}
	for i := range logs {
		path := filepath.Join(t.TempDir(), "example.log")
		if err := os.WriteFile(path, []byte(logs[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := pattern.Compile("example", []byte(sets[i]))
		if err != nil {
			t.Fatalf("example %d: %s", i+1, err)
		}
		if got := findings(t, path, set); got != found[i] {
			t.Errorf("example %d finds %q, want %q", i+1, got, found[i])
		}
		if got := findings(t, path, nil); got != "" {
			t.Errorf("example %d finds %q without its patterns", i+1, got)
		}
	}
}

func findings(t *testing.T, path string, set *pattern.Set) string {
	t.Helper()
	res, inputs, err := scan.Run(context.Background(), scan.Options{Paths: []string{path}, Patterns: set, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range inputs[0].Stats.Patterns {
		if u.Lines == 0 {
			t.Errorf("%q claims no line", u.Name)
		}
	}
	var b strings.Builder
	for _, f := range res.Findings {
		if f.Strength < signals.Probable {
			continue
		}
		fmt.Fprintf(&b, "%s %s", f.Signal.Name, f.Strength)
		for _, p := range f.Parties {
			b.WriteString(" " + p.Session)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// decoded reads YAML as the JSON that it stands for.
func decoded(t *testing.T, doc string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatalf("cannot read %s: %s", doc, err)
	}
	return v
}

// The schema takes what the page shows and the project uses.
func TestPatternSchema(t *testing.T) {
	schema := compile(t, "patterns.schema.json")
	docs := blocks(read(t, "patterns.md"), "yaml")
	files, _ := filepath.Glob("../testdata/patterns/*.yaml")
	for _, f := range files {
		docs = append(docs, read(t, f))
	}
	if len(docs) < 6 {
		t.Fatalf("only %d documents", len(docs))
	}
	for _, doc := range docs {
		if err := schema.Validate(decoded(t, doc)); err != nil {
			t.Errorf("%s\nbreaks the schema: %s", doc, err)
		}
		if _, err := pattern.Compile("doc", []byte(doc)); err != nil {
			t.Errorf("%s\nis refused: %s", doc, err)
		}
	}
}

// What the schema refuses is refused by isodetect, too.
func TestPatternSchemaRefuses(t *testing.T) {
	schema := compile(t, "patterns.schema.json")
	f := func(doc string) {
		t.Helper()
		if schema.Validate(decoded(t, doc)) == nil {
			t.Errorf("the schema takes %s", doc)
		}
		if _, err := pattern.Compile("doc", []byte(doc)); err == nil {
			t.Errorf("isodetect takes %s", doc)
		}
	}
	one := func(p string) { t.Helper(); f("version: 1\npatterns: [{" + p + "}]") }
	f("version: 2\npatterns: []")
	f("version: 1")
	f("version: 1\npatterns: []\nmore: 1")
	one(`name: a, event: ignored`)
	one(`event: ignored, line: x`)
	one(`name: a, line: x`)
	one(`name: a, line: "x {s", event: ignored`)
	one(`name: a, line: "x }", event: ignored`)
	one(`name: a, line: "x {S}", event: ignored`)
	one(`name: a, line: x, regexp: x, event: ignored`)
	one(`name: a, line: x, event: exploded`)
	one(`name: a, line: x, event: ignored, fields: {session: a}`)
	one(`name: a, line: "x {session}", event: session_resolved, fields: {source: luck}`)
	one(`name: a, keys: {}, event: ignored`)
	one(`name: a, keys: {a..b: x}, event: ignored`)
	one(`name: a, keys: {a: [x]}, event: ignored`)
	one(`name: a, line: x, more: x, event: ignored`)
}

// Page and schema know the events and fields that isodetect knows.
func TestPatternVocabulary(t *testing.T) {
	schema, page := compile(t, "patterns.schema.json"), read(t, "patterns.md")
	for _, e := range pattern.Events {
		if !regexp.MustCompile("\n\\| [^|]*`" + e.Name + "`").MatchString(page) {
			t.Errorf("patterns.md has no row for %s", e.Name)
		}
		row := regexp.MustCompile("\n\\| `" + e.Name + "` \\|([^|]*)\\|([^|]*)\\|").FindStringSubmatch(page)
		if row != nil && (strings.Trim(row[1], " ") != code(e.Must) || strings.Trim(row[2], " ") != code(e.May)) {
			t.Errorf("patterns.md says of %s: must %s, may %s; they are %s and %s", e.Name, row[1], row[2], code(e.Must), code(e.May))
		}
		for _, f := range pattern.Fields {
			value := "x"
			if f.Of != nil {
				value = f.Of[0]
			}
			doc := fmt.Sprintf("version: 1\npatterns: [{name: a, line: x, event: %s, fields: {%s: %s}}]", e.Name, f.Name, value)
			known := slices.Contains(e.Must, f.Name) || slices.Contains(e.May, f.Name) || f.Name == "time" || f.Name == "instance"
			if err := schema.Validate(decoded(t, doc)); (err == nil) != known {
				t.Errorf("the schema says of %s of %s: %v", f.Name, e.Name, err)
			}
		}
	}
}

func code(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
