package logs

import (
	"bytes"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pattern"
)

// shaper finds the wording of a line that was not understood: its words, with
// placeholders where ids, numbers and names stand, and the keys that tell.
// Nothing else of the line is kept, so that no credential gets into a proposal.
type shaper struct {
	shape pattern.Shape
	r     *record
	path  []byte
	found map[string]bool // the fields seen so far
	words []byte          // what the wording says, to guess what it means
}

// unread tells whoever asked of a line that was not understood.
func (p *parser) unread(b []byte, at event.Address) {
	if p.shapes == nil || len(b) > maxText || p.rec.native {
		return
	}
	if shape, ok := p.wording(b); ok {
		p.shapes.Add(shape, at.N)
	}
}

// wording returns the wording of a line; ok is false for a line that carries nothing of interest.
func (p *parser) wording(b []byte) (shape pattern.Shape, ok bool) {
	r := &p.rec
	s := &shaper{r: r, found: map[string]bool{}}
	if b[0] == '{' {
		if _, f := valueEnd(b, 0); f != formObject {
			return shape, false
		}
		s.members(b, 0, 0, 0)
	} else {
		if bytes.IndexByte(b, 0x1b) >= 0 {
			b = stripANSI(nil, b)
		}
		if b = bytes.TrimRight(b, " \t"); len(b) == 0 || wrapped(b) || requestLine(b) || !plainStart(b) {
			return shape, false
		}
		r.reset()
		i := r.prefix(b, 0)
		r.watch = s
		_, pairs := r.readPairs(b, i)
		r.watch = nil
		if !r.has(slotMessage) || pairs < 2 {
			s.shape.Keys, s.found, s.words = nil, map[string]bool{}, nil
			s.text(b[i:])
		}
	}
	if s.shape.Line == "" && len(s.shape.Keys) == 0 || !s.telling() {
		return shape, false
	}
	s.shape.Event = s.meaning()
	return s.shape, true
}

// telling reports a wording that names what isodetect looks for.
func (s *shaper) telling() bool {
	said := readPhrase(s.words)
	return s.found["session"] || s.found["token"] || s.found["method"] || s.found["presented"] || s.found["origin"] || s.found["by"] ||
		said.any(wSession|wMCP|wRPC|wProgress|wSubscribed|wUnsubscribed|wCancelled|wCancel) && (s.found["id"] || s.found["uri"])
}

// meaning guesses what lines of the wording mean.
func (s *shaper) meaning() string {
	said := readPhrase(s.words)
	switch {
	case said.any(wNot | wFailed | wUpstream):
		return ""
	case said.any(wCancelled):
		return "cancelled"
	case said.any(wCancel):
		return "cancel_received"
	case said.any(wUnsubscribed):
		return "unsubscribed"
	case said.any(wSubscribed | wSubscription):
		return "subscribed"
	case said.any(wProgress):
		return "progress"
	case said.any(wUpdate) && s.found["uri"]:
		return "updated"
	case said.any(wSession) && said.any(wEnded):
		return "session_closed"
	case said.any(wSession) && said.any(wBorn|wInitialized|wNew):
		return "session_created"
	case said.any(wResponse):
		return "response"
	case s.found["tool"] || s.found["method"] || said.any(wCall|wRequest):
		return "request"
	}
	return ""
}

// members looks at the members of a JSON object, which is known to be one.
func (s *shaper) members(b []byte, i, prefix, depth int) {
	for i = space(b, i+1); i < len(b) && b[i] == '"'; i = space(b, i+1) {
		end := stringEnd(b, i)
		if end < 0 {
			return
		}
		s.path = append(s.path[:prefix], b[i+1:end-1]...)
		if i = space(b, end); i >= len(b) || b[i] != ':' {
			return
		}
		at := space(b, i+1)
		if at >= len(b) {
			return
		}
		end, f := valueEnd(b, at)
		switch f {
		case formNone:
			return
		case formString:
			s.pair(s.path, value{b[at+1 : end-1], f})
		case formObject:
			if n := len(s.path); depth < maxNested && n < maxPath {
				s.path = append(s.path, '.')
				s.members(b, at, n+1, depth+1)
			}
		default:
			s.pair(s.path, value{b[at:end], f})
		}
		if i = space(b, end); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// maxHints bounds the keys of a proposal.
const maxHints = 12

// pair looks at a key with its value.
func (s *shaper) pair(key []byte, v value) {
	var room [maxPath]byte
	path := appendPath(room[:0], key)
	at := keySlots[string(path)]
	if k := bytes.LastIndexByte(key, '.'); at == slotNone && k >= 0 {
		at = keySlots[string(appendPath(room[:0], key[k+1:]))]
	}
	top := bytes.IndexByte(key, '.') < 0
	switch {
	case len(s.shape.Keys) >= maxHints || !pattern.IsPath(string(key)) || !keyName(key) || s.hinted(key):
		return
	case top && (at == slotMessage || at == slotEvent) && s.shape.Line == "" && v.form != formNumber:
		s.r.set(slotMessage, nil, v)
		s.text(s.r.text(v))
		return
	case aside(at, path):
		return
	}
	text := s.r.text(v)
	field := fieldOfSlot(at, text)
	switch {
	case field != "":
	case at == slotNone && bytes.HasSuffix(path, []byte("token")) && integer(text):
		field = "token"
	case at == slotNone && (bytes.HasSuffix(path, []byte("session")) || bytes.HasSuffix(path, []byte("sessionid"))):
		field = "session"
	default:
		field = fieldOfText(text)
	}
	switch {
	case field != "" && !s.found[field]:
		s.found[field] = true
		s.shape.Keys = append(s.shape.Keys, pattern.Hint{Path: string(key), Field: field})
	case field == "" && v.form != formNumber && saysWhat(at, path) && len(text) > 0 && len(text) <= 40 && plainWord(bytes.ReplaceAll(text, []byte(" "), nil)):
		s.words = append(append(s.words, ' '), text...)
		s.shape.Keys = append(s.shape.Keys, pattern.Hint{Path: string(key), Text: string(text)})
	}
}

// hinted reports a key that stands twice.
func (s *shaper) hinted(key []byte) bool {
	return slices.ContainsFunc(s.shape.Keys, func(h pattern.Hint) bool { return h.Path == string(key) })
}

// keyName reports a key that a program has given. Keys of data may be anything,
// such as a session id.
func keyName(key []byte) bool {
	digits := 0
	for _, c := range key {
		if !keyByte(c) {
			return false
		}
		if isDigit(c) {
			digits++
		}
	}
	return len(key) <= 100 && digits < 3
}

// aside reports keys that are about the log and not about what happened.
func aside(at slot, path []byte) bool {
	switch at {
	case slotTime, slotInstance, slotPod, slotHost, slotPID, slotDuration, slotStatus, slotRemote, slotUserAgent, slotPath, slotHTTPMethod, slotUpstream:
		return true
	}
	switch string(path) {
	case "level", "severity", "logger", "caller", "lvl", "levelname", "thread", "traceid", "spanid", "trace", "span":
		return true
	}
	return false
}

// saysWhat reports keys whose value tells lines apart.
func saysWhat(at slot, path []byte) bool {
	switch at {
	case slotKind, slotType, slotOperation, slotDirection, slotEvent:
		return true
	}
	switch string(path) {
	case "what", "evt", "verb", "phase", "state", "step":
		return true
	}
	return false
}
