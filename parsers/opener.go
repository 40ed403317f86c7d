package parsers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/isodetect/isodetect/parsers/source"
)

// regular is a regular file, which can be opened as often as needed.
type regular struct {
	open  func() (*os.File, error)
	meter *Meter
	stats *source.Stats
	size  *int64 // of the bytes given by the latest call, decompressed; another may still be read
}

func (f *regular) Stream() (io.ReadCloser, error) {
	f.size = new(int64)
	file, err := f.open()
	if err != nil {
		return nil, err
	}
	d, err := decode(&metered{r: file, m: f.meter})
	if err != nil {
		file.Close()
		return nil, err
	}
	d.close = append(d.close, func() { file.Close() })
	d.n = f.size
	return d, nil
}

func (f *regular) Random() (source.RandomReader, int64, error) {
	file, err := f.open()
	if err != nil {
		return nil, 0, err
	}
	var head [16]byte
	n, err := io.ReadFull(file, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		file.Close()
		return nil, 0, err
	}
	if compressionOf(head[:n]) != nil || hasBOM(head[:n]) {
		file.Close()
		r, err := f.Stream()
		return spoolOf(f.stats, r, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	size := info.Size()
	f.size = &size
	return newMeteredAt(file, f.meter, size), size, nil
}

func hasBOM(head []byte) bool {
	for _, bom := range []string{bomUTF8, bomUTF16LE, bomUTF16BE} {
		if bytes.HasPrefix(head, []byte(bom)) {
			return true
		}
	}
	return false
}

// once is standard input or a pipe: its bytes come one time only.
type once struct {
	r     io.Reader
	meter *Meter
	stats *source.Stats
	close func() error

	dec  *decoded // set by peek
	head []byte
	size int64 // of the bytes that were decompressed so far
	end  error // what ended the reading of head
	used bool
}

// peek reads the beginning of the stream, up to n bytes, and keeps it for Stream.
func (o *once) peek(n int) ([]byte, error) {
	if o.dec != nil {
		return o.head, o.end
	}
	d, err := decode(&metered{r: newPump(o.r, o.meter), m: NewMeter(o.meter.ctx)})
	if err != nil {
		return nil, err
	}
	o.dec, d.n = d, &o.size
	o.head, o.end = readHead(d, n)
	return o.head, o.end
}

func (o *once) Stream() (io.ReadCloser, error) {
	if o.used {
		return nil, errors.New("cannot read a pipe twice; save it to a file first")
	}
	if _, err := o.peek(source.HeadForSniff); err != nil && o.dec == nil {
		return nil, err
	}
	o.used = true
	rest := io.Reader(o.dec)
	if o.end != nil {
		rest = failing{o.end}
	}
	return &onceReader{Reader: io.MultiReader(bytes.NewReader(o.head), rest), o: o}, nil
}

func (o *once) Random() (source.RandomReader, int64, error) {
	r, err := o.Stream()
	return spoolOf(o.stats, r, err)
}

type onceReader struct {
	io.Reader
	o *once
}

func (r *onceReader) Close() error {
	r.o.dec.Close()
	if r.o.close == nil {
		return nil
	}
	return r.o.close()
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (f *regular) decompressed() int64 {
	if f.size == nil {
		return 0
	}
	return *f.size
}

func (o *once) decompressed() int64 { return o.size }

// readHead reads up to n bytes. Its error is nil if there may be more, io.EOF at
// the end of the input, or what broke the reading; what was read before comes with it.
func readHead(r io.Reader, n int) ([]byte, error) {
	head := make([]byte, n)
	got := 0
	for got < n {
		k, err := r.Read(head[got:])
		got += k
		if err != nil {
			return bytes.Clone(head[:got]), err
		}
	}
	return head, nil
}

// spool is a temporary file that is gone after Close.
type spool struct {
	*os.File
	gone bool // the name is removed already
}

func (s *spool) Close() error {
	err := s.File.Close()
	if !s.gone {
		os.Remove(s.File.Name())
	}
	return err
}

// spoolOf copies a stream into a temporary file. A stream that breaks off is
// spooled up to there, and stats says why.
func spoolOf(stats *source.Stats, r io.ReadCloser, err error) (source.RandomReader, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	f, err := os.CreateTemp("", "isodetect-*")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot spool the input: %w", err)
	}
	s := &spool{File: f}
	s.gone = os.Remove(f.Name()) == nil // not on Windows, where Close does it
	n, err := io.Copy(f, r)
	if errors.Is(err, ErrInterrupted) || (err != nil && n == 0) {
		s.Close()
		return nil, 0, err
	}
	if err != nil {
		stats.Err = err.Error()
	}
	return s, n, nil
}
