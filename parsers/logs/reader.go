package logs

import (
	"bufio"
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// reader yields the events of one log, which may lie in several files.
type reader struct {
	files []*source.Input // still to be opened, the oldest first
	opt   source.Options

	in     *source.Input // the file that is read
	stream io.Closer
	lines  *ahead
	skim   *skimmer               // looks at the lines ahead of the parser, nil = every line is read whole
	export *envelope.ExportReader // instead of lines: a journal export is no text of lines
	parser *parser
	next   int // index in parser.queue

	several bool
	end     *ending // of the file that is read, where another follows it
	before  string  // path of the file before
	repeat  int64   // the bytes up to here are the end of the file before, written again
	broken  error   // what kept a file from being opened or read to its end
	over    bool    // nothing is left but what was still open
}

func newReader(stream io.ReadCloser, in *source.Input, opt source.Options) *reader {
	r := &reader{in: in, opt: opt, skim: newSkimmer(opt), parser: newParser(&in.Stats, opt)}
	r.parser.peel(in.Path)
	r.parser.turn(in)
	r.read(stream, stream)
	return r
}

// read begins to read a file.
func (r *reader) read(bytes io.Reader, stream io.Closer) {
	r.stream = stream
	from := bufio.NewReaderSize(bytes, 1<<12)
	r.lines, r.export = nil, nil
	if head, _ := from.Peek(64); envelope.IsExport(head) {
		r.export = envelope.NewExport(from, source.MaxRecord)
	} else {
		r.lines = newAhead(from, r.skim)
	}
}

// Next returns the next event, valid until the following call, and io.EOF at the end.
func (r *reader) Next() (*event.Event, error) {
	for {
		if e := r.parser.pop(&r.next); e != nil {
			return e, nil
		}
		if err := r.more(); err != nil {
			return nil, err
		}
	}
}

// more reads on by one line, entry or file; what it gave is in the queue.
func (r *reader) more() error {
	r.next = 0
	switch {
	case r.broken != nil:
		return r.leave(r.broken)
	case r.over:
		if r.parser.queue = r.parser.queue[:0]; r.parser.flush() {
			return nil
		}
		return io.EOF
	case r.export != nil:
		return r.entry()
	}
	return r.line()
}

// line reads one line and queues its events.
func (r *reader) line() error {
	r.parser.queue = r.parser.queue[:0]
	b, err := r.lines.next()
	if err != nil {
		return r.ended(err)
	}
	l := &r.lines.line
	stats := &r.in.Stats
	stats.Bytes = l.read
	stats.Records++
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.lines.n, Offset: l.offset}
	r.parser.row = at.N
	switch {
	case l.long:
		stats.Bad(at, "line is longer than 64 MiB and was skipped")
		return nil
	case at.Offset < r.repeat:
		stats.Ignored++
		stats.Repeated++
		return nil
	case r.parser.pass(b, l, r.lines.values):
		n := r.lines.skip()
		stats.Records += n
		stats.Ignored += 1 + n
		stats.Bytes, r.parser.row = r.lines.line.read, r.lines.n
		return nil
	}
	r.parser.feed(b, at)
	return nil
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
		r.parser.count(malformed, err.Error()+"; it was skipped", at, records)
	case err != nil:
		return r.ended(err)
	default:
		stats.Records += records
		f, why := r.parser.entry(r.export, at)
		r.parser.count(f, why, at, records)
	}
	return nil
}

// ended goes on to the next file, or reads what was still open when the last one ended.
func (r *reader) ended(err error) error {
	switch eof := errors.Is(err, io.EOF); {
	case r.several && !eof:
		return r.leave(err)
	case len(r.files) > 0:
		r.broken = r.turn()
		return nil
	case r.parser.flush():
		return nil
	}
	if r.parser.user != nil {
		r.parser.user.unmatched(&r.in.Stats)
	}
	return err
}

// Close stops the reading and closes the file that is read.
func (r *reader) Close() error {
	if r.stream == nil {
		return nil
	}
	if r.lines != nil {
		r.lines.stop()
	}
	err := r.stream.Close()
	r.stream = nil
	return err
}
