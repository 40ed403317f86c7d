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
	Back  time.Duration // at what was written so long ago: by the times of the lines, and where they say none by when it was last written to
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
		return From{}, fmt.Errorf("use now, start, or a duration back such as 90s, 15m or 24h")
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
			path, written := s.Path, g.modified
			at = g.firstSince(since, at, func(line []byte) int64 { return opt.TimeOf(path, written, line) })
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
// if the times of the lines grow. Lines that say none are passed over; of a file of which
// none does, it is the beginning.
func (g *file) firstSince(since, end int64, timeOf func([]byte) int64) int64 {
	lo, hi, timed := int64(0), end, false // what begins before lo is older; what begins at hi or behind it is not
	for hi-lo > blockOfLines {
		mid := lo + (hi-lo)/2
		at, when := g.firstTime(mid, hi, timeOf)
		timed = timed || when != 0
		if when != 0 && when < since {
			lo = at
		} else {
			hi = mid
		}
	}
	at := lo
	g.lines(lo, min(end, hi+searched), func(begin int64, line []byte) bool {
		at = begin
		if begin >= hi {
			return false
		}
		when := timeOf(line)
		timed = timed || when != 0
		at = begin + int64(len(line)) + 1
		if when >= since {
			at = begin
		}
		return when < since
	})
	if !timed {
		return 0
	}
	return min(at, end)
}

// blockOfLines is how many bytes are read through line by line.
const blockOfLines = 64 << 10

// firstTime is the time of the first line that begins behind mid and before end and says
// one, and where it begins; 0 = none for long.
func (g *file) firstTime(mid, end int64, timeOf func([]byte) int64) (at, when int64) {
	torn := true // what stands at mid is the end of a line
	g.lines(mid, min(end, mid+searched), func(begin int64, line []byte) bool {
		if !torn {
			at, when = begin, timeOf(line)
		}
		torn = false
		return when == 0
	})
	return at, when
}

// lines tells the lines that end between from and end, without their ends, until f returns false.
func (g *file) lines(from, end int64, f func(begin int64, line []byte) bool) {
	buf := make([]byte, blockOfLines)
	for held := 0; from < end; {
		n, err := g.f.ReadAt(buf[held:min(int64(len(buf)), end-from)], from+int64(held))
		have := buf[:held+n]
		for {
			i := bytes.IndexByte(have, '\n')
			if i < 0 {
				break
			}
			if !f(from, have[:i]) {
				return
			}
			from, have = from+int64(i)+1, have[i+1:]
		}
		if err != nil || n == 0 {
			return
		}
		if held = copy(buf, have); held == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
