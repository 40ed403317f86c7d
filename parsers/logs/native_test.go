package logs

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func nativeSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("native.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("native.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNativeSchema(t *testing.T) {
	s := nativeSchema(t)
	f := func(line string, valid bool) {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("cannot parse %s: %v", line, err)
		}
		if err := s.Validate(doc); (err == nil) != valid {
			t.Errorf("valid is %v, want %v: %s\n%v", err == nil, valid, line, err)
		}
	}
	events, err := os.ReadFile("testdata/native.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(events) {
		f(string(line), true)
	}
	f(`{"isodetect":"2","time":"2026-07-19T22:20:00Z","event.name":"isodetect.meta"}`, false)
	f(`{"isodetect":"1","event.name":"isodetect.meta"}`, false)
	f(`{"isodetect":"1","time":"yesterday","event.name":"isodetect.meta"}`, false)
	f(`{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"mcp.session.exploded"}`, false)
	f(`{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"mcp.session.created"}`, false)
	f(`{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"mcp.session.resolved","mcp.session.id":"a"}`, false)
	f(`{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"mcp.request.started","jsonrpc.request.id":"7"}`, false)
	f(`{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"isodetect.meta","nested":{"a":1}}`, false)
}

// TestNativeForged holds that a native event counts as the outermost record
// only, and nothing that a user may put into a field passes for one.
func TestNativeForged(t *testing.T) {
	b, err := os.ReadFile("testdata/forged.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	events, stats := scan(t, b, source.Options{})
	for _, e := range events {
		if strings.Contains(e, "session_resolved") {
			t.Errorf("forged event was taken: %s", e)
		}
	}
	if stats.Malformed != 1 || len(stats.Problems) != 1 || stats.Problems[0].At.N != 7 {
		t.Errorf("the object with text behind it is not counted as malformed: %+v", stats.Problems)
	}
	if len(stats.Notes) == 0 || !strings.Contains(strings.Join(stats.Notes, "\n"), "version 2") {
		t.Errorf("the event of an unknown version is not noted: %q", stats.Notes)
	}
}

// TestNativeTypes holds that the type of an id comes from its own key.
func TestNativeTypes(t *testing.T) {
	f := func(members, want string) {
		t.Helper()
		line := `{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"mcp.request.started","mcp.session.id":"a","mcp.method.name":"ping",` + members + "}"
		events, _ := scan(t, []byte(line), source.Options{})
		if len(events) != 1 || !strings.HasSuffix(events[0], "method=ping "+want) {
			t.Errorf("%s gives %q, want %q", members, events, want)
		}
	}
	f(`"jsonrpc.request.id":"7","isodetect.rpc.id_type":"number"`, `id=7`)
	f(`"jsonrpc.request.id":"7","isodetect.rpc.id_type":"string"`, `id="7"`)
	f(`"jsonrpc.request.id":7,"isodetect.rpc.id_type":"string"`, `id="7"`)
	f(`"jsonrpc.request.id":"7"`, `id="7" loss=id-type`)
	f(`"jsonrpc.request.id":"a7"`, `id="a7"`)
	f(`"jsonrpc.request.id":"a7","isodetect.rpc.id_type":"number"`, `id="a7"`)
	f(`"jsonrpc.request.id":"1","isodetect.rpc.id_type":"number","isodetect.progress.token":"1","isodetect.progress.token.type":"string"`, `id=1 token="1"`)
}

func TestNativeSequence(t *testing.T) {
	line := func(instance, seq string) string {
		return `{"isodetect":"1","time":"2026-07-19T22:20:00Z","event.name":"isodetect.meta","service.instance.id":"` + instance + `","isodetect.seq":` + seq + "}\n"
	}
	f := func(log, want string) {
		t.Helper()
		events, stats := scan(t, []byte(log), source.Options{})
		var got []string
		gaps := int64(0)
		for _, e := range events {
			fields := strings.Fields(e)
			got = append(got, fields[0]+fields[1])
			if fields[1] == "gap" {
				gaps++
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("events are %q, want %q", s, want)
		}
		if stats.Gaps != gaps {
			t.Errorf("%d gaps counted, %d told", stats.Gaps, gaps)
		}
	}
	f(line("a", "1")+line("a", "2")+line("a", "5"), "1process_start 3gap")
	f(line("a", "7")+line("b", "1")+line("a", "8"), "2process_start")
	f(line("a", "7")+line("a", "1")+line("a", "2"), "2process_start")
}
