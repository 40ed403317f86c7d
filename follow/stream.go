package follow

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// stream is standard input or a named pipe: it has no end that could be looked at, so a
// goroutine waits for its bytes. It holds at most streamBlocks blocks, so that a pipe, which
// gives one at a time, is not read more slowly than looks come.
type stream struct {
	g      file // counts lines and holds the beginning of one
	full   chan []byte
	empty  chan []byte
	quit   chan struct{}
	once   sync.Once
	err    error // why it ended; valid once full is closed
	opened chan struct{}
	in     io.Reader // valid once opened is closed
}

const (
	streamBlock  = 64 << 10
	streamBlocks = 32
)

// openStream begins to read a stream; open may take until a writer comes.
func (f *Follower) startStream(name string, open func() (io.Reader, error)) *stream {
	t := &stream{g: file{name: name}, full: make(chan []byte, streamBlocks), empty: make(chan []byte, streamBlocks), quit: make(chan struct{}), opened: make(chan struct{})}
	for range streamBlocks {
		t.empty <- nil // made when it is needed
	}
	f.streams = append(f.streams, t)
	go t.run(open, f.arrived)
	return t
}

// openStream opens what is no regular file.
func (f *Follower) openStream(path string) *stream {
	return f.startStream(path, func() (io.Reader, error) { return os.Open(path) })
}

func (t *stream) run(open func() (io.Reader, error), arrived chan<- struct{}) {
	wake := func() {
		select {
		case arrived <- struct{}{}:
		default:
		}
	}
	defer wake() // to see that it is over
	defer close(t.full)
	in, err := open()
	if err != nil {
		t.err = err
		return
	}
	t.in = in
	close(t.opened)
	for {
		var buf []byte
		select {
		case buf = <-t.empty:
		case <-t.quit:
			return
		}
		if buf == nil {
			buf = make([]byte, streamBlock)
		}
		n, err := in.Read(buf)
		if n == 0 {
			t.empty <- buf
		} else {
			select {
			case t.full <- buf[:n]:
			case <-t.quit:
				return
			}
			wake() // once it is there to be taken
		}
		if err != nil {
			t.err = err
			return
		}
	}
}

// end lets the goroutine go, as soon as its reading returns.
func (t *stream) end() {
	t.once.Do(func() { close(t.quit) })
	select {
	case <-t.opened:
		if c, ok := t.in.(io.Closer); ok && t.in != os.Stdin {
			c.Close()
		}
	default:
	}
}

// readStream delivers what has arrived.
func (s *Source) readStream(h Handler) (busy bool, err error) {
	t, f := s.stream, s.follower
	for left := f.opt.Share; !s.done; {
		if left <= 0 {
			return true, nil
		}
		select {
		case data, ok := <-t.full:
			if !ok {
				return false, s.endStream(h)
			}
			left -= int64(len(data))
			s.came, s.idle, s.seen = f.now, false, true
			if err := s.take(&t.g, data, 0, h); err != nil {
				return false, fmt.Errorf("%s cannot be read again from line %d on: %w", s.Path, t.g.n+1, err)
			}
			t.empty <- data[:cap(data)]
			continue
		default:
		}
		break
	}
	if f.now.Sub(s.came) >= f.opt.Idle {
		if err := s.cut(&t.g, h); err != nil {
			return false, err
		}
	}
	s.rest(h)
	return false, nil
}

func (s *Source) endStream(h Handler) error {
	t := s.stream
	if err := s.cut(&t.g, h); err != nil {
		return err
	}
	s.done = true
	if t.err != nil && !errors.Is(t.err, io.EOF) {
		s.complain(fmt.Errorf("cannot read %s after byte %d: %w", s.Path, t.g.start, t.err))
	}
	if !s.idle {
		s.idle = true
		h.Idle(s)
	}
	return nil
}
