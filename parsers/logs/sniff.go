package logs

import (
	"bytes"
	"unicode/utf8"
)

// sniffLines is how many lines of the beginning are looked at.
const sniffLines = 200

// shares counts the kinds of lines at the beginning of an input.
type shares struct{ lines, native, json, pairs, sessions int }

func look(head []byte, all bool) (n shares) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	var r record
	for n.lines < sniffLines && len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && !all && n.lines > 0 {
			break // the rest of this line was not read
		}
		head = rest
		line = bytes.Trim(line, "\x00\r \t")
		if len(line) == 0 {
			continue
		}
		n.lines++
		r.reset()
		switch {
		case bytes.HasPrefix(line, []byte(`{"`)):
			if foreign(line) {
				return shares{}
			}
			if r.readJSON(line) && (r.has(slotMessage) || r.has(slotTime) || r.has(slotEvent) || r.native) {
				n.json++
				if r.native {
					n.native++
				}
			}
		default:
			line = stripANSI(nil, line)
			if len(line) > 0 && r.readText(line, 0) {
				if _, pairs := r.readPairs(line, 0); pairs >= 2 {
					n.pairs++
				} else {
					n.sessions++
				}
			}
		}
	}
	return n
}

// foreign reports JSON that other formats of isodetect read and that would pass for log lines.
func foreign(line []byte) bool {
	for _, begin := range []string{`{"log":{"`, `{"schema":"isodetect/wire`, `{"resourceLogs":`, `{"resourceSpans":`, `{"_index":`} {
		if bytes.HasPrefix(bytes.ReplaceAll(line[:min(len(line), 64)], []byte(" "), nil), []byte(begin)) {
			return true
		}
	}
	return false
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
	if len(head) == 0 || bytes.Count(head, []byte{0})*10 > len(head)*3 {
		return 0
	}
	if !all && len(head) > utf8.UTFMax {
		head = head[:len(head)-utf8.UTFMax] // may end inside a character
	}
	if !utf8.Valid(head) {
		return 0
	}
	if n := look(head, all); n.sessions > 0 {
		return 40
	}
	return 5
}
