package follow

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// From is where the reading of a file begins that was there before and of which no
// State tells. The zero value is the end.
type From struct {
	Start bool          // at its beginning
	Back  time.Duration // at what was written so long ago, by the times of the lines, or else by when it was last written to
}

// ParseFrom reads "now", "start", or a duration back such as "15m".
func ParseFrom(text string) (From, error) {
	switch text {
	case "now":
		return From{}, nil
	case "start":
		return From{Start: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return From{}, fmt.Errorf("use now, start, or a duration back such as 15m")
	}
	return From{Back: d}, nil
}

// begin sets where the reading of the first file of a source begins.
func (s *Source) begin(g *file) {
	opt := &s.follower.opt
	if s.asked || len(opt.States) > 0 || opt.From.Start || g.size == 0 {
		return // it was not there before, or is wanted whole
	}
	at := g.lineBefore(g.size)
	if opt.From.Back > 0 {
		since := s.follower.now.Add(-opt.From.Back).UnixNano()
		switch {
		case g.modified < since:
		case opt.TimeOf == nil:
			at = 0
		default:
			at = g.firstSince(since, at, opt.TimeOf)
		}
	}
	g.goOn(State{Offset: at})
	g.dangling = false
	if at > 0 {
		g.gap = &gap{at, fmt.Sprintf("reading of %s began at byte %d", s.Path, at)}
	}
}

// searched is how much of a file is looked through for the beginning of a line.
const searched = 1 << 20

// lineBefore is where the last line before end begins that may still be written to:
// behind the last line end. If there is none for long, it is end itself.
func (g *file) lineBefore(end int64) int64 {
	buf := make([]byte, min(searched, end))
	from := end - int64(len(buf))
	n, err := g.f.ReadAt(buf, from)
	if err != nil && err != io.EOF {
		return end
	}
	if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
		return from + int64(i) + 1
	}
	if from == 0 {
		return 0
	}
	return end
}

// firstSince is where the first line begins, before end, that is not older than since,
// if the times of the lines grow.
func (g *file) firstSince(since, end int64, timeOf func([]byte) int64) int64 {
	buf := make([]byte, 64<<10)
	lo, hi := int64(0), end // what begins before lo is older; what begins at hi is not
	for hi-lo > int64(len(buf)) {
		mid := lo + (hi-lo)/2
		if at, when := g.firstTime(mid, buf, timeOf); when != 0 && when < since {
			lo = at
		} else {
			hi = mid
		}
	}
	for at := lo; at < end; {
		n, _ := g.f.ReadAt(buf, at)
		i := bytes.IndexByte(buf[:n], '\n')
		if i < 0 {
			return at
		}
		if when := timeOf(buf[:i]); when != 0 && when >= since {
			return at
		}
		at += int64(i) + 1
	}
	return end
}

// firstTime is the time of the first line behind mid that says one, and where it begins; 0 = none.
func (g *file) firstTime(mid int64, buf []byte, timeOf func([]byte) int64) (at, when int64) {
	n, _ := g.f.ReadAt(buf, mid)
	rest := buf[:n]
	i := bytes.IndexByte(rest, '\n')
	for i >= 0 {
		mid += int64(i) + 1
		rest = rest[i+1:]
		if i = bytes.IndexByte(rest, '\n'); i < 0 {
			break
		}
		if when = timeOf(rest[:i]); when != 0 {
			return mid, when
		}
	}
	return 0, 0
}
