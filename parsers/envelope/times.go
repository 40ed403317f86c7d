package envelope

import "bytes"

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// shaped reports whether b begins as the picture says: 0 stands for a digit, A for
// an upper and a for a lower letter, any other byte for itself.
func shaped(b []byte, picture string) bool {
	if len(b) < len(picture) {
		return false
	}
	for i := range len(picture) {
		switch c := b[i]; picture[i] {
		case '0':
			if !isDigit(c) {
				return false
			}
		case 'A':
			if c < 'A' || c > 'Z' {
				return false
			}
		case 'a':
			if c < 'a' || c > 'z' {
				return false
			}
		default:
			if c != picture[i] {
				return false
			}
		}
	}
	return true
}

// isoTime is the length of the RFC 3339 time at the beginning of b and the number
// of digits of its fraction; 0 if there is none. Its zone may lack the colon.
func isoTime(b []byte) (n, fraction int) {
	if len(b) < 20 || b[4] != '-' || b[10] != 'T' || !shaped(b, "0000-00-00T00:00:00") {
		return 0, 0
	}
	i := 19
	if b[i] == '.' || b[i] == ',' {
		for i++; i < len(b) && isDigit(b[i]); i++ {
			fraction++
		}
	}
	switch {
	case i < len(b) && b[i] == 'Z':
		return i + 1, fraction
	case shaped(b[i:], "+00:00") || shaped(b[i:], "-00:00"):
		return i + 6, fraction
	case shaped(b[i:], "+0000") || shaped(b[i:], "-0000"):
		return i + 5, fraction
	}
	return 0, 0
}

// bsdTime is the length of "Jul 19 22:20:43[.472113]" at the beginning of b, or 0.
func bsdTime(b []byte) int {
	if len(b) < 15 || b[3] != ' ' || b[6] != ' ' || !shaped(b, "Aaa") || !isDigit(b[5]) || !isDigit(b[4]) && b[4] != ' ' || !shaped(b[7:], "00:00:00") {
		return 0
	}
	if bytes.Index([]byte("JanFebMarAprMayJunJulAugSepOctNovDec"), b[:3])%3 != 0 {
		return 0
	}
	i := 15
	if i+1 < len(b) && b[i] == '.' && isDigit(b[i+1]) {
		for i++; i < len(b) && isDigit(b[i]); i++ {
		}
	}
	return i
}

// word is the length of the run of non-blanks at the beginning of b.
func word(b []byte) int {
	if n := bytes.IndexByte(b, ' '); n >= 0 {
		return n
	}
	return len(b)
}

// label reports a name as hosts, pods and containers have it.
func label(b []byte) bool {
	if len(b) == 0 || len(b) > 253 || b[0] == '-' || b[0] == ':' || b[0] == '.' || b[len(b)-1] == ':' || b[len(b)-1] == '.' {
		return false
	}
	for _, c := range b {
		if !(isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '.' || c == '_' || c == ':') {
			return false
		}
	}
	return !level(b)
}

// level reports the level of a log line, which is no name.
func level(b []byte) bool {
	b = bytes.TrimSuffix(b, []byte(":"))
	if len(b) < 3 || len(b) > 8 {
		return false
	}
	var lower [8]byte
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(b)]) {
	case "debug", "info", "warn", "warning", "error", "trace", "notice", "critical", "fatal", "inf", "dbg", "wrn", "err", "trc", "panic":
		return true
	}
	return false
}

// object reports text that begins as a JSON object does.
func object(b []byte) bool { return len(b) > 2 && b[0] == '{' && (b[1] == '"' || b[1] == ' ') }

// colour skips colour codes at the beginning of b.
func colour(b []byte) []byte {
	for len(b) > 2 && b[0] == 0x1b && b[1] == '[' {
		i := 2
		for i < len(b) && i < 16 && (isDigit(b[i]) || b[i] == ';') {
			i++
		}
		if i >= len(b) || b[i] != 'm' {
			return b
		}
		b = b[i+1:]
	}
	return b
}
