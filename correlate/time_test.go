package correlate

import (
	"testing"

	"github.com/isodetect/isodetect/event"
)

func TestBefore(t *testing.T) {
	f := func(a, b event.Time, want Certainty) {
		t.Helper()
		if got := Before(a, b); got != want {
			t.Errorf("%v before %v: %d, want %d", a, b, got, want)
		}
	}
	f(at(1), at(2), Certain)
	f(at(2), at(2), Certain) // no later than
	f(at(3), at(2), No)
	f(span(1, 5), at(5), Certain)
	f(span(1, 5), at(4), Perhaps)
	f(span(1, 5), at(1), Perhaps)
	f(span(2, 5), at(1), No)
	f(at(3), span(1, 5), Perhaps)
	f(at(1), span(1, 5), Certain)
	f(at(6), span(1, 5), No)
	f(span(1, 4), span(4, 9), Certain)
	f(span(1, 5), span(4, 9), Perhaps)
	f(span(4, 9), span(1, 4), Perhaps)
	f(span(5, 9), span(1, 4), No)
}

func TestOpenWithin(t *testing.T) {
	r := Request{Sent: Ref{Time: at(10)}, Fate: Answered, End: Ref{Time: at(20)}}
	f := func(when event.Time, grace int64, want Certainty) {
		t.Helper()
		if got := r.OpenWithin(when, grace*1e6); got != want {
			t.Errorf("%v within %d ms: %d, want %d", when, grace, got, want)
		}
	}
	f(at(20), 0, Certain)
	f(at(21), 0, No)
	f(at(25), 5, Certain)
	f(at(26), 5, No)
	f(at(9), 5, No)
	f(span(5, 15), 5, Perhaps)
	f(span(24, 30), 5, Perhaps)
	f(span(26, 30), 5, No)
	if r.Fate = Open; r.OpenWithin(at(9999), 0) != Certain {
		t.Error("an open request is open at any later time")
	}
}

func TestOverlaps(t *testing.T) {
	req := func(from, to int64) *Request {
		r := &Request{Sent: Ref{Time: at(from)}}
		if to > 0 {
			r.Fate, r.End = Answered, Ref{Time: at(to)}
		}
		return r
	}
	f := func(a, b *Request, want bool) {
		t.Helper()
		if a.Overlaps(b) != want || b.Overlaps(a) != want {
			t.Errorf("%v–%v and %v–%v: %v, %v", a.Sent.Time, a.End.Time, b.Sent.Time, b.End.Time, a.Overlaps(b), b.Overlaps(a))
		}
	}
	f(req(1, 5), req(4, 9), true)
	f(req(1, 5), req(5, 9), true) // stamps are coarse
	f(req(1, 5), req(6, 9), false)
	f(req(1, 0), req(6, 9), true)
	f(req(7, 0), req(1, 6), false)
	f(req(1, 9), req(3, 4), true)
}

func TestLiveAt(t *testing.T) {
	f := func(p Party, when event.Time, want Certainty) {
		t.Helper()
		if got := p.LiveAt(when); got != want {
			t.Errorf("live %v from %v to %v, at %v: %d, want %d", p.Live, p.LiveFrom, p.LiveTo, when, got, want)
		}
	}
	f(Party{}, at(5), No)
	f(Party{Live: true, LiveFrom: at(5)}, at(4), No)
	f(Party{Live: true, LiveFrom: at(5)}, at(5), Certain)
	f(Party{Live: true, LiveFrom: span(5, 7)}, at(6), Perhaps)
	f(Party{LiveFrom: at(5), LiveTo: at(9)}, at(9), Certain)
	f(Party{LiveFrom: at(5), LiveTo: at(9)}, at(10), No)
	f(Party{LiveFrom: at(5), LiveTo: at(9)}, span(8, 12), Perhaps)
}
