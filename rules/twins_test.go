package rules

import (
	"slices"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// record is one of view at a time in ms; its line is that time, too.
func record(view int32, at int64, link uint64) Record {
	return Record{Evidence: signals.Evidence{
		At: event.Address{Source: view, Unit: event.UnitLine, N: at}, View: view, Time: event.Time{From: at * ms, To: at * ms}, Link: link}}
}

func linksOf(records ...Record) *Links {
	l := &Links{Seen: map[uint64][]Record{}}
	for _, r := range records {
		l.Seen[r.Link] = append(l.Seen[r.Link], r)
	}
	return l
}

// The record of another recording is shown only where it is certain that it tells of the same.
func TestTwins(t *testing.T) {
	const plain, timed, once = 1 << 8, 1<<8 | event.LinkTimed, 1<<8 | event.LinkOnce
	f := func(what string, want int64, of Record, others ...Record) {
		t.Helper()
		l := linksOf(append([]Record{of}, others...)...)
		got := int64(-1)
		for _, o := range l.twins(&of.Evidence) {
			if o.View == of.View {
				t.Errorf("%s: a record of the same recording", what)
			}
			got = o.At.N
		}
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	clocks := []Record{ // view 1 is 1 ms later
		record(0, 100, 1<<9), record(1, 101, 1<<9), record(0, 200, 1<<10), record(1, 201, 1<<10), record(0, 300, 1<<11), record(1, 301, 1<<11),
	}
	with := func(r ...Record) []Record { return append(slices.Clone(clocks), r...) }
	f("the only one", 5001, record(0, 5000, timed), record(1, 5001, timed))
	f("none", -1, record(0, 5000, timed), record(0, 5001, timed))
	f("too late", -1, record(0, 5000, timed), record(1, 5600, timed))
	f("which of two", -1, record(0, 5000, timed), record(1, 5001, timed), record(1, 5200, timed))
	f("which of two, by their clocks", 5001, record(0, 5000, timed), with(record(1, 5001, timed), record(1, 5200, timed))...)
	f("which of two at once", -1, record(0, 5000, timed), with(record(1, 5001, timed), record(1, 5003, timed))...)
	f("of which of two", -1, record(0, 5000, timed), record(0, 5100, timed), record(1, 5101, timed))
	f("of which of two, by their clocks", -1, record(0, 5000, timed), with(record(0, 5100, timed), record(1, 5101, timed))...)
	f("of which of two, by their clocks", 5101, record(0, 5100, timed), with(record(0, 5000, timed), record(1, 5101, timed))...)
	f("an id is one request's", 9000, record(0, 5000, plain), record(1, 9000, plain))
	f("but not where the clocks are known", -1, record(0, 5000, plain), with(record(1, 9000, plain))...)
	f("a session is made once, whatever the lines", 5000, record(0, 5001, once), record(1, 5000, once), record(1, 5400, once))
	asks := func(r Record, body uint64) Record { r.Body = body; return r }
	f("another request", -1, asks(record(0, 5000, plain), 7), asks(record(1, 5001, plain), 8))
	f("the same request", 5001, asks(record(0, 5000, plain), 7), asks(record(1, 5001, plain), 7), asks(record(1, 5002, plain), 8))
	f("a log does not say which", -1, record(0, 5000, plain), asks(record(1, 5001, plain), 7), asks(record(1, 5002, plain), 8))
	lines := record(1, 5001, timed)
	lines.Also[0] = event.Address{Source: 1, Unit: event.UnitLine, N: 5003}
	f("two lines of one message", 5001, record(0, 5000, timed), lines)
	also := lines
	also.At = lines.Also[0]
	l := linksOf(record(0, 5000, timed), lines)
	if got := l.twins(&also.Evidence); len(got) != 1 || got[0].At.N != 5000 {
		t.Errorf("the second of two lines: %v", got)
	}
	entry := func(at int64) Record {
		r := record(1, at, timed)
		r.At = event.Address{Source: 1, Unit: event.UnitEntry, N: 4}
		r.Time.From = 0
		return r
	}
	f("messages of one entry", 4, record(0, 5000, timed), entry(9000), entry(9000))
}

// Requests of which one recording names who served them, and another does not, are one finding.
func TestServedIsOneFinding(t *testing.T) {
	finding := func(variant, cause string, ids []string, victim signals.Role, at int64, link uint64, sessions ...string) *signals.Finding {
		f := &signals.Finding{Signal: signals.FallbackResolution, Variant: variant, Strength: signals.Probable, RequestIDs: ids, Count: len(ids),
			First: at * ms, Last: (at + 100) * ms, Parties: []signals.Party{{Alias: cause, Role: signals.Cause}}}
		view := int32(0)
		if variant == byLog {
			view, f.Strength = 1, signals.Confirmed
		}
		f.Evidence = []signals.Evidence{record(view, at, link).Evidence}
		f.Evidence[0].Party = cause
		for _, s := range sessions {
			f.Parties = append(f.Parties, signals.Party{Alias: s, Session: s, Role: victim})
		}
		return f
	}
	f := func(what string, want []int, all ...*signals.Finding) {
		t.Helper()
		s := &Sink{Links: linksOf(), Findings: all}
		for _, f := range all {
			for _, e := range f.Evidence {
				s.Links.Seen[e.Link] = append(s.Links.Seen[e.Link], Record{Evidence: e})
			}
		}
		s.once()
		var got []int
		for _, f := range s.Findings {
			got = append(got, f.Count)
			if vague(f) {
				continue
			}
			for _, p := range f.Parties {
				if p.Alias == nobody && len(s.Findings) < len(all) && len(s.Findings) == 1 {
					t.Errorf("%s: the sender is known to one of them", what)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: counts %v, want %v", what, got, want)
		}
	}
	silent := func() *signals.Finding {
		return finding("silent", "P1", []string{"8", "9", "10"}, signals.Candidate, 1000, 1<<8|event.LinkTimed, "S1", "S2", "S6")
	}
	log := func(at int64, link uint64, victim string, ids ...string) *signals.Finding {
		return finding(byLog, nobody, ids, signals.Victim, at, link, victim)
	}
	f("the same ids and a candidate", []int{3}, log(1001, 1<<8|event.LinkTimed, "S6", `"8"`, `"9"`, `"10"`), silent())
	f("whichever came first", []int{3}, silent(), log(1001, 1<<8|event.LinkTimed, "S6", `"8"`, `"9"`, `"10"`))
	f("no candidate, but the same request", []int{3}, silent(), log(1001, 1<<8|event.LinkTimed, "S9", `"8"`, `"9"`, `"10"`))
	f("served by two", []int{2, 1}, silent(), log(1001, 1<<8|event.LinkTimed, "S6", `"8"`, `"9"`), log(1050, 1<<9|event.LinkTimed, "S1", `"10"`))
	f("the log knows of some", []int{3}, silent(), log(1001, 1<<8|event.LinkTimed, "S6", `"8"`))
	f("other ids", []int{3, 1}, silent(), log(1050, 1<<9|event.LinkTimed, "S6", `"17"`))
	f("another time", []int{3, 1}, silent(), log(90000, 1<<9|event.LinkTimed, "S6", `"8"`))
}
