package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// The published schema is what the flags say, and takes what the program takes.
func TestSettingsSchema(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"config", "schema"}, nil, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	path := filepath.Join("..", "..", "docs", "isodetect.schema.json")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("%s is not what `isodetect config schema` prints", path)
	}
	doc, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	f := func(text string, ok bool) {
		t.Helper()
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != ok {
			t.Errorf("schema, %s: %v", text, err)
		}
		s, err := parseSettings([]byte(text))
		if err == nil {
			err = s.apply(newScan().Flags(), origin{})
		}
		if (err == nil) != ok {
			t.Errorf("program, %s: %v", text, err)
		}
	}
	f("version: 1\nfail-on: confirmed\nrequire: [token_collision]\nlimit: [sessions=5]\nstrict-baseline: true\ncancel-window: 1s\n", true)
	f("version: 1\ndomain: a=b\n", true)
	f("fail-on: confirmed\n", false)
	f("version: 1\nreveal: true\n", false)
	f("version: 1\nstrict-baseline: maybe\n", false)
	f("version: 1\nlimit: {sessions: 5}\n", false)
}

// Every setting is a flag of scan, and no flag that shows secrets or writes files is one.
func TestSettingNames(t *testing.T) {
	flags := newScan().Flags()
	for _, name := range settingNames {
		if flags.Lookup(name) == nil {
			t.Errorf("%s is no flag of scan", name)
		}
		if strings.Contains("reveal format tls-keylog config", name) {
			t.Errorf("%s may not be set by a file", name)
		}
	}
}
