package parsers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
)

// logLines are lines from second a to second b-1, as a server writes them.
func logLines(a, b int) string {
	var out strings.Builder
	for i := a; i < b; i++ {
		fmt.Fprintf(&out, `{"time":"2026-07-19T22:%02d:%02d.5Z","msg":"session_created","session_id":"0a1b2c3d-%04d"}`+"\n", i/60, i%60, i)
	}
	return out.String()
}

// readSet reads a Set and returns its events as FILE:LINE SESSION, and its inputs as
// "NAME notes".
func readSet(t *testing.T, s *Set) (events, inputs []string) {
	t.Helper()
	r := s.Reader()
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		id := e.Answered.ID
		if e.Kind == event.Gap {
			id = "gap"
		}
		events = append(events, fmt.Sprintf("%s:%d %s", filepath.Base(s.Members[e.At.Source].Path), e.At.N, id[max(0, len(id)-2):]))
	}
	s.Finish()
	for _, m := range s.Members {
		st := &m.Stats
		if st.Records != st.Used+st.Ignored+st.Malformed || st.Used < 0 || st.Ignored < 0 {
			t.Errorf("%s: %d records, but %d used, %d ignored, %d malformed", m.Path, st.Records, st.Used, st.Ignored, st.Malformed)
		}
		inputs = append(inputs, filepath.Base(m.Path)+" "+filepath.Base(cmp.Or(m.Log, "alone"))+" "+strings.Join(m.Stats.Notes, "; ")+m.Stats.Err)
	}
	return events, inputs
}

func has(t *testing.T, inputs []string, name, want string) {
	t.Helper()
	for _, in := range inputs {
		if strings.HasPrefix(in, name+" ") {
			if !strings.Contains(in, want) {
				t.Errorf("%s: want %q", in, want)
			}
			return
		}
	}
	t.Errorf("no input %s in %q", name, inputs)
}

func openDir(t *testing.T, files map[string][]byte) *Set {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		write(t, filepath.Join(dir, name), b)
	}
	return open(t, Options{Formats: Formats}, dir)
}

func TestRotatedIsReadInOrderOfTime(t *testing.T) {
	f := func(want string, files map[string]string) {
		t.Helper()
		packed := map[string][]byte{}
		for name, text := range files {
			packed[name] = []byte(text)
			if strings.HasSuffix(name, ".gz") {
				packed[name] = gz(text)
			}
		}
		events, _ := readSet(t, openDir(t, packed))
		if got := strings.Join(events, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f("x.log.2.gz:1 00 x.log.2.gz:2 01 x.log.1:1 02 x.log.1:2 03 x.log:1 04",
		map[string]string{"x.log.2.gz": logLines(0, 2), "x.log.1": logLines(2, 4), "x.log": logLines(4, 5)})
	f("x.log.1:1 00 x.log.2:1 01 x.log:1 02", // what the lines say counts, not the numbers
		map[string]string{"x.log.1": logLines(0, 1), "x.log.2": logLines(1, 2), "x.log": logLines(2, 3)})
	f("0.log.20260719-222000.gz:1 00 0.log:1 01",
		map[string]string{"0.log.20260719-222000.gz": logLines(0, 1), "0.log": logLines(1, 2)})
	f("x.1.log:1 00 x.log:1 01", map[string]string{"x.1.log": logLines(0, 1), "x.log": logLines(1, 2)})
	plain := func(n int) string { return fmt.Sprintf("session created 0a1b2c3d-00%02d\n", n) }
	f("x.log.10:1 00 x.log.9:1 01 x.log:1 ap x.log:1 02", // no times: names decide, and eight files are not there
		map[string]string{"x.log.10": plain(0), "x.log.9": plain(1), "x.log": plain(2)})
}

// What other servers wrote is never joined, however alike the names are.
func TestOtherServersAreNotJoined(t *testing.T) {
	f := func(files ...string) {
		t.Helper()
		packed := map[string][]byte{}
		for i, name := range files {
			packed[name] = []byte(strings.ReplaceAll(logLines(20*i, 20*i+40), "0a1b2c3d", fmt.Sprintf("0a1b2c%02d", i))) // each overlaps the next
		}
		s := openDir(t, packed)
		for _, m := range s.Members {
			if m.Log != "" {
				t.Errorf("%s is joined to %s", m.Path, m.Log)
			}
		}
	}
	f("x.log", "x.log.1")
	f("a-20260719.log", "a-20260720.log", "a.log")
	f("a.log", "b.log", "server.log", "server.debug.log")
	g := func(files ...string) {
		t.Helper()
		packed := map[string][]byte{}
		for i, name := range files {
			packed[name] = []byte(logLines(20*i, 20*i+20))
		}
		s := openDir(t, packed)
		for _, m := range s.Members {
			if m.Log != "" {
				t.Errorf("%s is joined to %s", m.Path, m.Log)
			}
		}
	}
	g("0.log", "1.log")
	g("server.log", "server.debug.log")
	g("server-1.log", "server-2.log")
	g("web.1", "web.2")
	g("x.log", "x.1.log") // the number grows with time
	g("p/x.log", "q/x.log.1")
}

func TestWhatIsRepeatedIsReadOnce(t *testing.T) {
	f := func(want int, name, note string, files map[string][]byte) {
		t.Helper()
		events, inputs := readSet(t, openDir(t, files))
		if len(events) != want || !slices.IsSortedFunc(events, func(a, b string) int { return strings.Compare(a[len(a)-2:], b[len(b)-2:]) }) {
			t.Errorf("%d events, want %d: %q", len(events), want, events)
		}
		has(t, inputs, name, note)
	}
	all := []byte(logLines(0, 40))
	f(40, "x.log.1.gz", "same_input_twice: holds the same bytes as", map[string][]byte{"x.log.1": all, "x.log.1.gz": gz(logLines(0, 40)), "x.log": nil})
	f(40, "x.log.1", "holds the beginning of", map[string][]byte{"x.log.1": []byte(logLines(0, 30)), "x.log": all})
	f(40, "x.log.1", "holds the beginning of", map[string][]byte{"x.log.1": all[:1234], "x.log": all})
	half := gz(logLines(0, 40))
	f(40, "x.log.1.gz", "holds the beginning of", map[string][]byte{"x.log.1": all, "x.log.1.gz": half[:len(half)-40]})
	f(40, "x.log", "same_input_twice: the first 5 lines are the last of", map[string][]byte{"x.log.1": []byte(logLines(0, 30)), "x.log": []byte(logLines(25, 40))})
	f(40, "x.log", "same_input_twice: the first 5 lines are the last of", map[string][]byte{"x.log.1.gz": gz(logLines(0, 30)), "x.log": []byte(logLines(25, 40))})
	f(40, "x.log", "same_input_twice: the first line is the last of", map[string][]byte{"x.log.1": []byte(logLines(0, 30)), "x.log": []byte(logLines(29, 40))})
}

// A line that is written again is no copy where nothing shows that it is.
func TestEqualLinesAreNoRepetition(t *testing.T) {
	line := "session created 0a1b2c3d-0001\n"
	events, inputs := readSet(t, openDir(t, map[string][]byte{"x.log.1": []byte(line + line), "x.log": []byte(line + "session created 0a1b2c3d-0002\n")}))
	if len(events) != 4 {
		t.Errorf("%q", events)
	}
	has(t, inputs, "x.log", "x.log file 2 of 2")
}

func TestBrokenFileOfALog(t *testing.T) {
	half := gz(logLines(2, 40))
	events, inputs := readSet(t, openDir(t, map[string][]byte{"x.log.2": []byte(logLines(0, 2)), "x.log.1.gz": half[:len(half)-20], "x.log": []byte(logLines(40, 42))}))
	if !slices.Contains(events, "x.log:2 41") || !slices.ContainsFunc(events, func(s string) bool { return strings.HasSuffix(s, " ap") }) {
		t.Errorf("%q", events)
	}
	has(t, inputs, "x.log.1.gz", "ends early")
	has(t, inputs, "x.log", "file 3 of 3")
}

// A file that begins with lines which say nothing is read where its log is known.
func TestFileOfALogThatSaysNothing(t *testing.T) {
	events, inputs := readSet(t, openDir(t, map[string][]byte{"x.log.1": []byte(logLines(0, 2)), "x.log": []byte("plain words\nand no more of them\n")}))
	if len(events) != 2 {
		t.Errorf("%q", events)
	}
	has(t, inputs, "x.log", "file 2 of 2")
}

// Many files are not open at once.
func TestOneFileIsOpenAtATime(t *testing.T) {
	files := map[string][]byte{}
	for i := range 200 {
		files[fmt.Sprintf("x.log.%d", 200-i)] = []byte(logLines(3*i, 3*i+3))
	}
	s := openDir(t, files)
	opened, most := 0, 0
	for _, m := range s.Members {
		reg := m.Opener.(*regular)
		inner := reg.open
		reg.open = func() (*os.File, error) { f, err := inner(); opened++; return f, err }
	}
	r := s.Reader()
	defer r.Close()
	n := 0
	for before := opened; ; before = opened {
		if _, err := r.Next(); err != nil {
			break
		}
		n++
		most = max(most, opened-before)
	}
	if n != 600 || opened != 200 || most > 1 {
		t.Errorf("%d events, %d files opened, up to %d at once", n, opened, most)
	}
}
