package follow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpacked is the content of a compressed file, which is read forward only. It keeps
// the last bytes that it gave, so that what was just read can be read again.
type unpacked struct {
	in    *os.File
	r     io.Reader
	close func()
	at    int64 // bytes given
	size  int64 // of the compressed file
	last  []byte
}

var errInflates = errors.New("it inflates without measure")

const (
	maxRatio    = 1000
	freeInflate = 64 << 20 // no ratio counts below
	maxWindow   = 128 << 20
)

// unpack opens a compressed file, nil if it is none. It closes f unless it returns a reader.
func unpack(f *os.File, size int64) (*unpacked, error) {
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	u := &unpacked{in: f, size: size}
	switch {
	case bytes.HasPrefix(magic[:n], []byte("\x1f\x8b\x08")):
		z, err := gzip.NewReader(io.NewSectionReader(f, 0, 1<<62))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("cannot open as gzip: %w", err)
		}
		u.r, u.close = z, func() { z.Close() }
	case bytes.HasPrefix(magic[:n], []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(io.NewSectionReader(f, 0, 1<<62), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("cannot open as zstd: %w", err)
		}
		u.r, u.close = z, z.Close
	default:
		return nil, nil
	}
	return u, nil
}

// ReadAt gives bytes at or behind what was last given. It is io.ReaderAt for a reader that
// goes forward, apart from the last headLen bytes; elsewhere it gives none.
func (u *unpacked) ReadAt(p []byte, off int64) (n int, err error) {
	if first := u.at - int64(len(u.last)); off < u.at {
		if off < first {
			return 0, fmt.Errorf("cannot go back to byte %d", off)
		}
		n = copy(p, u.last[off-first:])
		off += int64(n)
	}
	var skip [32 << 10]byte
	for u.at < off {
		k, err := u.read(skip[:min(int64(len(skip)), off-u.at)])
		if k == 0 && err != nil {
			return n, err
		}
	}
	for n < len(p) {
		k, err := u.read(p[n:])
		n += k
		if k == 0 && err != nil {
			return n, err
		}
	}
	return n, nil
}

func (u *unpacked) read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.at += int64(n)
	if n >= headLen {
		u.last = append(u.last[:0], p[n-headLen:n]...)
	} else {
		u.last = append(u.last, p[:n]...)
		u.last = append(u.last[:0], u.last[max(0, len(u.last)-headLen):]...)
	}
	switch {
	case u.at > freeInflate && u.at/max(u.size, 1) > maxRatio:
		return n, errInflates
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("its compressed data ends early: %w", err)
	}
	return n, err
}

// Close closes the file too.
func (u *unpacked) Close() error {
	u.close()
	return u.in.Close()
}
