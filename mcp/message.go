package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/buger/jsonparser"
)

// Kind is what a JSON-RPC message is.
type Kind uint8

const (
	KindNone Kind = iota
	KindRequest
	KindNotification
	KindResult
	KindError
)

func (k Kind) String() string {
	return [...]string{"none", "request", "notification", "result", "error"}[k]
}

// Message is one JSON-RPC message, split into its raw parts. The parts point
// into the bytes given to ParseMessage and live as long as those do.
type Message struct {
	Kind   Kind
	ID     ID
	Method string
	Params []byte // raw JSON, nil if absent
	Result []byte // raw JSON of `result`
	Error  []byte // raw JSON of `error`

	Duplicate string // a key that stood twice (the last one counts, as for Python and JavaScript servers)
	Version   bool   // it has a key "jsonrpc"
	BadID     bool   // the id was an object, array or boolean: its type or value is lost

	seen uint8 // bits of the keys that stood
}

// ErrNotRPC says that well-formed JSON is no JSON-RPC message.
var ErrNotRPC = errors.New("not a JSON-RPC message")

// MaxDepth bounds the nesting of a document that isodetect looks into.
const MaxDepth = 512

// ParseMessage splits one JSON object. It accepts any key order and takes the
// last of duplicate keys. It returns ErrNotRPC for an object without method,
// result or error, and another error for text that is no JSON object.
func ParseMessage(raw []byte, m *Message) error {
	*m = Message{}
	err := jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		m.member(key, value, kind)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot parse JSON object: %w", err)
	}
	return m.settle()
}

// ParseValid is ParseMessage for the text of an object that is known to be valid JSON, and costs less.
func ParseValid(raw []byte, m *Message) error {
	*m = Message{}
	for o := MembersOf(raw); o.Next(); {
		m.member(o.Key, o.Value, o.Kind)
	}
	return m.settle()
}

const (
	seenVersion = 1 << iota
	seenID
	seenMethod
	seenParams
	seenResult
	seenError
)

func (m *Message) note(bit uint8, key string) {
	if m.seen&bit != 0 {
		m.Duplicate = key
	}
	m.seen |= bit
}

func (m *Message) member(key, value []byte, kind jsonparser.ValueType) {
	switch string(key) {
	case "jsonrpc":
		m.note(seenVersion, "jsonrpc")
		m.Version = true
	case "id":
		m.note(seenID, "id")
		m.BadID = false
		switch kind {
		case jsonparser.String:
			m.ID = StringID(Unescape(value))
		case jsonparser.Number:
			m.ID = NewID(value)
		case jsonparser.Null:
			m.ID = NullID
		default:
			m.ID, m.BadID = "", true
		}
	case "method":
		m.note(seenMethod, "method")
		if kind == jsonparser.String {
			m.Method = methodName(value)
		}
	case "params":
		m.note(seenParams, "params")
		m.Params = value
		if kind != jsonparser.Object && kind != jsonparser.Array {
			m.Params = nil
		}
	case "result":
		m.note(seenResult, "result")
		m.Result = value
		if kind == jsonparser.String {
			m.Result = append(append([]byte{'"'}, value...), '"')
		}
	case "error":
		m.note(seenError, "error")
		if kind != jsonparser.Null {
			m.Error = value
		}
	}
}

// settle decides the kind when all members are known.
func (m *Message) settle() error {
	hasID := m.seen&seenID != 0
	switch {
	case m.Method != "" && hasID && m.ID != NullID:
		m.Kind = KindRequest
	case m.Method != "":
		m.Kind = KindNotification
	case m.Error != nil:
		m.Kind = KindError
	case m.Result != nil && (m.Version || hasID):
		m.Kind = KindResult
	default:
		return ErrNotRPC
	}
	return nil
}

// methodName returns the text of a method; the known ones cost no allocation.
func methodName(b []byte) string {
	if s, ok := knownMethods[string(b)]; ok {
		return s
	}
	return cut(Unescape(b), MaxIDLen)
}

var knownMethods = func() map[string]string {
	m := map[string]string{}
	for _, s := range []string{
		Initialize, Initialized, Discover, Ping, ToolsList, ToolsCall, ResourcesList, ResourcesTempl, ResourcesRead,
		Subscribe, Unsubscribe, PromptsList, PromptsGet, Complete, SetLevel, Listen, Sampling, Elicitation, RootsList,
		Cancelled, Progress, LogMessage, ResourceUpdated, RootsListChanged,
		"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
	} {
		m[s] = s
	}
	return m
}()

// Each calls f for every message of a JSON-RPC body: once for an object, once
// per member for a batch (2025-03-26 basic, "Batching"). It returns an error if
// raw is neither, or is broken; f has then seen the members before the break.
func Each(raw []byte, f func(member []byte)) (batch bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return false, errors.New("cannot parse JSON-RPC body: it is empty")
	}
	switch raw[0] {
	case '{':
		f(raw)
		return false, nil
	case '[':
		_, err = jsonparser.ArrayEach(raw, func(value []byte, kind jsonparser.ValueType, _ int, e error) {
			if e == nil && kind == jsonparser.Object {
				f(value)
			}
		})
		if err != nil {
			return true, fmt.Errorf("cannot parse JSON-RPC batch: %w", err)
		}
		return true, nil
	}
	return false, fmt.Errorf("cannot parse JSON-RPC body: it starts with %q", raw[0])
}

// Depth returns the deepest nesting of arrays and objects in raw, counting up
// to limit+1. It looks at brackets outside strings only.
func Depth(raw []byte, limit int) int {
	depth, deepest := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > deepest {
				if deepest = depth; deepest > limit {
					return deepest
				}
			}
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// Unescape returns the text of a raw JSON string without its quotes. Broken
// escapes stay as they are, and bytes that are no UTF-8 become U+FFFD.
func Unescape(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		if utf8.Valid(raw) {
			return string(raw)
		}
		return string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	}
	var short [256]byte
	text, _ := UnescapeBytes(raw, short[:])
	return string(text)
}

// UnescapeBytes is Unescape without a string: the text is raw itself where that
// needs no change, else it lies in buf, which grows if it is too small and is returned.
func UnescapeBytes(raw, buf []byte) (text, _ []byte) {
	text = raw
	if bytes.IndexByte(raw, '\\') >= 0 {
		if len(buf) < len(raw) {
			buf = make([]byte, len(raw))
		}
		if t, err := jsonparser.Unescape(raw, buf); err == nil {
			text = t
		}
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, buf
}

// Number reads a JSON number; ok is false for anything else.
func Number(raw []byte) (float64, bool) {
	if len(raw) == 0 { // mostly, and an error costs more than a number
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}
