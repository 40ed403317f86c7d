package logs

import (
	"bufio"
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// reader yields the events of one log.
type reader struct {
	in     *source.Input
	stream io.ReadCloser
	lines  *ahead
	export *envelope.ExportReader // instead of lines: a journal export is no text of lines
	parser *parser
	next   int // index in parser.queue
}

func newReader(stream io.ReadCloser, in *source.Input, opt source.Options) *reader {
	r := &reader{in: in, stream: stream, parser: newParser(&in.Stats, opt)}
	r.parser.peel(in.Path)
	from := bufio.NewReaderSize(stream, 1<<12)
	if head, _ := from.Peek(64); envelope.IsExport(head) {
		r.export = envelope.NewExport(from, source.MaxRecord)
	} else {
		r.lines = newAhead(from, opt)
	}
	return r
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
		read := r.line
		if r.export != nil {
			read = r.entry
		}
		if err := read(); err != nil {
			return nil, err
		}
	}
}

// line reads one line and queues its events.
func (r *reader) line() error {
	r.parser.queue = r.parser.queue[:0]
	b, err := r.lines.next()
	if err != nil {
		return r.end(err)
	}
	l := &r.lines.line
	stats := &r.in.Stats
	stats.Bytes = l.read
	stats.Records++
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.lines.n, Offset: l.offset}
	switch {
	case l.long:
		stats.Bad(at, "line is longer than 64 MiB and was skipped")
		return nil
	case r.parser.pass(b, l.seen, at):
		stats.Ignored++
		return nil
	}
	fate, why := r.parser.line(b, at)
	r.count(fate, why, at, 1)
	return nil
}

// count counts the records that one fate befell.
func (r *reader) count(f fate, why string, at event.Address, records int64) {
	switch stats := &r.in.Stats; f {
	case used:
		stats.Used += records
	case ignored:
		stats.Ignored += records
	case malformed:
		stats.Malformed += records - 1
		stats.Bad(at, why)
	}
}

// entry reads one entry of a journal export; each of its lines is a record.
func (r *reader) entry() error {
	r.parser.queue = r.parser.queue[:0]
	err := r.export.Next()
	stats, records := &r.in.Stats, int64(r.export.Lines())
	stats.Bytes = r.export.Read()
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.export.At().N, Offset: r.export.At().Offset}
	switch {
	case errors.Is(err, envelope.ErrEntry):
		stats.Records += records
		r.count(malformed, err.Error()+"; it was skipped", at, records)
	case err != nil:
		return r.end(err)
	default:
		stats.Records += records
		f, why := r.parser.entry(r.export, at)
		r.count(f, why, at, records)
	}
	return nil
}

// end reads what was still open when the input ended.
func (r *reader) end(err error) error {
	if r.parser.flush() {
		return nil
	}
	return err
}

// Close stops the reading and closes the input.
func (r *reader) Close() error {
	if r.lines != nil {
		r.lines.stop()
	}
	return r.stream.Close()
}
