package parsers

import (
	"fmt"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
)

func pythonLine(second int, text string) []byte {
	at := time.Date(2026, 7, 19, 22, 20, second, 0, time.UTC)
	return []byte(at.Format("2006-01-02 15:04:05") + ",000 - mcp.server.streamable_http_manager - INFO - " + text)
}

func newSession(n int) string { return fmt.Sprintf("Created new transport with session ID: %032x", n) }

// A source that is over gives out what it holds, is waited for no more, and can still be named.
func TestGoneSource(t *testing.T) {
	l := NewLive(Options{Lag: -1})
	for i := range int32(3) {
		l.Expect(i, fmt.Sprintf("pod-%d.log", i))
	}
	var got []string
	take := func() {
		for e := l.Next(); e != nil; e = l.Next() {
			if e.Kind != event.Idle {
				got = append(got, fmt.Sprint(l.Inputs()[e.At.Source].Path, " ", e.Answered.ID[31:]))
			}
		}
	}
	feed := func(index int32, second, session int) {
		t.Helper()
		if err := l.Line(index, fmt.Sprintf("pod-%d.log", index), pythonLine(second, newSession(session)), int64(session), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	feed(0, 1, 1)
	feed(2, 2, 2)
	take()
	if len(got) != 0 {
		t.Fatalf("%v are told while pod-1.log may have older ones", got)
	}
	l.Gone(1)
	l.Gone(0)
	l.Gone(7)
	take()
	if want := "[pod-0.log 1 pod-2.log 2]"; fmt.Sprint(got) != want {
		t.Errorf("told are %v, want %s", got, want)
	}
	if len(l.Sources) != 1 || len(l.Inputs()) != 3 || l.Inputs()[0].Path != "pod-0.log" {
		t.Errorf("%d sources are read, and the inputs are %v", len(l.Sources), l.Inputs())
	}
	if all := l.Totals(); all.Records != 2 || all.Used != 2 || all.Events != 2 {
		t.Errorf("the counters are %+v", all)
	}
}

// Files that come and go cost nothing for ever.
func TestGoneSourcesAreBounded(t *testing.T) {
	l := NewLive(Options{Lag: -1})
	const n = maxPast + 300
	for i := range int32(n) {
		if err := l.Line(i, fmt.Sprintf("pod-%d.log", i), pythonLine(1, newSession(int(i))), 1, 0, 0); err != nil {
			t.Fatal(err)
		}
		l.Gone(i)
		for e := l.Next(); e != nil; e = l.Next() {
		}
	}
	if len(l.Sources) > 1 || len(l.Past) > maxPast || l.Totals().Records != n {
		t.Errorf("%d sources and %d past ones are kept of %d lines", len(l.Sources), len(l.Past), l.Totals().Records)
	}
	in := l.Inputs()
	if len(in) != n || in[n-1].Path != fmt.Sprintf("pod-%d.log", n-1) || in[0].Path != "" {
		t.Errorf("%d inputs, the first %q, the last %q", len(in), in[0].Path, in[n-1].Path)
	}
}
