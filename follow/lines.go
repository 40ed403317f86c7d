package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// block is how many bytes are asked of a file at a time.
const block = 256 << 10

// read takes the next block of g. What it takes is less than asked where the file
// ends; ended says so.
func (s *Source) read(g *file, h Handler) (taken int64, ended bool, err error) {
	f := s.follower
	pos := g.pos()
	if u := g.packed; u != nil && pos-u.at > block { // on the way to where it goes on
		var b [1]byte
		to := min(pos-tailLen, u.at+block)
		if _, err := u.ReadAt(b[:], to); err != nil {
			return 0, false, &readError{err}
		}
		return block, false, nil
	}
	var want [tailLen]byte
	before := g.before(want[:])
	if g.hole > 0 {
		before = nil
	}
	k := len(before)
	n, err := g.content().ReadAt(f.buf[:k+block], pos+g.hole-int64(k))
	if err != nil && err != io.EOF && n <= k {
		return 0, false, &readError{err}
	}
	if !alike(before, f.buf[:min(k, n)]) { // truncated since it was looked at
		return 0, false, errTruncated
	}
	ended = n < k+block
	data := f.buf[k:n]
	taken = int64(len(data))
	if g.hole > 0 || taken > 0 && data[taken-1] == 0 {
		if data, err = s.passHole(g, data, ended, h); err != nil || len(data) == 0 {
			return taken, ended, err
		}
		k = len(g.before(f.buf))
		copy(f.buf[k:], data)
	}
	if len(data) == 0 {
		return 0, ended, nil
	}
	return taken, ended, s.take(g, f.buf[:k+len(data)], k, h)
}

var errTruncated = errors.New("truncated")

// passHole keeps NUL bytes at the end of a block until others follow. Once they do,
// NUL bytes of more than a block are no part of any line.
func (s *Source) passHole(g *file, data []byte, ended bool, h Handler) ([]byte, error) {
	content := withoutNUL(data)
	switch {
	case g.hole == 0 && len(content) > 0:
		return content, nil // the NUL bytes behind it are read again
	case len(content) == 0:
		if !ended {
			g.hole += int64(len(data))
		}
		return nil, nil
	}
	data = content
	if err := s.cut(g, h); err != nil {
		return nil, err
	}
	lead := len(data) - len(bytes.TrimLeft(data, "\x00"))
	g.start += g.hole + int64(lead)
	g.hole, g.tail, g.dangling = 0, nil, false
	return data[lead:], nil
}

// take delivers the lines of buf[k:]; buf[:k] is what stands before them.
func (s *Source) take(g *file, buf []byte, k int, h Handler) error {
	began, data := g.pos(), buf[k:]
	defer func() {
		if g.start > began {
			done := buf[:k+int(g.start-began)]
			g.tail = append(g.tail[:0], done[max(0, len(done)-tailLen):]...)
		}
	}()
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			s.hold(g, data[at:])
			return nil
		}
		line, offset := data[at:at+i], g.start
		if len(g.held) > 0 {
			s.held(g, line)
			line = g.held
		}
		if g.tooLong > 0 {
			s.tooLong(g, g.tooLong+int64(len(line)), h)
		} else if err := s.line(g, line, offset, h); err != nil {
			s.release(g)
			return err
		}
		s.release(g)
		at += i + 1
		g.start = began + int64(at)
	}
}

// hold keeps the beginning of a line.
func (s *Source) hold(g *file, rest []byte) {
	if g.tooLong > 0 {
		g.tooLong += int64(len(rest))
		return
	}
	s.held(g, rest)
	limit := s.follower.opt.MaxLine
	if s.follower.held > s.follower.opt.MaxHeld {
		limit = min(limit, block)
	}
	if len(g.held) > limit {
		n := int64(len(g.held))
		s.release(g)
		g.tooLong = n
	}
}

func (s *Source) held(g *file, b []byte) {
	g.held = append(g.held, b...)
	s.follower.held += int64(len(b))
}

// release gives up what is held, and the room of a long line.
func (s *Source) release(g *file) {
	s.follower.held -= int64(len(g.held))
	g.held, g.tooLong = g.held[:0], 0
	if cap(g.held) > 4<<10 {
		g.held = nil
	}
}

// line delivers one line.
func (s *Source) line(g *file, line []byte, offset int64, h Handler) error {
	if offset == 0 && bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
		line, offset = line[3:], 3
	}
	for len(line) > 0 && line[0] == 0 {
		line = line[1:]
		offset++
	}
	for len(line) > 0 && (line[len(line)-1] == 0 || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if g.dangling && len(line) == 0 { // the end of the line that was delivered without it
		g.dangling = false
		return nil
	}
	if len(line) > s.follower.opt.MaxLine {
		s.tooLong(g, int64(len(line)), h)
		return nil
	}
	if err := h.Line(s, line, g.n+1, offset); err != nil {
		return err
	}
	g.n++
	g.dangling = false
	return nil
}

func (s *Source) tooLong(g *file, n int64, h Handler) {
	g.n++
	g.dangling = false
	h.Lost(s, n, fmt.Sprintf("line %d of %s is longer than %d bytes", g.n, g.name, s.follower.opt.MaxLine))
}

// cut delivers what is held as a line, though its end did not come.
func (s *Source) cut(g *file, h Handler) error {
	if g.tooLong > 0 {
		n := g.tooLong
		s.tooLong(g, n, h)
		g.start, g.tail = g.start+n, nil
		g.dangling = true
	} else if len(g.held) > 0 {
		if err := s.line(g, g.held, g.start, h); err != nil {
			return err
		}
		var tail [tailLen]byte
		g.tail = slices.Clone(g.before(tail[:]))
		g.start += int64(len(g.held))
		g.dangling = true
	}
	s.release(g)
	return nil
}

// readError is an error of a file, not of the handler.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }
