package envelope

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// peeled gives what is inside the lines of a log, each as "server#epoch time|text".
func peeled(path, log string) (string, *Peeler) {
	var out []string
	p := New(path, func(inner []byte, m *Meta) {
		s := fmt.Sprintf("%s#%s ", m.Server, m.Epoch)
		for i := m.Depth - 1; i >= 0; i-- {
			if len(m.Times[i]) > 0 {
				s += string(m.Times[i])
				break
			}
		}
		if m.Depth == 0 {
			s = "plain"
		}
		if m.Parts > 0 {
			s += fmt.Sprintf(" from %d", m.First.N)
		}
		out = append(out, s+"|"+string(inner)+m.Lost)
	})
	for i, line := range strings.Split(log, "\n") {
		p.Peel([]byte(line), Address{N: int64(i + 1)})
	}
	p.Flush()
	return strings.Join(out, "\n"), p
}

func TestPeel(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got, _ := peeled("", line); got != want {
			t.Errorf("%q holds %q, want %q", line, got, want)
		}
	}
	f(`{"log":"a\u003cb\n","stream":"stderr","time":"2026-07-19T22:20:43Z"}`, "# 2026-07-19T22:20:43Z|a<b")
	f(`{"time":"2026-07-19T22:20:43Z","stream":"stderr","log":"whole as it is"}`, "# 2026-07-19T22:20:43Z|whole as it is")
	f("2026-07-19T22:20:43+02:00 stderr F text", "# 2026-07-19T22:20:43+02:00|text")
	f("2026-07-19T22:20:43Z stdout F", "# 2026-07-19T22:20:43Z|")
	f("[pod/a-0/app] text", "a-0/app# |text")
	f("a-app-1     | text", "a-app-1# |text")
	f("<134>1 2026-07-19T22:20:43Z vm app 7 ID1 [x@1 a=\"\\\"]\"][y@2 b=\"2\"] \xef\xbb\xbftext", `vm/app#7 2026-07-19T22:20:43Z|text a="\"]"][y@2 b="2"`)
	f("<134>1 2026-07-19T22:20:43Z vm app 7 - [timeQuality tzKnown=\"1\"][x@1 a=\"1\"] text", `vm/app#7 2026-07-19T22:20:43Z|text a="1"`)
	f("83 <134>1 2026-07-19T22:20:43Z vm app - - - text", "vm/app# 2026-07-19T22:20:43Z|text")
	f("46 <134>1 2026-07-19T22:20:43Z vm app - - - text146 <134>1 2026-07-19T22:20:43Z vm app - - - text2", "vm/app# 2026-07-19T22:20:43Z|text1\nvm/app# 2026-07-19T22:20:43Z|text2")
	f("46 <134>1 2026-07-19T22:20:43Z vm app - - - text149 <134>1 2026-07-19T22:20:43Z vm app - - - cut", "vm/app# 2026-07-19T22:20:43Z|text1\nvm/app# 2026-07-19T22:20:43Z|cut")
	f("I0719 22:20:43.472113    4242 file.go:12] text [x] 1", "#4242 0719 22:20:43.472113|text [x] 1")
	f(`I0719 22:20:43.472113    4242 file.go:12] "a \"b\"" c=1`, `#4242 0719 22:20:43.472113|msg="a \"b\"" c=1`)
	f("2026-07-19T22:20:43Z app[web.1]: text", "web.1# 2026-07-19T22:20:43Z|text")
	f("2026-07-19T22:20:43Z app[e78] iad [info]text", "e78# 2026-07-19T22:20:43Z|text")
	f("2026-07-19T22:20:43.472Z\tINFO:mcp: text", "# 2026-07-19T22:20:43.472Z|INFO:mcp: text")
	f(`Jul 19 22:20:43 {"a":1}`, `# Jul 19 22:20:43|{"a":1}`)
	f("2026-07-19T22:20:43Z stdout P caf\xc3\n2026-07-19T22:20:43Z stdout F \xa9", "# 2026-07-19T22:20:43Z from 1|café")
	f(`{"results":[[{"field":"@message","value":"x"},{"field":"@timestamp","value":"2026-07-19 22:20:43.472"}]]}`, "# 2026-07-19 22:20:43.472Z|x")
	f(`{"timestamp":1784499643472,"message":"x\n","ingestionTime":1784499643999}`, "# 1784499643472|x")
	f("<13>Jul  9 22:20:43 vm app: a#011b#033[0m#012c #0123 #99", "vm/app# Jul  9 22:20:43|a\tb\x1b[0m\nc \n3 #99")
	f("Jul 19 22:20:43 vm app[12] text", "vm/app#12 Jul 19 22:20:43|text")
	f("2026-07-19T22:20:43+0000 vm app[12]: text", "vm/app#12 2026-07-19T22:20:43+0000|text")
	f("Jul 19 22:20:43 vm app[12]: a\nJul 19 22:20:44 vm other: b\n   c", "vm/app#12 Jul 19 22:20:43|a\nvm/other# Jul 19 22:20:44|b")
	f("2026-07-19T22:20:43.472113000Z text", "# 2026-07-19T22:20:43.472113000Z|text")
	f(`[pod/a-0/app] 2026-07-19T22:20:43Z stdout F {"log":"<13>Jul 19 22:20:43 vm x[1]: text\n","stream":"stdout","time":"t"}`, "a-0/app/vm/x#1 Jul 19 22:20:43|text")
	f(strings.Repeat("[pod/a-0/app] ", 6)+"text", "a-0/app/a-0/app/a-0/app/a-0/app/a-0/app# |[pod/a-0/app] text")
	f("Jul 19 22:20:43 server listening: 8080", "# Jul 19 22:20:43|server listening: 8080") // ts: no host is called so
	f("Jul 19 22:20:43 INFO app[1]: text", "# Jul 19 22:20:43|INFO app[1]: text")
	f("\x1e"+`{"__REALTIME_TIMESTAMP":"1","MESSAGE":[104,105],"_PID":"9"}`, "#9 1|hi")
}

// TestNotPeeled holds lines that only look like an envelope.
func TestNotPeeled(t *testing.T) {
	f := func(line string) {
		t.Helper()
		if got, _ := peeled("", line); got != "plain|"+line {
			t.Errorf("%q is taken for an envelope of %q", line, got)
		}
	}
	f(`{"log":"text","level":"info"}`)
	f(`{"log":"text\n","stream":"orders","time":"2026-07-19T22:20:43Z"}`)
	f(`{"log":{"level":"info"},"stream":"stdout","time":"x"}`)
	f(`{"message":"session created","session_id":"a","timestamp":"2026-07-19T22:20:43Z"}`)
	f(`{"message":"x","host":"h","timestamp":"t","level":"info"}`)
	f(`{"pod":"a","message":"session created","session_id":"a"}`)
	f(`{"level":"info","msg":"x","log":"{}","stream":"stdout","time":"t"}`)
	f(`{"line":"a","timestamp":"t"}`)
	f(`{"events":["a"],"timestamp":1}`)
	f(`{"data":{"result":[1,2]},"message":"x"}`)
	f(`{"textPayload":"x"}`)
	f(`{"_msg":"x"}`)
	f(`{"log":"torn","stream":"stdout","time":"2026`)
	f("2026-07-19T22:20:43Z INFO app: text")
	f("2026-07-19T22:20:43.472113000Z  INFO app: text")
	f("2026-07-19T22:20:43.472Z text")
	f("2026-07-19T22:20:43Z host text without a tag")
	f("Jul 19 22:20:43")
	f("Jul 19 22:20:43x text")
	f("INFO-1: | is no service")
	f("I0719 22:20:43 text")
	f("2026-07-19T22:20:43.472Z\tinfo\trequest gateway=x")
	f("2026-07-19T22:20:43.472Z\tINFO text")
	f("2026-07-19T22:20:43.472Z\tmain\tINFO\ttext")
	f("I0719 22:20:43.472113 text] x")
	f("2026-07-19T22:20:43Z app[web.1] text")
	f("2026-07-19T22:20:43Z other[web]: text")
	f(`{"traceId":"a","id":"b","timestamp":1,"message":"x"}`)
	f(`{"direction":"in","origin":"client","message":"x"}`)
	f(`{"session_id":"a","direction":"in","seq":1}`)
	f(`{"start_time":"t","end_time":"t","attributes":{},"context":{}}`)
}

// TestParts holds that parts are joined per stream, and what happens to their rest.
func TestParts(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		if got, _ := peeled("", log); got != want {
			t.Errorf("%q holds %q, want %q", log, got, want)
		}
	}
	const at = "2026-07-19T22:20:43Z "
	f(at+"stdout P ab\n"+at+"stderr P 12\n"+at+"stdout P cd\n"+at+"stderr F 34\n"+at+"stdout F ef", "# 2026-07-19T22:20:43Z from 2|1234\n# 2026-07-19T22:20:43Z from 1|abcdef")
	f(at+"stdout P ab\n"+at+"stdout F \n"+at+"stdout F x", "# 2026-07-19T22:20:43Z from 1|ab\n# 2026-07-19T22:20:43Z|x")
	f(at+"stdout P ab", "")
	f("[pod/a/x] "+at+"stdout P ab\n[pod/b/x] "+at+"stdout F cd\n[pod/a/x] "+at+"stdout F ef", "b/x# 2026-07-19T22:20:43Z|cd\na/x# 2026-07-19T22:20:43Z from 1|abef")
	docker := func(text, stream string) string { return `{"log":"` + text + `","stream":"` + stream + `","time":"t"}` }
	f(docker(`a\n`, "stdout")+"\n"+docker("b", "stdout")+"\n"+docker(`x\n`, "stderr")+"\n"+docker(`c\n`, "stdout"), "# t|a\n# t|x\n# t from 2|bc")
	f(docker(`a\n`, "stdout")+"\n"+docker("the last words", "stdout"), "# t|a\n# t from 2|the last words")
	big := strings.Repeat("x", dockerPart)
	f(docker(big, "stdout")+"\n"+docker(`y\n`, "stdout"), "# t from 1|"+big+"y")
}

// TestPartsBounded holds that lines whose end never comes cost no more than their bound.
func TestPartsBounded(t *testing.T) {
	delivered := 0
	p := New("", func(inner []byte, m *Meta) { delivered++ })
	part := []byte("2026-07-19T22:20:43Z stdout P " + strings.Repeat("x", 1<<20))
	for range 80 {
		p.Peel(part, Address{})
	}
	if p.Overlong != 1 || p.held > maxJoined || delivered > 0 {
		t.Errorf("%d overlong, %d bytes held, %d delivered", p.Overlong, p.held, delivered)
	}
	p.Peel([]byte("2026-07-19T22:20:43Z stdout F x"), Address{})
	p.Peel([]byte("2026-07-19T22:20:43Z stdout F x"), Address{})
	if delivered != 1 || p.held != 0 {
		t.Errorf("%d delivered behind it, %d bytes held", delivered, p.held)
	}
	for i := range 3 * maxOpen {
		p.Peel(fmt.Appendf(nil, "[pod/p%d/c] 2026-07-19T22:20:43Z stdout P x", i), Address{})
	}
	if len(p.open) != maxOpen || p.Unended != 2*maxOpen {
		t.Errorf("%d lines in parts are open, %d were given up", len(p.open), p.Unended)
	}
}

func TestPlaceOf(t *testing.T) {
	f := func(path, want string) {
		t.Helper()
		if got, _ := peeled(path, "2026-07-19T22:20:43Z stdout F x"); got != want+" 2026-07-19T22:20:43Z|x" {
			t.Errorf("%s is of %q, want %q", path, got, want)
		}
	}
	uid, id := "0a1b2c3d-0000-4000-8000-000000000000", strings.Repeat("0123456789abcdef", 4)
	f("/var/log/pods/prod_notes-0_"+uid+"/app/0.log", "prod/notes-0/app#0")
	f("x/prod_notes-0_"+uid+"/app/1.log.20260719-222000.gz", "prod/notes-0/app#1")
	f("/var/log/containers/notes-0_prod_app-"+id+".log", "prod/notes-0/app#0123456789ab")
	f("/var/lib/docker/containers/"+id+"/"+id+"-json.log.1", "0123456789ab#")
	f("/tmp/server.log", "#")
	f("1.log", "#")
}

// TestExport holds binary values, broken entries and where they stand.
func TestExport(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		var out []string
		r := NewExport(strings.NewReader(in), 100)
		p := New("", func(inner []byte, m *Meta) {
			out = append(out, fmt.Sprintf("%d:%s#%s|%s", r.At().N, m.Server, m.Epoch, inner))
		})
		lines := 0
		for {
			err := r.Next()
			if err != nil && !strings.HasPrefix(err.Error(), ErrEntry.Error()) {
				break
			}
			if lines += r.Lines(); err != nil {
				out = append(out, fmt.Sprintf("%d:bad", r.At().N))
				continue
			}
			p.PeelExport(r)
		}
		if got := strings.Join(out, " "); got != want {
			t.Errorf("%q holds %q, want %q", in, got, want)
		}
		if n := strings.Count(in, "\n"); lines < n || lines > n+1 || r.Read() != int64(len(in)) {
			t.Errorf("%q: %d lines and %d bytes, want %d and %d", in, lines, r.Read(), n, len(in))
		}
	}
	f("__CURSOR=a\nMESSAGE=x\n_PID=7\n_HOSTNAME=h\n\n", "2:h#7|x")
	f("__CURSOR=a\nMESSAGE\n\x03\x00\x00\x00\x00\x00\x00\x00a\nb\n_PID=7\n\n__CURSOR=b\nMESSAGE=y\n", "2:#7|a\nb 8:#|y")
	f("__CURSOR=a\nMESSAGE\n\x0a\x00\x00\x00\x00\x00\x00\x000123456789\n\n", "2:#|0123456789")
	f("__CURSOR=a\nno field\nMESSAGE=x\n\n__CURSOR=a\nMESSAGE=y\n\n", "3:bad 6:#|y")
	f("__CURSOR=a\nMESSAGE\n\x03\x00\x00", "1:bad")
	f("__CURSOR=a\nMESSAGE="+strings.Repeat("x", 200)+"\n\nMESSAGE=z\n\n", "1:bad 4:#|z")
	f("__CURSOR=a\n_PID=1\n\n", "")
}

// FuzzPeel holds that nothing breaks a Peeler, that a line without an envelope
// comes out as it went in, and that nothing is larger inside than outside.
func FuzzPeel(f *testing.F) {
	logs, _ := filepath.Glob("../logs/testdata/wrapped/*.log")
	for _, path := range logs {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		delivered, limit := 0, 0
		var line []byte
		p := New("", func(inner []byte, m *Meta) {
			if delivered += len(inner); m.Depth == 0 && m.Parts == 0 && !bytes.Equal(inner, line) && !bytes.Equal(inner, bytes.TrimPrefix(line, []byte("\x1e"))) {
				t.Fatalf("%q comes out as %q", line, inner)
			}
		})
		for i, l := range bytes.Split(log, []byte("\n")) {
			line = l
			limit += 8*len(l) + 200
			p.Peel(l, Address{N: int64(i)})
		}
		p.Flush()
		if delivered > limit {
			t.Fatalf("%d bytes come out of %d", delivered, len(log))
		}
		r := NewExport(bytes.NewReader(log), 1<<16)
		for range len(log) + 2 {
			err := r.Next()
			if err == nil {
				p.PeelExport(r)
			} else if !strings.HasPrefix(err.Error(), ErrEntry.Error()) {
				return
			}
		}
		t.Fatalf("the export does not end")
	})
}
