package pattern

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const good = `version: 1
patterns:
  - name: opened
    line: "opened {session} for {client}"
    event: session_created
`

func TestCompile(t *testing.T) {
	f := func(doc, want string) {
		t.Helper()
		s, err := Compile("p.yaml", []byte(doc))
		if err != nil {
			t.Fatalf("cannot compile %s: %s", doc, err)
		}
		got := ""
		for i := range s.Patterns {
			p := &s.Patterns[i]
			got += fmt.Sprintf("%s@%d %s", p.Name, p.Row, p.Event.Name)
			for _, a := range p.Fields {
				if a.Capture < 0 {
					got += fmt.Sprintf(" %s=%s", a.Field.Name, a.Text)
				} else {
					got += fmt.Sprintf(" %s={%s}", a.Field.Name, p.Captures[a.Capture])
				}
			}
			got += ";"
		}
		if got != want {
			t.Errorf("%s\ngives %s\nwant  %s", doc, got, want)
		}
	}
	f(good, "opened@3 session_created session={session} client={client};")
	f("version: 1\npatterns: []\n", "")
	f(`{"version": 1, "patterns": [{"name": "a", "regexp": "gone (?P<sid>\\w+)", "event": "session_closed", "fields": {"session": "{sid}"}}]}`,
		"a@1 session_closed session={sid};")
	f("version: 1\npatterns:\n- {name: a, keys: {msg: call, a.b|c: '{session}', n: 7, none: null}, optional: {d: 'x {id} y'}, event: request, fields: {method: tools/call}}\n",
		"a@3 request method=tools/call session={session} id={id};")
	f("version: 1\npatterns:\n- {name: a, line: 'a {session}{{', event: ignored, fields: {instance: '{session}'}}\n", "a@3 ignored instance={session};")
}

// What is wrong is said with line and column of the file.
func TestCompileRefuses(t *testing.T) {
	f := func(doc, at, want string) {
		t.Helper()
		_, err := Compile("p.yaml", []byte(doc))
		e := new(Error)
		if !errors.As(err, &e) {
			t.Errorf("%q is taken", doc)
			return
		}
		prefix := "cannot use patterns of p.yaml: " + at + ": "
		if !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s\nwant %s… %s", doc, err, prefix, want)
		}
	}
	in := func(rest string) string { return "version: 1\npatterns:\n- name: p\n" + rest }

	f("", "line 1, column 1", "empty")
	f("# nothing\n", "line 1, column 1", "empty")
	f("version: 1\npatterns:\n  - name: [\n", "line 3, column 3", "not YAML")
	f("version: 1\n\tpatterns: []\n", "line 2, column 2", "not YAML")
	f("version: 2\npatterns: []\n", "line 1, column 10", "reads version 1")
	f("patterns: []\n", "line 1, column 1", "version is missing")
	f("version: 1\n", "line 1, column 1", "patterns is missing")
	f("version: 1\npatterns: 3\n", "line 2, column 11", "must be a list")
	f("version: 1\nversion: 1\n", "line 2, column 1", "stands twice")
	f("version: 1\npaterns: []\n", "line 2, column 1", `unknown key "paterns"`)
	f("version: 1\npatterns: []\n---\nversion: 1\n", "line 3, column 1", "second document")
	f("version: 1\npatterns:\n- line: x\n", "line 3, column 3", "needs a name")
	f("version: 1\npatterns:\n- x\n", "line 3, column 3", "must be a mapping")
	f(good+good[len("version: 1\npatterns:\n"):], "line 6, column 11", "called \"opened\" already")
	f("a: &x 1\nb: *x\n", "line 1, column 1", "unknown key")
	f("version: 1\npatterns: [&x {name: a}, *x]\n", "line 2, column 12", "anchors")

	f(in("  line: x\n"), "line 3, column 3", "event is missing")
	f(in("  line: x\n  event: session_created\n"), "line 5, column 10", "needs session")
	f(in("  line: x\n  event: created\n"), "line 5, column 10", `unknown event "created"; use one of session_created`)
	f(in("  event: ignored\n"), "line 3, column 3", "nothing says which lines")
	f(in("  line: '{}'\n  event: ignored\n"), "line 4, column 9", "no text of its own")
	f(in("  line: ''\n  event: ignored\n"), "line 4, column 9", "empty")
	f(in("  line: 'opened {sesion}'\n  event: session_created\n"), "line 4, column 9", "{sesion} is no field of session_created")
	f(in("  line: 'opened {session'\n  event: session_created\n"), "line 4, column 17", "not closed")
	f(in("  line: opened {session}{id}\n  event: session_created\n"), "line 4, column 25", "text between")
	f(in("  line: {session}\n  event: session_created\n"), "line 4, column 9", "needs quotes")
	f(in("  line: a\n  regexp: a\n  event: ignored\n"), "line 5, column 11", "not both")
	f(in("  regexp: 'a(b'\n  event: ignored\n"), "line 4, column 11", "missing closing )")
	f(in("  regexp: 'a)|(b'\n  event: ignored\n"), "line 4, column 11", "unexpected )")
	f(in("  regexp: '.*'\n  event: ignored\n"), "line 4, column 11", "empty message")
	f(in("  regexp: '"+strings.Repeat("a", MaxRegexp+1)+"'\n  event: ignored\n"), "line 4, column 11", "at most 1000")
	f(in("  keys: {}\n  event: ignored\n"), "line 4, column 9", "keys is empty")
	f(in("  keys: {a..b: 1}\n  event: ignored\n"), "line 4, column 10", "no path of keys")
	f(in("  keys: {a: [1]}\n  event: ignored\n"), "line 4, column 13", "must be a text")
	f(in("  keys: {a|b: x, b: y}\n  event: ignored\n"), "line 4, column 18", "already")
	f(in("  keys: {a: x}\n  optional: {b: y}\n  event: ignored\n"), "line 5, column 17", "takes nothing")
	f(in("  line: a {session}\n  event: session_closed\n  fields: {sesion: x}\n"), "line 6, column 12", `"sesion" is no field of session_closed`)
	f(in("  line: a {x}\n  event: session_closed\n  fields: {session: '{y}'}\n"), "line 6, column 21", "nothing takes {y}")
	f(in("  line: a {x}\n  event: session_closed\n  fields: {session: 's-{x}'}\n"), "line 6, column 21", "not both")
	f(in("  line: a {session}\n  event: session_resolved\n  fields: {source: luck}\n"), "line 6, column 20", `source cannot be "luck"`)
	f(in("  line: a {session}\n  event: request\n  fields: {method: a b}\n"), "line 6, column 20", "one word")
	f(in("  line: a {session}\n  event: request\n  fields: {method: }\n"), "line 6, column 20", "is empty")
	f("version: 1\npatterns: ["+strings.Repeat("{name: a},", MaxPatterns+1)+"]\n", "line 2, column 5012", "at most 500")
	f(strings.Repeat("#", MaxFile+1), "line 1, column 1", "larger than")
}

// Whatever is in the file, it compiles or is refused with a place inside it.
func FuzzCompile(f *testing.F) {
	f.Add(good)
	f.Add("version: 1\npatterns:\n- {name: a, keys: {msg: call, a.b|c: '{session}'}, optional: {d: 'x {id} y'}, event: request, fields: {method: tools/call}}\n")
	f.Add("version: 1\npatterns:\n- {name: a, regexp: 'x(?P<session>a+)', event: session_closed}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, doc string) {
		s, err := Compile("p.yaml", []byte(doc))
		if err != nil {
			e := new(Error)
			if !errors.As(err, &e) || e.Row < 1 || e.Col < 1 || e.Row > 2+strings.Count(doc, "\n")+strings.Count(doc, "\r")+strings.Count(doc, "\u0085")+strings.Count(doc, "\u2028")+strings.Count(doc, "\u2029") {
				t.Fatalf("%q: %v", doc, err)
			}
			return
		}
		into := make([][]byte, MaxCaptures)
		for i := range s.Patterns {
			s.Patterns[i].Match([]byte(doc), into)
		}
	})
}
