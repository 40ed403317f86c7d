package logs

import (
	"bufio"
	"time"

	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// Times without a year or a date say when only together with the moment at which the
// file was last written. Where that is not known, as of standard input, they say
// nothing. What is made of them is a guess, and its events are marked as without a
// time of their own.

const (
	day      = int64(86400e9)
	halfDay  = day / 2
	nearly   = int64(60e9) // what is written may reach the disk a moment later
	maxTurns = 4096
)

// dates is what a parser knows about the missing dates of the file that it reads.
type dates struct {
	in     *source.Input
	looked bool // the days of in were counted
	noted  bool // the input says that dates were completed
	known  bool
	turns  []turn // where the day changes, in order
	at     int    // the turn that holds for the last line

	follows bool // the file is read while it is written: what comes later is not there yet
	written int64
	clock   int64 // time of day of the last line
	day     int64 // since 1970
}

// turn is a line from which on another day holds, in days since 1970.
type turn struct{ line, day int64 }

// complete gives a stamp the date that it lacks, as far as that can be known.
func (p *parser) complete(st stamp, line int64) (stamp, bool) {
	if p.modified == 0 {
		return st, false
	}
	if st.month > 0 {
		st.ns += p.yearOf(st)
		st.dated = true
		p.note("times have no year; the latest was taken in which they lie before the file was last written", p.modified)
		return st, true
	}
	d, ok := int64(0), true
	if p.dates.follows {
		d = p.dates.now(p, st.ns)
	} else {
		d, ok = p.dates.dayOf(p, line)
	}
	if !ok {
		return st, false
	}
	st.ns += d*day - int64(p.opt.AssumeUTCOffset)*1e9
	st.dated = true
	p.note("times have no date; days were counted back from when the file was last written", p.modified)
	return st, true
}

func (p *parser) note(text string, written int64) {
	if !p.dates.noted {
		p.dates.noted = true
		p.stats.Note(text + ", " + time.Unix(0, written).UTC().Format("2006-01-02 15:04:05") + " UTC")
	}
}

// yearOf is what has to be added to the time of day of a stamp that has a month and
// a day: the latest year in which it lies before the file was last written.
func (p *parser) yearOf(st stamp) int64 {
	offset := int64(p.opt.AssumeUTCOffset) * 1e9
	year := time.Unix(0, p.modified+offset).UTC().Year()
	for back := 0; ; back++ {
		y := year - back
		ns := daysFrom1970(y, st.month, st.day)*day - offset
		leap := y%4 == 0 && (y%100 != 0 || y%400 == 0)
		if ns+st.ns <= p.modified+day && (leap || st.month != 2 || st.day < 29) || back == 8 {
			return ns
		}
	}
}

// dayOf is the day of a line, in days since 1970. The first call reads the file once
// to find where its clock passes midnight.
func (d *dates) dayOf(p *parser, line int64) (int64, bool) {
	if !d.looked {
		d.looked = true
		d.look(p)
	}
	if !d.known {
		return 0, false
	}
	if d.at >= len(d.turns) || d.turns[d.at].line > line {
		d.at = 0 // a record whose first line lies before
	}
	for d.at+1 < len(d.turns) && d.turns[d.at+1].line <= line {
		d.at++
	}
	return d.turns[d.at].day, true
}

// now is the day of a line that was just written, or, where many were read at once,
// that follows such a line: the latest on which it lies before the file was written, but for midnights.
func (d *dates) now(p *parser, ns int64) int64 {
	written := p.modified + int64(p.opt.AssumeUTCOffset)*1e9
	latest := written / day
	if ns > written%day+nearly {
		latest--
	}
	switch {
	case d.written != written:
		d.day = latest
	case ns < d.clock-halfDay && d.day < latest:
		d.day++
	}
	d.day = min(d.day, latest)
	d.written, d.clock = written, ns
	return d.day
}

// look counts midnights from the beginning of the file to its end, and from there back.
func (d *dates) look(p *parser) {
	if d.in == nil || d.in.Opener == nil {
		return
	}
	stream, err := d.in.Stream()
	if err != nil {
		return
	}
	defer stream.Close()
	r := lines.New(bufio.NewReader(stream), maxText)
	q := newParser(&source.Stats{}, p.opt)
	c := clockwork{turns: []turn{{}}}
	q.peeler = envelope.New(d.in.Path, func(line []byte, m *envelope.Meta) {
		q.tell(m)
		if ns, ok := q.clock(line); ok {
			c.see(ns, r.N())
		}
	})
	for {
		b, err := r.Next()
		if err != nil && err != lines.ErrTooLong {
			break
		}
		q.peeler.Peel(b, envelope.Address{N: r.N()})
	}
	if !c.begun {
		return
	}
	modified := d.in.Modified + int64(p.opt.AssumeUTCOffset)*1e9
	end := modified / day
	if c.last > modified%day+nearly {
		end--
	}
	for i := range c.turns {
		c.turns[i].day += end - c.day
	}
	d.known, d.turns = true, c.turns
}

// clockwork follows a clock without a date over midnights.
type clockwork struct {
	begun bool
	last  int64 // time of day of the latest line
	day   int64 // since the first line
	turns []turn
}

func (c *clockwork) see(ns, line int64) {
	switch {
	case !c.begun:
		c.begun = true
	case ns < c.last-halfDay:
		c.day++
		c.turn(line, c.day)
	case c.day > 0 && ns > day-day/48 && c.last < day/48: // written before midnight, but behind a line of after it
		c.turn(line, c.day-1)
		c.turn(line+1, c.day)
		return
	}
	c.last = ns
}

func (c *clockwork) turn(line, day int64) {
	if n := len(c.turns); c.turns[n-1].line == line {
		c.turns[n-1].day = day
	} else if n < maxTurns {
		c.turns = append(c.turns, turn{line, day})
	} else {
		c.turns[n-1].day = day
	}
}

// clock is the time of day of a line that has no more than that.
func (p *parser) clock(b []byte) (ns int64, ok bool) {
	if p.wrap.at.dated {
		return 0, false
	}
	p.lineTime(b)
	r := &p.rec
	if !r.has(slotTime) {
		return 0, false
	}
	st, ok := parseTime(r.text(r.get(slotTime)), 0)
	return st.ns, ok && !st.dated && st.month == 0
}
