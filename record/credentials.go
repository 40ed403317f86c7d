package record

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
)

// hasher puts a keyed hash in the place of credentials. Equal credentials get
// equal hashes within one recording; without the key, which is never written, a
// hash cannot be tried out against guesses.
type hasher struct {
	key    []byte
	reveal bool // leave everything as it is
}

// hash returns "hashed:" and 16 hex digits.
func (h *hasher) hash(secret string) string {
	m := hmac.New(sha256.New, h.key)
	m.Write([]byte(secret))
	return "hashed:" + hex.EncodeToString(m.Sum(nil)[:8])
}

// header returns the fields of a head as they may be stored.
func (h *hasher) header(fields http.Header) *header {
	out := make(header, len(fields))
	for name, values := range fields {
		stored := make([]string, len(values))
		for i, v := range values {
			stored[i] = h.field(name, v)
		}
		switch len(stored) {
		case 0:
		case 1:
			out[name] = stored[0]
		default:
			out[name] = stored
		}
	}
	return &out
}

func (h *hasher) field(name, value string) string {
	if h.reveal || value == "" {
		return value
	}
	switch l := strings.ToLower(name); {
	case l == "authorization", l == "proxy-authorization":
		return h.authorization(value)
	case l == "cookie":
		return h.cookies(value)
	case l == "set-cookie":
		return h.setCookie(value)
	case l == "location", l == "content-location", l == "referer":
		return h.url(value)
	case strings.HasPrefix(l, "mcp-"), strings.HasPrefix(l, "access-control-"), l == "idempotency-key":
		return value
	case secretName(l), strings.HasSuffix(l, "key"):
		return h.hash(strings.TrimSpace(value))
	}
	return value
}

// authorization keeps the scheme, and of a readable JWT who issued it for whom.
func (h *hasher) authorization(value string) string {
	scheme, token, two := strings.Cut(strings.TrimSpace(value), " ")
	if !two {
		return h.hash(scheme)
	}
	token = strings.TrimSpace(token)
	if subject := h.subject(token); subject != "" {
		return scheme + " " + subject
	}
	return scheme + " " + h.hash(token)
}

// subject returns what is kept of a JWT (RFC 7519 §4.1): an unsigned one that holds
// nothing but its issuer and subject, with the hash of the token where the
// signature was. "" if token is no JWT with both claims.
func (h *hasher) subject(token string) string {
	head, rest, ok := strings.Cut(token, ".")
	claims, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || !strings.HasPrefix(head, "ey") || len(claims) > 64<<10 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(claims, "="))
	if err != nil {
		return ""
	}
	var kept struct {
		Issuer  string `json:"iss"`
		Subject string `json:"sub"`
	}
	if json.Unmarshal(raw, &kept) != nil || kept.Issuer == "" || kept.Subject == "" {
		return ""
	}
	short, _ := json.Marshal(kept)
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(`{"alg":"none"}`)) + "." + b64(short) + "." + strings.ReplaceAll(h.hash(token), ":", "-")
}

// cookies keeps the names: some bind a client to a backend (see parsers/exchange).
func (h *hasher) cookies(value string) string {
	pairs := strings.Split(value, ";")
	for i, pair := range pairs {
		name, v, ok := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case ok:
			pairs[i] = name + "=" + h.hash(v)
		case name != "":
			pairs[i] = h.hash(name)
		}
	}
	return strings.Join(pairs, "; ")
}

func (h *hasher) setCookie(value string) string {
	pair, attributes, more := strings.Cut(value, ";")
	pair = h.cookies(pair)
	if more {
		pair += ";" + attributes
	}
	return pair
}

// url hides credentials in a URL or a target: in its user part, in its parameters,
// and segments that are a JWT.
func (h *hasher) url(raw string) string {
	if h.reveal {
		return raw
	}
	target, query, asked := strings.Cut(raw, "?")
	fragment := ""
	if i := strings.IndexByte(query, '#'); i >= 0 {
		query, fragment = query[:i], query[i:]
	}
	scheme, rest, absolute := strings.Cut(target, "://")
	if absolute {
		authority, path, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			authority = h.hash(authority[:i]) + authority[i:]
			target = scheme + "://" + authority + "/" + path
		}
	}
	segments := strings.Split(target, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "ey") && strings.Count(s, ".") >= 2 {
			segments[i] = h.hash(s)
		}
	}
	out := strings.Join(segments, "/")
	if asked {
		out += "?" + h.form(query)
	}
	return out + fragment
}

// form hides credentials in a query or a form.
func (h *hasher) form(query string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		if !ok || value == "" || !secretName(plain) {
			continue
		}
		if v, err := url.QueryUnescape(value); err == nil {
			value = v
		}
		pairs[i] = name + "=" + h.hash(value)
	}
	return strings.Join(pairs, "&")
}

// document hides credentials in the members of a JSON object that is no JSON-RPC
// message, such as the answer of an OAuth token endpoint (RFC 6749 §5.1). Bodies of
// MCP are what is judged and stay as they are.
func (h *hasher) document(raw []byte) []byte {
	if h.reveal || len(raw) == 0 || raw[0] != '{' || bytes.Contains(raw, []byte(`"jsonrpc"`)) {
		return raw
	}
	out, hidden := []byte{'{'}, false
	err := jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(string(key)) // escapes in it are undone
		out = append(append(out, name...), ':')
		switch {
		case kind == jsonparser.String && secretName(string(key)):
			hidden = true
			out = append(append(append(out, '"'), h.hash(mcp.Unescape(value))...), '"')
		case kind == jsonparser.String:
			out = append(append(append(out, '"'), value...), '"')
		default:
			out = append(out, value...)
		}
		return nil
	})
	if err != nil || !hidden {
		return raw
	}
	return append(out, '}')
}

// secretName reports whether a header, a parameter or a key of this name holds a
// credential. It rather takes too many than too few; a session id is none here,
// because the recording is about sessions.
func secretName(name string) bool {
	n := strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' {
			return -1
		}
		return c
	}, strings.ToLower(name))
	switch n {
	case "auth", "xauth", "bearer", "key", "sig", "pwd", "pass", "otp", "code", "codeverifier", "devicecode", "authcode":
		return true
	case "progresstoken", "pagetoken", "nextpagetoken", "nexttoken", "canceltoken":
		return false
	}
	for _, word := range secretWords {
		if strings.Contains(n, word) {
			return true
		}
	}
	return strings.HasSuffix(n, "token") || strings.HasPrefix(n, "xauth")
}

var secretWords = []string{
	"authorization", "cookie", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey",
	"credential", "jwt", "signature", "assertion",
}
