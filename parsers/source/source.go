// Package source is the contract between the inputs, the formats and the
// engine: what an input is, what a format is, and how events are read.
package source

import (
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pattern"
)

// Format is one input format as a value. Adding a format means adding one value
// to the list in package parsers.
type Format struct {
	Name    string // as in the report and --input-format
	Title   string // one line for `isodetect formats`
	Checked string // "real": the fixture was written by the real tool; "docs": from documentation only
	Carries string // which signals it can carry, one line for `isodetect formats`
	Forms   []Form // shapes of lines within the format that are told apart, for `isodetect formats`
	Group   bool   // all inputs of this format in one run are one recording and are opened together

	// Sniff scores how sure the beginning of an input is of this format: 0 = not, 100 = certain.
	// head holds up to 64 KiB after decompression; all says that it is the whole input.
	Sniff func(head []byte, all bool) int

	// Times returns the times, in ns, that the records in a piece of an input say, in
	// their order. It is nil for a format whose inputs cannot be files of one rotated
	// log; otherwise such files are opened together, the oldest first.
	Times func(piece []byte, in *Input, opt Options) []int64

	// Follow starts to take a log line by line while it is written. It is nil for a
	// format that cannot be read so.
	Follow func(in *Input, opt Options) (Feeder, error)

	// Open starts reading. For a format with neither Group nor Times, len(in) is 1.
	Open func(in []*Input, opt Options) (Reader, error)
}

// Form is one shape of lines within a format.
type Form struct {
	Name, Title string
	Checked     string // as in Format
	Carries     string // what its lines tell
}

// Options is what a user may say about inputs.
type Options struct {
	AssumeUTCOffset int                                      // seconds east of UTC for stamps without a zone
	ZoneGiven       bool                                     // the user gave --assume-tz
	TLSKeys         *keylog.Log                              // secrets of TLS connections; nil = none
	DomainOf        func(source, server, path string) string // --domain NAME=GLOB; nil or "" = default key
	Patterns        *pattern.Set                             // --patterns: the user's own wordings of log lines; nil = none
	Suggest         *pattern.Suggestions                     // is told the wordings of log lines that were not understood; nil = nobody is
}

// Reader yields the events of one source in source order.
type Reader interface {
	// Next returns the next event, valid until the following call, and io.EOF at
	// the end. Malformed records are counted and located in Input.Stats and never
	// end the reading; another error does, and what was read before it counts.
	Next() (*event.Event, error)
	Close() error
}

// Input is one opened input: a file, a member of a directory, or standard input.
// Path and Index are set before a format sees it.
type Input struct {
	Path  string // as the report shows it; "-" for standard input
	Index int32  // event.Address.Source
	Named bool   // stood on the command line itself, not in a directory
	Size  int64  // bytes on disk, -1 unknown
	// Modified is when the file was last written, in ns since 1970, 0 = not known. Times
	// without a date are counted back from it.
	Modified int64
	Log      string // path of the rotated log of which the input is one file; "" = of none
	Missing  string // what of that log is not there between the file before and this one; "" = nothing that is known of
	Ahead    int64  // ns by which its clock was put back, to that of the recording that it is joined with
	Opener
	Stats Stats
}

// Opener gives the bytes of an input, decompressed.
type Opener interface {
	// Stream returns the bytes once, from the beginning.
	Stream() (io.ReadCloser, error)
	// Random returns the bytes for reading in any order, with their number. What
	// cannot be read so (compressed files, standard input) is spooled to a temporary file,
	// which Close removes.
	Random() (RandomReader, int64, error)
}

// RandomReader is an io.ReaderAt that must be closed.
type RandomReader interface {
	io.ReaderAt
	io.Closer
}

// ErrInterrupted ends the reading of an input when the run is interrupted. What
// was read before counts.
var ErrInterrupted = errors.New("interrupted")

// Stats counts what happened to the records of one input:
// Records = Used + Ignored + Malformed.
type Stats struct {
	Format    string
	Wrappers  []string
	Bytes     int64
	Records   int64
	Used      int64 // gave at least one event or belonged to a message that did
	Ignored   int64 // well-formed, nothing about MCP
	Malformed int64
	Repeated  int64 // of Ignored: read before: the end of the file before, in a rotated log; packets of a capture that it holds twice
	Conns     int64 // TCP connections that a capture holds, of any kind; one in several files counts in the first
	Events    int64
	Gaps      int64
	First     int64 // event time of the first and last stamped record, ns; 0 = none
	Last      int64
	BackSteps int64       // stamps earlier than the one before, clamped
	Late      int64       // events that came when later ones had been told: their time is an interval up to then
	Err       string      // why the input could not be read at all, or only up to a point; "" = it was
	Facts     event.Facts // what the lines of a log tell
	Notes     []string
	Problems  []Problem    // the first MaxProblems malformed records
	Patterns  []PatternUse // of logs read with --patterns: what each was good for
}

// PatternUse is how many lines of an input one pattern of the user claimed.
type PatternUse struct {
	Name  string
	Row   int // where it stands in its file
	Lines int64
}

// Problem is one located defect of an input.
type Problem struct {
	At   event.Address
	Text string // what is wrong there and what happened to it
}

// MaxProblems bounds Stats.Problems and Stats.Notes.
const MaxProblems = 20

// Bad counts a malformed record and keeps the first ones with their address.
func (s *Stats) Bad(at event.Address, text string) {
	s.Malformed++
	s.Flaw(at, text)
}

// Flaw keeps a located defect of a record that is counted elsewhere.
func (s *Stats) Flaw(at event.Address, text string) {
	if len(s.Problems) < MaxProblems {
		s.Problems = append(s.Problems, Problem{At: at, Text: text})
	}
}

// Note adds a remark about the whole input, once.
func (s *Stats) Note(text string) {
	for _, n := range s.Notes {
		if n == text {
			return
		}
	}
	if len(s.Notes) < MaxProblems {
		s.Notes = append(s.Notes, text)
	}
}

// Stamp widens the time span and counts back-steps.
func (s *Stats) Stamp(ns int64) {
	if ns == 0 {
		return
	}
	if s.First == 0 || ns < s.First {
		s.First = ns
	}
	if ns > s.Last {
		s.Last = ns
	}
}

// Limits that hold for every input (DESIGN, "Limits that hold everywhere").
const (
	MaxRecord    = 64 << 20 // bytes of one line, entry or message body
	MaxRatio     = 1000     // decompression ratio, checked past MaxInflated
	MaxInflated  = 64 << 20
	HeadForSniff = 64 << 10
)
