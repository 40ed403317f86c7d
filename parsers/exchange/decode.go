package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// decoder undoes content-encoding (RFC 9110 §8.4.1) as pieces arrive. The
// libraries pull from a reader; a coroutine that yields whenever its reader runs
// dry turns that into pushing, without goroutines and without waiting for the end.
type decoder struct {
	sink sink
	next func() ([]byte, bool)
	stop func()
	feed feed
	err  error // that ended the coroutine; io.EOF is a clean end
	in   int64
	out  int64
	done bool
}

// sink takes decoded bytes, valid during the call, and reports whether it wants more.
type sink interface{ plain(p []byte) bool }

const maxCodings = 3

// newDecoder makes a decoder for the codings of a Content-Encoding field in
// their order of application, such as "gzip" or "gzip, br".
func newDecoder(codings string, to sink) (*decoder, error) {
	var names []string
	for n := range strings.SplitSeq(codings, ",") {
		n = strings.ToLower(strings.TrimSpace(n))
		if n == "" || n == "identity" {
			continue
		}
		if !knownCoding(n) {
			return nil, fmt.Errorf("content-encoding %q is not known", cutText(n, 40))
		}
		names = append(names, n)
	}
	if len(names) > maxCodings {
		return nil, fmt.Errorf("%d content-encodings on top of each other", len(names))
	}
	var d *decoder
	for _, n := range names { // the last one applied is undone first
		inner := to
		if d != nil {
			inner = chained{d}
		}
		d = &decoder{sink: inner}
		d.next, d.stop = iter.Pull(d.run(n))
	}
	return d, nil
}

// chained hands the output of one decoder to the next.
type chained struct{ d *decoder }

func (c chained) plain(p []byte) bool { return c.d.push(p) == nil && !c.d.done }

func knownCoding(n string) bool {
	switch n {
	case "gzip", "x-gzip", "deflate", "br", "zstd":
		return true
	}
	return false
}

// feed is what the coroutine reads from.
type feed struct {
	piece []byte
	last  bool // no more pieces will come
	yield func([]byte) bool
}

var errStopped = errors.New("stopped")

func (f *feed) Read(p []byte) (int, error) {
	for len(f.piece) == 0 {
		if f.last {
			return 0, io.EOF
		}
		if !f.yield(nil) {
			return 0, errStopped
		}
	}
	n := copy(p, f.piece)
	f.piece = f.piece[n:]
	return n, nil
}

// run decodes until the end; it yields nil when it needs the next piece.
func (d *decoder) run(coding string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		d.feed.yield = yield
		r, err := openCoding(coding, &d.feed)
		if err != nil {
			d.err = err
			return
		}
		if c, ok := r.(io.Closer); ok {
			defer c.Close()
		}
		buf := make([]byte, 16<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 && !yield(buf[:n]) {
				return
			}
			if err != nil {
				d.err = err
				return
			}
		}
	}
}

func openCoding(coding string, f *feed) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(bufio.NewReaderSize(f, 4<<10))
	case "deflate":
		// Some servers send the bare format in spite of RFC 9110 §8.4.1.2.
		br := bufio.NewReaderSize(f, 4<<10)
		head, err := br.Peek(2)
		if err != nil {
			return nil, err
		}
		if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			return zlib.NewReader(br)
		}
		return flate.NewReader(br), nil
	case "br":
		return brotli.NewReader(f), nil
	}
	// RFC 9659: a window of 8 MiB is the most that a receiver must support.
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// push decodes a piece. An error says that the encoding is corrupt; nothing more
// can be read then.
func (d *decoder) push(piece []byte) error {
	if d.done {
		return nil
	}
	d.in += int64(len(piece))
	d.feed.piece = piece
	return d.pump()
}

func (d *decoder) pump() error {
	for {
		p, ok := d.next()
		if !ok {
			d.done = true
			return d.failure()
		}
		if p == nil {
			return nil
		}
		d.out += int64(len(p))
		if d.out > source.MaxInflated && d.out/source.MaxRatio > d.in {
			d.halt()
			d.err = fmt.Errorf("it grows more than %d times over", source.MaxRatio)
			return d.err
		}
		if !d.sink.plain(p) {
			err := d.inner()
			d.halt()
			return err
		}
	}
}

// inner returns the error of a decoder that this one feeds.
func (d *decoder) inner() error {
	if c, ok := d.sink.(chained); ok {
		return c.d.failure()
	}
	return nil
}

func (d *decoder) failure() error {
	if d.err == nil || errors.Is(d.err, io.EOF) || errors.Is(d.err, io.ErrUnexpectedEOF) || errors.Is(d.err, errStopped) {
		return nil
	}
	return d.err
}

func (d *decoder) halt() {
	d.done = true
	d.stop()
}

// close gives what is still inside and frees the decoder. A stream that was cut
// is no error: a client that leaves cuts it anywhere.
func (d *decoder) close() error {
	var err error
	if !d.done {
		d.feed.last = true
		err = d.pump()
	}
	d.halt()
	if c, ok := d.sink.(chained); ok {
		if e := c.d.close(); err == nil {
			err = e
		}
	}
	return err
}

// collector keeps a decoded request body.
type collector struct {
	buf  []byte
	over bool
}

func (c *collector) plain(p []byte) bool {
	if len(c.buf)+len(p) > source.MaxRecord {
		c.over = true
		return false
	}
	c.buf = append(c.buf, p...)
	return true
}

// Decode undoes the content-encoding of a whole body, as it stands in the head:
// "gzip", or "gzip, br" in the order of application. A body over 64 MiB is an error.
func Decode(codings string, body []byte) ([]byte, error) {
	var c collector
	d, err := newDecoder(codings, &c)
	if err != nil || d == nil {
		return body, err
	}
	err = d.push(body)
	if e := d.close(); err == nil {
		err = e
	}
	if c.over {
		return nil, errors.New("it is over 64 MiB")
	}
	return c.buf, err
}
