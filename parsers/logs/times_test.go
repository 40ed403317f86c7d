package logs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

func TestParseTime(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		st, ok := parseTime([]byte(in), 3600)
		got := "no"
		if ok && st.dated {
			got = time.Unix(0, st.ns).UTC().Format(time.RFC3339Nano)
			if !st.zoned {
				got += " local"
			}
		} else if ok {
			got = "no date"
		}
		if got != want {
			t.Errorf("parseTime(%q) = %s, want %s", in, got, want)
		}
		if ok && st.length > len(in) {
			t.Errorf("parseTime(%q) takes %d bytes", in, st.length)
		}
	}
	f("2026-07-19T22:20:43.472113Z", "2026-07-19T22:20:43.472113Z")
	f("2026-07-19T22:20:43Z", "2026-07-19T22:20:43Z")
	f("2026-07-19T22:20:43.472113521Z", "2026-07-19T22:20:43.472113521Z")
	f("2026-07-19T22:20:43.4721135219Z", "2026-07-19T22:20:43.472113521Z")
	f("2026-07-19T22:20:43.472+02:00", "2026-07-19T20:20:43.472Z")
	f("2026-07-19T22:20:43-0530", "2026-07-20T03:50:43Z")
	f("2026-07-19T22:20:43+02", "2026-07-19T20:20:43Z")
	f("2026-07-19 22:20:43 +0000", "2026-07-19T22:20:43Z")
	f("2026-07-19 22:20:43,472", "2026-07-19T21:20:43.472Z local")
	f("2026-07-19 22:20:43.472", "2026-07-19T21:20:43.472Z local")
	f("2026-07-19 22:20:43", "2026-07-19T21:20:43Z local")
	f("2026/07/19 22:20:43", "2026-07-19T21:20:43Z local")
	f("2026/07/19 22:20:43.472113", "2026-07-19T21:20:43.472113Z local")
	f("07/19/26 22:20:43", "2026-07-19T21:20:43Z local")
	f("19/07/26 22:20:43", "2026-07-19T21:20:43Z local")
	f("19/Jul/2026:22:20:43 +0000", "2026-07-19T22:20:43Z")
	f("19/Jul/2026:22:20:43.472", "2026-07-19T21:20:43.472Z local")
	f("Sun 2026-07-19 22:20:43 UTC", "2026-07-19T22:20:43Z")
	f("Jul 19 22:20:43", "no date")
	f("Jul  9 22:20:43.472113", "no date")
	f("22:20:43.472", "no date")
	f("22:20:43", "no date")
	f("1784499643", "2026-07-19T22:20:43Z")
	f("1784499643.6892", "2026-07-19T22:20:43.6892Z")
	f("1784499643472", "2026-07-19T22:20:43.472Z")
	f("1784499643472.25", "2026-07-19T22:20:43.47225Z")
	f("1784499643472113", "2026-07-19T22:20:43.472113Z")
	f("1784499643472113521", "2026-07-19T22:20:43.472113521Z")
	f("1.784499643e+09", "2026-07-19T22:20:43Z")
	f("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z")
	f("2026-07-19", "no")
	f("2026-13-19T22:20:43Z", "no")
	f("2026-07-19T22:61:43Z", "no")
	f("99999999999999999999", "no")
	f("12345", "no")
	f("10:20PM", "no date")
	f("9:05AM INF up", "no date")
	f("13:20PM", "no")
	f("10:20PMs", "no")
	f("2026-07-19T22:20:43,472+0000", "2026-07-19T22:20:43.472Z")
	f("Sun 2026-07-19 22:20:43.472113 UTC", "2026-07-19T22:20:43.472113Z")
	f("Sun 2026-07-19 22:20:43 CEST", "2026-07-19T21:20:43Z local")
	f("1784499643,472", "2026-07-19T22:20:43.472Z")
	f("1784499643472113521", "2026-07-19T22:20:43.472113521Z")
	f("", "no")
	f("session", "no")
}

// TestDays compares the calendar with that of package time over four centuries.
func TestDays(t *testing.T) {
	for d := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2262; d = d.AddDate(0, 0, 13) {
		if got := daysFrom1970(d.Year(), int(d.Month()), d.Day()); got != d.Unix()/86400 {
			t.Fatalf("daysFrom1970(%s) = %d, want %d", d.Format(time.DateOnly), got, d.Unix()/86400)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-07-19T22:20:43.472113Z", 0)
	f.Add("1784499643.5e3", 1)
	f.Fuzz(func(t *testing.T, in string, offset int) {
		st, ok := parseTime([]byte(in), offset%86400)
		if ok && (st.length <= 0 || st.length > len(in)) {
			t.Fatalf("parseTime(%q) takes %d bytes", in, st.length)
		}
		if want, err := time.Parse(time.RFC3339Nano, in); err == nil && want.Year() >= 1971 && want.Year() < 2261 && len(in) >= 20 && len(in) <= 30 && in[13] == ':' { // time.Parse takes an hour of one digit too
			if !ok || st.ns != want.UnixNano() {
				t.Fatalf("parseTime(%q) = %v %v, want %d", in, st, ok, want.UnixNano())
			}
		}
	})
}

func BenchmarkParseTime(b *testing.B) {
	in := []byte("2026-07-19T22:20:43.472113521Z")
	b.ReportAllocs()
	for b.Loop() {
		parseTime(in, 0)
	}
}

// What has no year or no date is dated by when the file was last written.
func TestMissingDates(t *testing.T) {
	line := func(at, id string) string { return at + " INFO session created 0a1b2c3d-" + id + "\n" }
	f := func(written, text string, want ...string) {
		t.Helper()
		when, err := time.Parse("2006-01-02 15:04:05", written)
		if err != nil {
			t.Fatal(err)
		}
		in := &source.Input{Path: "x.log", Opener: piece{text: text}, Modified: when.UnixNano()}
		if when.Year() == 1970 {
			in.Modified = 0
		}
		r, err := open([]*source.Input{in}, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got []string
		for e, err := r.Next(); err == nil; e, err = r.Next() {
			s := "no time"
			if e.Time.To != 0 {
				s = time.Unix(0, e.Time.From).UTC().Format("01-02 15:04:05") + " +" + time.Duration(e.Time.To-e.Time.From+1).Round(time.Second).String()
				s = time.Unix(0, e.Time.From).UTC().Format("2006-") + s
			}
			if e.Loss&event.LossTime == 0 {
				s += " sure"
			}
			got = append(got, s)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("written %s:\n%sgot  %q\nwant %q", written, text, got, want)
		}
	}
	f("2026-07-19 22:20:45", line("22:20:43", "1"), "2026-07-19 22:20:43 +1s")
	f("2026-07-19 22:20:45", line("22:20:43.472", "1"), "2026-07-19 22:20:43 +0s")
	f("2026-07-20 00:00:01", line("23:59:58", "1")+line("00:00:00", "2"), "2026-07-19 23:59:58 +1s", "2026-07-20 00:00:00 +1s")
	f("2026-07-20 08:00:00", line("23:59:58", "1"), "2026-07-19 23:59:58 +1s") // it ended before midnight
	f("2026-07-21 00:00:01", line("10:00:00", "1")+line("09:00:00", "2")+"23:00:00 INFO nothing\n01:00:00 INFO nothing\n"+line("00:00:00", "3"),
		"2026-07-20 10:00:00 +1s", "2026-07-20 09:00:00 +1s", "2026-07-21 00:00:00 +1s")
	f("2026-07-21 12:00:00", line("23:00:00", "1")+"01:00:00 INFO nothing\n22:00:00 INFO nothing\n"+line("02:00:00", "2"),
		"2026-07-19 23:00:00 +1s", "2026-07-21 02:00:00 +1s") // a day on which nothing of interest was written
	f("2026-07-20 12:00:00", line("23:59:59", "1")+line("00:00:00", "2")+line("23:59:59", "3")+line("00:00:01", "4"),
		"2026-07-19 23:59:59 +1s", "2026-07-20 00:00:00 +1s", "2026-07-19 23:59:59 +1s", "2026-07-20 00:00:01 +1s")
	f("2026-07-19 22:25:45", line("10:20PM", "1"), "2026-07-19 22:20:00 +1m0s")
	f("2026-07-19 22:20:45", line("Jul 19 22:20:43", "1"), "2026-07-19 22:20:43 +1s")
	f("2026-01-02 00:00:00", line("Dec 31 22:20:43", "1")+line("Jan  1 22:20:43.5", "2"), "2025-12-31 22:20:43 +1s", "2026-01-01 22:20:43 +0s")
	f("2026-01-02 00:00:00", line("Feb 29 22:20:43", "1"), "2024-02-29 22:20:43 +1s")
	f("2026-07-19 22:20:45", "Jul 19 22:20:43 host app[7]: session created 0a1b2c3d-1\n", "2026-07-19 22:20:43 +1s")
	f("2026-07-19 22:20:45", line("2026-07-19 22:20:43", "1"), "2026-07-19 22:20:43 +1s sure")
	f("1970-01-01 00:00:00", line("22:20:43", "1")+line("Jul 19 22:20:43", "2"), "no time", "no time") // standard input
}

func FuzzClockwork(f *testing.F) {
	f.Add([]byte{23, 0, 23, 1, 0, 23})
	f.Fuzz(func(t *testing.T, hours []byte) {
		c := clockwork{turns: []turn{{}}}
		for i, h := range hours {
			c.see(int64(h%24)*3600e9, int64(i+1))
		}
		for i, turn := range c.turns {
			if turn.day < 0 || turn.day > c.day || i > 0 && turn.line <= c.turns[i-1].line {
				t.Fatalf("%v: %v of %d days", hours, c.turns, c.day)
			}
		}
	})
}

// TestTimeForms reads every form of FORMATS in a line, with what its stamp leaves open.
func TestTimeForms(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		in := &source.Input{Path: "x.log", Opener: piece{text: line + "\n"}}
		r, err := open([]*source.Input{in}, source.Options{AssumeUTCOffset: 3600})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		e, err := r.Next()
		if err != nil {
			t.Errorf("%s gives nothing", line)
			return
		}
		got := "none"
		if e.Time.To != 0 {
			got = time.Unix(0, e.Time.From).UTC().Format("15:04:05.999999999")
		}
		if open := e.Time.To - e.Time.From; open > 0 {
			got += " within " + time.Duration(open+1).String()
		}
		for _, n := range in.Stats.Notes {
			if strings.Contains(n, "no zone") {
				got += " zone assumed"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	text := " INFO session created 0a1b2c3d-1"
	f("2026-07-19T22:20:43.472113Z"+text, "22:20:43.472113")
	f("2026-07-19T22:20:43.472113521+02:00"+text, "20:20:43.472113521")
	f("2026-07-19T22:20:43+0200"+text, "20:20:43 within 1s")
	f("2026-07-19 22:20:43,472"+text, "21:20:43.472 zone assumed")
	f("2026-07-19 22:20:43.472"+text, "21:20:43.472 zone assumed")
	f("[07/19/26 22:20:43]"+text, "21:20:43 within 1s zone assumed")
	f("2026/07/19 22:20:43"+text, "21:20:43 within 1s zone assumed")
	f("2026/07/19 22:20:43.472113"+text, "21:20:43.472113 zone assumed")
	f("Sun 2026-07-19 22:20:43 UTC"+text, "22:20:43 within 1s")
	f("1784499643.472"+text, "22:20:43.472")
	f("22:20:43.472"+text, "none")
	f("10:20PM"+text, "none")
	f("Jul 19 22:20:43"+text, "none")
	object := func(v string) string { return `{"time":` + v + `,"msg":"session_created","session_id":"0a1b2c3d-1"}` }
	f(object("1784499643"), "22:20:43 within 1s")
	f(object("1784499643.472"), "22:20:43.472")
	f(object("1784499643472"), "22:20:43.472")
	f(object(`"1784499643472"`), "22:20:43.472")
	f(object("1784499643472113"), "22:20:43.472113")
	f(object("1784499643472113521"), "22:20:43.472113521")
	f(object(`"1784499643472113521"`), "22:20:43.472113521")
	f(object("1.784499643472e+09"), "22:20:43.472")
	f(object(`"19/Jul/2026:22:20:43 +0000"`), "22:20:43 within 1s")
	f(object(`"2026-07-19 22:20:43,472"`), "21:20:43.472 zone assumed")
}
