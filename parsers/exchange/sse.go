package exchange

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// sseSplitter splits an event stream (WHATWG HTML §9.2.6). Lines end with LF, CR
// or CRLF, which real servers mix within one stream.
type sseSplitter struct {
	line    []byte // the beginning of a line whose end has not come
	data    []byte // data of the event so far
	ref     []byte // data of one line that still lies in the current piece
	hasData bool
	id      string
	name    string
	resync  bool // bytes are missing: nothing counts until the next event
	large   bool // the event is over source.MaxRecord
}

// idle reports that nothing of an event has come yet.
func (s *sseSplitter) idle() bool {
	return len(s.line) == 0 && !s.hasData && s.id == "" && s.name == "" && !s.resync && !s.large
}

func (s *sseSplitter) drop(b *Builder) {
	if s.line != nil {
		b.release(s.line)
	}
	if s.data != nil {
		b.release(s.data)
	}
	*s = sseSplitter{}
}

func (s *sseSplitter) gap(r *response) {
	s.drop(r.x.b)
	r.started, s.resync = true, true
}

func (s *sseSplitter) feed(p []byte, r *response) {
	nl, cr := -1, -1 // next LF and CR in p, looked up once each
	for pos := 0; pos < len(p); {
		if r.skipLF {
			r.skipLF = false
			if p[pos] == '\n' {
				pos++
				continue
			}
		}
		nl, cr = next(p, pos, nl, '\n'), next(p, pos, cr, '\r')
		end := min(nl, cr)
		if end == len(p) {
			s.keepLine(p[pos:], r)
			break
		}
		r.skipLF = end == cr
		s.take(p[pos:end], r)
		if r.mode != modeSSE {
			return
		}
		pos = end + 1
	}
	if s.ref != nil { // the piece goes, its data must stay
		s.own(r)
	}
}

// next returns the position of c at or after pos, len(p) if there is none; have
// is the position found before, so that a piece is searched once.
func next(p []byte, pos, have int, c byte) int {
	if have >= pos {
		return have
	}
	if i := bytes.IndexByte(p[pos:], c); i >= 0 {
		return pos + i
	}
	return len(p)
}

func (s *sseSplitter) keepLine(p []byte, r *response) {
	if len(p) == 0 {
		return
	}
	if s.large || s.resync || s.over(len(s.line)+len(p), r) {
		s.line = append(s.line[:0], 'x') // only whether the line is empty matters
		return
	}
	if s.line == nil {
		s.line = r.x.b.buffer()
	}
	s.line = append(s.line, p...)
}

// over notes an event that is too large; it is skipped up to its end.
func (s *sseSplitter) over(more int, r *response) bool {
	if len(s.data)+len(s.ref)+more <= source.MaxRecord {
		return false
	}
	if !s.large {
		s.large = true
		r.x.b.stats.Flaw(r.where(), "event over 64 MiB: skipped")
		r.x.loss |= event.LossResponseBody
	}
	s.ref, s.data, s.hasData = nil, s.data[:0], false
	return true
}

// take handles one line without its end.
func (s *sseSplitter) take(part []byte, r *response) {
	line, joined := part, false
	if len(s.line) > 0 {
		if !s.large && !s.resync {
			s.keepLine(part, r)
		}
		line, joined = s.line, true
	}
	if !r.started {
		line = bytes.TrimPrefix(line, bom)
		r.started = true
	}
	switch {
	case len(line) == 0:
		s.blank(r)
	case !s.large && !s.resync:
		s.field(line, joined, r)
	}
	s.line = s.line[:0]
}

func (s *sseSplitter) field(line []byte, joined bool, r *response) {
	name, value := line, []byte(nil)
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value = line[:i], line[i+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		s.addData(value, joined, r)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			s.id = r.x.b.names.bytes(value[:min(len(value), maxName)])
			r.x.lastID = s.id
		}
	case "event":
		s.name = r.x.b.names.bytes(value[:min(len(value), 64)])
	}
}

func (s *sseSplitter) addData(value []byte, joined bool, r *response) {
	if s.over(len(value)+1, r) {
		return
	}
	if !s.hasData {
		s.hasData = true
		if !joined {
			s.ref = value
			return
		}
		s.data = append(s.take0(r), value...)
		return
	}
	if s.ref != nil {
		s.own(r)
	}
	s.data = append(append(s.data, '\n'), value...)
}

func (s *sseSplitter) take0(r *response) []byte {
	if s.data == nil {
		s.data = r.x.b.buffer()
	}
	return s.data[:0]
}

// own copies data out of the piece that is about to go.
func (s *sseSplitter) own(r *response) {
	ref := s.ref
	s.ref = nil
	s.data = append(s.take0(r), ref...)
}

// blank ends an event.
func (s *sseSplitter) blank(r *response) {
	if s.hasData && !s.large && !s.resync {
		data := s.data
		if s.ref != nil {
			data = s.ref
		}
		r.x.dispatch(s.id, s.name, data)
	}
	s.data = s.data[:0]
	s.ref, s.hasData, s.id, s.name, s.large, s.resync = nil, false, "", "", false, false
	if r.x.b.full() && r.mode != modeSkip {
		r.fail("more messages in one piece of the body than can be kept: the rest of it is skipped")
	}
}

// end handles a stream that stops without the blank line after its last event:
// the server wrote the message if its JSON is whole.
func (s *sseSplitter) end(r *response) {
	if s.resync || s.large {
		return
	}
	if len(s.line) > 0 {
		s.take(nil, r)
	}
	if whole, _ := Valid(s.data); s.hasData && whole {
		s.blank(r)
	}
}

// dispatch reads one event of the stream.
func (x *Exchange) dispatch(id, name string, data []byte) {
	if name == "endpoint" {
		x.endpoint(string(data[:min(len(data), 4096)]))
		return
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return // priming event or keep-alive (2025-11-25 basic/transports, "Sending Messages to the Server")
	}
	if data[0] != '{' && data[0] != '[' {
		return
	}
	// "[DONE]" and the like end the streams of other protocols.
	x.document(data, document{time: x.body.intake.time, at: x.body.intake.at, dir: event.ToClient, eventID: id, strict: data[0] == '{'})
}
