package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/isodetect/isodetect/signals"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("cannot read %s: %s", path, err)
	}
	return string(text)
}

func compile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema, err := c.Compile(path)
	if err != nil {
		t.Fatalf("cannot compile %s: %s", path, err)
	}
	return schema
}

func TestProtocolPageHasEveryCitedRule(t *testing.T) {
	page := read(t, "protocol.md")
	for _, s := range signals.All() {
		for _, rule := range s.Protocol {
			if !strings.Contains(page, "\n| "+rule+" | ") {
				t.Errorf("%s cites %s, which protocol.md does not explain", s.Name, rule)
			}
		}
	}
}

// The lines that a page shows, and recordings in the format, must keep its schema.
func TestLinesKeepTheirSchema(t *testing.T) {
	f := func(schemaFile, start string, sources ...string) {
		t.Helper()
		schema := compile(t, schemaFile)
		lines := 0
		for _, source := range sources {
			for line := range strings.Lines(read(t, source)) {
				if !strings.HasPrefix(line, start) {
					continue
				}
				lines++
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
				if err != nil {
					t.Errorf("%s: cannot parse %s: %s", source, line, err)
				} else if err := schema.Validate(value); err != nil {
					t.Errorf("%s: %s breaks its schema: %s", source, line, err)
				}
			}
		}
		if lines < 2 {
			t.Errorf("only %d lines in %q", lines, sources)
		}
	}
	f("../parsers/wire/wire.schema.json", `{"`, "wire.md", "../samples/incident/updates.wire.jsonl", "../samples/healthy/refresh.wire.jsonl")
	f("../parsers/logs/native.schema.json", `{"isodetect"`, "formats-native.md", "../parsers/logs/testdata/emitter_asgi.jsonl",
		"../parsers/logs/testdata/emitter_express.jsonl", "../parsers/logs/testdata/emitter_nethttp.jsonl")
}

func TestSchemasRefuse(t *testing.T) {
	f := func(schemaFile, line string) {
		t.Helper()
		schema := compile(t, schemaFile)
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("cannot parse %s: %s", line, err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("%s accepts %s", schemaFile, line)
		}
	}
	f("../parsers/wire/wire.schema.json", `{"ts":"2026-07-19T22:20:43Z","k":"nonsense","x":"1"}`)
	f("../parsers/wire/wire.schema.json", `{"ts":"yesterday","k":"close","x":"1"}`)
	f("../parsers/wire/wire.schema.json", `{"ts":"2026-07-19T22:20:43Z","k":"close"}`)
	f("../parsers/wire/wire.schema.json", `{"ts":"2026-07-19T22:20:43Z","k":"req","x":"1"}`)
}

func TestReadmeListsEverySignal(t *testing.T) {
	page := read(t, "../README.md")
	for _, s := range signals.All() {
		if row := fmt.Sprintf("\n| `%s` | %s | %s |\n", s.Name, s.Title, s.Family); !strings.Contains(page, row) {
			t.Errorf("the table of signals in README.md lacks the row %s", strings.TrimSpace(row))
		}
	}
}

// A link to a file that is not there helps nobody.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	pages, _ := filepath.Glob("*.md")
	pages = append(pages, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md")
	found := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %s", page, m[1], err)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d links found", found)
	}
}
