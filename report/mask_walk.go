package report

import (
	"slices"
	"strings"

	"github.com/buger/jsonparser"
)

// view is how the values in a part of an excerpt are shown. The last ones hide most.
type view uint8

const (
	viewOpen   view = iota // a log record or the frame of a message: values stand, argument-like keys do not
	viewRPC                // params, result: only the keys that the protocol fixes stand
	viewItems              // members of a result's arrays: as viewRPC, and names are values
	viewError              // error of a response
	viewShow               // stands as it is
	viewHide               // every value hidden
	viewWords              // text of an error: the words of failure stand
	viewURI                // the scheme stands
	viewMaybe              // a text that holds a message, or a value
	viewID                 // a session id
	viewSecret             // a credential
)

// walker copies an excerpt and hides the values in it. Excerpts are cut, so it
// takes JSON as far as it goes, and anything else as text.
type walker struct {
	m     *masker
	label func(value string) string
	out   strings.Builder
}

// walk returns s with its values replaced by label.
func (m *masker) walk(s string, label func(string) string) string {
	w := walker{m: m, label: label}
	w.text(s, viewOpen)
	return w.out.String()
}

// value copies the JSON value at the beginning of s and returns its length.
func (w *walker) value(s string, v view, depth int) int {
	switch {
	case s == "":
		return 0
	case depth > maxDepth:
		w.out.WriteString(elided)
		return len(s)
	case s[0] == '{' || s[0] == '[':
		return w.container(s, v, depth)
	case s[0] == '"':
		return w.quoted(s, v)
	}
	n := 0
	for n < len(s) && strings.IndexByte(",]} \t\r\n\"", s[n]) < 0 {
		n++
	}
	w.bare(s[:n], v)
	return n
}

const maxDepth = 64

// container copies an object or array.
func (w *walker) container(s string, v view, depth int) int {
	object, closer := s[0] == '{', byte(']')
	if object {
		closer = '}'
	}
	w.out.WriteByte(s[0])
	i, child, key, name := 1, v, "", ""
	if object && strings.Contains(s, `"value"`) {
		name = fieldName(s)
	}
	for i < len(s) {
		switch c := s[i]; {
		case c == closer:
			w.out.WriteByte(c)
			return i + 1
		case strings.IndexByte(", \t\r\n:", c) >= 0:
			w.out.WriteByte(c)
			i++
		case object && c == '"' && !afterColon(s[:i]):
			n := stringEnd(s[i:])
			key = unescape(inner(s[i : i+n]))
			child = viewOf(v, key)
			if key == "value" && name != "" { // a header field as HAR writes it
				child = max(child, viewOf(v, name))
			}
			w.out.WriteString(s[i : i+n])
			i += n
		default:
			n := w.value(s[i:], child, depth+1)
			if !object && n > 1 && s[i] == '"' { // ["x-api-key", "…"], as Node lists header fields
				child = max(v, secretView(inner(s[i:i+n])))
			} else if !object {
				child = v
			}
			if n == 0 { // a closer that does not fit
				w.out.WriteByte(c)
				n = 1
			}
			i += n
		}
	}
	return i
}

// fieldName returns the name of a header field that is written as an object with
// name and value, in whatever order.
func fieldName(s string) string {
	for _, key := range []string{"name", "key", "header", "field"} {
		if name, err := jsonparser.GetString([]byte(s), key); err == nil {
			return name
		}
	}
	return ""
}

func afterColon(s string) bool {
	s = strings.TrimRight(s, " \t\r\n")
	return s != "" && s[len(s)-1] == ':'
}

// stringEnd is the length of the JSON string at the beginning of s, closing quote included.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// inner is a JSON string without its quotes; the closing one may be cut.
func inner(raw string) string {
	raw = raw[1:]
	if n := len(raw); n > 0 && raw[n-1] == '"' && !strings.HasSuffix(raw, `\"`) {
		raw = raw[:n-1]
	}
	return raw
}

// quoted copies a JSON string.
func (w *walker) quoted(s string, v view) int {
	n := stringEnd(s)
	closed := n > 1 && s[n-1] == '"'
	text := unescape(strings.TrimSuffix(s[1:n], `"`))
	w.out.WriteByte('"')
	sub := walker{m: w.m, label: w.label}
	sub.text(text, v)
	w.out.WriteString(enquote(sub.out.String()))
	if closed {
		w.out.WriteByte('"')
	}
	return n
}

// bare copies a number or literal.
func (w *walker) bare(s string, v view) {
	switch {
	case s == "", s == "true", s == "false", s == "null":
		w.out.WriteString(s)
	case v == viewHide, v == viewRPC, v == viewItems, v == viewWords, v == viewMaybe, v == viewURI, v == viewSecret:
		w.text(s, v)
	default:
		w.out.WriteString(s)
	}
}

// text copies a text as its view asks.
func (w *walker) text(s string, v view) {
	switch {
	case s == "" || s == "-":
		w.out.WriteString(s)
	case v == viewSecret && w.m.visible[s]:
		w.out.WriteString(s) // a progress token under the key "token"
	case v == viewSecret:
		w.out.WriteString(secret)
	case w.m.reveal || v == viewOpen || v == viewError:
		w.free(s)
	case v == viewMaybe && looksJSON(s):
		w.free(s)
	case v == viewShow:
		w.out.WriteString(w.m.plainText(s))
	case v == viewID && noID(s):
		w.out.WriteString(s)
	case v == viewID:
		w.out.WriteString(w.m.quoted(s))
	case v == viewURI:
		w.uri(s)
	default:
		w.tokens(s, v == viewWords)
	}
}

// noID reports what logs write for a session that there is not.
func noID(s string) bool {
	switch strings.ToLower(s) {
	case "null", "none", "nil", "undefined", "<nil>", "n/a":
		return true
	}
	return false
}

func looksJSON(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[{") || strings.HasPrefix(s, "event:") || strings.HasPrefix(s, "data:")
}

func (w *walker) uri(s string) {
	if w.m.visible[s] {
		w.out.WriteString(w.m.plainText(s))
		return
	}
	if i := strings.Index(s, "://"); i > 0 && i < 32 {
		w.out.WriteString(s[:i+3])
	}
	w.out.WriteString(w.label(s))
}

// viewOf is how the value of a key is shown inside a part with view v.
func viewOf(v view, key string) view {
	k := normal(key)
	switch {
	case credentialKey(k):
		return viewSecret
	case sessionKey(k):
		return viewID
	}
	switch v {
	case viewOpen:
		switch k {
		case "params", "result":
			return viewRPC
		case "error", "err":
			return viewError
		case "data", "body", "bodytext", "payload", "text":
			return viewMaybe
		}
		if valueKey(k) {
			return viewHide
		}
		return viewOpen
	case viewError:
		switch k {
		case "code":
			return viewShow
		case "message", "data":
			return viewWords
		}
		return viewHide
	case viewRPC, viewItems:
		return viewOfMember(v, k)
	}
	return v
}

// viewOfMember is how a member of params or result is shown.
func viewOfMember(v view, k string) view {
	switch k {
	case "capabilities", "iomodelcontextprotocolclientcapabilities":
		return viewShow
	case "uri":
		return viewURI
	case "text", "message", "reason":
		return viewWords
	case "name":
		if v == viewItems {
			return viewHide
		}
		return viewShow
	case "clientinfo", "serverinfo", "iomodelcontextprotocolclientinfo", "tools", "prompts", "meta", "request", "inputrequests", "params", "notifications":
		return viewRPC
	case "content", "contents", "resources", "resourcetemplates", "messages", "roots", "resource", "task":
		return viewItems
	}
	if slices.Contains(fixedKeys, k) {
		return viewShow
	}
	return viewHide
}

// fixedKeys are members of params and result whose values the protocol fixes or
// that only number and name messages.
var fixedKeys = []string{
	"protocolversion", "version", "progresstoken", "requestid", "progress", "total", "type", "mimetype", "role", "action",
	"iserror", "level", "mode", "method", "jsonrpc", "id", "traceparent", "status", "taskid", "stopreason",
	"iomodelcontextprotocolsubscriptionid", "iomodelcontextprotocolprotocolversion", "iomodelcontextprotocolrelatedtask",
}

// tokens copies a text and hides its tokens. Neighbours that show nothing become one.
func (w *walker) tokens(s string, words bool) {
	pos, hidden := 0, false
	eachToken(s, func(tok string) {
		at := pos + strings.Index(s[pos:], tok)
		shown := tok
		if !(words && failureWord(tok)) {
			shown = w.hidden(tok)
		}
		if !(hidden && shown == elided) {
			w.out.WriteString(s[pos:at])
			w.out.WriteString(shown)
		}
		hidden = shown == elided
		pos = at + len(tok)
	})
	w.out.WriteString(s[pos:])
}

func (w *walker) hidden(tok string) string {
	if _, ok := w.m.sessions.alias[tok]; ok {
		return w.m.quoted(tok)
	}
	return w.label(tok)
}
