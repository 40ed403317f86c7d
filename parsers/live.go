package parsers

import (
	"fmt"
	"slices"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// Live makes one order of events of logs that are written while they are read, as
// Merged does of files: it is told every line and mark of every source, and gives out
// the events whose place is decided. It reads nothing and knows no clock, so that the
// same lines and marks always give the same events. After each call, take the events
// with Next until it returns nil.
//
// An event waits for the other sources that may still tell of something before it: until
// they are idle or have come as far in event time, or until the newest event of all is
// Options.Reorder newer. What comes later still is late: it is given out with an
// interval for its time that ends where the others have come to, and counted.
//
// All its state hangs on it, so that it can be put away (Snapshot) between any two calls.
type Live struct {
	Sources []*Fed          // by index, without those that are over
	Past    []*source.Input // of those, by index, the latest maxPast
	Forgot  source.Stats    // the counters of those before
	Newest  int64           // time of the newest event that came
	Latest  int64           // time of the latest event or mark that was given out
	Reached int64           // the latest beginning of the time of an event that was given out
	Ticked  int64           // up to when every domain was told the time
	Held    int             // events that wait
	Mark    event.Event
	Due     bool  // Mark is the next event
	Silence int64 // so much time went by since the last event, which is to be told
	Lag     int64 // so long a line may lie in its writer's buffer before it comes: the longest seen, ns
	Views   views
	Behind  bool // more is written than was read
	Over    bool // nothing more comes

	opt Options `snapshot:"-"`
}

const (
	defaultReorder = 2 * time.Second
	defaultIdle    = 2 * time.Second
	defaultLag     = 10 * time.Second
	maxLag         = int64(10 * time.Minute)
	tick           = int64(time.Second)    // of event time, after which every domain is told it
	future         = 26 * int64(time.Hour) // a stamp so long after its line was written is wrong, whatever the zone
	maxWaiting     = 1 << 15               // events that wait; beyond it the first goes without waiting
	openLook       = 16                    // lines of a file that are held against other formats
	lateNote       = "lines came later than those of other sources by more than is waited for; their times are told as intervals"
	futureNote     = "times a day or more after their lines were written are wrong and were not used"
	heldNote       = "more events had to wait for other sources than are kept; the first went without waiting"
	middleNote     = "reading began in the middle of it: what it told before is not in view"
)

// NewLive returns a Live without any source.
func NewLive(opt Options) *Live {
	l := &Live{}
	l.Resume(opt)
	return l
}

// Time is the event time up to which the order is decided, in ns.
func (l *Live) Time() int64 { return l.Latest }

// Inputs returns the sources as inputs of a run, with their counters, each at its index.
// One of which nothing came, or which is over for long, has no path.
func (l *Live) Inputs() []*source.Input {
	var in []*source.Input
	past, unknown := l.Past, &source.Input{Index: -1, Size: -1}
	put := func(next *source.Input) {
		for len(in) < int(next.Index) {
			in = append(in, unknown)
		}
		in = append(in, next)
	}
	for _, s := range l.Sources {
		for len(past) > 0 && past[0].Index < s.Index {
			put(past[0])
			past = past[1:]
		}
		put(s.Input)
	}
	for _, next := range past {
		put(next)
	}
	return in
}

// Line takes the next whole line of a source, without its end. n is its number in its
// file and offset where it stands there; modified is when the file was last written, in
// ns. The error says that the format that was asked for cannot be followed.
func (l *Live) Line(index int32, path string, line []byte, n, offset, modified int64) error {
	s := l.source(index)
	in := s.Input
	in.Path, in.Modified = path, modified
	in.Stats.Bytes += int64(len(line)) + 1
	s.Woke = s.Woke || s.Began && s.Quiet
	s.Began, s.Quiet = true, false
	s.Line = event.Address{Source: index, Unit: event.UnitLine, Turn: s.Turns, N: n, Offset: offset}
	if err := l.recognise(s, line); err != nil {
		return err
	}
	switch {
	case s.Unread != "":
		in.Stats.Records++
		in.Stats.Ignored++
	case s.Feeder != nil:
		s.Feeder.Feed(line, s.Line)
		l.drain(s)
	}
	return nil
}

// Expect says that lines may come of a source that exists: others wait for it, until it is idle.
func (l *Live) Expect(index int32, path string) {
	s := l.source(index)
	s.Input.Path, s.Quiet = path, false
}

// Busy says whether more is written than was read. While that is so, as after the
// start, event time runs faster than the clock, and how much newer the newest event is
// tells nothing: events wait for the other sources as far as there is room.
func (l *Live) Busy(more bool) { l.Behind = more }

// Lost takes what truncation, deletion or a start in the middle destroyed of a source.
// It is a gap in coverage of every domain of the source. Before the first line it is
// none: what is not in view was not seen to begin.
func (l *Live) Lost(index int32, bytes int64, why string) {
	s := l.source(index)
	s.Input.Stats.Gaps++
	if !s.Began {
		s.Input.Stats.Note(middleNote)
		return
	}
	if s.Feeder != nil {
		s.Feeder.Lost()
		l.drain(s)
	}
	if bytes > 0 {
		why = fmt.Sprintf("%s: %d bytes", why, bytes)
	}
	s.Input.Stats.Note("lines are missing: " + why)
	gap := event.Event{Kind: event.Gap, At: s.Line, Loss: event.LossTime, Note: why}
	full := len(s.Track.Domains) == maxDomains
	l.take(s, &gap)
	if full { // domains that are not listed: whoever keeps them knows their source
		gap.Time, gap.Domain = event.At(s.Track.Last), event.Domain{}
		l.queue(s, &gap)
	}
}

// Turned says that the next line is the first of another file of the same source.
func (l *Live) Turned(index int32) {
	s := l.source(index)
	s.Looks, s.Unread = openLook, ""
	s.Turns++
	if s.Feeder != nil {
		s.Feeder.Turn(s.Input)
	}
}

// Idle says that nothing came of a source for Options.Idle. Once that holds for all,
// time goes on without events.
func (l *Live) Idle(index int32) {
	s := l.source(index)
	s.Quiet = true
	s.settle(l)
	if l.quiet() {
		l.Pass(l.opt.Idle)
	}
}

// Pass says that d went by since the newest line while nothing came of any source, so
// that what waits in the engine is decided. Writers hold lines back (a full buffer of
// standard output may take long), and time must not pass what they still hold: it goes
// on behind the longest such delay seen, at least Options.Lag. It does nothing unless
// all sources are idle.
func (l *Live) Pass(d time.Duration) {
	if !l.quiet() || l.Over || l.Newest == 0 {
		return
	}
	if silent := int64(d) - max(l.Lag, int64(l.opt.Lag)); silent > 0 {
		l.Silence = max(l.Silence, silent)
	}
}

// woke learns from the first line after a silence how long its writer held it back.
func (l *Live) woke(s *Fed, e *event.Event) {
	if e.Time.To == 0 || e.Loss&event.LossTime != 0 {
		return
	}
	s.Woke = false
	if l.opt.Lag < 0 {
		return
	}
	if written := s.Input.Modified; written != 0 {
		l.Lag = max(l.Lag, min(written-e.Time.From, maxLag))
	}
}

// Flush says that nothing more comes: what waits for lines or other sources is decided.
func (l *Live) Flush() {
	for _, s := range l.Sources {
		if s.Feeder != nil {
			s.Feeder.End(s.Line)
			l.drain(s)
		}
	}
	if !l.Over {
		l.Over = true
		l.Views.conclude(l.input)
	}
}

// Next returns the next event whose place in the order is decided, valid until the
// following call of any method, and nil if there is none yet.
func (l *Live) Next() *event.Event {
	if l.Due {
		l.Due = false
		return &l.Mark
	}
	s := l.first()
	if s == nil {
		return l.idle()
	}
	e := &s.Wait[s.Head]
	s.Head++
	l.Held--
	if s.Gone {
		l.retire()
	}
	if e.Time.To != 0 {
		l.late(s, e)
		l.Latest, l.Reached = max(l.Latest, e.Time.To), max(l.Reached, e.Time.From)
		l.tick()
	}
	return e
}

// late gives an event that comes when later ones were given out an interval that ends with them.
func (l *Live) late(s *Fed, e *event.Event) {
	switch t := &e.Time; {
	case t.To >= l.Latest:
	case e.Kind == event.Closed && e.By == event.ByWindow: // its source told no more after that, which shows only now
	default:
		t.To = l.Latest
		e.Loss |= event.LossTime | event.LossLate
		s.Input.Stats.Late++
		s.Input.Stats.Note(lateNote)
	}
}

// tick lets every domain know how far the time is, so that none waits for an event of its own.
func (l *Live) tick() {
	if l.Latest-l.Ticked >= tick {
		l.mark(l.Latest)
		l.Due = true
	}
}

func (l *Live) mark(ns int64) {
	l.Latest, l.Ticked = ns, ns
	l.Mark = event.Event{Kind: event.Idle, Time: event.At(ns), At: event.Address{Source: -1, Offset: -1}}
}

// idle returns the mark that says how much time went by since the last event.
func (l *Live) idle() *event.Event {
	ns := l.Reached + l.Silence
	if l.Silence == 0 || l.Held > 0 || l.Reached == 0 {
		return nil
	}
	l.Silence = 0
	if ns <= l.Latest {
		return nil
	}
	l.mark(ns)
	return &l.Mark
}

// quiet reports whether all sources are idle.
func (l *Live) quiet() bool {
	return !slices.ContainsFunc(l.Sources, func(s *Fed) bool { return !s.Quiet })
}

// first returns the source whose event is next, nil if that is not decided yet.
func (l *Live) first() *Fed {
	var next *Fed
	for _, s := range l.Sources {
		if s.Head < len(s.Wait) && (next == nil || s.Wait[s.Head].Time.To < next.Wait[next.Head].Time.To) {
			next = s
		}
	}
	if next == nil || l.Over || l.Newest == 0 {
		return next
	}
	ns := next.Wait[next.Head].Time.To
	if ns == 0 || !l.Behind && l.Newest-ns > int64(l.opt.Reorder) {
		return next
	}
	for _, s := range l.Sources {
		if s != next && !s.Quiet && s.Head == len(s.Wait) && !s.passed(ns, next) {
			if l.Held <= maxWaiting {
				return nil
			}
			next.Input.Stats.Note(heldNote)
			return next
		}
	}
	return next
}

// passed reports whether whatever a source still tells stands behind an event of another one at ns.
func (s *Fed) passed(ns int64, of *Fed) bool {
	return s.Track.Last > ns || s.Track.Last == ns && s.Index > of.Index
}
