// Package lines reads an input line by line in blocks, without copying a line
// and without a limit that a long line could turn into an error for the rest.
package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Block is how many bytes are asked of the input at a time. Between 256 KiB and
// 1 MiB the reading costs the least.
const Block = 1 << 20

// ErrTooLong is returned for a line that was longer than the limit. The line was
// skipped; N and Offset give its place, and the next call goes on behind it.
var ErrTooLong = errors.New("line is too long")

// Reader yields the lines of an input.
type Reader struct {
	in    io.Reader
	limit int

	buf        []byte
	start, end int   // unread bytes are buf[start:end]
	base       int64 // offset of buf[0] in the input
	eof        bool
	err        error // of the input, kept until the bytes before it were given out

	filling func()

	n       int64
	offset  int64
	partial bool
	began   bool
	cr      bool // the lines end with CR alone
}

// New returns a Reader of in. Lines of more than limit bytes are skipped.
func New(in io.Reader, limit int) *Reader {
	return &Reader{in: in, limit: limit, buf: make([]byte, Block)}
}

// Filling has f called before the input is asked for more bytes, which may take a
// while: what was returned until then should not be kept waiting.
func (r *Reader) Filling(f func()) { r.filling = f }

// N is the number of the line that Next returned last, counted from 1.
func (r *Reader) N() int64 { return r.n }

// Offset is where the line that Next returned last begins, in bytes of the
// input. Leading NUL bytes and a byte order mark are skipped and do not belong to the line.
func (r *Reader) Offset() int64 { return r.offset }

// Partial reports that the line that Next returned last has no newline: it may
// still be written to.
func (r *Reader) Partial() bool { return r.partial }

// Read is how many bytes of the input have been given out as lines.
func (r *Reader) Read() int64 { return r.base + int64(r.start) }

// Next returns the next line without its line end (LF, CRLF, or CR where the
// first Block of the input holds no LF) and without
// the runs of NUL bytes that a truncated log file begins or ends with. The line
// is valid until the following call. It returns io.EOF at the end, ErrTooLong
// for a line that was skipped, and otherwise the error of the input.
func (r *Reader) Next() ([]byte, error) {
	for scanned := 0; ; {
		if i := r.lineEnd(r.buf[r.start+scanned : r.end]); i >= 0 {
			line := r.buf[r.start : r.start+scanned+i]
			return r.take(line, len(line)+1, false)
		}
		scanned = r.end - r.start
		if r.n == 0 && !r.cr && (r.eof || scanned >= Block) && r.onlyCR(scanned) {
			scanned = 0
			continue
		}
		if scanned > r.limit {
			return nil, r.skip()
		}
		if r.eof {
			if scanned > 0 {
				return r.take(r.buf[r.start:r.end], scanned, true)
			}
			if r.err != nil {
				return nil, fmt.Errorf("cannot read on at byte %d: %w", r.Read(), r.err)
			}
			return nil, io.EOF
		}
		r.fill()
	}
}

// onlyCR reports, once no LF was found, whether the lines end with CR alone.
func (r *Reader) onlyCR(unread int) bool {
	k := bytes.IndexByte(r.buf[r.start:r.start+min(unread, Block)], '\r')
	r.cr = k >= 0 && k+1 < unread
	return r.cr
}

// lineEnd returns where the first line end stands, or -1.
func (r *Reader) lineEnd(b []byte) int {
	if r.cr {
		return bytes.IndexAny(b, "\r\n")
	}
	return bytes.IndexByte(b, '\n')
}

// take gives out a line of which size bytes are used up.
func (r *Reader) take(line []byte, size int, partial bool) ([]byte, error) {
	r.n++
	r.partial = partial
	r.offset = r.Read()
	r.start += size
	if len(line) > r.limit {
		return nil, ErrTooLong
	}
	if !r.began {
		r.began = true
		if bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
			line = line[3:]
			r.offset += 3
		}
	}
	for len(line) > 0 && line[0] == 0 {
		line = line[1:]
		r.offset++
	}
	for len(line) > 0 && (line[len(line)-1] == 0 || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line, nil
}

// skip drops the bytes up to the next newline, or to the end.
func (r *Reader) skip() error {
	r.n++
	r.partial, r.began = false, true
	r.offset = r.Read()
	for {
		if i := r.lineEnd(r.buf[r.start:r.end]); i >= 0 {
			r.start += i + 1
			return ErrTooLong
		}
		r.start = r.end
		if r.eof {
			r.partial = true
			return ErrTooLong
		}
		r.fill()
	}
}

// fill reads more bytes behind those that are unread, and makes room for them.
func (r *Reader) fill() {
	if r.filling != nil {
		r.filling()
	}
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.base += int64(r.start)
		r.end -= r.start
		r.start = 0
	}
	switch {
	case r.end == 0 && len(r.buf) > 4*Block:
		r.buf = make([]byte, Block) // give the room of a huge line back
	case r.end == len(r.buf):
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for tries := 0; tries < 100; tries++ {
		n, err := r.in.Read(r.buf[r.end:])
		r.end += n
		if err != nil {
			r.eof = true
			if err != io.EOF {
				r.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	r.eof, r.err = true, io.ErrNoProgress
}
