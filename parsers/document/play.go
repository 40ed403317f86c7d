package document

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// Record is one record as a line.
type Record struct {
	Line  []byte // valid until the next call
	Raw   []byte // as it stands in the document; valid until the next call
	At    Address
	Phase Phase
	Time  int64 // ns, of this moment of the record; 0 = not known
	Again bool  // a copy of a record that was given out before
	Tied  bool  // another record has the same time, and nothing says which came first
}

// Reader gives out the records of a document in the order of their times.
type Reader struct {
	*Index
	ra   io.ReaderAt
	size int64
	next int

	window []byte
	from   int64
	line   []byte
	ends   map[int32]string // the brackets that close a frame
	rows   rowReader
}

// NewReader returns a reader of the records of an index in the document that it is of.
func NewReader(x *Index, ra io.ReaderAt, size int64) *Reader {
	return &Reader{Index: x, ra: ra, size: size, ends: map[int32]string{}}
}

// Span returns the first and the last time in the document, 0 if there is none.
func (r *Reader) Span() (first, last int64) {
	for i := range r.entries {
		if t := r.entries[i].time; t != 0 {
			if first == 0 {
				first = t
			}
			last = t
		}
	}
	return first, last
}

// Next reads the next record. It returns io.EOF at the end.
func (r *Reader) Next(rec *Record) error {
	if r.next == len(r.entries) {
		return io.EOF
	}
	e := &r.entries[r.next]
	r.next++
	raw, err := r.read(e.off, int(e.size))
	if err != nil {
		return fmt.Errorf("cannot read the record at byte %d again: %w", e.off, err)
	}
	*rec = Record{Raw: raw, At: Address{N: e.line, Offset: e.off}, Phase: e.phase, Time: e.time, Again: e.again, Tied: e.tied}
	rec.Line, err = r.lineOf(raw, e)
	return err
}

// lineOf is the line that the store would have written for a record alone.
func (r *Reader) lineOf(raw []byte, e *entry) ([]byte, error) {
	r.line = r.line[:0]
	if cap(r.line) > maxKept {
		r.line = nil
	}
	if r.kind.rows {
		fields, err := r.rows.fields(raw)
		if err != nil {
			return nil, fmt.Errorf("cannot take the row at byte %d apart: %w", e.off, err)
		}
		r.line = r.plan.line(r.line, fields)
		return r.line, nil
	}
	frame := r.frames.text(e.frame)
	if r.kind.plain || e.phase == Whole && frame == "" {
		return raw, nil
	}
	if e.phase != Whole { // which of its two moments this is
		moment := "end"
		if e.phase == Begin {
			moment = "begin"
		}
		r.line = append(append(r.line, `{"isodetect.moment":"`...), moment...)
		r.line = append(strconv.AppendInt(append(r.line, `","isodetect.time":"`...), e.time, 10), `",`...)
		if frame == "" {
			r.line = append(r.line, raw[1:]...)
			return r.line, nil
		}
		frame = frame[1:]
	}
	r.line = append(append(r.line, frame...), raw...)
	end, ok := r.ends[e.frame]
	if !ok {
		end = string(closing(nil, r.frames.text(e.frame)))
		r.ends[e.frame] = end
	}
	r.line = append(r.line, end...)
	return r.line, nil
}

// block is how much is read at a time.
const block = 256 << 10

// read returns bytes of the document, valid until the next call. Records that lie
// beside each other, forwards or backwards, are read once.
func (r *Reader) read(off int64, n int) ([]byte, error) {
	if off < r.from || off+int64(n) > r.from+int64(len(r.window)) {
		from := off
		if off < r.from {
			from = max(0, off+int64(n)-block) // going backwards
		}
		want := max(block, int(off-from)+n)
		if cap(r.window) < want || cap(r.window) > maxKept && want <= maxKept {
			r.window = make([]byte, want)
		}
		r.window = r.window[:min(int64(want), r.size-from)]
		if _, err := r.ra.ReadAt(r.window, from); err != nil && err != io.EOF {
			r.window = r.window[:0]
			return nil, err
		}
		r.from = from
	}
	i := int(off - r.from)
	raw := r.window[i : i+n : i+n]
	if r.kind.plain { // a line is indented for a reason
		return bytes.TrimRight(raw, "\r\n"), nil
	}
	return bytes.Trim(raw, " \t\r\n"), nil
}
