package logs

import (
	"testing"
	"time"
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
	f("10:20PM", "no")
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
		if want, err := time.Parse(time.RFC3339Nano, in); err == nil && want.Year() >= 1971 && want.Year() < 2261 && len(in) <= 30 {
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
