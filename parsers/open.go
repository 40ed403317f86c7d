package parsers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/isodetect/isodetect/parsers/rotation"
	"github.com/isodetect/isodetect/parsers/source"
)

// Options says how inputs are opened.
type Options struct {
	Formats []source.Format // nil = Formats
	Format  string          // the format of every input by name; "" = recognised by content
	Stdin   io.Reader       // what "-" reads
	Pipes   *Pipes          // keeps what comes once, for a second reading; nil = it is read once
	Joins   *Joins          // which domains are one server; nil = those that are named alike
	Source  source.Options

	// Of a Live alone.
	Lag     time.Duration // how long a writer is expected to hold lines back at least; 0 = 10 s, negative = lines come at once (Live)
	Reorder time.Duration // how much later than others a line may come and still be put in order; 0 = 2 s
	Idle    time.Duration // how long nothing came of a source when Idle is called; 0 = 2 s
}

// Set is the inputs of one run, sorted by path, so that the order of arguments
// and of directory entries does not matter.
type Set struct {
	Members []*Member
	Meter   *Meter
	Bytes   int64 // on disk of all that will be read; -1 = not known

	opt     source.Options
	pipes   *Pipes
	joins   *Joins
	roots   []*os.Root
	rotated []*rotated
}

// Member is one input and what became of it.
type Member struct {
	*source.Input
	Format *source.Format // nil = will not be read
	Score  int            // how sure the format is, 1 to 100
	SameAs string         // path of the input that held the same bytes already
	Err    error          // why it cannot be read at all

	real     string // where the path leads, to know it again
	skip     string // why it is left out unopened
	empty    bool   // there is nothing in it
	contents [sha256.Size]byte

	part    rotation.Part // what its name tells
	file    *logFile      // nil = it is alone
	rotated *rotated      // the log of which it is one file, nil = none
	partly  bool          // SameAs holds more than it
}

// Open finds the inputs of paths and recognises them. Each path is a file, a
// directory, or "-" for standard input. What cannot be opened is told by its
// Member; the error is about opt only. Close the Set after use.
func Open(ctx context.Context, paths []string, opt Options) (*Set, error) {
	if opt.Formats == nil {
		opt.Formats = Formats
	}
	var forced *source.Format
	if opt.Format != "" {
		f, err := find(opt.Formats, opt.Format)
		if err != nil {
			return nil, err
		}
		forced = f
	}
	s := &Set{Meter: NewMeter(ctx), opt: opt.Source, pipes: opt.Pipes, joins: opt.Joins}
	s.collect(paths, opt.Stdin)
	s.candidates()
	seen := contents{}
	for _, m := range s.Members {
		if m.Err != nil || m.skip != "" {
			continue
		}
		if m.Err = s.recognise(m, opt.Formats, forced, seen); m.Err != nil && errors.Is(m.Err, ErrInterrupted) {
			break
		}
	}
	if ctx.Err() == nil {
		s.join()
	}
	s.conclude()
	return s, nil
}

// conclude writes into the inputs what became of them and sums up their sizes.
func (s *Set) conclude() {
	for _, m := range s.Members {
		switch {
		case m.Err != nil:
			m.Stats.Err = m.Err.Error()
		case m.skip != "":
			m.Stats.Note("ignored: " + m.skip)
		case m.SameAs != "":
			m.Stats.Note("same_input_twice: " + m.same())
		case m.empty:
			m.Stats.Note("ignored: it is empty")
		case m.Format == nil:
			m.Stats.Note("ignored: not recognised as any format")
		case m.Size < 0 || s.Bytes < 0:
			s.Bytes = -1
		default:
			s.Bytes += m.Size
		}
	}
	s.Meter.read.Store(0)
}

// Finish fills in what formats left open. Call it after reading.
func (s *Set) Finish() {
	for _, m := range s.Members {
		o, ok := m.Opener.(interface{ decompressed() int64 })
		if ok && m.Format != nil && m.Stats.Bytes == 0 {
			m.Stats.Bytes = o.decompressed()
		}
	}
}

// Close releases what the Set holds open.
func (s *Set) Close() error {
	for _, r := range s.roots {
		r.Close()
	}
	s.roots = nil
	return nil
}

// Inputs returns the inputs in the order of their indexes.
func (s *Set) Inputs() []*source.Input {
	in := make([]*source.Input, len(s.Members))
	for i, m := range s.Members {
		in[i] = m.Input
	}
	return in
}

// Unreadable returns the error of the first input that stood on the command line
// and could not be opened or decoded at all, nil if there is none. Call it after reading.
func (s *Set) Unreadable() error {
	for _, m := range s.Members {
		if why := m.unread(); m.Named && why != "" {
			if m.tells(why) {
				return errors.New(why)
			}
			return fmt.Errorf("cannot read %s: %s", m.Path, why)
		}
	}
	return nil
}

// Nothing says that there was nothing in any of the inputs, "" if there was something.
func (s *Set) Nothing() string {
	for _, m := range s.Members {
		if !m.empty || m.Err != nil {
			return ""
		}
	}
	switch {
	case len(s.Members) == 0:
		return ""
	case len(s.Members) == 2:
		return "both inputs are empty"
	case len(s.Members) > 2:
		return fmt.Sprintf("all %d inputs are empty", len(s.Members))
	case s.Members[0].skip != "":
		return s.Members[0].Path + " is " + s.Members[0].skip
	case s.Members[0].Path == "-":
		return "standard input is empty"
	}
	return s.Members[0].Path + " is empty"
}

// Unopened says how many inputs found in directories could not be opened or
// decoded at all, and why the first could not; "" if all could. Call it after reading.
func (s *Set) Unopened() string {
	first, n := "", 0
	for _, m := range s.Members {
		why := m.unread()
		if m.Named || why == "" {
			continue
		}
		if n++; n == 1 {
			if first = why; !m.tells(why) {
				first = fmt.Sprintf("%s could not be read: %s", m.Path, why)
			}
		}
	}
	if n > 1 {
		return fmt.Sprintf("%d inputs could not be read; %s", n, first)
	}
	return first
}

// tells reports whether a reason names the input itself.
func (m *Member) tells(why string) bool {
	return strings.HasPrefix(why, "cannot read ") && strings.Contains(why, m.Path)
}

// unread says why nothing was read of an input, "" if something was or none was wanted.
func (m *Member) unread() string {
	switch {
	case m.Err != nil:
		return m.Err.Error()
	case m.Stats.Records == 0 && m.Stats.Events == 0:
		return m.Stats.Err
	}
	return ""
}
