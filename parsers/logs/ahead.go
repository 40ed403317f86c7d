package logs

import (
	"errors"
	"io"

	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// ahead reads the lines of an input on a goroutine of its own, which also looks at
// each of them, while those before are parsed. It is at most a few chunks ahead and hands
// over what it has before it waits for the input.
type ahead struct {
	lines *lines.Reader
	skim  *skimmer // nil = every line is read whole
	full  chan *chunk
	empty chan *chunk
	quit  chan struct{} // nil until the first call to next
	cur   *chunk
	i     int // in cur.lines

	line   line // that next returned last
	values []valueSpan
	n      int64
}

// chunk is a number of lines in order, and what ended the reading behind them.
type chunk struct {
	buf    []byte
	lines  []line
	values []valueSpan
	quiet  int // index in lines of the first of a run of lines that tell nothing, -1 = the last line tells something
	err    error
}

// line is one line of an input.
type line struct {
	end    int   // in chunk.buf, where it begins behind the line before
	offset int64 // in the input
	read   int64 // bytes of the input up to here
	seen   glance
	shape  *shape // of a line of pairs that the parser has to read, nil = not known
	values int    // where in chunk.values those of the shape end
	run    int    // so many lines that tell nothing follow this one, which does not either
	long   bool   // it was longer than the limit and skipped
}

const (
	chunkBytes = 256 << 10
	chunkLines = 4096
	chunks     = 4 // one that is filled, one that is parsed, one between them
)

func newAhead(in io.Reader, skim *skimmer) *ahead {
	return &ahead{lines: lines.New(in, source.MaxRecord), skim: skim}
}

// next returns the next line, valid until the following call, and the error that
// ended the reading. What is known of the line is in a.line and a.n.
func (a *ahead) next() ([]byte, error) {
	if a.quit == nil {
		a.start()
	}
	for a.cur == nil || a.i == len(a.cur.lines) {
		if a.cur != nil {
			if a.cur.err != nil {
				return nil, a.cur.err
			}
			a.empty <- a.cur
		}
		a.cur, a.i = <-a.full, 0
	}
	from, values := 0, 0
	if a.i > 0 {
		from, values = a.cur.lines[a.i-1].end, a.cur.lines[a.i-1].values
	}
	a.line = a.cur.lines[a.i]
	a.values = a.cur.values[values:a.line.values]
	a.i++
	a.n++
	return a.cur.buf[from:a.line.end:a.line.end], nil
}

func (a *ahead) start() {
	a.full, a.empty, a.quit = make(chan *chunk, chunks), make(chan *chunk, chunks), make(chan struct{})
	for range chunks {
		a.empty <- &chunk{}
	}
	go a.run()
}

// stop ends the goroutine. The input must not be closed before.
func (a *ahead) stop() {
	if a.full != nil {
		close(a.quit)
		for range a.full { // until run has seen it
		}
	}
	a.quit, a.cur, a.i = make(chan struct{}), &chunk{err: io.EOF}, 0
}

// run fills chunks until the input ends or nobody empties them any more.
func (a *ahead) run() {
	defer close(a.full)
	c := a.take()
	a.lines.Filling(func() {
		if c != nil && len(c.lines) > 0 {
			c = a.pass(c)
		}
	})
	for c != nil {
		b, err := a.lines.Next()
		switch {
		case c == nil: // while the input was waited for
		case err != nil && !errors.Is(err, lines.ErrTooLong):
			c.err = err
			a.pass(c)
			return
		default:
			l := line{offset: a.lines.Offset(), read: a.lines.Read(), long: err != nil}
			if !l.long && a.skim != nil {
				if l.seen = a.skim.look(b); l.seen == pairs {
					l.shape = a.skim.shape
				}
			}
			if l.shape != nil {
				c.values = append(c.values, a.skim.shapes.values...)
			}
			l.values = len(c.values)
			c.add(b, l)
			if len(c.buf) >= chunkBytes || len(c.lines) >= chunkLines {
				c = a.pass(c)
			}
		}
	}
}

func (c *chunk) add(b []byte, l line) {
	c.buf = append(c.buf, b...)
	l.end = len(c.buf)
	switch {
	case l.seen != dull && l.seen != mute && l.seen != muteMCP:
		c.quiet = -1
	case c.quiet >= 0 && (l.seen != muteMCP || c.lines[c.quiet].seen == muteMCP):
		c.lines[c.quiet].run++
	default:
		c.quiet = len(c.lines)
	}
	c.lines = append(c.lines, l)
}

// skip passes over the run of lines that tell nothing behind the one that next returned
// last, and returns how many they are.
func (a *ahead) skip() (n int64) {
	if n = int64(a.line.run); n > 0 {
		a.i += int(n)
		a.n += n
		a.line = a.cur.lines[a.i-1]
	}
	return n
}

// pass hands a chunk over and takes an empty one, nil where there is no need for more.
func (a *ahead) pass(c *chunk) *chunk {
	select {
	case a.full <- c:
	case <-a.quit:
		return nil
	}
	return a.take()
}

func (a *ahead) take() *chunk {
	select {
	case c := <-a.empty:
		c.lines, c.values, c.quiet, c.err = c.lines[:0], c.values[:0], -1, nil
		if c.buf = c.buf[:0]; cap(c.buf) > 4*chunkBytes {
			c.buf = nil // give the room of a huge line back
		}
		return c
	case <-a.quit:
		return nil
	}
}
