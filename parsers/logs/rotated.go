package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// A rotated log is one log in several files, which are read one after another: one
// is open at a time, and what the parser keeps between lines goes on from file to
// file. What a file repeats of the end of the one before, because the copy was made
// while the server went on writing, is read once.

// turn closes the file that was read and opens the next one.
func (r *reader) turn() error {
	r.Close() // from here on nobody reads ahead
	var last []byte
	if r.in != nil {
		r.before = r.in.Path
		last = r.end.bytes()
	}
	r.in, r.files, r.end, r.repeat = r.files[0], r.files[1:], nil, 0
	if r.parser.peeler == nil {
		r.parser.peel(r.in.Path)
	}
	r.parser.turn(r.in)
	if r.in.Missing != "" {
		r.gap(event.Address{Source: r.in.Index, Unit: event.UnitLine, N: 1}, r.in.Missing)
	}
	stream, err := r.in.Stream()
	if err != nil {
		return err
	}
	from := io.Reader(stream)
	if len(last) > 0 {
		from = r.repeated(from, last)
	}
	if len(r.files) > 0 {
		r.end = &ending{from: from}
		from = r.end
	}
	r.read(from, stream)
	return nil
}

// leave goes on behind a file that could not be opened or read to its end. What it
// would have said is missing in every domain of the log.
func (r *reader) leave(err error) error {
	r.broken = nil
	if errors.Is(err, source.ErrInterrupted) || !r.several {
		return err
	}
	r.in.Stats.Err = err.Error()
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, Offset: -1}
	if r.stream != nil && r.export == nil {
		at.N, at.Offset = r.lines.n, r.lines.line.offset
	}
	r.parser.queue = r.parser.queue[:0]
	r.gap(at, "a file of the log breaks off: "+err.Error())
	if len(r.files) == 0 {
		r.over = true
		return nil
	}
	r.broken = r.turn()
	return nil
}

// gap leaves a gap in every domain of the log.
func (r *reader) gap(at event.Address, why string) {
	r.in.Stats.Gaps++
	r.parser.queue = append(r.parser.queue, event.Event{Kind: event.Gap, At: at, Loss: event.LossTime, Note: why})
}

// repeated looks whether a file begins with the end of the one before. What was
// read of it for that comes first in the stream that is returned.
func (r *reader) repeated(from io.Reader, last []byte) io.Reader {
	first, err := make([]byte, len(last)), error(nil)
	n := 0
	for n < len(first) && err == nil {
		var k int
		k, err = from.Read(first[n:])
		n += k
	}
	first = first[:n]
	rest := from
	if err != nil {
		rest = failing{err}
	}
	from = io.MultiReader(bytes.NewReader(first), rest)
	if envelope.IsExport(first) || envelope.IsExport(last) {
		return from
	}
	cut := overlap(last, first)
	if cut == 0 || !r.tellsTime(first[:cut]) {
		return from
	}
	r.repeat = int64(cut)
	n = bytes.Count(first[:cut], []byte{'\n'})
	if first[cut-1] != '\n' {
		n++
	}
	what := fmt.Sprintf("the first %d lines are the last", n)
	if n == 1 {
		what = "the first line is the last"
	}
	r.in.Stats.Note("same_input_twice: " + what + " of " + r.before + " and were read once")
	return from
}

// failing gives the error that ended the reading.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// tellsTime reports whether a repeated piece shows by its times that it is the same
// piece, and not lines that are written again and again.
func (r *reader) tellsTime(piece []byte) bool {
	n := len(times(piece, r.in, r.opt))
	return n >= 3 || n > 0 && fine(piece)
}

// fine reports a time of day with a fraction: hh:mm:ss.sss.
func fine(piece []byte) bool {
	for i := 8; i+1 < len(piece); i++ {
		if (piece[i] == '.' || piece[i] == ',') && isDigit(piece[i+1]) && piece[i-3] == ':' && piece[i-6] == ':' && digits(piece, i-2, 2) {
			return true
		}
	}
	return false
}

// ending keeps the last bytes that were read of a file.
type ending struct {
	from io.Reader
	buf  []byte
}

// maxEnding is how much of the end of a file a following file may repeat.
const maxEnding = 1 << 20

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	e.buf = append(e.buf, b[:n]...)
	if over := len(e.buf) - maxEnding; over > maxEnding {
		e.buf = append(e.buf[:0], e.buf[over:]...)
	}
	return n, err
}

func (e *ending) bytes() []byte {
	if e == nil {
		return nil
	}
	return e.buf[max(0, len(e.buf)-maxEnding):]
}

// overlap is how many bytes of whole lines first begins with that last ends with.
func overlap(last, first []byte) int {
	line, _, _ := bytes.Cut(first, []byte{'\n'})
	if len(line) == 0 || !bytes.Contains(last, line) {
		return 0
	}
	// The longest beginning of first that ends last, by the failure table of Knuth,
	// Morris and Pratt: its time does not grow with how often lines repeat.
	fail := make([]int32, len(first)+1)
	fail[0] = -1
	for i, k := 0, int32(-1); i < len(first); {
		for k >= 0 && first[i] != first[k] {
			k = fail[k]
		}
		i++
		k++
		fail[i] = k
	}
	k := int32(0)
	for _, c := range last {
		for k >= 0 && (int(k) == len(first) || first[k] != c) {
			k = fail[k]
		}
		k++
	}
	for ; k > 0; k = fail[k] {
		from := len(last) - int(k)
		if from > 0 && last[from-1] != '\n' {
			continue
		}
		switch cut := int(k); {
		case cut == len(first) || first[cut-1] == '\n':
			return cut
		case first[cut] == '\n':
			return cut + 1
		default: // the copy ends inside a line
			if whole := bytes.LastIndexByte(first[:cut], '\n') + 1; whole > 0 {
				return whole
			}
		}
	}
	return 0
}
