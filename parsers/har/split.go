package har

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/isodetect/isodetect/parsers/exchange"
)

// splitter finds the members of log and the elements of log.entries in a stream,
// holding one of them at a time.
type splitter struct {
	br  *bufio.Reader
	off int64
	buf []byte
}

func newSplitter(r io.Reader) *splitter {
	return &splitter{br: bufio.NewReaderSize(r, 1<<20)}
}

// part is one member or element, valid until the next one is read.
type part struct {
	raw  []byte // nil if it was longer than the limit, or cut
	off  int64
	size int64
	cut  bool // the file ends inside
}

var errSyntax = errors.New("the text is no HTTP Archive")

// split calls member for each member of log but entries, and entry for each
// element of log.entries. It returns io.ErrUnexpectedEOF if the file is cut.
func (s *splitter) split(limit int, member func(key string, p part), entry func(p part)) error {
	return s.object(func(key string) error {
		if key != "log" {
			_, err := s.value(0)
			return err
		}
		return s.object(func(key string) error {
			if key == "entries" {
				return s.array(func() error {
					p, err := s.value(limit)
					if p.size > 0 {
						entry(p)
					}
					return err
				})
			}
			p, err := s.value(64 << 10)
			if err == nil && p.raw != nil {
				member(key, p)
			}
			return err
		})
	})
}

// object reads an object; f must read the value of each key.
func (s *splitter) object(f func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := s.peek()
		if err != nil {
			return err
		}
		switch {
		case c == '}':
			s.skip(1)
			return nil
		case c == ',' && !first:
			s.skip(1)
			continue
		case c != '"':
			return errSyntax
		}
		p, err := s.value(1 << 10)
		if err != nil {
			return err
		}
		key := string(bytes.Trim(p.raw, `"`))
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
	}
}

// array reads an array; f must read each element. An entries that is no array is skipped.
func (s *splitter) array(f func() error) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != '[' {
		_, err := s.value(0)
		return err
	}
	s.skip(1)
	for {
		c, err := s.peek()
		if err != nil {
			return err
		}
		switch c {
		case ']':
			s.skip(1)
			return nil
		case ',':
			s.skip(1)
			continue
		case '}', ':':
			return errSyntax
		}
		if err := f(); err != nil {
			return err
		}
	}
}

// peek returns the next byte that is no white space, without taking it.
func (s *splitter) peek() (byte, error) {
	for {
		b, err := s.br.Peek(1)
		if err != nil {
			return 0, cut(err)
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
			s.skip(1)
			continue
		}
		return b[0], nil
	}
}

func (s *splitter) skip(n int) {
	n, _ = s.br.Discard(n)
	s.off += int64(n)
}

func (s *splitter) expect(c byte) error {
	have, err := s.peek()
	if err != nil {
		return err
	}
	if have != c {
		return errSyntax
	}
	s.skip(1)
	return nil
}

// value reads one value and keeps up to limit bytes of it. At a cut it returns
// what there is with io.ErrUnexpectedEOF.
func (s *splitter) value(limit int) (part, error) {
	if _, err := s.peek(); err != nil {
		return part{}, err
	}
	p := part{off: s.off}
	var sc exchange.Scan
	s.buf = s.buf[:0]
	over := false
	for {
		if _, err := s.br.Peek(1); err != nil {
			p.size, p.cut = s.off-p.off, true
			return p, cut(err)
		}
		window, _ := s.br.Peek(s.br.Buffered())
		n, done := sc.Advance(window)
		if !over && len(s.buf)+n <= limit {
			s.buf = append(s.buf, window[:n]...)
		} else {
			over = true
			s.buf = s.buf[:0]
		}
		s.skip(n)
		if done {
			break
		}
	}
	p.size = s.off - p.off
	if !over {
		p.raw = s.buf
	}
	return p, nil
}

func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
