package envelope

import "bytes"

// peelSyslog5424 reads "<PRI>1 TIME HOST APP PROCID MSGID SD TEXT", also behind the
// length that TCP framing puts in front (RFC 5424 §6, RFC 6587 §3.4.1).
func peelSyslog5424(p *Peeler, l *layer, b []byte) outcome {
	if n, length := counted(b); n > 0 {
		if n+length+1 >= len(b) { // as files hold them: a frame a line
			return p.syslog5424(l, b[n:])
		}
		return p.frames(l, b)
	}
	return p.syslog5424(l, b)
}

// counted reads the length in front of a frame: how long it is as it stands, with
// the blank behind it, and what it says; 0 if there is none.
func counted(b []byte) (n, length int) {
	for n < len(b) && n < 9 && isDigit(b[n]) {
		length = 10*length + int(b[n]-'0')
		n++
	}
	if n == 0 || n+1 >= len(b) || b[n] != ' ' || b[n+1] != '<' {
		return 0, 0
	}
	return n + 1, length
}

// frames hands on messages that stand behind each other without newlines, as they
// go over TCP.
func (p *Peeler) frames(l *layer, b []byte) outcome {
	n, length := counted(b)
	if n+length < len(b) {
		if next, _ := counted(b[n+length:]); next == 0 { // the length counts something else
			return p.syslog5424(l, b[n:])
		}
	}
	for n > 0 {
		frame := b[n:min(len(b), n+length)]
		if p.syslog5424(l, bytes.TrimRight(frame, "\r\n")) == whole {
			l.many = true
			p.into(l, false)
		}
		b = b[n+len(frame):]
		n, length = counted(b)
	}
	return several
}

func (p *Peeler) syslog5424(l *layer, b []byte) outcome {
	n := priority(b)
	if n == 0 || n+2 > len(b) || b[n] != '1' || b[n+1] != ' ' {
		return other
	}
	rest := b[n+2:]
	var head [5][]byte // TIME HOST APP PROCID MSGID
	for i := range head {
		n := word(rest[:min(len(rest), 300)])
		if n == 0 || n >= len(rest) {
			return other
		}
		head[i], rest = rest[:n], rest[n+1:]
	}
	if n, _ := isoTime(head[0]); n != len(head[0]) && string(head[0]) != "-" {
		return other
	}
	end := structured(rest)
	if end == 0 {
		return other
	}
	l.time = head[0]
	l.who = place{host: known(head[1]), program: known(head[2]), pid: known(head[3])}
	text := bytes.TrimPrefix(bytes.TrimPrefix(rest[end:], []byte(" ")), []byte("\xef\xbb\xbf"))
	out := syslogText(p, l, text)
	l.parameters(rest[:end])
	return out
}

// parameters puts what a program said in structured data of its own behind its
// text, as loggers write pairs. Elements without @ are the transport's.
func (l *layer) parameters(data []byte) {
	if len(data) < 2 || object(l.inner) {
		return
	}
	out := append(l.object[:0], l.inner...)
	for len(data) > 0 {
		n := structured(data[:1+bytes.IndexByte(data, ']')])
		if n == 0 { // a bracket inside a value
			n = len(data)
		}
		element := data[1 : n-1]
		name, pairs, _ := bytes.Cut(element, []byte(" "))
		if bytes.IndexByte(name, '@') > 0 && len(pairs) > 0 {
			out = append(append(out, ' '), pairs...)
		}
		data = data[n:]
	}
	l.object, l.inner = out, out
}

// priority is the length of <PRI> at the beginning of b, or 0.
func priority(b []byte) int {
	for n := 2; n <= 4 && n < len(b) && b[0] == '<' && isDigit(b[n-1]); n++ {
		if b[n] == '>' {
			return n + 1
		}
	}
	return 0
}

// structured is the length of the structured data at the beginning of b, 0 if it is none.
func structured(b []byte) int {
	if len(b) > 0 && b[0] == '-' {
		return 1
	}
	i := 0
	for i < len(b) && b[i] == '[' {
		quoted := false
		for i++; i < len(b) && (quoted || b[i] != ']'); i++ {
			switch b[i] {
			case '"':
				quoted = !quoted
			case '\\':
				if quoted {
					i++
				}
			}
		}
		if i >= len(b) {
			return 0
		}
		i++
	}
	return i
}

// known drops the sign for a value that is not known.
func known(b []byte) []byte {
	if string(b) == "-" {
		return nil
	}
	return b
}

// peelSyslog3164 reads "<PRI>Jul 19 22:20:43 HOST TAG[PID]: TEXT"; files have no
// priority, and the colon may be missing. journalctl writes the same.
func peelSyslog3164(p *Peeler, l *layer, b []byte) outcome {
	pri := priority(b)
	b = b[pri:]
	n := bsdTime(b)
	if n == 0 {
		if n, _ = isoTime(b); n == 0 || pri == 0 {
			return other
		}
	}
	if n >= len(b) || b[n] != ' ' {
		return other
	}
	l.time = b[:n]
	return tagged(p, l, b[n+1:], pri > 0)
}

// peelSyslogISO reads "2026-07-19T22:20:43.472113+00:00 HOST TAG[PID]: TEXT".
func peelSyslogISO(p *Peeler, l *layer, b []byte) outcome {
	n, _ := isoTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' {
		return other
	}
	l.time = b[:n]
	return tagged(p, l, b[n+1:], false)
}

// peelJournalFull reads "Sun 2026-07-19 22:20:43 UTC HOST TAG[PID]: TEXT" and
// "1784499643.472113 HOST TAG[PID]: TEXT".
func peelJournalFull(p *Peeler, l *layer, b []byte) outcome {
	n := 0
	switch {
	case shaped(b, "Aaa 0000-00-00 00:00:00"):
		n = 23
		for n < len(b) && (b[n] == '.' || isDigit(b[n])) {
			n++
		}
		if n >= len(b) || b[n] != ' ' {
			return other
		}
		n += 1 + word(b[n+1:]) // the name of the zone
	case shaped(b, "0000000000.000000 "):
		n = 17
	default:
		return other
	}
	if n >= len(b) {
		return other
	}
	l.time = b[:n]
	return tagged(p, l, b[n+1:], false)
}

// tagged reads "HOST TAG[PID]: TEXT". Without a process id a program may have
// written such words itself, so that the line counts only if it is sure by its
// priority or its host is known by now.
func tagged(p *Peeler, l *layer, b []byte, sure bool) outcome {
	n := word(b[:min(len(b), 256)])
	if n >= len(b) || !label(b[:n]) {
		return other
	}
	host, rest := b[:n], b[n+1:]
	end := 0
	for end < len(rest) && end < 128 && rest[end] != ' ' && rest[end] != '[' && rest[end] != ':' {
		end++
	}
	tag := rest[:end]
	if end == 0 || end >= len(rest) || !label(tag) && bytes.IndexByte(tag, '/') < 0 {
		return other
	}
	l.who = place{host: host, program: tag}
	i := end
	if rest[i] == '[' {
		k := bytes.IndexByte(rest[i:min(len(rest), i+16)], ']')
		if k < 2 || len(bytes.Trim(rest[i+1:i+k], "0123456789")) > 0 {
			return other
		}
		l.who.pid = rest[i+1 : i+k]
		i += k + 1
		l.host = append(l.host[:0], host...)
	} else if rest[i] != ':' || !sure && !bytes.Equal(host, l.host) {
		return other
	}
	if i < len(rest) && rest[i] == ':' {
		i++
	}
	if i < len(rest) && rest[i] == ' ' {
		i++
	}
	return syslogText(p, l, rest[i:])
}

// syslogText undoes the escapes of rsyslog, which writes control characters as #
// and three octal digits (parser.escapeControlCharactersOnReceive).
func syslogText(p *Peeler, l *layer, text []byte) outcome {
	if l.depth == 0 {
		p.indents = true
	}
	l.inner = text
	if k := bytes.IndexByte(text, '#'); k < 0 || !escaped(text) {
		return whole
	}
	out := l.buf[:0]
	for i := 0; i < len(text); i++ {
		if c, ok := octal(text[i:]); ok {
			out = append(out, c)
			i += 3
			continue
		}
		out = append(out, text[i])
	}
	l.buf = out
	l.inner = bytes.TrimRight(out, "\r\n")
	return whole
}

// octal reads #012: only control characters are escaped.
func octal(b []byte) (c byte, ok bool) {
	if len(b) < 4 || b[0] != '#' || b[1] != '0' || b[2] < '0' || b[2] > '3' || b[3] < '0' || b[3] > '7' {
		return 0, false
	}
	return (b[2]-'0')<<3 | (b[3] - '0'), true
}

func escaped(text []byte) bool {
	for {
		k := bytes.IndexByte(text, '#')
		if k < 0 {
			return false
		}
		if _, ok := octal(text[k:]); ok {
			return true
		}
		text = text[k+1:]
	}
}
