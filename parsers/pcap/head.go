package pcap

import (
	"bytes"
	"strings"

	"github.com/isodetect/isodetect/parsers/exchange"
)

// start is what the first bytes of a message or of a connection are.
type start uint8

const (
	startNone start = iota
	startPartial
	startRequest
	startResponse
	startTLS
	startHTTP2
)

// methods are those of RFC 9110 §9 and RFC 5789.
var methods = [...]string{"POST ", "GET ", "DELETE ", "OPTIONS ", "HEAD ", "PUT ", "PATCH ", "CONNECT ", "TRACE "}

const (
	responsePrefix = "HTTP/1."
	preface        = "PRI * HTTP/2.0\r\n" // RFC 9113 §3.4
)

// startOf classifies the first bytes of a direction.
func startOf(b []byte) start {
	if len(b) == 0 {
		return startPartial
	}
	switch c := b[0]; {
	case c >= 0x14 && c <= 0x17: // a TLS record: type, then version 3.x (RFC 8446 §5.1)
		return startOfTLS(b)
	case c == 'H' && (len(b) < 2 || b[1] == 'T'):
		return match(b, responsePrefix, startResponse)
	case c == 'P' && len(b) > 1 && b[1] == 'R':
		return match(b, preface, startHTTP2)
	case c < 'A' || c > 'Z':
		return startNone
	}
	for _, m := range methods {
		if got := match(b, m, startRequest); got != startNone {
			return got
		}
	}
	return startNone
}

func startOfTLS(b []byte) start {
	switch {
	case len(b) < 3:
		if len(b) == 2 && b[1] != 3 {
			return startNone
		}
		return startPartial
	case b[1] == 3 && b[2] <= 4:
		return startTLS
	}
	return startNone
}

func match(b []byte, prefix string, as start) start {
	if len(b) < len(prefix) {
		if prefix[:len(b)] == string(b) {
			return startPartial
		}
		return startNone
	}
	if string(b[:len(prefix)]) == prefix {
		return as
	}
	return startNone
}

// headEnd returns the length of a head including its blank line, or -1, and where
// to look on when more has come. A line may end in LF alone (RFC 9112 §2.2).
func headEnd(b []byte, from int) (end, resume int) {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1, len(b)
		}
		i += from
		switch rest := b[i+1:]; {
		case len(rest) == 0 || len(rest) == 1 && rest[0] == '\r':
			return -1, i
		case rest[0] == '\n':
			return i + 2, 0
		case rest[0] == '\r' && rest[1] == '\n':
			return i + 3, 0
		}
		from = i + 1
	}
}

// isH2C reports whether a connection is upgraded to HTTP/2 (RFC 7540 §3.2).
func isH2C(upgrade string) bool { return len(upgrade) >= 3 && strings.EqualFold(upgrade[:3], "h2c") }

// framing is what a head says about the body.
type framing struct {
	length  int64 // Content-Length; -1 = none
	chunked bool
	coded   bool // a transfer coding that is not chunked
	bad     bool // contradictory lengths
	upgrade string
}

// requestLine is "METHOD target HTTP/1.x".
func requestLine(line string) (method, target string, ok bool) {
	method, rest, ok := strings.Cut(line, " ")
	if !ok {
		return "", "", false
	}
	i := strings.LastIndexByte(rest, ' ')
	if i < 1 || !strings.HasPrefix(rest[i+1:], responsePrefix) {
		return "", "", false
	}
	return method, strings.TrimSpace(rest[:i]), true
}

// statusLine is "HTTP/1.x 200 reason".
func statusLine(line string) (status int, ok bool) {
	_, rest, ok := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	if !ok || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return 0, false
	}
	for _, c := range []byte(rest[:3]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		status = status*10 + int(c-'0')
	}
	return status, status >= 100
}

// splitHead cuts a head into its first line and those fields that tell something,
// which replace what is in fields. A head without its blank line (cut) loses its
// last, incomplete line.
func splitHead(b *exchange.Builder, head []byte, whole bool, fields []exchange.Header) (first string, _ []exchange.Header, f framing) {
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	line, rest := cutLine(head)
	first, fields = b.Shared(line), fields[:0]
	begun, kept := false, false // there was a field; it is in fields
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		if (line[0] == ' ' || line[0] == '\t') && begun { // folded (RFC 9112 §5.2)
			if last := len(fields) - 1; kept && len(fields[last].Value) < 64<<10 {
				fields[last].Value += " " + string(bytes.TrimSpace(line))
			}
			continue
		}
		n := len(fields)
		fields = b.AppendLine(fields, line)
		if telling := len(fields) > n; telling || bytes.IndexByte(line, ':') >= 0 {
			begun, kept = true, telling
		}
	}
	return first, fields, framingOf(fields)
}

func cutLine(b []byte) (line, rest []byte) {
	line = b
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		line, rest = b[:n], b[n+1:]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// framingOf reads the fields that decide where a body ends (RFC 9112 §6.3).
func framingOf(fields []exchange.Header) framing {
	f := framing{length: -1}
	for _, h := range fields {
		switch len(h.Name) {
		case len("Content-Length"):
			if strings.EqualFold(h.Name, "Content-Length") {
				f.addLength(h.Value)
			}
		case len("Transfer-Encoding"):
			if strings.EqualFold(h.Name, "Transfer-Encoding") {
				last := h.Value[strings.LastIndexByte(h.Value, ',')+1:]
				f.chunked = strings.EqualFold(strings.TrimSpace(last), "chunked")
				f.coded = !f.chunked
			}
		case len("Upgrade"):
			if strings.EqualFold(h.Name, "Upgrade") {
				f.upgrade = h.Value
			}
		}
	}
	return f
}

func (f *framing) addLength(v string) {
	for one := range strings.SplitSeq(v, ",") {
		n := int64(0)
		one = strings.TrimSpace(one)
		if one == "" || len(one) > 18 {
			f.bad = true
			return
		}
		for _, c := range []byte(one) {
			if c < '0' || c > '9' {
				f.bad = true
				return
			}
			n = n*10 + int64(c-'0')
		}
		if f.length >= 0 && f.length != n {
			f.bad = true
		}
		f.length = n
	}
}

// chunkSize reads the line in front of a chunk: hexadecimal digits, then
// extensions (RFC 9112 §7.1).
func chunkSize(line []byte) (n int64, ok bool) {
	line = bytes.TrimRight(line, "\r\n \t")
	for i, c := range line {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		case i > 0 && (c == ';' || c == ' ' || c == '\t'):
			return n, true
		default:
			return 0, false
		}
		if i >= 15 {
			return 0, false
		}
		n = n<<4 | int64(c)
	}
	return n, len(line) > 0
}

// chunkAt reports whether b, the first bytes after a hole, plausibly begins with
// a chunk: its end must stand where its size says.
func chunkAt(b []byte) bool {
	i := bytes.IndexByte(b[:min(len(b), 20)], '\n')
	if i < 2 || b[i-1] != '\r' {
		return false
	}
	n, ok := chunkSize(b[:i])
	if !ok || n > 1<<30 {
		return false
	}
	rest := b[i+1:]
	for k, c := range []byte("\r\n") {
		if at := n + int64(k); at >= int64(len(rest)) {
			return n > 0 // the end is in a later segment
		} else if rest[at] != c {
			return false
		}
	}
	return true
}
