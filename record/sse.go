package record

import (
	"bytes"
	"strings"

	"github.com/isodetect/isodetect/parsers/exchange"
)

// events splits an event stream into its events as the bytes come in (WHATWG HTML
// §9.2.6): lines end with LF, CR or CRLF, an empty line ends an event. Comments
// and retry fields carry nothing and are left out.
type events struct {
	line    []byte
	data    []byte
	has     bool // a field of the event was there
	hasData bool
	id      string
	name    string
	started bool
	skipLF  bool
	over    bool // the event is longer than the limit
	limit   int
}

// feed takes a piece and calls emit for each event that ends in it; cut says that
// the event was over the limit and that nothing of it was kept.
func (s *events) feed(p []byte, emit func(id, name, data string, cut bool)) {
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			s.keep(p)
			return
		}
		s.keep(p[:i])
		s.skipLF = p[i] == '\r'
		p = p[i+1:]
		s.take(emit)
	}
}

func (s *events) keep(p []byte) {
	if len(s.line)+len(s.data)+len(p) > s.limit {
		s.over = true
	}
	if s.over {
		if len(p) > 0 { // only whether the line is empty matters
			s.line = append(s.line[:0], ':')
		}
		s.data = nil
		return
	}
	s.line = append(s.line, p...)
}

// take handles the line that has ended.
func (s *events) take(emit func(id, name, data string, cut bool)) {
	text := s.line
	if !s.started {
		text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
		s.started = true
	}
	if len(text) == 0 {
		if s.has || s.over {
			emit(s.id, s.name, string(s.data), s.over)
		}
		s.data, s.has, s.hasData, s.id, s.name, s.over = s.data[:0], false, false, "", "", false
	} else if !s.over {
		s.field(text)
	}
	s.line = s.line[:0]
}

func (s *events) field(text []byte) {
	name, value, _ := bytes.Cut(text, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		}
		s.data = append(s.data, value...)
		s.hasData = true
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return
		}
		s.id = string(value)
	case "event":
		s.name = string(value)
	default:
		return
	}
	s.has = true
}

// end handles a stream that stops without the empty line after its last event.
// It reports whether something was left that is no whole message.
func (s *events) end(emit func(id, name, data string, cut bool)) (rest bool) {
	if len(s.line) > 0 && !s.over {
		s.take(emit)
	}
	if !s.has && !s.over && len(s.line) == 0 {
		return false
	}
	if whole, _ := exchange.Valid(bytes.TrimSpace(s.data)); s.hasData && whole {
		s.line = s.line[:0]
		s.take(emit)
		return false
	}
	return strings.TrimSpace(string(s.data)) != "" || s.over || len(s.line) > 0
}
