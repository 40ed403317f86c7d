package logs

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// feed reads one line, counts it, and queues its events: what reading a file and
// following a log have in common.
func (p *parser) feed(b []byte, at event.Address) {
	p.row = at.N
	f, why := p.line(b, at)
	p.count(f, why, at, 1)
}

// renumber goes on behind the last line of a file with the first of the next one.
func (p *parser) renumber() {
	switch c := &p.forms.told.console; c.named {
	case 0:
	case p.row + 1:
		c.named = 1
	default:
		c.named = -1
	}
	p.row = 0
}

// count counts the records that one fate befell.
func (p *parser) count(f fate, why string, at event.Address, records int64) {
	switch stats := p.stats; f {
	case used:
		stats.Used += records
	case ignored:
		stats.Ignored += records
	case malformed:
		stats.Malformed += records - 1
		stats.Bad(at, why)
	}
}

// pop returns the queued event at next, nil if there is none.
func (p *parser) pop(next *int) *event.Event {
	if *next >= len(p.queue) {
		return nil
	}
	e := &p.queue[*next]
	*next++
	p.statsOf(e.At.Source).Events++
	return e
}

// feeder reads a log line by line while it is written. All its state hangs on it.
type feeder struct {
	parser *parser
	next   int // index in parser.queue
}

func follow(in *source.Input, opt source.Options) (source.Feeder, error) {
	f := &feeder{parser: newParser(&in.Stats, opt)}
	f.parser.peel(in.Path)
	f.parser.turn(in)
	f.parser.dates.follows = true
	return f, nil
}

// Known returns the types that stand in a source.Feeder, for snapshots.
func Known() []any { return []any{&feeder{}} }

// Feed takes the next line.
func (f *feeder) Feed(b []byte, at event.Address) {
	p := f.parser
	f.room()
	p.stats.Records++
	if len(b) > source.MaxRecord {
		p.stats.Bad(at, "line is longer than 64 MiB and was skipped")
		return
	}
	p.modified = p.dates.in.Modified // it is written to all the time
	p.feed(b, at)
}

// room makes the queue empty once every event was taken.
func (f *feeder) room() {
	p := f.parser
	if f.next < len(p.queue) {
		return
	}
	if cap(p.queue) > keepQueue {
		p.queue = nil // of one huge line
	}
	f.next, p.queue = 0, p.queue[:0]
}

const keepQueue = 1 << 10

// Idle reads the records that waited for further lines.
func (f *feeder) Idle() {
	f.room()
	f.parser.outer = outer{}
	f.parser.peeler.Settle()
	f.parser.settle()
}

// Turn goes on to the next file of the log. A record of several lines may go on in it.
func (f *feeder) Turn(in *source.Input) {
	p := f.parser
	p.files, p.dates.in, p.stats, p.source = []*source.Input{in}, in, &in.Stats, in.Index
	p.peeler.Turn(in.Path)
	p.renumber()
}

// Lost completes the records that wait, and forgets what rests on the line before.
func (f *feeder) Lost() {
	f.Idle()
	told := &f.parser.forms.told
	told.python, told.console, told.super = pythonState{}, consoleState{}, superState{}
}

// Next returns the next queued event, nil if there is none.
func (f *feeder) Next() *event.Event { return f.parser.pop(&f.next) }

// End reads what was still open when nothing more comes.
func (f *feeder) End(event.Address) {
	f.room()
	f.parser.flush()
	if u := f.parser.user; u != nil {
		u.unmatched(f.parser.stats)
	}
}

// Resume gives a restored feeder what a snapshot does not hold.
func (f *feeder) Resume(in *source.Input, opt source.Options) {
	p, before := f.parser, in.Stats.Patterns
	p.opt, p.stats, p.user = opt, &in.Stats, newUserPatterns(opt.Patterns, &in.Stats)
	if p.user != nil {
		p.user.resume(before)
	}
	p.files, p.dates.in = []*source.Input{in}, in
	p.peeler.Resume(p.inside)
	for _, q := range p.forms.waiting {
		if q.number > 0 {
			q.kind = &joinKinds[q.number-1]
		}
	}
}

// resume goes on to count the lines that patterns of the same names claimed.
func (u *userPatterns) resume(before []source.PatternUse) {
	for i := range u.hits {
		for _, h := range before {
			if h.Name == u.hits[i].Name {
				u.hits[i].Lines += h.Lines
			}
		}
	}
}
