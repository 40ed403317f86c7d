package document

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// Lines of text are a document where the newest stands first: read as they are, every
// cause would come behind its effect.

var newestKind = Kind{
	Name: "newest-first", Title: "lines of any log with the newest first: downloads and terminals of log stores", Checked: "docs",
	Carries: "the lines in it", plain: true, most: []int{30, 100, 1000, 5000}, advice: "raise the limit of lines",
}

// minNewest is how many steps back make the beginning of a log one that runs
// backwards, if no more than one step in ten goes forward: lines of several writers
// overtake each other by little.
const minNewest = 4

// newestFirst reports lines whose times go back from line to line.
func newestFirst(head []byte) bool {
	up, down, last := 0, 0, int64(0)
	for n := 0; len(head) > 0 && n < maxLook; n++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		at := timeIn(line)
		if at < 0 {
			continue
		}
		now := nanos(line[at:])
		switch {
		case last == 0:
		case now > last:
			up++
		case now < last:
			down++
		}
		if last = now; up >= minNewest && up > down {
			return false // as nearly every log
		}
	}
	return down >= minNewest && up*10 <= down
}

// maxLook is how many lines of the beginning are looked at.
const maxLook = 1000

// nanos is the time at the beginning of b, whatever its zone.
func nanos(b []byte) int64 {
	if shaped(b, commonLog) {
		t, err := time.Parse("02/Jan/2006:15:04:05", string(b[:len(commonLog)]))
		if err != nil {
			return 0
		}
		return t.UnixNano()
	}
	if !dated(b) { // an epoch: nineteen digits are nanoseconds
		n, digits := int64(0), 0
		for _, c := range b[:min(len(b), 20)] {
			if c >= '0' && c <= '9' && digits < 19 {
				n, digits = 10*n+int64(c-'0'), digits+1
			} else if c != '.' {
				break
			}
		}
		for ; digits < 19; digits++ {
			n *= 10
		}
		return n
	}
	t, err := time.Parse("2006-01-02 15:04:05", string(b[:10])+" "+string(b[11:19]))
	if err != nil {
		return 0
	}
	ns, unit := t.UnixNano(), int64(1e8)
	if len(b) > 20 && (b[19] == '.' || b[19] == ',') {
		for _, c := range b[20:min(len(b), 29)] {
			if c < '0' || c > '9' {
				break
			}
			ns += int64(c-'0') * unit
			unit /= 10
		}
	}
	return ns
}

// timeIn is where the time of a line stands: the first at its beginning, else one at
// its end, where Docker has it; -1 if there is none. What is indented belongs to the
// line before.
func timeIn(line []byte) int {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' || line[0] == '}' {
		return -1
	}
	if i := firstTime(line[:min(len(line), maxLead)]); i >= 0 {
		return i
	}
	end := max(0, len(line)-maxTail)
	if i := firstTime(line[end:]); i >= 0 {
		return end + i
	}
	return -1
}

const (
	maxLead = 256 // where the time of a line begins at the latest
	maxTail = 64
)

// firstTime is where the first date with a time, or number of an epoch, stands.
func firstTime(b []byte) int {
	for i := 0; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			continue
		}
		if dated(b[i:]) || shaped(b[i:], commonLog) {
			return i
		}
		n := i
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		if size := n - i; b[i] == '1' && i > 0 && b[i-1] != '-' && (size == 13 || size == 16 || size == 19 || size == 10 && n < len(b) && b[n] == '.') {
			return i
		}
		i = n
	}
	return -1
}

// dated reports 2026-07-19T22:20:43, also with a blank.
func dated(b []byte) bool {
	return shaped(b, "0000-00-00T00:00:00") || shaped(b, "0000-00-00 00:00:00")
}

// commonLog is 19/Jul/2026:22:20:43.
const commonLog = "00/Aaa/0000:00:00:00"

// shaped reports whether b begins as the picture says: 0 stands for a digit, A for an
// upper and a for a lower letter, any other byte for itself.
func shaped(b []byte, picture string) bool {
	if len(b) < len(picture) {
		return false
	}
	for i := range len(picture) {
		c, ok := b[i], false
		switch picture[i] {
		case '0':
			ok = '0' <= c && c <= '9'
		case 'A':
			ok = 'A' <= c && c <= 'Z'
		case 'a':
			ok = 'a' <= c && c <= 'z'
		default:
			ok = c == picture[i]
		}
		if !ok {
			return false
		}
	}
	return true
}

// plainLines is the first reading of lines of text.
func (s *survey) plainLines() error {
	for {
		p, err := s.textLine()
		if len(p.raw) > 0 || p.raw == nil && p.size > 0 {
			if err := s.keep(p); err != nil {
				return s.ended(err)
			}
		}
		if err != nil {
			return eof(err)
		}
	}
}

// textLine reads up to the next newline.
func (s *survey) textLine() (part, error) {
	p := part{at: s.here()}
	s.buf = s.buf[:0]
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	over := false
	for {
		b, err := s.br.ReadSlice('\n')
		s.off += int64(len(b))
		s.line += int64(bytes.Count(b, []byte("\n")))
		if over = over || len(s.buf)+len(b) > s.limit; over {
			s.buf = s.buf[:0]
		} else {
			s.buf = append(s.buf, b...)
		}
		if errors.Is(err, bufferFull) {
			continue
		}
		p.size = s.off - p.at.Offset
		if !over {
			p.raw = s.buf
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return p, err
		}
		return p, err
	}
}
