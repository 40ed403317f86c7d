package parsers

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	bomUTF8    = "\xef\xbb\xbf"
	bomUTF16LE = "\xff\xfe"
	bomUTF16BE = "\xfe\xff"
)

// transcode skips a byte order mark and turns UTF-16 into UTF-8. No capture
// format begins with one, so it holds for every input.
func transcode(br *bufio.Reader, layers []string) (io.Reader, []string) {
	head, _ := br.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte(bomUTF8)):
		br.Discard(len(bomUTF8))
		return br, append(layers, "utf-8-bom")
	case bytes.HasPrefix(head, []byte(bomUTF16LE)):
		br.Discard(2)
		return &utf16Reader{r: br, order: binary.LittleEndian}, append(layers, "utf-16le")
	case bytes.HasPrefix(head, []byte(bomUTF16BE)):
		br.Discard(2)
		return &utf16Reader{r: br, order: binary.BigEndian}, append(layers, "utf-16be")
	}
	return br, layers
}

// utf16Reader transcodes UTF-16 to UTF-8. Lone surrogates and a lone last byte
// become U+FFFD, as unicode/utf16 has it.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder
	in    [8 << 10]byte
	rest  int // bytes of in that were not decoded yet
	out   []byte
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) fill() {
	n, err := u.r.Read(u.in[u.rest:])
	u.err = err
	b, out := u.in[:u.rest+n], u.out[:0]
	for len(b) >= 2 {
		c := rune(u.order.Uint16(b))
		if utf16.IsSurrogate(c) {
			if len(b) < 4 && err == nil {
				break // the other half comes with the next read
			}
			r := rune(utf8.RuneError)
			if len(b) >= 4 {
				r = utf16.DecodeRune(c, rune(u.order.Uint16(b[2:])))
			}
			if r != utf8.RuneError {
				b = b[2:]
			}
			c = r
		}
		out = utf8.AppendRune(out, c)
		b = b[2:]
	}
	if err != nil && len(b) > 0 {
		out, b = utf8.AppendRune(out, utf8.RuneError), nil
	}
	u.rest = copy(u.in[:], b)
	u.out = out
}
