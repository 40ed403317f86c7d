package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// splitter goes through JSON text value by value, holding one of them at a time.
type splitter struct {
	br   *bufio.Reader
	off  int64 // bytes taken
	line int64 // newlines taken
	edge bool  // what was taken last is a newline
	buf  []byte
	sc   scan
}

func newSplitter(r io.Reader) *splitter {
	return &splitter{br: bufio.NewReaderSize(r, 1<<18)}
}

// part is one value, valid until the next one is read.
type part struct {
	raw  []byte // nil if it was longer than the limit
	at   Address
	size int64
}

// syntaxError says where the text stops being JSON.
type syntaxError struct{ at Address }

func (e *syntaxError) Error() string {
	return fmt.Sprintf("the text at byte %d is no JSON", e.at.Offset)
}

func (s *splitter) here() Address { return Address{N: s.line + 1, Offset: s.off} }

func (s *splitter) bad() error { return &syntaxError{s.here()} }

// peek returns the next byte that is no white space, without taking it; its
// error is io.EOF or that of the input.
func (s *splitter) peek() (byte, error) {
	for {
		b, err := s.br.Peek(1)
		if err != nil {
			return 0, err
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n', 0:
			s.skip(b)
			continue
		}
		return b[0], nil
	}
}

// skip takes bytes that were peeked at.
func (s *splitter) skip(b []byte) {
	if len(b) == 0 {
		return
	}
	s.line += int64(bytes.Count(b, []byte("\n")))
	s.edge = b[len(b)-1] == '\n'
	n, _ := s.br.Discard(len(b))
	s.off += int64(n)
}

func (s *splitter) take() {
	b, _ := s.br.Peek(1)
	s.skip(b)
}

// object reads the object that comes; f must read the value of each key.
func (s *splitter) object(f func(key string) error) error {
	s.take()
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return cut(err)
		case c == '}' && first:
			s.take()
			return nil
		case c == '}':
			s.take()
			return nil
		case c == ',' && !first:
			s.take()
			if c, err = s.peek(); err != nil {
				return cut(err)
			}
		}
		if c != '"' {
			return s.bad()
		}
		p, err := s.value(1 << 10)
		if err != nil {
			return err
		}
		key := string(bytes.Trim(p.raw, `"`))
		if c, err = s.peek(); err != nil {
			return cut(err)
		}
		if c != ':' {
			return s.bad()
		}
		s.take()
		if err := f(key); err != nil {
			return err
		}
	}
}

// array reads the array that comes; f must read each element.
func (s *splitter) array(f func() error) error {
	s.take()
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return cut(err)
		case c == ']':
			s.take()
			return nil
		case c == ',' && !first:
			s.take()
		case c == ',' || !first:
			return s.bad()
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// value reads one value and keeps up to limit bytes of it.
func (s *splitter) value(limit int) (part, error) {
	if _, err := s.peek(); err != nil {
		return part{}, cut(err)
	}
	p := part{at: s.here()}
	s.sc = scan{open: s.sc.open[:0]}
	s.buf = s.buf[:0]
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	over := false
	for {
		if _, err := s.br.Peek(1); err != nil {
			p.size = s.off - p.at.Offset
			if s.sc.ends() && errors.Is(err, io.EOF) {
				break // a number at the very end
			}
			p.raw = s.buf
			return p, cut(err)
		}
		window, _ := s.br.Peek(s.br.Buffered())
		n, done, ok := s.sc.advance(window)
		if !over && len(s.buf)+n <= limit {
			s.buf = append(s.buf, window[:n]...)
		} else {
			over, s.buf = true, s.buf[:0]
		}
		s.skip(window[:n])
		if !ok {
			p.raw = s.buf
			return p, s.bad()
		}
		if done {
			break
		}
	}
	p.size = s.off - p.at.Offset
	if !over {
		p.raw = s.buf
	}
	return p, nil
}

// maxKept is how much room for one value is kept for the next.
const maxKept = 4 << 20

// resume goes to the next line that begins as a value at the top does, and
// reports whether there is one: what is broken does not take all behind it along.
func (s *splitter) resume() (bool, error) {
	for {
		if b, _ := s.br.Peek(2); s.edge && len(b) == 2 && (b[0] == '{' || b[0] == '[') {
			return true, nil
		}
		line, err := s.br.ReadSlice('\n')
		s.off += int64(len(line))
		s.line += int64(bytes.Count(line, []byte("\n")))
		s.edge = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
	}
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
