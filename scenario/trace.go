package scenario

import (
	"encoding/json"
	"sort"
	"strings"
	"time"
)

// Trace is what happened on the wire, before any format: exchanges on
// connections, and their happenings in order of time.
type Trace struct {
	Parties    []*Party
	Exchanges  []*Exchange
	Happenings []*Happening
	Creator    string        // what wrote the HAR
	Start      time.Time     // of offset 0
	From       time.Duration // nothing before it is recorded (`window start`)
	End        time.Duration // the recording ends
}

// Sessions returns the session id of every party, "" for one without.
func (t *Trace) Sessions() map[string]string {
	m := map[string]string{}
	for _, p := range t.Parties {
		m[p.Name] = p.Session
	}
	return m
}

// Party is one client of the scenario.
type Party struct {
	Name    string
	Index   int
	Session string // "" before initialize and for ever without sessions
	Given   bool   // an initialize was answered
	Opt     Step   // options of the party line
	Caps    string // JSON
	SSE     *Exchange
	Addr    string // ip
	Host    string // ip:port of the server
	nextID  int
	planned string // the id that the server will issue
}

// Conn is one TCP connection.
type Conn struct {
	ID     string // ip:port of the client
	Host   string // ip:port of the server
	Name   string // as the scenario calls it
	until  time.Duration
	dead   bool
	owner  *Party
	opened time.Duration
}

// Field is one header field.
type Field struct{ Name, Value string }

// Exchange is one HTTP request with its response.
type Exchange struct {
	N       int
	Label   string
	Party   *Party
	Conn    *Conn
	Method  string
	Target  string
	Header  []Field
	CutHead bool // the request head is not wholly recorded
	Body    []byte

	Session string // what the server uses for it
	Asked   string // the session that the request carries, "" = none
	Source  string // how the server resolved it
	ID      string // raw id of its (first) request
	RPC     string // method of its (first) request

	Mode       string // sse or json: how the server answers
	Echo       string // session header of the answer
	Status     int    // 0 = no head
	RespHeader []Field
	Unrecorded bool // the response body is not kept (HAR, wire)
	headDone   bool
	closed     bool

	Opened, FirstByte, Closed time.Duration
	By                        string // client, server, "" = open at the end
	Parts                     []*Happening
}

// Kind of a happening.
const (
	KReq   = "req"
	KHead  = "head"
	KEvent = "event" // one message of an SSE stream
	KBody  = "body"  // the whole body of a response that is no stream
	KClose = "close"
	KGap   = "gap"
	KFact  = "fact" // only a server knows it
	KLine  = "line" // a literal line of a log
)

// Happening is one thing at one time.
type Happening struct {
	At        time.Duration
	Kind      string
	X         *Exchange
	Data      []byte // message or body
	Event     string // name of the SSE event, "" = message
	EventID   string
	By        string
	Dir       string         // of a gap: client or server, who sent what is missing
	From      *Exchange      // whose handler made the message, where the scenario says it
	Consulted string         // digest of the capabilities that were looked at, where the scenario says it
	Facts     map[string]any // KFact
	Text      string         // KLine
	seq       int
}

func (t *Trace) add(h *Happening) {
	h.seq = len(t.Happenings)
	t.Happenings = append(t.Happenings, h)
	if h.X != nil {
		h.X.Parts = append(h.X.Parts, h)
	}
}

// settle puts the happenings in order and finds the end of the recording.
func (t *Trace) settle() {
	order := func(hs []*Happening) {
		sort.SliceStable(hs, func(i, j int) bool {
			if hs[i].At != hs[j].At {
				return hs[i].At < hs[j].At
			}
			return hs[i].seq < hs[j].seq
		})
	}
	order(t.Happenings)
	for _, x := range t.Exchanges {
		order(x.Parts)
	}
	if n := len(t.Happenings); t.End == 0 && n > 0 {
		t.End = t.Happenings[n-1].At + 5*time.Millisecond
	}
	var kept []*Happening
	for _, h := range t.Happenings {
		if h.At <= t.End {
			kept = append(kept, h)
		}
	}
	t.Happenings = kept
}

// Stamp returns the time of an offset.
func (t *Trace) Stamp(d time.Duration) time.Time { return t.Start.Add(d) }

// Visible reports whether a happening falls into the recording.
func (t *Trace) Visible(h *Happening) bool { return h.At >= t.From && h.At <= t.End }

// object makes JSON of alternating keys and values, in this order; values that
// are json.RawMessage stand as they are and empty ones are left out.
func object(kv ...any) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i := 0; i < len(kv); i += 2 {
		v := encode(kv[i+1])
		if v == "" {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(encode(kv[i]) + ":" + v)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

func encode(v any) string {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: cannot encode " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// value reads a word of the language as JSON: JSON as it stands, else a string.
func value(word string) json.RawMessage {
	if word == "" {
		return nil
	}
	if json.Valid([]byte(word)) {
		return json.RawMessage(word)
	}
	return json.RawMessage(encode(word))
}

func unquote(w string) string {
	if len(w) < 2 || w[0] != '"' {
		return w
	}
	var s string
	if err := json.Unmarshal([]byte(w), &s); err != nil {
		return strings.Trim(w, `"`)
	}
	return s
}
