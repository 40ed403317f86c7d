package logs

import (
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// reader yields the events of one log.
type reader struct {
	in     *source.Input
	stream io.ReadCloser
	lines  *lines.Reader
	parser *parser
	next   int // index in parser.queue
}

func newReader(stream io.ReadCloser, in *source.Input, opt source.Options) *reader {
	return &reader{in: in, stream: stream, lines: lines.New(stream, source.MaxRecord), parser: newParser(&in.Stats, opt)}
}

// Next returns the next event, valid until the following call, and io.EOF at the end.
func (r *reader) Next() (*event.Event, error) {
	for {
		if r.next < len(r.parser.queue) {
			e := &r.parser.queue[r.next]
			r.next++
			r.in.Stats.Events++
			return e, nil
		}
		r.next = 0
		if err := r.line(); err != nil {
			return nil, err
		}
	}
}

// line reads one line and queues its events.
func (r *reader) line() error {
	r.parser.queue = r.parser.queue[:0]
	b, err := r.lines.Next()
	stats := &r.in.Stats
	stats.Bytes = r.lines.Read()
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.lines.N(), Offset: r.lines.Offset()}
	switch {
	case errors.Is(err, lines.ErrTooLong):
		stats.Records++
		stats.Bad(at, "line is longer than 64 MiB and was skipped")
		return nil
	case err != nil:
		if r.parser.flush() {
			return nil
		}
		return err
	}
	stats.Records++
	switch fate, why := r.parser.line(b, at); fate {
	case used:
		stats.Used++
	case ignored:
		stats.Ignored++
	case malformed:
		stats.Bad(at, why)
	}
	return nil
}

func (r *reader) Close() error { return r.stream.Close() }
