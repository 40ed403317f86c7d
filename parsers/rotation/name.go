// Package rotation reads from the name of a file its place in a rotated log. A server
// log that is rotated lies in several files. Their names tell that they are one log;
// what orders them for certain is the time that their lines say.
package rotation

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Part is what the name of a file tells about its place in a rotated log.
type Part struct {
	Log    string // path of the log, as the server names the file that it writes
	Date   string // digits of date and time in the name, "" = none
	Number int    // grows with age, 0 = none
	Unsure bool   // others name their files so too: times have to prove that it was rotated
}

// Rotated reports that the name is one that a rotation gives.
func (p Part) Rotated() bool { return p.Date != "" || p.Number > 0 }

// Older orders the files of a log by their names, the oldest first.
func Older(a, b Part) int {
	switch {
	case a.Date != b.Date && a.Date != "" && b.Date != "" && len(a.Date) == len(b.Date):
		return strings.Compare(a.Date, b.Date)
	case a.Date != b.Date && b.Date == "" && b.Number == 0:
		return -1
	case a.Date != b.Date && a.Date == "" && a.Number == 0:
		return 1
	case a.Number != b.Number:
		return b.Number - a.Number
	}
	return strings.Compare(a.Date, b.Date)
}

var (
	compressed = []string{".gz", ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".z", ".Z"}
	logNames   = []string{".log", ".json", ".jsonl", ".ndjson", ".txt", ".out", ".err"}
)

// PartOf reads the name of a file:
//
//	x.log.1 x.log.2.gz x.log.old         logrotate, docker, newsyslog
//	x.log-20260719.gz x.log.2026-07-19   logrotate dateext, log4j, tomcat
//	0.log.20260719-222000.gz             kubelet
//	x-20260719.log 2026-07-19-x.log      logback, winston
//	data-2026-07-19T22-20-00.000.json    lumberjack, the OpenTelemetry collector
//	x.1.log                              logrotate with extension, and others: unsure
func PartOf(path string) Part {
	dir, base := filepath.Split(path)
	base = cutAny(base, compressed)
	p := Part{}
	rest := p.behind(base)
	if p.Rotated() {
		p.Unsure = p.Unsure || p.Date == "" && !isLogName(rest)
		p.Log = dir + rest
		return p
	}
	stem := cutAny(base, logNames)
	ext := base[len(stem):]
	if ext == "" {
		return Part{Log: dir + base}
	}
	if rest = p.behind(stem); p.Rotated() {
		p.Unsure = p.Unsure || p.Date == ""
		p.Log = dir + rest + ext
		return p
	}
	if n, digits := dated(stem); n == len(stem) {
		return Part{Log: dir + "*" + ext, Date: digits}
	} else if n > 0 && separates(stem[n]) && n+1 < len(stem) {
		return Part{Log: dir + stem[n+1:] + ext, Date: digits}
	}
	return Part{Log: dir + base}
}

// behind takes off what a rotation puts behind a name, and returns the rest.
func (p *Part) behind(s string) string {
	if p.dateBehind(&s) {
		return s
	}
	if k := strings.LastIndexByte(s, '.'); k > 0 {
		switch tail := s[k+1:]; {
		case tail == "old" || tail == "prev":
			p.Number = 1
			return s[:k]
		case len(tail) <= 3 && digitsOnly(tail):
			p.Number, _ = strconv.Atoi(tail)
			p.Number++ // .0 is older than the log itself
			s = strings.TrimSuffix(s[:k], ".old")
			p.dateBehind(&s)
		}
	}
	return s
}

func (p *Part) dateBehind(s *string) bool {
	for i := 1; i+1 < len(*s); i++ {
		if separates((*s)[i]) {
			if n, digits := dated((*s)[i+1:]); n > 0 && i+1+n == len(*s) {
				p.Date, *s = digits, (*s)[:i]
				return true
			}
		}
	}
	return false
}

// dated is the length of the date at the beginning of s, with the time of day that
// may follow it, and their digits; 0 = there is none.
func dated(s string) (n int, digits string) {
	n = dateLength(s)
	if n == 0 {
		return 0, ""
	}
	end := n
	for end < len(s) && end-n < 16 && (isDigit(s[end]) || strings.IndexByte("-_.:T", s[end]) >= 0 && end+1 < len(s) && isDigit(s[end+1])) {
		end++
	}
	switch clock := keepDigits(s[n:end]); {
	case end > n && isDigit(s[n]):
		return 0, "" // a longer number
	case len(clock) == 2 || len(clock) == 4 || len(clock) == 6 || len(clock) == 9:
		n = end
	}
	return n, keepDigits(s[:n])
}

// dateLength is the length of 20260719, 2026-07-19, 2026_07_19 or 2026.07.19.
func dateLength(s string) int {
	valid := func(y, m, d string) bool {
		return y[:2] == "20" && m >= "01" && m <= "12" && d >= "01" && d <= "31"
	}
	if len(s) >= 8 && digitsOnly(s[:8]) {
		if valid(s[:4], s[4:6], s[6:8]) {
			return 8
		}
		return 0
	}
	if len(s) < 10 || !digitsOnly(s[:4]) || !digitsOnly(s[5:7]) || !digitsOnly(s[8:10]) || s[4] != s[7] || !separates(s[4]) || !valid(s[:4], s[5:7], s[8:10]) {
		return 0
	}
	return 10
}

func separates(c byte) bool { return c == '-' || c == '_' || c == '.' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digitsOnly(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func keepDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func cutAny(s string, suffixes []string) string {
	for _, x := range suffixes {
		if len(s) > len(x) && strings.HasSuffix(s, x) {
			return s[:len(s)-len(x)]
		}
	}
	return s
}

// isLogName reports a name that ends as those of logs do, or is one that syslog uses.
func isLogName(name string) bool {
	return cutAny(name, logNames) != name || name == "syslog" || name == "messages"
}

// Packed reports a name that says the file is compressed, and the name without that.
func Packed(name string) (plain string, packed bool) {
	plain = cutAny(name, compressed)
	return plain, plain != name
}
