package correlate

import "github.com/isodetect/isodetect/event"

// Certainty is how sure a statement about the order of intervals is.
type Certainty uint8

const (
	No      Certainty = iota // cannot be
	Perhaps                  // the stamps allow it and its contrary
	Certain                  // the stamps leave no other order
)

// Before says whether a happened no later than b.
func Before(a, b event.Time) Certainty {
	switch {
	case a.To <= b.From:
		return Certain
	case a.From <= b.To:
		return Perhaps
	}
	return No
}

// exact reports whether t is a point and not an interval.
func exact(t event.Time) bool { return t.From == t.To }

const (
	second = int64(1e9)
	minute = 60 * second
)
