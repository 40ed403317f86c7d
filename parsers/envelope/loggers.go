package envelope

import "bytes"

// Prefixes of loggers and platforms that are not syslog but look much like it.

// peelKlog reads "I0719 22:20:43.472113    4242 file.go:12] TEXT" (k8s.io/klog and
// glog). Structured lines put the message in quotes in front of their pairs.
func peelKlog(_ *Peeler, l *layer, b []byte) outcome {
	if bytes.IndexByte([]byte("IWEF"), b[0]) < 0 || !shaped(b[1:], "0000 00:00:00.000000 ") {
		return other
	}
	rest := bytes.TrimLeft(b[22:min(len(b), 300)], " ")
	pid := rest[:word(rest)]
	if len(pid) == 0 || len(pid) > 8 || len(bytes.Trim(pid, "0123456789")) > 0 {
		return other
	}
	end := bytes.Index(b[:min(len(b), 300)], []byte("] "))
	if end < 0 || !isDigit(b[end-1]) {
		return other
	}
	l.time, l.who.pid = b[1:21], pid
	l.inner = b[end+2:]
	if len(l.inner) == 0 || l.inner[0] != '"' {
		return whole
	}
	if end := stringEnd(l.inner, 0); end > 0 && (end == len(l.inner) || l.inner[end] == ' ') {
		l.buf = append(append(l.buf[:0], "msg="...), l.inner...)
		l.inner = l.buf
	}
	return whole
}

// peelHeroku reads "TIME app[web.1]: TEXT" and "TIME heroku[router]: TEXT" of Heroku,
// and "TIME app[ID] REGION [info]TEXT" of Fly.io.
func peelHeroku(_ *Peeler, l *layer, b []byte) outcome {
	n, _ := isoTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' {
		return other
	}
	rest := b[n+1:]
	k := bytes.IndexByte(rest[:min(len(rest), 16)], '[')
	if k < 0 {
		return other
	}
	switch string(rest[:k]) {
	case "app", "heroku", "proxy", "runner":
	default:
		return other
	}
	end := bytes.IndexByte(rest[:min(len(rest), 128)], ']')
	if end < k+2 || !label(rest[k+1:end]) || end+2 >= len(rest) {
		return other
	}
	l.time, l.who.program = b[:n], rest[k+1:end]
	text := rest[end+1:]
	if text[0] == ':' {
		l.inner = bytes.TrimPrefix(text[1:], []byte(" "))
		return whole
	}
	if !shaped(text, " aaa [") {
		return other
	}
	end = bytes.IndexByte(text[:min(len(text), 32)], ']')
	if end < 0 || !level(text[6:end]) {
		return other
	}
	l.inner = bytes.TrimPrefix(text[end+1:], []byte(" "))
	return whole
}
