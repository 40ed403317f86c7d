package parsers

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// listed yields events at given times, and then an error.
type listed struct {
	index int32
	times []event.Time
	end   error
	n     int
	e     event.Event
}

func (l *listed) Next() (*event.Event, error) {
	if l.n == len(l.times) {
		return nil, l.end
	}
	l.e = event.Event{Kind: event.Message, Time: l.times[l.n], At: event.Address{Source: l.index, N: int64(l.n + 1)}, Domain: event.Domain{Server: fmt.Sprint("s", l.index), Path: "/mcp"}}
	l.n++
	return &l.e, nil
}

func (l *listed) Close() error { return nil }

func points(ns ...int64) (out []event.Time) {
	for _, n := range ns {
		out = append(out, event.At(n))
	}
	return out
}

func sources(end error, lists ...[]event.Time) (out []Source) {
	for i, l := range lists {
		in := &source.Input{Path: fmt.Sprint("in", i), Index: int32(i)}
		out = append(out, Source{Reader: &listed{index: int32(i), times: l, end: end}, Inputs: []*source.Input{in}})
	}
	return out
}

// order writes the merged events as source.position@time.
func order(t *testing.T, m *Merged) string {
	t.Helper()
	var out []string
	for {
		e, err := m.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		s := fmt.Sprintf("%d.%d@%d", e.At.Source, e.At.N, e.Time.To)
		if e.Kind == event.Gap {
			s += "gap"
		}
		out = append(out, s)
	}
}

func TestMerge(t *testing.T) {
	f := func(want string, lists ...[]event.Time) {
		t.Helper()
		if got := order(t, Merge(sources(io.EOF, lists...), nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f("")
	f("0.1@1 0.2@2", points(1, 2))
	f("0.1@1 1.1@2 0.2@3 1.2@4", points(1, 3), points(2, 4))
	f("0.1@5 0.2@5 1.1@5 1.2@5", points(5, 5), points(5, 5))          // equal times: by source, then position
	f("0.1@5 0.2@5 1.1@6 0.3@7", points(5, 3, 7), points(6))          // a step back is clamped
	f("0.1@0 1.1@4 0.2@5 0.3@5 1.2@6", points(0, 5, 0), points(4, 6)) // no time: that of the event before
	f("1.1@1 0.1@3", []event.Time{{From: 0, To: 3}}, points(1))       // an interval counts by its end
	f("1.1@1", nil, points(1))
}

func TestMergeClamp(t *testing.T) {
	s := sources(io.EOF, []event.Time{event.At(10), event.At(5), {From: 2, To: 4}, {From: 8, To: 12}, {}})
	m := Merge(s, nil)
	var got []string
	for e, err := m.Next(); err == nil; e, err = m.Next() {
		got = append(got, fmt.Sprintf("%d-%d %v", e.Time.From, e.Time.To, e.Loss&event.LossTime != 0))
	}
	if want := "10-10 false, 10-10 false, 2-10 false, 8-12 false, 12-12 true"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if n := s[0].Inputs[0].Stats.BackSteps; n != 2 {
		t.Errorf("%d back-steps, want 2", n)
	}
}

// A source that breaks off leaves a gap in its domain where it stood, and the others go on.
func TestMergeBreak(t *testing.T) {
	s := sources(errors.New("disk on fire"), points(1, 3), points(2, 9))
	s[1].Reader.(*listed).end = io.EOF
	if got, want := order(t, Merge(s, nil)), "0.1@1 1.1@2 0.2@3 0.2@3gap 1.2@9"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	st := s[0].Inputs[0].Stats
	if st.Err != "disk on fire" || st.Gaps != 1 {
		t.Errorf("error %q, %d gaps", st.Err, st.Gaps)
	}
}

// A gap that names no domain is one of every domain of its source.
func TestMergeGap(t *testing.T) {
	in := &source.Input{Path: "in"}
	a, b := event.Domain{Server: "a"}, event.Domain{Server: "b"}
	r := &scripted{events: []event.Event{
		{Kind: event.Gap, Time: event.At(1)},
		{Kind: event.Message, Time: event.At(2), Domain: a},
		{Kind: event.Gap, Time: event.At(3), Note: "x"},
		{Kind: event.Message, Time: event.At(4), Domain: b},
	}}
	m := Merge([]Source{{Reader: r, Inputs: []*source.Input{in}}}, nil)
	var got []string
	for e, err := m.Next(); err == nil; e, err = m.Next() {
		got = append(got, fmt.Sprintf("%v %s@%d", e.Kind, e.Domain.Server, e.Time.To))
	}
	want := "message a@2, gap a@2, gap a@3, message b@4, gap b@4, gap b@4"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

// scripted yields given events.
type scripted struct {
	events []event.Event
	n      int
}

func (s *scripted) Next() (*event.Event, error) {
	if s.n == len(s.events) {
		return nil, io.EOF
	}
	s.n++
	return &s.events[s.n-1], nil
}

func (s *scripted) Close() error { return nil }

func TestMergeDomain(t *testing.T) {
	name := func(source, server, path string) string {
		if source == "in0" && server == "s0" && path == "/mcp" {
			return "prod"
		}
		return ""
	}
	m := Merge(sources(io.EOF, points(1), points(2)), name)
	var got []event.Domain
	for e, err := m.Next(); err == nil; e, err = m.Next() {
		got = append(got, e.Domain)
	}
	if len(got) != 2 || got[0] != (event.Domain{Server: "prod"}) || got[1] != (event.Domain{Server: "s1", Path: "/mcp"}) {
		t.Errorf("got %v", got)
	}
}

func BenchmarkMerge(b *testing.B) {
	lists := make([][]event.Time, 8)
	for i := range lists {
		for n := range 1000 {
			lists[i] = append(lists[i], event.At(int64(n*8+i)))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		m := Merge(sources(io.EOF, lists...), nil)
		for _, err := m.Next(); err == nil; _, err = m.Next() {
		}
	}
}

// holey yields gaps that name no domain, and ends.
type holey struct{ left int }

func (h *holey) Next() (*event.Event, error) {
	if h.left == 0 {
		return nil, io.EOF
	}
	h.left--
	return &event.Event{Kind: event.Gap, Time: event.At(1)}, nil
}

func (h *holey) Close() error { return nil }

// Any number of gaps in a row takes no room on the stack.
func TestMergeManyGaps(t *testing.T) {
	m := Merge([]Source{{Reader: &holey{2_000_000}, Inputs: []*source.Input{{}}}}, nil)
	if _, err := m.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want io.EOF", err)
	}
}
