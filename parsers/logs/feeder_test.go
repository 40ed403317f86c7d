package logs

import (
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// fed is a log that is written line by line.
type fed struct {
	t  *testing.T
	in *source.Input
	source.Feeder
	n int64
}

func newFed(t *testing.T) *fed {
	in := &source.Input{Path: "server.log", Modified: time.Date(2026, 7, 20, 0, 10, 0, 0, time.UTC).UnixNano()}
	f, err := follow(in, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &fed{t: t, in: in, Feeder: f}
}

func (f *fed) say(lines ...string) *fed {
	for _, l := range lines {
		f.n++
		f.Feed([]byte(l), event.Address{N: f.n})
	}
	return f
}

func (f *fed) turn() *fed {
	f.Turn(f.in)
	f.n = 0
	return f
}

// want holds the events that came since the last call against pieces of text.
func (f *fed) want(what string, pieces ...string) {
	f.t.Helper()
	var got []string
	for e := f.Next(); e != nil; e = f.Next() {
		got = append(got, exchangetest.Line(e))
	}
	ok := len(got) == len(pieces)
	for i := range min(len(got), len(pieces)) {
		ok = ok && strings.Contains(got[i], pieces[i])
	}
	if s := f.in.Stats; !ok || s.Records != s.Used+s.Ignored+s.Malformed {
		f.t.Errorf("%s: got\n%s\nwant %q; %+v", what, strings.Join(got, "\n"), pieces, s)
	}
}

func TestSilenceEndsARecordOfSeveralLines(t *testing.T) {
	f := newFed(t)
	f.say("[07/19/26 22:20:43] INFO     Created new transport with session ID:       manager.py:242", "                             5d0c1f7e9a3b4c6d8e2f10213243a5b6")
	f.want("while more may come")
	f.Idle()
	f.want("after a silence", "5d0c1f7e9a3b4c6d8e2f10213243a5b6")
	if f.in.Stats.Used != 2 {
		t.Errorf("%+v", f.in.Stats)
	}
	f.say("[07/19/26 22:20:44] INFO     Created new transport with session ID:       manager.py:242").turn()
	f.say("                             c3b8a1d2e4f54a6b9c7d0e1f2a3b4c5d").Idle()
	f.want("over a rotation", "c3b8a1d2e4f54a6b9c7d0e1f2a3b4c5d")
	f.say("[07/19/26 22:20:45] INFO     Created new transport with session ID:       manager.py:242").Lost()
	f.say("                             eeeea1d2e4f54a6b9c7d0e1f2a3b4c5d").Idle()
	f.want("over lost lines")
}

// A part of a line that says that more follows waits through any silence; one of
// Docker that has no newline is whole, if nothing follows.
func TestSilenceAndParts(t *testing.T) {
	f := newFed(t)
	line := `{"time":"2026-07-19T22:20:43.1Z","message":"session created","mcp.session.id":"aaaa-1111"}`
	f.say("2026-07-19T22:20:43.1Z stdout P " + line[:40]).Idle()
	f.want("half of it")
	f.say("2026-07-19T22:20:46.2Z stdout F " + line[40:])
	f.want("the whole", "aaaa-1111")
}

const (
	namedLine = "Received MCP request for session: aaaa-1111"
	bodyLine  = `Request body: { "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "search" } }`
)

// A printed request belongs to the line before it, whichever file that stands in.
func TestPrintedRequestAfterRotation(t *testing.T) {
	without := func(f *fed) bool {
		f.t.Helper()
		absent := false
		n := 0
		for e := f.Next(); e != nil; e = f.Next() {
			n++
			absent = absent || e.Asked.State == event.Absent
		}
		if n == 0 {
			f.t.Error("no event")
		}
		return absent
	}
	for what, c := range map[string]struct {
		fed  *fed
		want bool
	}{
		"behind it":                  {newFed(t).say(namedLine, bodyLine), false},
		"behind it, in the next":     {newFed(t).say("a", "b", namedLine).turn().say(bodyLine), false},
		"behind another line":        {newFed(t).say(namedLine, "a", bodyLine), true},
		"long before, in a file":     {newFed(t).say(namedLine, "a").turn().say(bodyLine), true},
		"before lines that are lost": {func() *fed { f := newFed(t).say(namedLine, "a"); f.Lost(); return f.turn() }().say(bodyLine), false},
	} {
		if got := without(c.fed); got != c.want {
			t.Errorf("%s: without a session: %v", what, got)
		}
	}
}

// Times without a date are those of the day on which their lines were written.
func TestDatesOfALogThatIsWritten(t *testing.T) {
	f := newFed(t)
	line := func(clock, id string) string {
		return clock + " INFO Created new transport with session ID: " + id
	}
	for _, c := range []struct {
		later int64 // days
		clock string
		want  string
	}{
		{0, "23:59:58", "2026-07-19T23:59:58Z"},
		{0, "00:00:02", "2026-07-20T00:00:02Z"},
		{3, "00:09:00", "2026-07-23T00:09:00Z"},
		{0, "23:00:00", "2026-07-22T23:00:00Z"}, // it cannot be later than it was written
	} {
		f.in.Modified += c.later * day
		f.say(line(c.clock, "5d0c1f7e9a3b4c6d8e2f10213243a5b6"))
		e := f.Next()
		if e == nil || time.Unix(0, e.Time.From).UTC().Format(time.RFC3339) != c.want || e.Loss&event.LossTime == 0 {
			t.Errorf("%s: %+v, want %s", c.clock, e, c.want)
		}
	}
}
