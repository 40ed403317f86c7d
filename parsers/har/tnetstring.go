package har

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// This file reads tnetstrings: LENGTH:BYTES TYPE, where the type says what the bytes
// are: , bytes ; text # integer ^ float ! true or false ~ nothing ] list } dictionary.

// tnet is one value; data lies in the text that was read.
type tnet struct {
	kind byte
	data []byte
}

var errTnet = errors.New("no tnetstring")

const maxLengthDigits = 12

// cutTnet takes the value at the beginning of raw.
func cutTnet(raw []byte) (v tnet, rest []byte, err error) {
	i := bytes.IndexByte(raw[:min(len(raw), maxLengthDigits+1)], ':')
	if i <= 0 {
		return v, nil, errTnet
	}
	n, ok := lengthOf(raw[:i])
	if !ok || n >= int64(len(raw)-i-1) {
		return v, nil, errTnet
	}
	end := i + 1 + int(n)
	v = tnet{kind: raw[end], data: raw[i+1 : end]}
	if bytes.IndexByte([]byte(",;#^!~]}"), v.kind) < 0 {
		return v, nil, errTnet
	}
	return v, raw[end+1:], nil
}

// lengthOf reads the decimal length of a value.
func lengthOf(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > maxLengthDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// members calls f for each key of a dictionary with its value.
func (v tnet) members(f func(key string, value tnet)) error {
	if v.kind != '}' {
		return nil
	}
	for raw := v.data; len(raw) > 0; {
		key, rest, err := cutTnet(raw)
		if err != nil {
			return err
		}
		value, rest, err := cutTnet(rest)
		if err != nil {
			return err
		}
		f(string(key.data), value)
		raw = rest
	}
	return nil
}

// items calls f for each element of a list.
func (v tnet) items(f func(i int, value tnet)) error {
	if v.kind != ']' {
		return nil
	}
	i := 0
	for raw := v.data; len(raw) > 0; i++ {
		value, rest, err := cutTnet(raw)
		if err != nil {
			return err
		}
		f(i, value)
		raw = rest
	}
	return nil
}

// text returns the bytes of a text or of bytes, "" for anything else.
func (v tnet) text() string {
	if v.kind == ',' || v.kind == ';' {
		return string(v.data)
	}
	return ""
}

func (v tnet) integer() int {
	n, err := strconv.Atoi(string(v.data))
	if v.kind != '#' || err != nil {
		return 0
	}
	return n
}

// seconds reads a time in seconds of the epoch as ns, 0 = none.
func (v tnet) seconds() int64 {
	f, err := strconv.ParseFloat(string(v.data), 64)
	if v.kind != '^' && v.kind != '#' || err != nil || !(f > 0 && f < 7e9) {
		return 0
	}
	whole := int64(f)
	return whole*1e9 + int64((f-float64(whole))*1e6+0.5)*1e3 // a float64 holds µs of today
}

// tnetStream reads the values that stand one behind the other in a file.
type tnetStream struct {
	br  *bufio.Reader
	off int64
	buf []byte
}

// next reads one value whole; raw is nil if it is longer than the limit. It returns
// io.EOF between two values, io.ErrUnexpectedEOF inside one.
func (s *tnetStream) next(limit int64) (p part, err error) {
	p.off = s.off
	head, err := s.br.Peek(maxLengthDigits + 1)
	if len(head) == 0 {
		return p, err
	}
	i := bytes.IndexByte(head, ':')
	n, ok := lengthOf(head[:max(i, 0)])
	if !ok {
		return p, &syntaxError{s.off, "dump of flows"}
	}
	p.size = int64(i) + 1 + n + 1
	if p.size > limit {
		k, err := io.CopyN(io.Discard, s.br, p.size)
		s.off += k
		p.cut = err != nil
		return p, cut(err)
	}
	if int64(cap(s.buf)) < p.size {
		// What a length says may not be there: memory grows with what comes.
		var b bytes.Buffer
		k, err := io.CopyN(&b, s.br, p.size)
		s.off += k
		if err != nil {
			p.cut = true
			return p, cut(err)
		}
		s.buf = b.Bytes()
	} else {
		s.buf = s.buf[:p.size]
		k, err := io.ReadFull(s.br, s.buf)
		s.off += int64(k)
		if err != nil {
			p.cut = true
			return p, cut(err)
		}
	}
	p.raw = s.buf[:p.size]
	return p, nil
}
