package logs

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// The wording of running text: words stay, and what differs from line to line
// becomes a placeholder.

const (
	maxWordingWords = 40
	maxWordingText  = 400
	maxPlainWord    = 24
)

// text makes the template of a message.
func (s *shaper) text(b []byte) {
	var line, before []byte
	secret := false // what follows is a credential
	for n := 0; len(b) > 0; n++ {
		if n == maxWordingWords || len(line) > maxWordingText {
			line = s.hole(line, "")
			break
		}
		w := b
		if k := bytes.IndexByte(b, ' '); k >= 0 {
			w = b[:k]
		}
		if k := quotedEnd(b); k > 0 {
			line = append(s.hole(append(line, b[0]), ""), b[0])
			w = b[:k]
			before = nil
		} else if len(w) > 0 {
			line = s.word(line, w, before, secret)
			secret = secretive(w)
			before = bytes.Trim(w, ".,:;!?()[]<>#=\"'")
		}
		if b = b[len(w):]; len(b) > 0 && b[0] == ' ' {
			line, b = append(line, ' '), b[1:]
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	s.shape.Line = string(line)
	s.words = append(append(s.words, ' '), line...)
}

// quotedEnd returns where a quoted text at the beginning of b ends, or 0.
func quotedEnd(b []byte) int {
	if b[0] != '"' && b[0] != '\'' && b[0] != '`' {
		return 0
	}
	k := bytes.IndexByte(b[1:], b[0])
	if k < 0 || k+2 < len(b) && keyByte(b[k+2]) {
		return 0
	}
	return k + 2
}

// hole appends a placeholder. Two need text between them.
func (s *shaper) hole(line []byte, field string) []byte {
	if bytes.HasSuffix(line, []byte("{}")) {
		return line
	}
	if field != "" {
		s.found[field] = true
	}
	s.shape.Holes = append(s.shape.Holes, field)
	return append(line, "{}"...)
}

// word appends one word, or the placeholder for it with the punctuation around it.
func (s *shaper) word(line, w, before []byte, secret bool) []byte {
	begin := 0
	for begin < len(w) && bytes.IndexByte([]byte("([<#\"'"), w[begin]) >= 0 {
		begin++
	}
	end := len(w)
	for end > begin && bytes.IndexByte([]byte(")]>.,:;!?\"'"), w[end-1]) >= 0 {
		end--
	}
	core := w[begin:end]
	if k := bytes.IndexAny(core, "=:"); k > 0 && k+1 < len(core) && plainWord(core[:k]) && !bytes.HasPrefix(core[k:], []byte("://")) {
		line = append(append(line, w[:begin]...), core[:k+1]...)
		var room [maxPath]byte
		line = s.hole(line, s.fresh(core[k+1:], keySlots[string(appendPath(room[:0], core[:k]))]))
		return append(line, w[end:]...)
	}
	if !secret && plainWord(core) && len(core) <= maxPlainWord || len(core) == 0 {
		if rest := append(bytes.Clone(w[:begin]), w[end:]...); !bytes.ContainsAny(rest, "{}") {
			return append(line, w...)
		}
	}
	var room [maxPath]byte
	field := s.fresh(core, keySlots[string(appendPath(room[:0], before))])
	if field == "" && integer(core) && (begin > 0 && w[begin-1] == '#' || idWord(before)) {
		field = "id"
	}
	line = append(s.hole(append(line, w[:begin]...), field), w[end:]...)
	return line
}

// fresh returns the field that a value seems to be, if none was that before.
func (s *shaper) fresh(text []byte, at slot) string {
	field := fieldOfSlot(at, text)
	if field == "" {
		field = fieldOfText(text)
	}
	if s.found[field] {
		return ""
	}
	return field
}

func idWord(w []byte) bool {
	switch string(bytes.ToLower(w)) {
	case "id", "request", "call", "rpc", "req":
		return true
	}
	return false
}

// secretive reports words behind which a credential stands.
func secretive(w []byte) bool {
	switch string(bytes.ToLower(bytes.Trim(w, ".,:;=()[]\"'"))) {
	case "bearer", "basic", "authorization", "password", "passwd", "secret", "apikey", "api-key", "key", "cookie", "credential", "credentials", "token":
		return true
	}
	return false
}

// plainWord reports a word of a language, or a name without digits.
func plainWord(w []byte) bool {
	for len(w) > 0 {
		c, n := utf8.DecodeRune(w)
		if c == utf8.RuneError && n <= 1 || !(unicode.IsLetter(c) || bytes.ContainsRune([]byte("-_.,:;!?()[]<>'*+~|&/>"), c)) {
			return false
		}
		w = w[n:]
	}
	return true
}

// fieldOfSlot is the field that a key names, if the value can be that.
func fieldOfSlot(at slot, text []byte) string {
	switch at {
	case slotMCPSession, slotSession, slotAnswered, slotTarget, slotOwner:
		return "session"
	case slotAsked:
		return "presented"
	case slotOrigin:
		return "origin"
	case slotCanceller:
		return "by"
	case slotRPCID, slotID, slotRequestID, slotCancelID:
		return "id"
	case slotToken:
		return "token"
	case slotBareToken:
		if integer(text) {
			return "token"
		}
	case slotRPCMethod, slotMethod:
		if rpcMethod(text) {
			return "method"
		}
	case slotURI:
		return "uri"
	case slotTool:
		return "tool"
	case slotCaps:
		return "capabilities"
	case slotReason:
		return "reason"
	case slotProgress:
		return "progress"
	case slotTotal:
		return "total"
	}
	return ""
}

// fieldOfText is the field that a value seems to be by itself.
func fieldOfText(text []byte) string {
	switch {
	case rpcMethod(text) && plainWord(text) && bytes.IndexByte(text, '/') > 0:
		return "method"
	case bytes.Contains(text, []byte("://")) && !bytes.HasPrefix(text, []byte("http")):
		return "uri"
	}
	if id := firstID(text, 8); len(id) == len(text) {
		return "session"
	}
	return ""
}
