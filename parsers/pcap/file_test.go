package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/source"
)

type given []byte

func (g given) Stream() (io.ReadCloser, error) {
	return io.NopCloser(iotest.OneByteReader(bytes.NewReader(g))), nil
}

func (g given) Random() (source.RandomReader, int64, error) { return nil, 0, errors.New("not random") }

// Packets and blocks of any size come whole and with their offsets, however small the buffer is.
func TestSmallBuffer(t *testing.T) {
	le := binary.LittleEndian
	sizes := []int{0, 1, 15, 16, 17, 40, 0, 63, 64, 65, 200, 1000, 3, 300, 2}
	data := func(i, n int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, n) }
	classic := append([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0}, make([]byte, 16)...)
	var classicAt, ngAt []int64
	ng := []byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 28, 0, 0, 0}
	block := func(kind uint32, body []byte) {
		body = append(body, make([]byte, -len(body)&3)...)
		ng = le.AppendUint32(le.AppendUint32(ng, kind), uint32(12+len(body)))
		ng = le.AppendUint32(append(ng, body...), uint32(12+len(body)))
	}
	block(1, make([]byte, 8)) // an interface
	for i, n := range sizes {
		classicAt = append(classicAt, int64(len(classic)))
		for _, v := range []int{i, 0, n, n} {
			classic = le.AppendUint32(classic, uint32(v))
		}
		classic = append(classic, data(i, n)...)
		block(0x0bad, data(i, 3*n)) // of a kind that is not read
		ngAt = append(ngAt, int64(len(ng)))
		var head []byte
		for _, v := range []int{0, 0, i, n, n} {
			head = le.AppendUint32(head, uint32(v))
		}
		block(6, append(head, data(i, n)...))
	}
	check := func(name string, raw []byte, at []int64, size int) {
		t.Helper()
		in := &source.Input{Path: name, Opener: given(raw)}
		f, err := openFile(in, 0, size, &keylog.Log{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.body.Close()
		for i, n := range sizes {
			var fr frame
			if err := f.next(&fr); err != nil {
				t.Fatalf("%s, buffer %d, packet %d: %v", name, size, i, err)
			}
			if !bytes.Equal(fr.data, data(i, n)) || fr.at.N != int64(i+1) || fr.at.Offset != at[i] {
				t.Fatalf("%s, buffer %d, packet %d: %d bytes at %+v, want %d at %d", name, size, i, len(fr.data), fr.at, n, at[i])
			}
		}
		if err := f.next(new(frame)); !errors.Is(err, io.EOF) {
			t.Fatalf("%s, buffer %d: %v behind the last packet", name, size, err)
		}
		if in.Stats.Bytes != int64(len(raw)) {
			t.Errorf("%s, buffer %d: %d bytes were counted of %d", name, size, in.Stats.Bytes, len(raw))
		}
		for end := 0; end < len(raw); end += 3 {
			f, err := openFile(&source.Input{Opener: given(raw[:end])}, 0, size, &keylog.Log{})
			for err == nil {
				err = f.next(new(frame))
			}
			var told *cut
			if end > fileHeader+40 && !errors.Is(err, io.EOF) && !errors.As(err, &told) {
				t.Fatalf("%s, buffer %d, cut at %d: %v", name, size, end, err)
			}
		}
	}
	for _, size := range []int{fileHeader, 64, 1 << 10, 1 << 16} {
		check("classic", classic, classicAt, size)
		check("pcapng", ng, ngAt, size)
	}
}
