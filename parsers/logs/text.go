package logs

import (
	"bytes"
	"math"
)

// readText takes a line apart that is no JSON object: a time and other things
// that loggers put in front, a message, and pairs or one JSON object behind it.
// It reports whether anything was found that may tell about a session.
func (r *record) readText(b []byte, offset int) bool {
	if len(b) > maxText || wrapped(b) || requestLine(b) {
		return false
	}
	return r.readMessage(b, r.prefix(b, offset))
}

// readMessage reads what stands behind the prefix, which ends at b[i].
func (r *record) readMessage(b []byte, i int) bool {
	if i == 0 && !plainStart(b) {
		return false
	}
	r.front = b[:i]
	tail := jsonTail(b, i)
	if tail < 0 {
		lead, pairs := r.readPairs(b, i)
		r.said(lead)
		return pairs >= 2 || telling(lead)
	}
	if !r.readJSON(b[tail:]) || r.native {
		return false
	}
	if r.has(slotMessage) {
		return false // a whole record behind something: the prefix of a container that is not known here
	}
	r.said(b[i:tail])
	return true
}

// maxText bounds the lines of running text that are looked into.
const maxText = 1 << 20

// jsonTail returns where the JSON object begins that ends the line, or -1.
func jsonTail(b []byte, i int) int {
	if b[len(b)-1] != '}' {
		return -1
	}
	k := bytes.Index(b[i:], []byte(`{"`))
	if k <= 0 || i+k == 0 || (b[i+k-1] != ' ' && b[i+k-1] != '\t') {
		return -1
	}
	return i + k
}

// plainStart reports whether a line begins as the lines of loggers and console
// programs do: with a letter, a digit or a bracket in its first column.
func plainStart(b []byte) bool {
	c := b[0]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '['
}

// wrapped reports the prefixes that containers and collectors put in front of a
// line. Whose line it is stands there, so that without taking it apart several
// processes would be read as one.
func wrapped(b []byte) bool {
	switch {
	case b[0] == '[' && bytes.HasPrefix(b, []byte("[pod/")):
		return true
	case b[0] == '<' && len(b) > 2 && digits(b, 1, 1):
		return true
	case len(b) > 15 && b[3] == ' ' && month(b[:3]) > 0: // syslog and journald
		return true
	}
	k := bytes.IndexByte(b[:min(len(b), 160)], ' ')
	if k <= 0 || k+3 > len(b) {
		return false
	}
	rest := b[k+1 : min(len(b), 160)]
	if len(rest) > 3 && rest[0] == 's' && rest[1] == 't' && rest[2] == 'd' {
		return bytes.HasPrefix(rest, []byte("stdout ")) || bytes.HasPrefix(rest, []byte("stderr "))
	}
	for len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return len(rest) > 1 && rest[0] == '|' && rest[1] == ' ' && !digits(b, 0, 4) && isDigit(b[k-1]) // compose: name-1 | …
}

// prefix reads what loggers put in front of a message (time, level, logger,
// process, place in the source) and returns where the message begins. What
// stands there is not part of the message, and nothing else is passed over, so
// that text in the middle of a message is never taken for its beginning.
func (r *record) prefix(b []byte, offset int) int {
	i, leveled := 0, false
	var set *frontSet  // where the prefix behind the time would be remembered
	from, seen := 0, 0 // it begins at from, and what stands before seen says that it is one
	r.starts = r.starts[:0]
	for n := 0; n < maxPrefix; n++ {
		i = space(b, i)
		if r.pieced {
			r.starts = append(r.starts, i)
		}
		if i >= len(b) {
			return i
		}
		if c := b[i]; !isDigit(c) && (c < 'A' || c > 'Z') && c != '.' && c != '+' {
			// no time begins so
		} else if st, ok := r.clock.parse(b[i:], offset); ok {
			if !r.has(slotTime) {
				r.set(slotTime, nil, value{b[i : i+st.length], formBare})
				if st.length >= len("2026-07-19T22:20:43") {
					r.dated, r.stood = st, b[i:i+st.length]
				}
			}
			i += st.length
			set, from, seen = nil, i, i
			if n == 0 && !r.pieced {
				set = r.fronts.at(b[i:])
			}
			if set != nil {
				if f := set.of(b[i:]); f != nil {
					i, n, leveled, set = i+int(f.n), int(f.pieces), f.leveled, nil
				}
			}
			continue
		}
		size, far := prefixPiece(b, i, leveled)
		if size == 0 {
			if set != nil && seen <= i {
				set.keep(b[from:i], n-1, leveled)
			}
			return i
		}
		seen = max(seen, far)
		leveled = leveled || level(b[i:i+size])
		i += size
	}
	return i
}

// prefixPiece returns the length of the piece of a prefix at b[i:], 0 = it is none, and
// how far into b it was looked to know that.
func prefixPiece(b []byte, i int, leveled bool) (size, far int) {
	far = math.MaxInt
	if b[i] == '[' && i > 0 && idByte(b[i-1]) { // name[4242]: a process or a number of an event, and no time
		if n := bytes.IndexByte(b[i:], ']') + 1; n > 80 {
			return 0, far
		} else if n > 0 {
			return n, far
		}
	}
	if i > 0 && !leveled {
		if n, ahead := loggerName(b[i:]); n > 0 {
			if settled(b[i : i+n]) {
				far = i + ahead
			}
			return n, far
		}
	}
	n := prefixWord(b[i:])
	if n == 0 && i > 1 && b[i-2] == '|' {
		return codePlace(b[i:]), far
	}
	if n > 0 && i+n < len(b) && b[i+n] == ' ' && settled(b[i:i+n]) {
		far = i + n + 1
	}
	return n, far
}

const maxPrefix = 12

// prefixWord returns the length of the piece of a prefix at the beginning of b: 0 = it is none.
func prefixWord(b []byte) int {
	if b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 || end > 80 {
			return 0
		}
		if _, ok := parseTime(b[1:end], 0); ok {
			return 1 // the time is read next
		}
		return end + 1
	}
	if b[0] == ']' || b[0] == '|' || b[0] == ':' {
		return 1
	}
	end, letters := 0, true
	for end < len(b) && b[end] != ' ' && b[end] != '\t' && b[end] != '=' && b[end] != '[' {
		letters = letters && 'a' <= b[end]|0x20 && b[end]|0x20 <= 'z'
		end++
	}
	if end == 0 || end > 120 || (end < len(b) && b[end] == '=') {
		return 0
	}
	w := b[:end]
	if letters { // a word
		if level(w) {
			return end
		}
		return 0
	}
	if k := bytes.LastIndexByte(w[:len(w)-1], ':'); k > 0 && level(w) {
		return k + 1 // LEVEL:logger:Message
	}
	if exception(w) {
		return 0 // what follows is its message, and no logger wrote it
	}
	switch {
	case level(w), clock(w), dashes(w), digits(w, 0, len(w)), w[len(w)-1] == ']' && level(w[:len(w)-1]): // Serilog: [22:20:43 INF]
		return end
	case w[len(w)-1] == ':' && len(w) > 1 && !mentionsSession(w):
		return end // "logger:"
	case bytes.IndexByte(w[:len(w)-1], '.') > 0 && bytes.IndexByte(w, '/') < 0 && (!mentionsSession(w) || bytes.HasPrefix(b[end:], []byte(" - ")) || bytes.HasPrefix(b[end:], []byte(" -- "))) && w[len(w)-1] != '.':
		return end // a dotted logger name, or file.go:12
	case bytes.IndexByte(w, '/') > 0 && bytes.IndexByte(w, ':') > 0 && !mentionsSession(w):
		return end // path/file.go:12
	}
	return 0
}

// loggerName returns the length of the name in "name - LEVEL - message", the
// format that Python's documentation shows; 0 = that does not come. ahead is how
// much of b says so.
func loggerName(b []byte) (n, ahead int) {
	end := bytes.IndexByte(b[:min(len(b), 118)], ' ')
	if end <= 0 || !bytes.HasPrefix(b[end:min(len(b), 120)], []byte(" - ")) {
		return 0, 0
	}
	rest := b[end+3:]
	k := bytes.Index(rest[:min(len(rest), 16)], []byte(" - "))
	if k <= 0 || !level(bytes.TrimRight(rest[:k], " ")) {
		return 0, 0
	}
	return end, end + 3 + k + 3
}

// codePlace returns the length of "module:function:12" in front of " - ", as loguru
// prints it behind its last bar; 0 = that does not come.
func codePlace(b []byte) int {
	end := bytes.Index(b[:min(len(b), 160)], []byte(" - "))
	if end <= 0 || bytes.IndexByte(b[:end], ' ') >= 0 {
		return 0
	}
	k := bytes.LastIndexByte(b[:end], ':')
	if k <= 0 || k+1 == end || !digits(b, k+1, end-k-1) || bytes.IndexByte(b[:k], ':') <= 0 {
		return 0
	}
	return end
}

func dashes(w []byte) bool {
	for _, c := range w {
		if c != '-' && c != '|' {
			return false
		}
	}
	return true
}

// exception reports the class of an error in front of its message.
func exception(w []byte) bool {
	switch w[len(w)-1] {
	case 'n', 'r', ':':
	default:
		return false
	}
	w = bytes.TrimSuffix(w, []byte(":"))
	return len(w) > 5 && (bytes.HasSuffix(w, []byte("Exception")) || bytes.HasSuffix(w, []byte("Error")))
}

// clock reports 10:20PM, as the console of zerolog prints the time.
func clock(w []byte) bool {
	n := len(w)
	return (n == 6 || n == 7) && w[n-1] == 'M' && (w[n-2] == 'A' || w[n-2] == 'P') && w[n-5] == ':' && digits(w, 0, n-5) && digits(w, n-4, 2)
}

func level(w []byte) bool {
	if len(w) == 0 {
		return false
	}
	switch w[0] | 0x20 {
	case 'd', 'i', 'w', 'e', 't', 'n', 'c', 'f', 'l':
	default:
		return false
	}
	var buf [12]byte
	n := 0
	for _, c := range w {
		if c == ':' || c == '-' {
			break
		}
		if n == len(buf) {
			return false
		}
		buf[n] = c | 0x20
		n++
	}
	switch string(buf[:n]) {
	case "debug", "info", "warn", "warning", "error", "trace", "notice", "critical", "fatal", "inf", "dbg", "wrn", "err", "trc", "information", "level":
		return true
	}
	return false
}

// mentionsSession reports the word session in a text, in any case.
func mentionsSession(b []byte) bool {
	for {
		k := bytes.Index(b, []byte("ession"))
		if k < 0 {
			return false
		}
		if k > 0 && b[k-1]|0x20 == 's' {
			return true
		}
		b = b[k+1:]
	}
}

// telling reports running text that may say something about sessions or the process.
func telling(b []byte) bool {
	if mentionsSession(b) {
		return true
	}
	for _, w := range tellingWords {
		if bytes.Contains(b, w) {
			return true
		}
	}
	return false
}

// tellingWords are those beside "session" by which running text may tell something, without
// a first letter that may be large. They are read only.
var tellingWords = [...][]byte{[]byte("istening"), []byte("tateless"), []byte("stdio")}

// idIn finds the session id in a message: the first word behind "session" that
// looks like one, else a UUID anywhere.
func idIn(text []byte) []byte {
	from := bytes.Index(text, []byte("ession"))
	if from < 0 {
		return nil
	}
	if id := firstID(text[from:], 8); id != nil {
		return id
	}
	return firstID(text[:from], 32)
}

// firstID returns the first word of at least atLeast characters that looks like
// an id: letters, digits, - and _, among them a letter and a digit.
func firstID(text []byte, atLeast int) []byte {
	for i := 0; i < len(text); {
		j := i
		letters, numbers := false, false
		for ; j < len(text) && idByte(text[j]); j++ {
			letters = letters || text[j] >= 'A'
			numbers = numbers || isDigit(text[j])
		}
		ends := j == len(text) || bytes.IndexByte([]byte(" \t,;)]}'\".:"), text[j]) >= 0
		begins := i == 0 || bytes.IndexByte([]byte(" \t([{'\":="), text[i-1]) >= 0
		if j-i >= atLeast && j-i <= maxID && letters && numbers && ends && begins {
			return text[i:j]
		}
		i = j + 1
	}
	return nil
}

// maxID bounds a session id.
const maxID = 256

func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '-' || c == '_'
}

// stripANSI removes colour codes and links that terminals show, into dst.
func stripANSI(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			dst = append(dst, b[i])
			continue
		}
		switch {
		case i+1 < len(b) && b[i+1] == '[': // CSI … final byte
			for i += 2; i < len(b) && (b[i] < '@' || b[i] > '~'); i++ {
			}
		case i+1 < len(b) && b[i+1] == ']': // OSC … BEL or ESC \
			for i += 2; i < len(b) && b[i] != 7 && b[i] != 0x1b; i++ {
			}
			if i+1 < len(b) && b[i] == 0x1b && b[i+1] == '\\' {
				i++
			}
		}
	}
	return dst
}
