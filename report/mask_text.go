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
	flush := func(i int) { w.out.WriteString(hideSecrets(s[plain:i])) }
	for i := 0; i < len(s); {
		n := 0
		switch c := s[i]; {
		case (c == '{' || c == '[') && jsonAhead(s[i+1:]):
			flush(i)
			n = w.value(s[i:], viewOpen, 0)
		case c == '"' && strings.IndexByte(s[i+1:], '"') >= 0 && wordBefore(s, i) == "":
			flush(i)
			n = w.quoted(s[i:], viewOpen)
		case c == '=' || c == ':':
			if v := viewOf(viewOpen, wordBefore(s, i)); v != viewOpen && !(c == ':' && v != viewSecret && v != viewID) {
				flush(i)
				n = w.assigned(s[i:], v)
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
	if i > 0 && s[i] == ':' && s[i-1] == '"' {
		i--
	}
	j := i
	for j > 0 && (letter(s[j-1]) || s[j-1] >= '0' && s[j-1] <= '9' || strings.IndexByte("_-.", s[j-1]) >= 0) {
		j--
	}
	return s[j:i]
}

// assigned copies = or : and the value behind it, and returns the length of both.
func (w *walker) assigned(s string, v view) int {
	sep := 1
	for sep < len(s) && s[sep] == ' ' && s[0] == ':' {
		sep++
	}
	w.out.WriteString(s[:sep])
	rest := s[sep:]
	switch {
	case rest == "":
	case rest[0] == '"':
		return sep + w.quoted(rest, v)
	case rest[0] == '{' || rest[0] == '[':
		return sep + w.value(rest, v, 0)
	}
	n := valueEnd(rest, s[0] == ':' && v == viewSecret)
	if v == viewSecret {
		n += schemeTail(rest, n)
	}
	if open := strings.IndexByte(rest[:n], '['); open >= 0 && v != viewSecret { // map[text:…] of Go, and lists
		n = bracketEnd(rest, open)
	}
	w.text(rest[:n], v)
	return sep + n
}

// valueEnd is where an unquoted value ends: at the end of the line for a header
// field, else at the next divider.
func valueEnd(s string, line bool) int {
	stop := " \t\r\n,;&\"')}]>"
	if line {
		stop = "\r\n\"'"
	}
	if i := strings.IndexAny(s, stop); i >= 0 {
		return i
	}
	return len(s)
}

// schemeTail is the length of the credential that follows a scheme such as Bearer.
func schemeTail(s string, n int) int {
	switch strings.ToLower(s[:n]) {
	case "bearer", "basic", "digest", "token", "negotiate":
		if n < len(s) && s[n] == ' ' {
			return 1 + valueEnd(s[n+1:], false)
		}
	}
	return 0
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

// credentialKey reports whether a key, in normal form, holds a credential.
func credentialKey(k string) bool {
	switch k {
	case "auth", "bearer", "jwt", "sig", "signature", "pwd", "passwd", "passphrase", "otp", "pin", "assertion", "clientassertion", "codeverifier":
		return true
	}
	for _, end := range []string{"authorization", "cookie", "cookies", "secret", "password", "apikey", "accesskey", "secretkey", "privatekey", "credential", "credentials"} {
		if strings.HasSuffix(k, end) {
			return true
		}
	}
	if !strings.HasSuffix(k, "token") {
		return false
	}
	for _, harmless := range []string{"progresstoken", "pagetoken", "nexttoken", "canceltoken", "cancellationtoken"} {
		if strings.HasSuffix(k, harmless) {
			return false
		}
	}
	return true
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
	case "arguments", "args", "argument", "toolargs", "toolarguments", "input", "toolinput", "output", "tooloutput",
		"content", "contents", "structuredcontent", "value", "values", "prompt", "completion":
		return true
	}
	return strings.HasSuffix(k, "arguments")
}

// secrets are credentials that are known by how they look, wherever they stand.
var secrets = regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[\w\-.~+/]{6,}=*` +
	`|\beyJ[\w-]{6,}(?:\.[\w-]*){0,2}` + // JWT
	`|\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[\w-]{12,}` +
	`|\bgh[opusr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{8,}|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bAIza[\w-]{20,}` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*`)

// userinfo is the password part of a URL; credentialParam the value of a telling query parameter.
var (
	userinfo        = regexp.MustCompile(`://[^/\s:@"']*:[^/\s@"']+@`)
	credentialParam = regexp.MustCompile(`(?i)([?&;](?:access_token|id_token|token|api[-_]?key|key|secret|password|sig|signature|code)=)[^&\s"'#;]+`)
)

// hideSecrets hides what looks like a credential in any text that is shown.
func hideSecrets(s string) string {
	if len(s) < 8 {
		return s
	}
	s = secrets.ReplaceAllString(s, secret)
	s = credentialParam.ReplaceAllString(s, "${1}"+secret)
	return userinfo.ReplaceAllString(s, "://"+secret+"@")
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
