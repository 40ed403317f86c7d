package parsers

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// told yields given events.
type told struct {
	events []event.Event
	n      int
}

func (l *told) Next() (*event.Event, error) {
	if l.n == len(l.events) {
		return nil, io.EOF
	}
	l.n++
	return &l.events[l.n-1], nil
}

func (l *told) Close() error { return nil }

const (
	ms  = int64(1e6)
	sec = int64(1e9)
)

// notesOf merges sources of one domain and returns the notes of each.
func notesOf(lists ...[]event.Event) string {
	var all []Source
	for i, l := range lists {
		in := &source.Input{Path: []string{"logs/access.log", "logs/app.log", "logs/third.log"}[i], Index: int32(i)}
		for k := range l {
			l[k].At.Source, l[k].Domain = int32(i), event.Domain{Server: "one"}
		}
		all = append(all, Source{Reader: &told{events: l}, Inputs: []*source.Input{in}})
	}
	m := Merge(all, nil)
	for {
		if _, err := m.Next(); err != nil {
			break
		}
	}
	var out []string
	for _, s := range all {
		out = append(out, s.Inputs[0].Stats.Notes...)
	}
	return strings.Join(out, "\n")
}

// made are lines that n sessions were made, one a minute, each late by what late gives.
func made(n int, late func(i int) int64) (out []event.Event) {
	for i := range n {
		out = append(out, event.Event{Kind: event.SessionCreated, Time: event.At(1_784_499_643*sec + int64(i)*60*sec + late(i)), Answered: event.Named(fmt.Sprint("session-", i))})
	}
	return out
}

// ended are access lines of the same initializes, stamped at their end.
func ended(n int, late func(i int) int64) (out []event.Event) {
	for _, e := range made(n, late) {
		e.Kind, e.Asked, e.Time.Moment = event.RequestDone, event.Named(""), event.MomentEnd
		out = append(out, e)
	}
	return out
}

func TestClockSkew(t *testing.T) {
	f := func(want string, lists ...[]event.Event) {
		t.Helper()
		got := notesOf(lists...)
		_, skew, _ := strings.Cut(got, "its clock is ")
		skew, _, _ = strings.Cut(skew, ")")
		if skew != want {
			t.Errorf("got %q, want %q in\n%s", skew, want, got)
		}
	}
	by := func(ns int64) func(int) int64 { return func(int) int64 { return ns } }
	jitter := func(ns, most int64) func(int) int64 {
		return func(i int) int64 { return ns + int64(i*7919%11)*most/10 }
	}
	f("1.84 s behind access.log (median of 37 shared ids, which differ by 0.00 s", made(37, by(0)), made(37, by(-1840*ms)))
	f("1.84 s ahead of access.log (median of 37 shared ids, which differ by 0.00 s", made(37, by(0)), made(37, by(1840*ms)))
	f("1.85 s behind access.log (median of 37 shared ids, which differ by 0.01 s", made(37, by(0)), made(37, jitter(-1860*ms, 20*ms)))
	f("7200.00 s ahead of access.log (median of 37 shared ids, which differ by 0.00 s", made(37, by(0)), made(37, by(7200*sec)))
	f("", made(37, by(0)), made(37, by(30*ms)))                                                                              // what happens between two lines takes time
	f("", made(2, by(0)), made(2, by(-1840*ms)))                                                                             // too few
	f("", made(37, by(0)), made(37, jitter(0, 20*sec)))                                                                      // no common offset
	f("", made(37, by(0)), ended(37, by(2*sec)))                                                                             // an end is later than a beginning
	f("", ended(37, by(2*sec)), made(37, by(0)))                                                                             // whichever comes first
	f("1.84 s behind access.log (median of 37 shared ids, which differ by 0.00 s", made(37, by(0)), ended(37, by(-1840*ms))) // but not before it
	outlier := func(i int) int64 { return map[bool]int64{true: 900 * sec, false: -1840 * ms}[i%5 == 0] }
	f("1.84 s behind access.log (median of 37 shared ids, which differ by 0.00 s", made(37, by(0)), made(37, outlier))
	whole := made(37, by(0))
	for i := range whole { // stamps of whole seconds
		whole[i].Time = event.Time{From: whole[i].Time.From / sec * sec, To: whole[i].Time.From/sec*sec + sec - 1}
	}
	f("", whole, made(37, jitter(0, sec)))
	f("5.00 s ahead of access.log (median of 37 shared ids, which differ by 0.30 s", whole, made(37, jitter(5*sec, sec)))
}

func TestSharedIDs(t *testing.T) {
	zero := func(int) int64 { return 0 }
	got := notesOf(made(5, zero), made(4, zero), made(3, zero))
	want := []string{
		"same_input_twice: 4 ids of it stand in access.log too; what both tell of is one happening, not two",
		"same_input_twice: 3 ids of it stand in access.log too; what both tell of is one happening, not two",
		"same_input_twice: 3 ids of it stand in app.log too; what both tell of is one happening, not two",
	}
	if !slices.Equal(strings.Split(got, "\n"), want) {
		t.Errorf("got %s", got)
	}
	guessed := made(5, zero)
	for i := range guessed {
		guessed[i].Loss = event.LossTime
	}
	if got := notesOf(made(5, zero), guessed); got != "" {
		t.Errorf("times that were guessed say: %s", got)
	}
	if got := notesOf(made(5, zero)); got != "" {
		t.Errorf("one source says: %s", got)
	}
}

// A request that names no session is known by its trace.
func TestSharedTraces(t *testing.T) {
	traced := func(late int64) (out []event.Event) {
		for i, e := range made(5, func(int) int64 { return late }) {
			e.Kind, e.Answered, e.Dir = event.Message, event.Session{}, event.ToServer
			e.RPC = event.RPC{Kind: mcp.KindRequest, Method: mcp.ToolsCall, ID: "1", Trace: fmt.Sprint("trace-", i)}
			out = append(out, e)
		}
		return out
	}
	if got := notesOf(traced(0), traced(-1840*ms)); !strings.Contains(got, "1.84 s behind access.log (median of 5") {
		t.Errorf("got %s", got)
	}
}

// What is kept does not grow with the input.
func TestViewsAreBounded(t *testing.T) {
	var v views
	for i := range 5 * maxSeen {
		for view := range int32(6) {
			v.see(&event.Event{Kind: event.SessionCreated, View: view, Answered: event.Named(fmt.Sprint(i))}, event.At(int64(i+1)))
		}
	}
	if len(v.seen) > maxSeen || len(v.order) > maxSeen || len(v.pairs) > 6 || len(v.pairs[[2]int32{0, 1}].deltas) > maxPaired {
		t.Errorf("%d keys, %d pairs, %d deltas", len(v.seen), len(v.pairs), len(v.pairs[[2]int32{0, 1}].deltas))
	}
}
