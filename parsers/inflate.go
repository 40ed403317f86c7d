package parsers

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/isodetect/isodetect/parsers/source"
)

// maxLayers is how often a compressed file may be compressed again.
const maxLayers = 2

// maxWindow bounds the memory of one zstd stream (zstd --ultra needs 128 MiB).
const maxWindow = 128 << 20

// ErrRatio ends the reading of an input that inflates without measure.
var ErrRatio = fmt.Errorf("decompression ratio over %d", source.MaxRatio)

// compression is one way to compress a file, known by its first bytes.
type compression struct {
	name  string
	magic string
	open  func(io.Reader) (io.Reader, func(), error) // nil = recognised, but not read
	tool  string                                     // what unpacks it to standard output
}

var compressions = []compression{
	{name: "gzip", magic: "\x1f\x8b\x08", open: openGzip},
	{name: "zstd", magic: "\x28\xb5\x2f\xfd", open: openZstd},
	{name: "bzip2", magic: "BZh", open: openBzip2},
	{name: "xz", magic: "\xfd7zXZ\x00", tool: "xz -dc"},
	{name: "lz4", magic: "\x04\x22\x4d\x18", tool: "lz4 -dc"},
}

func compressionOf(head []byte) *compression {
	for i := range compressions {
		c := &compressions[i]
		if bytes.HasPrefix(head, []byte(c.magic)) && (c.name != "bzip2" || bzip2Block(head)) {
			return c
		}
	}
	return nil
}

// bzip2Block tells a bzip2 header from a text that begins with the same letters:
// the level is a digit, and a block or the end of the stream follows.
func bzip2Block(head []byte) bool {
	if len(head) < 10 || head[3] < '1' || head[3] > '9' {
		return false
	}
	block := string(head[4:10])
	return block == "1AY&SY" || block == "\x17\x72\x45\x38\x50\x90"
}

func openGzip(r io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return z, func() { z.Close() }, nil
}

func openZstd(r io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

func openBzip2(r io.Reader) (io.Reader, func(), error) {
	return bzip2.NewReader(r), func() {}, nil
}

// decoded is the bytes of an input after decompression and transcoding to UTF-8.
type decoded struct {
	io.Reader
	layers []string // names of the compressions and encodings that were undone
	n      *int64   // counts the bytes given, if not nil
	close  []func()
}

func (d *decoded) Close() error {
	for _, c := range d.close {
		c()
	}
	d.close = nil
	return nil
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if d.n != nil {
		*d.n += int64(n)
	}
	return n, err
}

// decode undoes compression and transcodes UTF-16, both known by the first bytes.
func decode(raw *metered) (*decoded, error) {
	d := &decoded{Reader: raw}
	br := bufio.NewReaderSize(raw, 64<<10)
	for range maxLayers + 1 {
		head, err := br.Peek(16)
		if err != nil && !errors.Is(err, io.EOF) {
			d.Close()
			return nil, err
		}
		c := compressionOf(head)
		if c == nil {
			d.Reader, d.layers = transcode(br, d.layers)
			return d, nil
		}
		if c.open == nil {
			d.Close()
			return nil, fmt.Errorf("%s is not read as it is; unpack it first: %s FILE | isodetect scan -", c.name, c.tool)
		}
		r, closer, err := c.open(br)
		if err != nil {
			d.Close()
			return nil, fmt.Errorf("cannot open as %s: %w", c.name, err)
		}
		d.close = append([]func(){closer}, d.close...)
		d.layers = append(d.layers, c.name)
		br = bufio.NewReaderSize(&guard{r: r, raw: raw, name: c.name}, 64<<10)
	}
	d.Close()
	return nil, fmt.Errorf("compressed more than %d times over", maxLayers)
}

// guard stops a stream that inflates beyond the allowed ratio.
type guard struct {
	r    io.Reader
	raw  *metered
	name string
	n    int64
}

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.n += int64(n)
	if g.n > source.MaxInflated && g.n/max(g.raw.n, 1) > source.MaxRatio {
		return n, ErrRatio
	}
	switch {
	case err == nil, errors.Is(err, ErrInterrupted), errors.Is(err, ErrRatio):
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s data ends early after %d bytes: %w", g.name, g.n, err)
	case err != io.EOF:
		err = fmt.Errorf("cannot decompress %s after %d bytes: %w", g.name, g.n, err)
	}
	return n, err
}
