package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

// piece is a file of a log held in memory.
type piece struct {
	text string
	err  error // instead of the end
}

func (p piece) Stream() (io.ReadCloser, error) {
	if p.text == "" && p.err != nil {
		return nil, p.err
	}
	r := io.Reader(strings.NewReader(p.text))
	if p.err != nil {
		r = io.MultiReader(r, failing{p.err})
	}
	return io.NopCloser(r), nil
}

func (p piece) Random() (source.RandomReader, int64, error) { return nil, 0, errors.ErrUnsupported }

// readFiles reads the files of one log and writes down its events as
// FILE:LINE kind session id, and the counters of each file.
func readFiles(t *testing.T, files ...piece) (events []string, counts string) {
	t.Helper()
	var in []*source.Input
	for i, f := range files {
		in = append(in, &source.Input{Path: fmt.Sprintf("x.log.%d", len(files)-i), Index: int32(i), Opener: f})
	}
	r, err := open(in, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				events = append(events, err.Error())
			}
			break
		}
		events = append(events, fmt.Sprintf("%d:%d %s %s %s%s", e.At.Source, e.At.N, e.Kind, e.Answered.ID, e.Asked.ID, e.RPC.ID.Fold()))
	}
	for _, in := range in {
		st := &in.Stats
		counts += fmt.Sprintf("[%d %d %d %d %d] ", st.Records, st.Used, st.Ignored, st.Malformed, st.Events)
		if st.Records != st.Used+st.Ignored+st.Malformed {
			t.Errorf("counters do not add up: %+v", st)
		}
	}
	return events, strings.TrimSpace(counts)
}

// A record that begins in one file and ends in the next is one record.
func TestRecordsOverTheBorderOfFiles(t *testing.T) {
	f := func(text string, want string) {
		t.Helper()
		whole, _ := readFiles(t, piece{text: text})
		lines := strings.SplitAfter(text, "\n")
		for cut := 1; cut < len(lines)-1; cut++ {
			for far := cut; far < len(lines)-1; far++ {
				got, counts := readFiles(t, piece{text: strings.Join(lines[:cut], "")}, piece{text: strings.Join(lines[cut:far], "")}, piece{text: strings.Join(lines[far:], "")})
				if len(got) != len(whole) {
					t.Fatalf("cut at %d and %d: %q, want as many as %q", cut, far, got, whole)
				}
				for i := range got {
					_, a, _ := strings.Cut(got[i], " ")
					_, b, _ := strings.Cut(whole[i], " ")
					if a != b {
						t.Errorf("cut at %d and %d: %q, want %q", cut, far, got[i], whole[i])
					}
				}
				if strings.Contains(counts, "-") {
					t.Errorf("cut at %d and %d: counters fell below zero: %s", cut, far, counts)
				}
			}
		}
		if len(whole) == 0 || !strings.Contains(strings.Join(whole, " "), want) {
			t.Errorf("%q does not hold %q", whole, want)
		}
	}
	f("Session initialized with ID: 1360e027-8a87-4281-8c98-0e44cb786954\n"+
		"Received MCP request for session: 1360e027-8a87-4281-8c98-0e44cb786954\n"+
		"Request body: {\n  jsonrpc: '2.0',\n  id: 7,\n  method: 'tools/call',\n  params: { name: 'x' }\n}\n", "1360e027")
	f("[07/19/26 22:20:43] INFO     Created new transport  streamable_http_manager.py:301\n"+
		"                             with session ID:                                     \n"+
		"                             5d0c1f7e9a3b4c6d8e2f10                               \n"+
		"                             213243a5b6                                           \n"+
		"                    INFO     Processing request of type            server.py:661\n"+
		"                             CallToolRequest                                     \n", "5d0c1f7e9a3b4c6d8e2f10213243a5b6")
	f(`{"log":"up\n","stream":"stdout","time":"2026-07-19T22:20:43.4Z"}`+"\n"+
		`{"log":"{\"time\":\"2026-07-19T22:20:43.5Z\",\"msg\":\"session_created\",","stream":"stdout","time":"2026-07-19T22:20:43.5Z"}`+"\n"+
		`{"log":"\"a\":1,","stream":"stdout","time":"2026-07-19T22:20:43.5Z"}`+"\n"+
		`{"log":"\"session_id\":\"0a1b2c3d-0001\"}\n","stream":"stdout","time":"2026-07-19T22:20:43.5Z"}`+"\n", "0a1b2c3d-0001")
	f("2026-07-19T22:20:43.500000000Z stdout P {\"time\":\"2026-07-19T22:20:43.5Z\",\"msg\":\"session_created\",\n"+
		"2026-07-19T22:20:43.500000000Z stdout P \"a\":1,\n"+
		"2026-07-19T22:20:43.500000000Z stdout F \"session_id\":\"0a1b2c3d-0001\"}\n", "0a1b2c3d-0001")
}

func TestFilesOfALogThatBreak(t *testing.T) {
	line := func(n int) string {
		return fmt.Sprintf(`{"time":"2026-07-19T22:20:%02dZ","msg":"session_created","session_id":"0a1b2c3d-%04d"}`+"\n", n, n)
	}
	f := func(want string, files ...piece) {
		t.Helper()
		events, counts := readFiles(t, files...)
		if got := strings.Join(events, ", ") + " " + counts; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	broken := errors.New("broken")
	f("0:1 session_created 0a1b2c3d-0001 , 0:1 gap  , 1:1 session_created 0a1b2c3d-0002  [1 1 0 0 2] [1 1 0 0 1]", piece{line(1), broken}, piece{line(2), nil})
	f("0:0 gap  , 1:1 session_created 0a1b2c3d-0002  [0 0 0 0 1] [1 1 0 0 1]", piece{"", broken}, piece{line(2), nil})
	f("0:1 session_created 0a1b2c3d-0001 , 1:0 gap   [1 1 0 0 1] [0 0 0 0 1]", piece{line(1), nil}, piece{"", broken})
	f("0:1 session_created 0a1b2c3d-0001 , 1:1 session_created 0a1b2c3d-0002 , 1:1 gap   [1 1 0 0 1] [1 1 0 0 2]", piece{line(1), nil}, piece{line(2), broken})
	f("0:1 session_created 0a1b2c3d-0001 , cannot read on at byte 85: interrupted [1 1 0 0 1] [0 0 0 0 0]", piece{line(1), source.ErrInterrupted}, piece{line(2), nil})
}

func TestOverlap(t *testing.T) {
	f := func(last, first string, want int) {
		t.Helper()
		if got := overlap([]byte(last), []byte(first)); got != want {
			t.Errorf("overlap(%q, %q) = %d, want %d", last, first, got, want)
		}
	}
	f("", "", 0)
	f("a\nb\n", "c\nd\n", 0)
	f("a\nb\n", "b\nc\n", 2)
	f("a\nb\nc\n", "b\nc\nd\n", 4)
	f("a\nb\nc\n", "b\nc", 0)
	f("a\nb\nc", "b\nc\nd\n", 4)
	f("a\nb\nlong li", "b\nlong line\n", 2)
	f("a\nxb\n", "b\nc\n", 0) // begins inside a line
	f("b\nb\nb\n", "b\nb\nc\n", 4)
	f("a\n", "a\n", 2)
	f("a\nb\nc\n", "b\nd\n", 0)
	f("a\n\n", "\nb\n", 0) // empty lines say nothing
}

// plainOverlap is overlap as one would say it.
func plainOverlap(last, first []byte) int {
	for k := len(first); k > 0; k-- {
		if !bytes.HasSuffix(last, first[:k]) || k < len(last) && last[len(last)-k-1] != '\n' {
			continue
		}
		switch {
		case k == len(first) || first[k-1] == '\n':
			return k
		case first[k] == '\n':
			return k + 1
		}
		if whole := bytes.LastIndexByte(first[:k], '\n') + 1; whole > 0 {
			return whole
		}
	}
	return 0
}

func FuzzOverlap(f *testing.F) {
	f.Add([]byte("a\nb\nb\n"), []byte("b\nb\nc"))
	f.Fuzz(func(t *testing.T, last, first []byte) {
		got, want := overlap(last, first), plainOverlap(last, first)
		if line, _, _ := bytes.Cut(first, []byte{'\n'}); len(line) == 0 || !bytes.Contains(last, line) {
			want = 0
		}
		if got != want {
			t.Fatalf("overlap(%q, %q) = %d, want %d", last, first, got, want)
		}
	})
}

// TestTimes reads the times of lines that say nothing about MCP too.
func TestTimes(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		for _, ns := range times([]byte(text), &source.Input{}, source.Options{}) {
			got = append(got, clockOf(ns))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("times(%q) = %v, want %v", text, got, want)
		}
	}
	f("plain words\n\n2026-07-19T22:20:43Z INFO up\n", "22:20:43")
	f(`{"level":30,"time":1784499643472,"msg":"listening"}`+"\n", "22:20:43")
	f(`{"log":"up\n","stream":"stdout","time":"2026-07-19T22:20:43.5Z"}`+"\n", "22:20:43")
	f("2026-07-19T22:20:43.500000000Z stdout F up\n", "22:20:43")
	f("time=2026-07-19T22:20:43.628Z level=INFO msg=up\n", "22:20:43")
	f(`127.0.0.1 - - [19/Jul/2026:22:20:43 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`+"\n", "22:20:43")
	f("[07/19/26 22:20:43] INFO     up          server.py:1\n                    INFO     more       server.py:2\n", "22:20:43")
	f("[2026-07-19 22:20:43 +0000] [7] [INFO] Booting worker\n", "22:20:43")
	f("\x1b[2m2026-07-19T22:20:43.472113Z\x1b[0m \x1b[32m INFO\x1b[0m up\n", "22:20:43")
}

func clockOf(ns int64) string {
	s := ns / 1e9 % 86400
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
