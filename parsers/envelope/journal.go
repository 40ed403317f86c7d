package envelope

import (
	"bytes"
	"strconv"
)

// peelJournal reads one entry as journalctl -o json writes it. Its MESSAGE is a
// string, an array of bytes where it holds control characters, or null where it was longer
// than 4096 bytes and --all was not given (systemd journalctl(1), "json").
func peelJournal(_ *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	if !f.has(keyJournalTime) || !f.has(keyJournalMessage) && !f.has(keyJournalPID) {
		return other
	}
	l.time = scalar(f.get(keyJournalTime))
	l.who = journalPlace(f.name)
	message := f.get(keyJournalMessage)
	switch {
	case message == nil:
		return bare
	case message[0] == '"':
		text, _ := quoted(message)
		l.inner = unescape(&l.buf, text)
	case message[0] == '[':
		if l.inner = byteArray(l.buf[:0], message); l.inner == nil {
			if first, ok := firstString(message); ok { // a field that stands in the entry twice
				l.inner = unescape(&l.buf, first)
				break
			}
			return other
		}
		l.buf = l.inner
	case string(message) == "null":
		l.why = "journalctl wrote a message over 4096 bytes as null; read the journal with journalctl -o json --all"
		return lost
	default:
		return other
	}
	l.inner = bytes.TrimRight(l.inner, "\r\n")
	if string(f.name(keyJournalPartial)) == "true" {
		return part
	}
	return whole
}

// journalPlace reads whose entry it is. The Docker driver writes entries in the
// name of its daemon, and says which container they are of.
func journalPlace(get func(key) []byte) (w place) {
	if w.container = get(keyJournalContainer); w.container != nil {
		w.id = get(keyJournalContainerID)
		return w
	}
	w.host, w.pid = get(keyJournalHost), get(keyJournalPID)
	if w.program = get(keyJournalProgram); w.program == nil {
		w.program = get(keyJournalUnit)
	}
	return w
}

// byteArray turns [27,91,51] into bytes; nil if it is no array of bytes.
func byteArray(dst, v []byte) []byte {
	bad := false
	elements(v, func(e []byte) {
		n, err := strconv.ParseUint(string(e), 10, 8)
		if err != nil {
			bad = true
			return
		}
		dst = append(dst, byte(n))
	})
	if bad {
		return nil
	}
	return dst
}

func firstString(v []byte) (s []byte, ok bool) {
	elements(v, func(e []byte) {
		if s == nil {
			s, ok = quoted(e)
		}
	})
	return s, ok
}
