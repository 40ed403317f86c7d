package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// journal keeps what the emitter writes, line by line.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, string(b))
	return len(b), nil
}

// events returns the names of the events, and holds each line against the schema.
func (j *journal) events(t *testing.T) []map[string]any {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../../parsers/logs/native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []map[string]any
	for _, line := range j.lines {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(value)
		}
		var m map[string]any
		if err != nil || json.Unmarshal([]byte(line), &m) != nil || !strings.HasPrefix(line, `{"isodetect":"1","time":"`) || strings.Count(line, "\n") != 1 || len(line) > 16000 {
			t.Errorf("bad line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func names(all []map[string]any) string {
	var out []string
	for _, m := range all {
		out = append(out, strings.TrimPrefix(m["event.name"].(string), "mcp."))
	}
	return strings.Join(out, " ")
}

func TestEvents(t *testing.T) {
	f := func(method, session, body string, serve http.HandlerFunc, want string) map[string]any {
		t.Helper()
		var j journal
		r := httptest.NewRequest(method, "/mcp", strings.NewReader(body))
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		Handler(&j, serve).ServeHTTP(httptest.NewRecorder(), r)
		all := j.events(t)
		if got := names(all); got != want {
			t.Errorf("%s %s: %s, want %s", method, body, got, want)
		}
		return all[len(all)-1]
	}
	status := func(code int, session string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if session != "" {
				w.Header().Set("Mcp-Session-Id", session)
			}
			w.WriteHeader(code)
		}
	}
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":{"listChanged":true},"sampling":{}},"clientInfo":{"name":"a","version":"1"}}}`
	call := `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"secret-tool","arguments":{"key":"secret"}}}`
	f("POST", "", begin, status(200, "s1"), "isodetect.meta request.started session.created session.resolved request.finished")
	last := f("POST", "s1", call, status(200, ""), "isodetect.meta request.started session.resolved request.finished")
	if last["isodetect.session.presented"] != "sha256:e8bc163c82eee187" || last["jsonrpc.request.id"] != "x" {
		t.Errorf("wrong line %v", last)
	}
	last = f("POST", "", call, func(w http.ResponseWriter, r *http.Request) { Resolved(r.Context(), "s9", "fallback") }, "isodetect.meta request.started session.resolved request.finished")
	if last["isodetect.session.hash"] != hashed("s9") {
		t.Errorf("the session that the lookup named is not in %v", last)
	}
	f("POST", "", call, status(400, ""), "isodetect.meta request.started request.finished")
	f("DELETE", "s1", "", status(200, ""), "isodetect.meta session.resolved session.closed")
	f("GET", "s1", "", status(405, ""), "isodetect.meta")
	for _, body := range []string{"", "null", "[" + call + "]", "{", `{"id":{"a":1},"method":7}`, strings.Repeat("[", limit), strings.Repeat("\xff", 100)} {
		f("POST", "s1", body, status(202, ""), "isodetect.meta session.resolved")
	}
}

// Nothing of a body is lost, and of a long one no more is held than the limit.
func TestBodyPasses(t *testing.T) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"` + strings.Repeat("y", 3*limit) + `"}}`
	var got []byte
	var j journal
	counted := &counting{r: strings.NewReader(body)}
	r := httptest.NewRequest("POST", "/mcp", counted)
	Handler(&j, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if counted.n > limit+1 {
			t.Errorf("%d bytes were read before the handler asked for any", counted.n)
		}
		got, _ = io.ReadAll(r.Body)
	})).ServeHTTP(httptest.NewRecorder(), r)
	if !bytes.Equal(got, []byte(body)) {
		t.Errorf("%d bytes of %d arrived", len(got), len(body))
	}
	if s := names(j.events(t)); strings.Contains(s, "started") {
		t.Errorf("a body that was not read has events of a request: %s", s)
	}
	for _, line := range j.lines {
		if strings.Contains(line, "yyyy") {
			t.Errorf("an argument is in %s", line)
		}
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

// An event of a stream arrives while the handler still runs.
func TestStreamPasses(t *testing.T) {
	var j journal
	release := make(chan struct{})
	s := httptest.NewServer(Handler(&j, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-release
	})))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader(`{"id":1,"method":"tools/call"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "data: 1\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if got := names(j.events(t)); got != "isodetect.meta request.started session.resolved" {
		t.Errorf("while the stream is open: %s", got)
	}
	close(release)
}
