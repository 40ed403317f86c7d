package rules

import (
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

const ms = int64(1e6)

func at(n int64) event.Time { return event.At(n * ms) }

func ref(n int64) correlate.Ref { return correlate.Ref{Time: at(n)} }

// values makes points one millisecond apart on one stream.
func values(total float64, text string, vs ...float64) []Point {
	var out []Point
	for i, v := range vs {
		out = append(out, Point{Value: v, Total: total, HasTotal: total > 0, Text: text, Ordered: true, Ref: ref(int64(i + 1))})
	}
	return out
}

func TestMixed(t *testing.T) {
	f := func(name string, points, theirs []Point, want bool) {
		t.Helper()
		if _, how := mixed(points, theirs); (how != "") != want {
			t.Errorf("%s: %q", name, how)
		}
	}
	join := func(parts ...[]Point) (out []Point) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	none := []Point(nil)
	f("it increases", values(0, "", 1, 2, 3), none, false)
	f("one fall is a tool with phases", values(0, "", 1, 2, 3, 1, 2, 3), none, false)
	f("two series that interleave", values(0, "", 1, 10, 2, 11, 3, 12), none, true)
	f("three series", values(0, "", 9, 5, 1, 10, 6, 2), none, false)
	f("twice the same value twice", values(0, "", 1, 1, 2, 2), none, true)
	f("it falls with the total of the other series", join(values(10, "", 4, 5), values(3, "", 1)), values(3, "", 2), true)
	f("the total was there before the fall", values(3, "", 2, 1), values(3, "", 2), false)
	f("another total than the other series has", join(values(10, "", 4, 5), values(3, "", 1)), values(4, "", 2), false)
	f("it falls with the message of the other series", join(values(0, "read", 4, 5), values(0, "write", 1)), values(0, "write", 2), true)
	f("the message was there before the fall", values(0, "write", 2, 1), values(0, "write", 2), false)
	f("a message that neither has", join(values(0, "read", 4), values(0, "", 1)), values(0, "", 2), false)
	f("totals that neither has", join(values(5, "", 4), values(0, "", 1)), values(0, "", 2), false)
}

// Where messages have no times of their own, only those of one stream have an order.
func TestMixedWithoutTimes(t *testing.T) {
	points := values(0, "", 1, 10, 2, 11, 3, 12)
	for i := range points {
		points[i].Ref.Time = event.Time{From: ms, To: 9 * ms}
		points[i].Stream.N = uint64(1 + i%2)
	}
	if _, how := mixed(points, nil); how != "" {
		t.Errorf("two streams in no order: %s", how)
	}
	for i := range points {
		points[i].Stream.N = 1
	}
	if _, how := mixed(points, nil); how == "" {
		t.Error("one stream has an order")
	}
}

func TestTwoSeries(t *testing.T) {
	f := func(want bool, vs ...float64) {
		t.Helper()
		if got := twoSeries(values(0, "", vs...)); got != want {
			t.Errorf("%v: %v", vs, got)
		}
	}
	f(false)
	f(false, 1, 2, 3)
	f(true, 1, 10, 2, 11)
	f(true, 5, 5)
	f(false, 3, 2, 1)
}

func TestBeyond(t *testing.T) {
	f := func(points []Point, want bool) {
		t.Helper()
		if _, how := beyond(points); (how != "") != want {
			t.Errorf("%v: %q", points, how)
		}
	}
	f(values(3, "", 1, 2, 3), false)
	f(values(3, "", 1, 2, 4), true)
	f(values(0, "", 1, 2, 400), false)
	f(values(0, "", 1, 2, 1), true)
	f([]Point{{Value: 1, HasTotal: true, Total: 0}}, false) // a total of 0 says nothing
}

func TestSkeleton(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := skeleton(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f("part 1 of 8", "part  of ")
	f("099/9:", "/:")
	f("größe ½", "größe ½")
}

// domain returns a domain with a live session that was born in view, and one that was not.
func domain() (d *correlate.Domain, born, other *correlate.Party) {
	d = &correlate.Domain{ID: "d"}
	born = &correlate.Party{ID: "a", Alias: "S1", Domain: d, Birth: &correlate.Ref{}, Born: true, BornAt: at(1), Issued: true, Live: true, LiveFrom: at(1)}
	other = &correlate.Party{ID: "b", Alias: "S2", Domain: d, Birth: &correlate.Ref{}, Issued: true, Live: true, LiveFrom: at(1)}
	return d, born, other
}

// ended returns a tools/call of p with id 1 that ended with this fate.
func ended(p *correlate.Party, fate correlate.Fate, from, to int64) *correlate.Request {
	r := &correlate.Request{Dir: event.ToServer, ID: "1", Method: mcp.ToolsCall, Tool: "t", Party: p, Sent: ref(from), Fate: fate, Era: mcp.EraLegacy}
	r.Exchange = &correlate.Exchange{Method: "POST", Party: p, Requests: []*correlate.Request{r}}
	if fate != correlate.Open {
		r.End = ref(to)
	}
	if fate == correlate.Answered {
		r.Answer = mcp.KindResult
	}
	return r
}

func TestLacks(t *testing.T) {
	f := func(name string, fate correlate.Fate, points []Point, change func(*Token, *correlate.Request), want bool) {
		t.Helper()
		_, p, _ := domain()
		tok := newToken(Options{}).(*Token)
		tok.Reports.Put("t", true)
		r := ended(p, fate, 10, 50)
		change(tok, r)
		if got := tok.lacks(r, points); (got != lacksNothing) != want {
			t.Errorf("%s: %d", name, got)
		}
	}
	none := func(*Token, *correlate.Request) {}
	part := values(3, "", 1, 2)
	f("broke off", correlate.Answered, part, none, true)
	f("went through", correlate.Answered, values(3, "", 1, 3), none, false)
	f("went through in another order", correlate.Answered, values(3, "", 3, 1), none, false)
	f("has no total", correlate.Answered, values(0, "", 1, 2), none, false)
	f("none at all", correlate.Answered, nil, none, true)
	f("still open", correlate.Open, nil, none, true)
	f("a tool that never reports", correlate.Answered, nil, func(f *Token, _ *correlate.Request) { f.Reports = Recent[string, bool]{} }, false)
	f("no tool", correlate.Answered, nil, func(f *Token, r *correlate.Request) { r.Tool = ""; f.Reports.Put("", true) }, false)
	f("it failed", correlate.Answered, part, func(_ *Token, r *correlate.Request) { r.IsError = true }, false)
	f("lost", correlate.Lost, part, none, false)
	f("cancelled by its own", correlate.Open, part, func(_ *Token, r *correlate.Request) { r.OwnCancel = at(20) }, false)
	f("its client left", correlate.Open, part, func(_ *Token, r *correlate.Request) { r.Left = true }, false)
	f("the server closed", correlate.Cut, part, none, false)
	f("what reached it is not all in view", correlate.Answered, part, func(_ *Token, r *correlate.Request) { r.Party.Lose(event.ToClient, 20*ms) }, false)
	f("a hole before it", correlate.Answered, part, func(_ *Token, r *correlate.Request) { r.Party.Lose(event.ToClient, 5*ms) }, true)
	f("of nobody", correlate.Answered, part, func(_ *Token, r *correlate.Request) { r.Party = nil }, false)
}
