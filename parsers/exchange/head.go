package exchange

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/event"
)

// requestHeader is what the head of a request says about MCP.
type requestHeader struct {
	session     event.Session
	sessionLine string // the field as it stood, for the excerpt
	principal   string
	cookie      string
	userAgent   string
	revision    string
	resume      string
	coding      string
	foreign     bool // the content type names something else than JSON
	loss        event.Loss
}

func readRequestHeader(b *Builder, r Request) (h requestHeader) {
	ids := sessionField{b: b}
	var cookies []string
	for i := range r.Header {
		f := &r.Header[i]
		switch f.field() {
		case fieldSession:
			ids.add(f)
		case fieldRevision:
			h.revision = b.names.text(cutText(strings.TrimSpace(f.Value), 64))
		case fieldLastEvent:
			h.resume = b.names.text(cutText(strings.TrimSpace(f.Value), maxName))
		case fieldAuthorization, fieldKey:
			p, redacted := principal(f.Value)
			if redacted {
				h.loss |= event.LossRedacted
			}
			// A readable subject says more than a key beside it.
			if h.principal == "" || !subject(h.principal) && subject(p) {
				if p != "" {
					h.principal = b.names.text(p)
				}
			}
		case fieldCookie:
			cookies = affinity(cookies, f.Value)
		case fieldUserAgent:
			h.userAgent = b.names.text(cutText(strings.TrimSpace(f.Value), 256))
		case fieldContentType:
			h.foreign = foreign(mediaType(f.Value))
		case fieldContentEncoding:
			h.coding = joinCoding(h.coding, f.Value)
		}
	}
	if len(cookies) > 0 {
		h.cookie = b.names.text(joinCookies(cookies))
	}
	h.session = ids.session(b, r.At, &h.loss)
	h.sessionLine = ids.line
	return h
}

// foreign reports a media type of request bodies that are no messages, such as the
// form that goes to the token endpoint beside an MCP server.
func foreign(media string) bool {
	return strings.HasPrefix(media, "multipart/") || strings.HasPrefix(media, "image/") || media == "application/x-www-form-urlencoded"
}

// responseHeader is what the head of a response says about MCP.
type responseHeader struct {
	session     event.Session
	sessionLine string
	contentType string
	coding      string
	loss        event.Loss
}

func readResponseHeader(b *Builder, r Response) (h responseHeader) {
	ids := sessionField{b: b}
	for i := range r.Header {
		f := &r.Header[i]
		switch f.field() {
		case fieldSession:
			ids.add(f)
		case fieldContentType:
			h.contentType = f.Value
		case fieldContentEncoding:
			h.coding = joinCoding(h.coding, f.Value)
		}
	}
	h.session = ids.session(b, r.At, &h.loss)
	h.sessionLine = ids.line
	return h
}

// fold compares a header name with a lower-case one.
func fold(name, lower string) bool {
	return len(name) == len(lower) && strings.EqualFold(name, lower)
}

// sessionField collects the Mcp-Session-Id fields of one head (2025-03-26
// basic/transports, "Session Management"; later spelled MCP-Session-Id).
type sessionField struct {
	b      *Builder
	value  string
	line   string
	differ bool
}

func (s *sessionField) add(f *Header) {
	v := oneOf(strings.TrimSpace(f.Value))
	if s.line == "" {
		s.value = v
		line := append(s.b.line[:0], cutText(f.Name, 32)...)
		line = append(append(line, ": "...), cutText(f.Value, 300)...)
		s.b.line, s.line = line, s.b.names.bytes(line)
		return
	}
	if v != s.value {
		s.differ = true
	}
}

// oneOf undoes the joining of equal fields by commas, as proxies and Node.js do.
func oneOf(v string) string {
	if !strings.Contains(v, ",") {
		return v
	}
	parts := strings.Split(v, ",")
	first := strings.TrimSpace(parts[0])
	for _, p := range parts[1:] {
		if strings.TrimSpace(p) != first {
			return v
		}
	}
	return first
}

func (s *sessionField) session(b *Builder, at event.Address, loss *event.Loss) event.Session {
	if s.differ || strings.Contains(s.value, ", ") {
		b.stats.Flaw(at, "Mcp-Session-Id stands twice with different values: which one was used is not known")
		return event.Session{}
	}
	if redacted(s.value) {
		*loss |= event.LossRedacted
		return event.Session{}
	}
	return namedSession(b, s.value)
}

// namedSession makes a session of a value; what JavaScript and Python clients
// write for "none" is absent.
func namedSession(b *Builder, v string) event.Session {
	switch v {
	case "", "undefined", "null", "None":
		return event.Session{State: event.Absent}
	}
	if len(v) > maxName {
		// Some gateways seal a whole state into the id: keep it bounded and distinct.
		v = cutText(v, maxName-20) + "…" + digest("isodetect session", v)
	}
	return event.Named(b.names.text(v))
}

// redacted reports a value that a recorder put in place of a secret.
func redacted(v string) bool {
	if hexadecimal(v) {
		return false
	}
	if strings.Trim(v, "*xX.•…") == "" && len(v) >= 3 {
		return true
	}
	l := strings.ToLower(v)
	return len(l) < 64 && (strings.Contains(l, "redacted") || strings.Contains(l, "sanitized") || strings.Contains(l, "<hidden") || strings.Contains(l, "[filtered"))
}

// hexadecimal reports a text of hexadecimal digits and dashes, as most session ids are,
// or an empty one.
func hexadecimal(v string) bool {
	for i := range len(v) {
		if c := v[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') && c != '-' {
			return false
		}
	}
	return true
}

// splitAbsolute cuts a target in absolute form (RFC 9112 §3.2.2) into its authority and
// what stands behind; ok is false for other targets.
func splitAbsolute(target string) (authority, rest string, ok bool) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return "", "", false
	}
	if j := strings.IndexAny(rest, "/?#"); j >= 0 {
		return rest[:j], rest[j:], true
	}
	return rest, "", true
}

// splitTarget returns the path without a trailing slash, and the query.
func splitTarget(target string) (path, query string) {
	if _, rest, ok := splitAbsolute(target); ok {
		target = rest
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	path, query, _ = strings.Cut(target, "?")
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	if path == "" {
		path = "/"
	}
	return cutText(path, 2048), query
}

// sessionParameter returns the value of a query parameter that names a session:
// sessionId, session_id, sessionid in any case (HTTP+SSE, 2024-11-05 transports).
func sessionParameter(query string) (value string, ok bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, v, _ := strings.Cut(pair, "=")
		if len(name) < len("sessionid") || len(name) > 20 {
			continue
		}
		name = strings.NewReplacer("_", "", "-", "").Replace(name)
		if !strings.EqualFold(name, "sessionid") {
			continue
		}
		if u, err := url.QueryUnescape(v); err == nil {
			v = u
		}
		return v, true
	}
	return "", false
}

// askedSession tells which session a request names: the header, else the
// parameter of the target, else a target that an endpoint event announced.
func (b *Builder) askedSession(h requestHeader, path, query string, loss event.Loss, server string) event.Session {
	if h.session.State == event.Present || h.sessionLine != "" && h.session.State == event.Unknown {
		return h.session
	}
	if v, ok := sessionParameter(query); ok {
		if redacted(v) {
			return event.Session{}
		}
		return namedSession(b, v)
	}
	if s, ok := b.announced.find(server, path, query); ok {
		return s
	}
	if loss&event.LossHeaders != 0 && h.sessionLine == "" {
		return event.Session{}
	}
	return h.session
}

// The excerpts of heads are the same for every exchange of a session, so they are shared.

func (b *Builder) openedExcerpt(method, path, query, sessionLine string) string {
	s := append(b.line[:0], method...)
	s = append(s, ' ')
	s = append(s, cutText(path, 128)...)
	if v, ok := sessionParameter(query); ok {
		s = append(s, "?sessionId="...)
		s = append(s, cutText(v, 128)...)
	}
	if sessionLine != "" {
		s = append(s, '\n')
		s = append(s, cutText(sessionLine, 200)...)
	}
	b.line = s
	return b.names.bytes(s)
}

func (b *Builder) headExcerpt(status int, sessionLine string) string {
	s := strconv.AppendInt(append(b.line[:0], "HTTP "...), int64(status), 10)
	if sessionLine != "" {
		s = append(s, '\n')
		s = append(s, cutText(sessionLine, 400)...)
	}
	b.line = s
	return b.names.bytes(s)
}

func joinCoding(have, more string) string {
	more = strings.ToLower(strings.TrimSpace(more))
	switch {
	case more == "" || more == "identity":
		return have
	case have == "":
		return more
	}
	return have + "," + more
}

// Decoded returns the header without Content-Encoding, for a body that the
// recorder has decoded.
func Decoded(h []Header) []Header {
	coding := func(f Header) bool { return f.field() == fieldContentEncoding }
	if !slices.ContainsFunc(h, coding) {
		return h
	}
	return slices.DeleteFunc(slices.Clone(h), coding)
}

// SessionHeader reports whether a field name is Mcp-Session-Id.
func SessionHeader(name string) bool { return fold(name, "mcp-session-id") }
