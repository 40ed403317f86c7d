package logs

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// sniffLines is how many lines of the beginning are looked at.
const sniffLines = 200

// shares counts the kinds of lines at the beginning of an input.
type shares struct{ lines, native, json, pairs, sessions, wrapped int }

func look(head []byte, all bool) (n shares) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if !envelope.IsExport(head) && foreign(head) {
		return shares{}
	}
	var r record
	inside := false
	peeler := envelope.New("", func(line []byte, m *envelope.Meta) {
		inside = inside || m.Depth > 0
		if len(line) > 0 && n.lines < sniffLines {
			n.lines++
			n.add(&r, line)
		}
	})
	if envelope.IsExport(head) {
		for entries := envelope.NewExport(bytes.NewReader(head), len(head)); n.lines < sniffLines && entries.Next() == nil; {
			peeler.PeelExport(entries)
		}
		n.wrapped = max(n.lines, 1)
		n.lines = n.wrapped
		return n
	}
	for i := 0; n.lines < sniffLines && i < sniffLines && len(head) > 0; i++ {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && !all && i > 0 {
			break // the rest of this line was not read
		}
		head = rest
		line = bytes.Trim(line, "\x00\r \t")
		before := n.lines
		inside = false
		if len(line) > 0 {
			peeler.Peel(line, envelope.Address{})
		}
		if inside {
			n.wrapped += max(n.lines-before, 1)
		}
	}
	return n
}

// add counts one line.
func (n *shares) add(r *record, line []byte) {
	r.reset()
	if bytes.HasPrefix(line, []byte(`{"`)) {
		if r.readJSON(line) && (r.has(slotMessage) || r.has(slotTime) || r.has(slotEvent) || r.native) {
			n.json++
			if r.native {
				n.native++
			}
		}
		return
	}
	line = stripANSI(nil, line)
	if len(line) > 0 && r.readText(line, 0) {
		if _, pairs := r.readPairs(line, 0); pairs >= 2 {
			n.pairs++
		} else {
			n.sessions++
		}
	}
}

// Claims reports whether a pattern of the user claims a line at the beginning of an input.
func Claims(head []byte, all bool, opt source.Options) bool {
	if opt.Patterns == nil {
		return false
	}
	var stats source.Stats
	p := newParser(&stats, opt)
	for n := 0; n < sniffLines && len(head) > 0; n++ {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && !all {
			break
		}
		head = rest
		p.queue = p.queue[:0]
		p.line(bytes.Trim(line, "\x00\r"), event.Address{})
	}
	return slices.ContainsFunc(stats.Patterns, func(u source.PatternUse) bool { return u.Lines > 0 })
}

// foreign reports JSON that other formats of isodetect read, or none does, and
// that would pass for log lines.
func foreign(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\x00\r\n \t"), []byte("\n"))
	begin := bytes.ReplaceAll(line[:min(len(line), 4096)], []byte(" "), nil)
	for _, b := range []string{`{"log":{"`, `{"schema":"isodetect/wire`} {
		if bytes.HasPrefix(begin, []byte(b)) && !bytes.HasPrefix(begin, []byte(`{"log":{"offset"`)) {
			return true
		}
	}
	return bytes.HasPrefix(begin, []byte(`{"_index":`)) && bytes.Contains(begin, []byte(`"layers":`))
}

// score is what a share of lines is worth: above floor if it is a quarter of the lines or more.
func score(part, lines, best int) int {
	switch {
	case part == 0 || lines == 0:
		return 0
	case part*10 >= lines*9:
		return best
	case part*4 >= lines:
		return best - 10
	}
	return best - 30
}

func sniffNative(head []byte, all bool) int {
	n := look(head, all)
	return score(n.native, n.lines, 95)
}

func sniffJSON(head []byte, all bool) int {
	n := look(head, all)
	return score(n.json, n.lines, 60)
}

func sniffLogfmt(head []byte, all bool) int {
	n := look(head, all)
	return score(n.pairs, n.lines, 55)
}

// sniffText takes what nothing else wants, so long as it is text.
func sniffText(head []byte, all bool) int {
	if envelope.IsExport(head) {
		return 45
	}
	if len(head) == 0 {
		return 0
	}
	if head = unpadded(head); len(head) == 0 {
		return map[bool]int{false: 1}[all] // whatever comes behind the padding
	}
	if bytes.Count(head, []byte{0})*10 > len(head)*3 {
		return 0
	}
	if !all && len(head) > utf8.UTFMax {
		head = head[:len(head)-utf8.UTFMax] // may end inside a character
	}
	if !utf8.Valid(head) && !latin(head) {
		return 0
	}
	switch n := look(head, all); {
	case n.sessions > 0:
		return 40
	case n.wrapped*2 > n.lines:
		return 30 // whatever it says, it is a log
	}
	return 5
}

// latin reports text of an older encoding, such as Windows-1252: a few letters that
// are no UTF-8, and no control characters but those of lines and colours.
func latin(head []byte) bool {
	high := 0
	for _, c := range head {
		switch {
		case c >= utf8.RuneSelf:
			high++
		case c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b && c != 0:
			return false
		}
	}
	return high*10 <= len(head)
}

// unpadded returns text without the runs of NUL that a truncated log file holds. A
// few NULs alone are left: they tell binary data and UTF-16.
func unpadded(head []byte) []byte {
	run := make([]byte, minPadding)
	if !bytes.Contains(head, run) {
		return head
	}
	var out []byte
	for len(head) > 0 {
		k := bytes.Index(head, run)
		if k < 0 {
			return append(out, head...)
		}
		out = append(out, head[:k]...)
		head = bytes.TrimLeft(head[k:], "\x00")
	}
	return out
}

const minPadding = 64
