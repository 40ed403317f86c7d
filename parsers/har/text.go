package har

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// bytes returns the body as recorded, base64 undone. It may lie in room, and is
// valid until that is used again.
func (c *content) bytes(room *[]byte) (body []byte, problem string) {
	switch {
	case c.file != "" && len(c.text) == 0:
		return c.files.read(c.file)
	case len(c.text) == 0:
		return nil, ""
	case c.plain:
		return c.text, ""
	}
	if len(*room) > keepRoom {
		*room = nil
	}
	if body, *room = mcp.UnescapeBytes(c.text, *room); !c.base64 {
		return body, ""
	}
	s := string(body)
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' {
			return -1
		}
		return r
	}, s)
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, "cannot decode the base64 of a body: its messages are not seen"
	}
	return b, ""
}

// asSent reports a body whose bytes are recorded, so that its content-encoding may
// still be applied; a text was decoded by the recorder.
func (c *content) asSent() bool { return c.base64 || c.plain || c.file != "" }

// keepRoom bounds the room for one body that is kept for the next.
const keepRoom = 1 << 20

// requestBody returns the body of the request and whether one was lost.
func (e *entry) requestBody(room *[]byte) (body []byte, lost event.Loss) {
	body, problem := e.post.bytes(room)
	switch {
	case problem != "", e.postLost:
		return body, event.LossRequestBody
	case len(body) > 0 || e.method != "POST":
		return body, 0
	case e.bodySize > 0, e.bodySize < 0 && !zeroLength(e.reqHeader):
		return nil, event.LossRequestBody
	}
	return nil, 0
}

func zeroLength(h []exchange.Header) bool {
	for _, f := range h {
		if strings.EqualFold(f.Name, "content-length") {
			return strings.TrimSpace(f.Value) == "0"
		}
	}
	return false
}

// encoded reports a body that still has the content-encoding that its head
// names: nearly all writers decode bodies and keep the head.
func encoded(header []exchange.Header, body []byte) bool {
	for _, f := range header {
		if !strings.EqualFold(f.Name, "content-encoding") {
			continue
		}
		v := strings.ToLower(f.Value)
		switch {
		case strings.Contains(v, "gzip"):
			return bytes.HasPrefix(body, []byte{0x1f, 0x8b})
		case strings.Contains(v, "zstd"):
			return bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd})
		case strings.Contains(v, "br"), strings.Contains(v, "deflate"):
			return len(body) > 0 && !utf8.Valid(body) // they have no magic number
		}
	}
	return false
}

// mojibake undoes the decoding of a UTF-8 event stream as windows-1252, which
// Chrome does where the content type names no charset.
func (e *entry) mojibake(body []byte) ([]byte, bool) {
	ascii := true
	for _, c := range body {
		if c >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii || !e.streamWithoutCharset() {
		return nil, false
	}
	out := make([]byte, 0, len(body))
	for _, c := range string(body) {
		b, ok := cp1252(c)
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	if !utf8.Valid(out) {
		return nil, false
	}
	return out, true
}

func (e *entry) streamWithoutCharset() bool {
	return e.isStream() && !strings.Contains(e.contentType(), "charset")
}

func (e *entry) isStream() bool { return strings.HasPrefix(e.contentType(), eventStream) }

// contentType returns the content type of the response in lower case.
func (e *entry) contentType() string {
	media := e.body.mime
	for _, h := range e.resHeader {
		if strings.EqualFold(h.Name, "content-type") {
			media = h.Value
		}
	}
	return strings.ToLower(strings.TrimSpace(media))
}

// endpointLen returns the length of the beginning of an event stream up to the
// end of its endpoint event, 0 if it does not begin with one.
func endpointLen(body []byte) int {
	named := false
	for pos := 0; pos < len(body) && pos < 8<<10; {
		end := bytes.IndexAny(body[pos:], "\r\n")
		if end < 0 {
			return 0
		}
		line := bytes.TrimPrefix(body[pos:pos+end], []byte("\xEF\xBB\xBF"))
		pos += end + 1
		if body[pos-1] == '\r' && pos < len(body) && body[pos] == '\n' {
			pos++
		}
		switch {
		case len(line) == 0 && named:
			return pos
		case bytes.HasPrefix(line, []byte("event:")):
			if named = string(bytes.TrimSpace(line[len("event:"):])) == "endpoint"; !named {
				return 0
			}
		}
	}
	return 0
}

// cp1252 returns the byte that windows-1252 decodes to r (WHATWG Encoding,
// index windows-1252: the five unused bytes stand for themselves).
func cp1252(r rune) (byte, bool) {
	if r < 0x80 || r >= 0xA0 && r <= 0xFF {
		return byte(r), true
	}
	switch r {
	case 0x81, 0x8D, 0x8F, 0x90, 0x9D:
		return byte(r), true
	}
	const high = "\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F" +
		"\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178"
	i := 0
	for _, c := range high {
		if c == r {
			return byte(0x80 + i), true
		}
		i++
	}
	return 0, false
}

// splitURL returns the origin without a default port, and the path with query.
func splitURL(raw string) (origin, target string) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return "", raw
	}
	scheme = strings.ToLower(scheme)
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, target = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host = strings.ToLower(host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host, target
}

// bare takes brackets and zone off an address.
func bare(address string) string {
	s := strings.Trim(address, "[]")
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap().String()
	}
	return s
}
