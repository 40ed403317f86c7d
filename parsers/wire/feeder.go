package wire

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// feeder turns the lines of a recording into events, whether they are read from a
// file or come as they are written. All its state hangs on it.
type feeder struct {
	in    *source.Input
	stats *source.Stats `snapshot:"-"`
	b     *exchange.Builder
	line  line `snapshot:"-"` // the one that is read now
	open  map[string]*live
	order []string // exchange ids in the order they were opened, for the end
	last  int64    // time of the latest line, ns
}

// live is an exchange that has not been closed.
type live struct{ *exchange.Exchange }

func newFeeder(in *source.Input) *feeder {
	in.Stats.Format = name
	b := exchange.New(in.Index, &in.Stats)
	return &feeder{in: in, stats: &in.Stats, b: b, line: line{b: b}, open: map[string]*live{}}
}

func follow(in *source.Input, _ source.Options) (source.Feeder, error) {
	f := newFeeder(in)
	f.b.Resumable = true
	return f, nil
}

// Known returns the types that stand in a source.Feeder, for snapshots.
func Known() []any { return []any{&feeder{}} }

// Feed takes the next line. A blank line is no record.
func (r *feeder) Feed(raw []byte, at event.Address) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	if len(raw) > source.MaxRecord {
		r.long(at)
		return
	}
	r.stats.Records++
	l := &r.line
	if err := parseLine(raw, l); err != nil {
		r.stats.Bad(at, err.Error())
		return
	}
	if l.kind == kindSchema {
		r.stats.Ignored++
		return
	}
	if err := r.apply(l, at); err != nil {
		r.stats.Bad(at, err.Error())
		return
	}
	r.stats.Used++
}

func (r *feeder) long(at event.Address) {
	r.stats.Records++
	r.stats.Bad(at, "line over 64 MiB: skipped")
}

// Idle changes nothing: no line waits for another one.
func (r *feeder) Idle() {}

// Lost changes nothing: a line tells what it is part of.
func (r *feeder) Lost() {}

// Turn goes on with the next file; exchanges go on too.
func (r *feeder) Turn(in *source.Input) { r.in, r.stats = in, &in.Stats; r.b.Resume(r.stats) }

// Next returns the next queued event, nil if there is none.
func (r *feeder) Next() *event.Event { return r.b.Pop() }

// End closes what is still open: it was open when the recording ended.
func (r *feeder) End(at event.Address) {
	for _, x := range r.order {
		if l, ok := r.open[x]; ok {
			l.Close(event.At(r.last), at, event.ByWindow, 0)
		}
	}
	clear(r.open)
	r.order = nil
}

// Resume gives a restored feeder what a snapshot does not hold.
func (r *feeder) Resume(in *source.Input, _ source.Options) {
	r.in, r.stats, r.line = in, &in.Stats, line{b: r.b}
	r.b.Resume(r.stats)
}

// IsLine reports whether a line is one of this format.
func IsLine(raw []byte) bool {
	var stats source.Stats
	return len(bytes.TrimSpace(raw)) > 0 && parseLine(bytes.TrimSpace(raw), &line{b: exchange.New(0, &stats)}) == nil
}
