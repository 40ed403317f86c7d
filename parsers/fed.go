package parsers

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/parsers/wire"
)

// Fed is one source of a Live: a path at which one file after another is written.
type Fed struct {
	Index  int32
	Input  *source.Input // counts for all files of it
	Format string
	Feeder source.Feeder // nil until a line shows the format
	Track  track
	Wait   []event.Event // events that wait for other sources, from Head on
	Head   int

	Line   event.Address // of the last line
	Turns  uint16        // how many files came before
	Began  bool          // a line came
	Quiet  bool          // nothing came for a while
	Woke   bool          // its next event is the first after that
	Blank  int64         // empty lines before the format was known
	Looks  int           // so many lines are still held against other formats
	Unread string        // why its lines are not read, "" = they are
	Gone   bool          // nothing more comes
}

// place is where a source stands, or would stand, among those that are read.
func (l *Live) place(index int32) (int, bool) {
	return slices.BinarySearchFunc(l.Sources, index, func(s *Fed, index int32) int { return int(s.Index) - int(index) })
}

// input is that of a source, of which nothing need have come yet.
func (l *Live) input(index int32) *source.Input {
	if at, found := slices.BinarySearchFunc(l.Past, index, byIndex); found {
		return l.Past[at]
	}
	return l.source(index).Input
}

// source returns a source and makes it if it is new. It holds back no other before its first line.
func (l *Live) source(index int32) *Fed {
	i, found := l.place(index)
	if found {
		return l.Sources[i]
	}
	in := &source.Input{Index: index, Size: -1}
	s := &Fed{Index: index, Input: in, Track: track{Inputs: []*source.Input{in}, View: index}, Quiet: true, Looks: openLook}
	l.Sources = slices.Insert(l.Sources, i, s)
	return s
}

// recognise decides what the lines of a source are: by the first that is not empty,
// and again at the beginning of each file, since another kind may have taken its place.
func (l *Live) recognise(s *Fed, line []byte) error {
	if s.Looks == 0 {
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		if s.Feeder == nil && s.Unread == "" {
			s.Blank++
		}
		return nil
	}
	first := s.Looks == openLook
	s.Looks--
	if first {
		if s.Unread = l.unfollowed(s, line); s.Unread != "" {
			s.Input.Stats.Note("not followed: " + s.Unread)
		}
	}
	if s.Unread != "" {
		return nil
	}
	f, err := l.formatOf(s, line)
	if f == nil || err != nil {
		return err
	}
	return l.become(s, f)
}

// unfollowed says why a file that begins with a line is not followed, "" = it is.
func (l *Live) unfollowed(s *Fed, line []byte) string {
	switch {
	case source.IsReport(line):
		return "a report of isodetect"
	case envelope.IsExport(line):
		return "the export format of the journal; read it with journalctl --follow -o json"
	case bytes.HasPrefix(line, []byte("\xff\xfe")), bytes.HasPrefix(line, []byte("\xfe\xff")):
		return "text in UTF-16; use scan"
	case bytes.HasPrefix(line, []byte("\x1f\x8b")), bytes.HasPrefix(line, []byte("\x28\xb5\x2f\xfd")), bytes.HasPrefix(line, []byte("PK\x03\x04")):
		return "it is compressed; use scan"
	}
	if s.Feeder != nil || l.opt.Format != "" {
		return ""
	}
	formats := l.formats()
	for i := range formats {
		if f := &formats[i]; f.Follow == nil && f.Sniff(line, false) >= sure {
			return "inputs of the format " + f.Name + " are read when they are complete; use scan"
		}
	}
	return ""
}

// formats are those that a source may be of.
func (l *Live) formats() []source.Format {
	if l.opt.Formats == nil {
		return Formats
	}
	return l.opt.Formats
}

// formatOf returns the format of a line where it is another one than that of the source, else nil.
func (l *Live) formatOf(s *Fed, line []byte) (*source.Format, error) {
	formats := l.formats()
	if l.opt.Format != "" {
		if s.Feeder != nil {
			return nil, nil
		}
		f, err := find(formats, l.opt.Format)
		if err == nil && f.Follow == nil {
			err = fmt.Errorf("cannot follow %s as %q: inputs of this format are read when they are complete; use scan", s.Input.Path, f.Name)
		}
		return f, err
	}
	var best *source.Format
	score := 0
	for i := range formats {
		f := &formats[i]
		if f.Follow == nil {
			continue
		}
		if n := f.Sniff(line, true); n > score || best == nil {
			best, score = f, n
		}
		if s.Feeder == nil && score == 0 {
			best = f // the last one takes any text
		}
	}
	if s.Feeder == nil {
		return best, nil
	}
	if s.Format == wire.Format.Name && wire.IsLine(line) {
		return nil, nil
	}
	now, err := find(formats, s.Format)
	if err != nil || best == nil || score < sure || now.Name == best.Name || now.Times != nil && best.Times != nil {
		return nil, nil
	}
	return best, nil
}

// sure is the score from which on a line shows that the source is of another format
// than it was. The formats with times are one reader, which decides line by line.
const sure = 40

// become makes a source be of a format from here on.
func (l *Live) become(s *Fed, f *source.Format) error {
	st := &s.Input.Stats
	if s.Feeder != nil {
		s.Feeder.End(s.Line)
		l.drain(s)
		st.Note("it became another kind of file: " + s.Format + " before, then " + f.Name)
	}
	feeder, err := f.Follow(s.Input, l.opt.Source)
	if err != nil {
		return err
	}
	s.Feeder, s.Format, st.Format = feeder, f.Name, f.Name
	if f.Times != nil { // where an empty line is a record too
		st.Records += s.Blank
		st.Ignored += s.Blank
	}
	s.Blank = 0
	return nil
}

// settle completes what waits for further lines of the source.
func (s *Fed) settle(l *Live) {
	if s.Feeder != nil {
		s.Feeder.Idle()
		l.drain(s)
	}
}

// drain takes over the events of a source.
func (l *Live) drain(s *Fed) {
	for e := s.Feeder.Next(); e != nil; e = s.Feeder.Next() {
		l.take(s, e)
	}
}

// take gives an event of a source its place in that source.
func (l *Live) take(s *Fed, e *event.Event) {
	if written := s.Input.Modified; written != 0 && e.Time.To > written+future {
		e.Time = event.Time{}
		s.Input.Stats.Note(futureNote)
	}
	if s.Woke {
		l.woke(s, e)
	}
	said := e.Time
	if s.Track.place(e, l.opt.Source.DomainOf, nil) {
		if len(l.Sources) > 1 {
			l.Views.see(e, said)
		}
		l.queue(s, e)
	}
	for h := s.Track.hole(); h != nil; h = s.Track.hole() {
		l.queue(s, h)
	}
}

// queue keeps a copy of an event until its place among all sources is decided.
func (l *Live) queue(s *Fed, e *event.Event) {
	l.Newest = max(l.Newest, e.Time.To)
	l.Silence = 0
	l.Held++
	switch {
	case s.Head == len(s.Wait):
		if cap(s.Wait) > maxSpare {
			s.Wait = nil
		}
		s.Wait, s.Head = s.Wait[:0], 0
	case s.Head > maxSpare && s.Head > len(s.Wait)/2:
		s.Wait, s.Head = slices.Delete(s.Wait, 0, s.Head), 0
	}
	n := len(s.Wait)
	if n < cap(s.Wait) {
		s.Wait = s.Wait[:n+1]
	} else {
		s.Wait = append(s.Wait, event.Event{})
	}
	to := &s.Wait[n]
	marks := append(to.RPC.Marks[:0], e.RPC.Marks...) // the feeder reuses them
	*to = *e
	to.RPC.Marks = marks
}

// maxSpare is how many events that were given out keep their room.
const maxSpare = 1 << 10
