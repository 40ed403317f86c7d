package report

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
)

func eachToken(s string, f func(tok string)) {
	event.Tokens(s, func(tok string) bool { f(tok); return true })
}

// free copies a text that is no single value: a log line, the head of an HTTP
// message, lines of a stream. JSON inside it, quoted texts and the values of
// telling keys are treated by what they are.
func (w *walker) free(s string) {
	plain := 0 // what s[plain:i] holds is copied as it is
	flush := func(i int) { w.out.WriteString(w.m.plainText(s[plain:i])) }
	for i := 0; i < len(s); {
		n := 0
		switch c := s[i]; {
		case (c == '{' || c == '[') && jsonAhead(s[i+1:]):
			flush(i)
			n = w.value(s[i:], viewOpen, 0)
		case (c == '"' || c == '\'') && pairAhead(s[i:]) != viewOpen:
			flush(i)
			n = w.pair(s[i:])
		case c == '"' && strings.IndexByte(s[i+1:], '"') >= 0 && wordBefore(s, i) == "":
			flush(i)
			n = w.quoted(s[i:], viewOpen)
		case c == '=' || c == ':':
			if v := viewOf(viewOpen, wordBefore(s, i)); v != viewOpen && !(c == ':' && v != viewSecret && v != viewID) {
				flush(i)
				n = w.assigned(s[i:], v, manyWords(wordBefore(s, i)))
			}
		}
		if n == 0 {
			i++
			continue
		}
		i += n
		plain = i
	}
	flush(len(s))
}

// jsonAhead reports whether what follows an opening bracket is JSON.
func jsonAhead(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return s != "" && strings.IndexByte(`"{}`, s[0]) >= 0
}

// wordBefore is the word that ends at s[i], or before a quote there.
func wordBefore(s string, i int) string {
	if i > 0 && s[i] == ':' && (s[i-1] == '"' || s[i-1] == '\'') {
		i--
	}
	j := i
	for j > 0 && (letter(s[j-1]) || s[j-1] >= '0' && s[j-1] <= '9' || strings.IndexByte("_-.", s[j-1]) >= 0) {
		j--
	}
	return s[j:i]
}

// manyWords reports whether what a key holds may go on over blanks.
func manyWords(key string) bool {
	k := normal(key)
	return strings.HasSuffix(k, "authorization") || strings.HasSuffix(k, "auth") || strings.HasSuffix(k, "cookie") || strings.HasSuffix(k, "cookies")
}

// assigned copies = or : and the value behind it, and returns the length of both.
// A credential of many words behind = goes on up to the next pair.
func (w *walker) assigned(s string, v view, many bool) int {
	sep := 1
	for sep < len(s) && s[sep] == ' ' && s[0] == ':' {
		sep++
	}
	w.out.WriteString(s[:sep])
	rest := s[sep:]
	switch {
	case rest == "":
		return sep
	case rest[0] == '"':
		return sep + w.quoted(rest, v)
	case rest[0] == '\'':
		return sep + w.apostrophes(rest, v)
	case strings.HasPrefix(rest, "b'"):
		w.out.WriteByte('b')
		return sep + 1 + w.apostrophes(rest[1:], v)
	case rest[0] == '{' || rest[0] == '[':
		return sep + w.value(rest, v, 0)
	}
	n := valueEnd(rest)
	switch {
	case v == viewSecret && (many || s[0] == ':'):
		n = credentialEnd(rest, s[0] == ':')
	case v == viewSecret:
		n += schemeTail(rest, n)
	}
	if open := strings.IndexByte(rest[:n], '['); open >= 0 && v != viewSecret { // map[text:…] of Go, and lists
		n = bracketEnd(rest, open)
	}
	w.text(rest[:n], v)
	return sep + n
}

// apostrophes copies a text between apostrophes, as Python and Ruby print it.
func (w *walker) apostrophes(s string, v view) int {
	end := strings.IndexByte(s[1:], '\'') + 1
	if end == 0 {
		end = len(s)
	}
	w.out.WriteByte('\'')
	w.text(s[1:end], v)
	if end == len(s) {
		return end
	}
	w.out.WriteByte('\'')
	return end + 1
}

// pairAhead returns the view of the second text in 'name', 'value' or "name",
// "value", as lists of header fields are printed; viewOpen if s does not begin so.
func pairAhead(s string) view {
	k := strings.IndexByte(s[1:], s[0]) + 1
	if k <= 1 || k > 64 {
		return viewOpen
	}
	rest, ok := strings.CutPrefix(s[k+1:], ",")
	rest = strings.TrimPrefix(strings.TrimLeft(rest, " "), "b")
	if !ok || rest == "" || rest[0] != s[0] {
		return viewOpen
	}
	return secretView(s[1:k])
}

// pair copies such a pair.
func (w *walker) pair(s string) int {
	v := pairAhead(s)
	k := strings.IndexByte(s[1:], s[0]) + 2
	k += strings.IndexByte(s[k:], s[0])
	w.out.WriteString(s[:k])
	if s[0] == '"' {
		return k + w.quoted(s[k:], v)
	}
	return k + w.apostrophes(s[k:], v)
}

// secretView is viewSecret or viewID where a name is one of a credential or session id, else viewOpen.
func secretView(name string) view {
	switch k := normal(name); {
	case credentialKey(k):
		return viewSecret
	case sessionKey(k):
		return viewID
	}
	return viewOpen
}

// valueEnd is where an unquoted value ends: at the next divider.
func valueEnd(s string) int {
	if i := strings.IndexAny(s, " \t\r\n,;&\"')}]>"); i >= 0 {
		return i
	}
	return len(s)
}

// schemeTail is the length of the credential that follows a scheme such as Bearer.
func schemeTail(s string, n int) int {
	switch strings.ToLower(s[:n]) {
	case "bearer", "basic", "digest", "token", "negotiate", "apikey":
		if n < len(s) && s[n] == ' ' {
			return 1 + valueEnd(s[n+1:])
		}
	}
	return 0
}

// credentialEnd is where an unquoted credential ends. What stands behind a scheme
// such as ApiKey or a cookie goes on over blanks: up to the end of the line for a
// header field, else up to the next pair.
func credentialEnd(s string, field bool) int {
	line := len(s)
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		line = i
	}
	if field {
		return line
	}
	for i := valueEnd(s[:line]); i < line; i++ {
		if strings.IndexByte("&\"')}]>", s[i]) >= 0 {
			return i
		}
		if s[i] == ' ' && i > 0 && s[i-1] != ';' && s[i-1] != ',' && pairBehind(s[i+1:line]) {
			return i
		}
	}
	return line
}

// pairBehind reports that a text begins with key= or key:.
func pairBehind(s string) bool {
	i := 0
	for i < len(s) && (letter(s[i]) || s[i] >= '0' && s[i] <= '9' || strings.IndexByte("_-.", s[i]) >= 0) {
		i++
	}
	return i > 0 && i < len(s) && (s[i] == '=' || s[i] == ':')
}

func bracketEnd(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// normal brings the spellings of a key together: Mcp-Session-Id, mcp.session.id, mcpSessionId.
func normal(key string) string {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c | 0x20)
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteByte(c)
		}
	}
	return b.String()
}

// credentialKey reports whether a key, in normal form, holds a credential. It
// rather takes too many keys than too few.
func credentialKey(k string) bool {
	switch k {
	case "auth", "xauth", "bearer", "sig", "pwd", "pass", "otp", "pin", "assertion", "codeverifier":
		return true
	}
	for _, word := range credentialWords {
		if strings.Contains(k, word) {
			return true
		}
	}
	switch {
	case strings.HasPrefix(k, "xauth"), strings.HasPrefix(k, "token") && k != "tokens" && !strings.HasPrefix(k, "tokens"):
		return k != "tokentype" && k != "tokencount"
	case strings.HasSuffix(k, "tokens"):
		return k == "tokens" || k == "accesstokens" || k == "authtokens"
	case !strings.HasSuffix(k, "token"):
		return false
	}
	for _, harmless := range []string{"progresstoken", "pagetoken", "nexttoken", "canceltoken", "cancellationtoken"} {
		if strings.HasSuffix(k, harmless) {
			return false
		}
	}
	return true
}

var credentialWords = []string{
	"authorization", "cookie", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "privatekey",
	"credential", "jwt", "signature", "clientassertion",
}

// sessionKey reports whether a key, in normal form, holds a session id.
func sessionKey(k string) bool {
	for _, end := range []string{"session", "sessionid", "sessid"} {
		if strings.HasSuffix(k, end) {
			return true
		}
	}
	switch k {
	case "sid", "sessionrequested", "sessionresolved", "sessionasked", "sessionanswered", "sessionbound", "sessiontarget", "sessionowner", "mcpsession":
		return true
	}
	return false
}

// valueKey reports whether a key of a log record, in normal form, holds values of a call.
func valueKey(k string) bool {
	switch k {
	case "enduserid", "user", "username", "userid", "email", "subject": // a person
		return true
	case "arguments", "argument", "input", "toolinput", "output", "tooloutput",
		"content", "contents", "structuredcontent", "value", "values", "prompt", "completion":
		return true
	}
	return strings.HasSuffix(k, "arguments") || strings.HasSuffix(k, "args")
}

// secrets are credentials that are known by how they look, wherever they stand.
var secrets = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[\w\-.~+/]{6,}=*` +
	`|\beyJ[\w-]{6,}(?:\.[\w-]*){0,2}` + // JWT
	`|\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[\w-]{12,}` +
	`|\bgh[opusr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bAIza[\w-]{20,}` +
	`|\bhf_\w{16,}|\bnpm_\w{16,}|\bSG\.[\w-]{16,}` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*`)

// userinfo is what stands before the host of a URL; param a query parameter, also
// one whose dividers are escaped; named a session id in running text.
var (
	userinfo = regexp.MustCompile(`://[^/\s@"']+@`)
	param    = regexp.MustCompile(`(?i)([?&;#]|%3F|%26)([\w.~-]+)(=|%3D)([^&\s"'#;%]+(?:%[0-9a-f]{2}[^&\s"'#;%]*)*)`)
	named    = regexp.MustCompile(`(?i)\b(sessions?(?:[ _-]?id)?[ :='"#(<]+)([a-z0-9_-]{16,})`)
)

// hideSecrets hides what looks like a credential in any text that is shown.
func hideSecrets(s string) string {
	if len(s) < 8 {
		return s
	}
	s = secrets.ReplaceAllString(s, secret)
	if strings.ContainsAny(s, "=%") {
		s = replaceParams(s, func(key, value string) string {
			if k := normal(key); credentialKey(k) || k == "key" || k == "code" {
				return secret
			}
			return value
		})
	}
	return userinfo.ReplaceAllString(s, "://"+secret+"@")
}

// replaceParams replaces the values of query parameters.
func replaceParams(s string, f func(key, value string) string) string {
	return param.ReplaceAllStringFunc(s, func(m string) string {
		g := param.FindStringSubmatch(m)
		return g[1] + g[2] + g[3] + f(g[2], g[4])
	})
}

// plainText hides credentials and what is called a session id in running text.
func (m *masker) plainText(s string) string {
	s = m.hideSessions(hideSecrets(s))
	if m.reveal || len(s) < minBlindID {
		return s
	}
	if strings.ContainsAny(s, "=%") {
		s = replaceParams(s, func(key, value string) string {
			if sessionKey(normal(key)) && !strings.HasPrefix(value, "‹") {
				return m.quoted(value)
			}
			return value
		})
	}
	return named.ReplaceAllStringFunc(s, func(hit string) string {
		g := named.FindStringSubmatch(hit)
		if !strings.ContainsAny(g[2], "0123456789") {
			return hit // a word
		}
		return g[1] + m.quoted(g[2])
	})
}

// failureWord reports whether a word of an error text tells how a request ended
// and nothing of what it was about.
func failureWord(w string) bool {
	l := strings.ToLower(w)
	if strings.HasPrefix(l, "cancel") || strings.HasPrefix(l, "abort") {
		return true
	}
	if n, err := strconv.Atoi(l); err == nil {
		return n <= -32000 && n >= -32999 // a JSON-RPC error code
	}
	switch l {
	case "context", "request", "operation", "call", "task", "timed", "timeout", "out", "time-out", "deadline", "exceeded", "error", "mcp",
		"not", "found", "method", "unknown", "invalid", "session", "during", "initialization", "duplicate", "in-flight", "id", "server",
		"client", "closed", "connection", "by", "the", "was", "is", "a", "an", "of", "for", "no", "to", "on", "failed", "user", "requested",
		"internal", "supported", "unsupported", "does", "support", "sampling", "elicitation", "roots", "capability", "tool", "progress":
		return true
	}
	return false
}

// unescape undoes JSON string escapes as far as they are valid.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'b', 'f':
			b.WriteByte(' ')
		case 'u':
			if i+4 < len(s) {
				if n, err := strconv.ParseUint(s[i+1:i+5], 16, 32); err == nil {
					b.WriteRune(rune(n))
					i += 4
					continue
				}
			}
			b.WriteByte('u')
		default:
			b.WriteByte(s[i])
		}
	}
	if out := b.String(); utf8.ValidString(out) {
		return out
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// enquote escapes what may not stand in a JSON string.
func enquote(s string) string { return quoter.Replace(s) }
