package logs

import (
	"bytes"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
)

// form is how a value is written.
type form uint8

const (
	formNone   form = iota
	formString      // between quotes, with JSON or Go escapes left in
	formBare        // logfmt without quotes
	formNumber
	formLiteral // true, false, null
	formObject
	formArray
)

// value is a value of a log record as it stands; raw points into the line.
type value struct {
	raw  []byte
	form form
}

// record is one log line, taken apart by what its keys name. It is reused for
// every line, and everything in it points into the line.
type record struct {
	gen     uint32 // of the current line; a slot with another generation is not set
	at      [slots]uint32
	vals    [slots]value
	keys    [slots][]byte // the key that filled the slot
	levels  [slots]uint8  // how many containers such as "data" or "context" its key stood in
	level   uint8         // of the member that is read now
	bodies  []body
	path    [maxPath]byte
	recent  recentKeys
	textual bool   // logfmt or text: the types of ids are lost
	loose   bool   // running text stood behind the first pair: what follows may be anybody's
	twice   string // a key that stood twice
	bare    bool   // the line itself is a JSON-RPC message
	native  bool   // the first key is isodetect
	version value  // its value

	front  []byte    // running text: what stands before the message
	starts []int     // where the pieces of its prefix begin, and the message; kept while pieced is set
	pieced bool      // every piece of a prefix is looked at, also of one that was read before
	watch  pairTaker // is shown the pairs, nil = nobody is
	fronts fronts    // those of the lines before
	again  keyMemo   // what the keys of the lines before name
	clock  timeMemo  // the minute of the time before
	dated  stamp     // of the time that stands in front of running text
	stood  []byte    // the text of dated

	arena []byte // unescaped texts of this line
}

// body is JSON-RPC text found in a record.
type body struct {
	raw []byte
	key string // path of the key it stood under, "" in running text
}

const maxBodies = 8

func (r *record) reset() {
	r.gen++
	if r.gen == 0 { // after 2^32 lines old generations would look new
		r.at = [slots]uint32{}
		r.gen = 1
	}
	r.bodies, r.recent.n = r.bodies[:0], 0
	r.textual, r.twice, r.native, r.bare, r.front = false, "", false, false, nil
	r.loose, r.level, r.stood = false, 0, nil
	if cap(r.arena) > maxArena {
		r.arena = nil
	}
	r.arena = r.arena[:0]
}

const maxArena = 1 << 20

// get returns what the first set one of the slots holds.
func (r *record) get(ss ...slot) value {
	for _, s := range ss {
		if r.at[s] == r.gen {
			return r.vals[s]
		}
	}
	return value{}
}

func (r *record) has(s slot) bool { return r.at[s] == r.gen }

// set keeps a value. What stands nearer to the top of the record counts before
// what stands in a container, which may hold anybody's data. Of one key that
// stands twice the last counts, in logfmt the first; of two keys that name the
// same thing, the first that is not empty.
func (r *record) set(s slot, key []byte, v value) {
	if r.at[s] == r.gen && r.level >= r.levels[s] {
		switch {
		case r.level > r.levels[s]:
			return
		case bytes.Equal(r.keys[s], key):
			if r.twice = string(key); r.textual {
				return
			}
		case !r.vals[s].absent():
			return
		}
	}
	r.at[s], r.vals[s], r.keys[s], r.levels[s] = r.gen, v, key, r.level
}

func (r *record) unset(s slot) { r.at[s] = 0 }

// settle lets only what stands at the top of a record say what it is about:
// where that is there, a message or event inside a container is data.
func (r *record) settle() {
	m, e := r.has(slotMessage), r.has(slotEvent)
	if !m || !e {
		return
	}
	switch {
	case r.levels[slotMessage] < r.levels[slotEvent]:
		r.unset(slotEvent)
	case r.levels[slotEvent] < r.levels[slotMessage]:
		r.unset(slotMessage)
	}
}

// said keeps running text as the message. Keys behind it that name a message or
// an event do not replace it: they may be part of what somebody said.
func (r *record) said(lead []byte) {
	if lead = bytes.TrimSpace(lead); len(lead) == 0 {
		return
	}
	r.unset(slotEvent)
	r.unset(slotMessage)
	r.set(slotMessage, nil, value{lead, formBare})
}

// text returns the value as text, valid as long as the line. Objects and arrays give nil.
func (r *record) text(v value) []byte {
	switch v.form {
	case formString:
		if bytes.IndexByte(v.raw, '\\') >= 0 {
			return r.unescape(v.raw)
		}
		return v.raw
	case formBare, formNumber:
		return v.raw
	case formArray: // a header that is logged as a list
		if first, kind, _, err := jsonparser.Get(v.raw, "[0]"); err == nil && kind == jsonparser.String {
			return r.text(value{first, formString})
		}
	}
	return nil
}

// time reads a time of the record.
func (r *record) time(v value, offset int) (st stamp, ok bool) {
	t := r.text(v)
	if len(t) > 0 && len(r.stood) == len(t) && &r.stood[0] == &t[0] {
		return r.dated, true
	}
	return r.clock.parse(t, offset)
}

// unescape undoes JSON escapes. Text with other escapes is returned as it stands.
func (r *record) unescape(raw []byte) []byte {
	n := len(r.arena)
	if cap(r.arena)-n < len(raw) {
		r.arena = make([]byte, 0, max(4096, 2*len(raw)))
		n = 0
	}
	out, err := jsonparser.Unescape(raw, r.arena[n:n+len(raw):n+len(raw)])
	if err != nil {
		return raw
	}
	r.arena = r.arena[:n+len(raw)]
	return out
}

// absent reports that a value is there and says that there is nothing
// (DETECTION §1, "complete"). It is false for a value that is not there.
func (v value) absent() bool {
	switch v.form {
	case formNone, formNumber:
		return false
	case formLiteral:
		return v.raw[0] == 'n'
	case formObject, formArray:
		return len(bytes.TrimSpace(v.raw[1:len(v.raw)-1])) == 0
	}
	return nothing(v.raw)
}

// nothing reports that a text is how some logger writes "none".
func nothing(b []byte) bool {
	b = bytes.TrimSpace(b)
	if len(b) > 11 {
		return false
	}
	switch string(b) {
	case "", "-", "undefined", "null", "NULL", "None", "none", "nil", "<nil>", "<none>", "(none)", "(nil)", "<MISSING>", "<missing>", "<undefined>", "<null>":
		return true
	}
	return false
}

// true reports a boolean that is set, however it is written.
func (v value) true() bool {
	return v.form != formNone && (string(v.raw) == "true" || string(v.raw) == "True" || string(v.raw) == "1" || string(v.raw) == "yes")
}

func (v value) false() bool {
	return v.form != formNone && (string(v.raw) == "false" || string(v.raw) == "False" || string(v.raw) == "0" || string(v.raw) == "no")
}

// addBody keeps JSON-RPC text, if it is that.
func (r *record) addBody(raw []byte, key []byte) {
	if len(r.bodies) < maxBodies && !noRPCInside[string(key)] {
		r.bodies = append(r.bodies, body{raw: raw, key: internKey(key)})
	}
}

// internKey returns the keys that tell a direction without allocating.
func internKey(key []byte) string {
	switch string(key) {
	case "request", "req", "reqbody", "requestbody":
		return "request"
	case "response", "res", "resbody", "responsebody", "reply":
		return "response"
	}
	return ""
}

// findBody looks for JSON-RPC in a string value or running text: the text is a
// message, or ends with one behind at most maxLead bytes.
func (r *record) findBody(v value, key []byte) {
	if len(v.raw) < 20 || !bytes.Contains(v.raw, []byte(`jsonrpc`)) || noRPCInside[string(key)] {
		return
	}
	text := r.text(v)
	for lead := 0; lead < len(text) && lead < maxLead; lead++ {
		if text[lead] == '{' || (text[lead] == '[' && lead == 0) {
			if end, f := valueEnd(text, lead); f != formNone { // one that was cut says too little
				r.addBody(text[lead:end], key)
			}
			return
		}
	}
}

const maxLead = 200

// id reads a JSON-RPC id or token. sure is false where its type may have been lost on the way into the log.
func (r *record) id(v value) (id mcp.ID, sure bool) {
	if v.form == formNone || v.absent() {
		return "", true
	}
	switch v.form {
	case formNumber:
		return mcp.NewID(v.raw), !r.textual
	case formObject:
		if inner, kind, _, err := jsonparser.Get(v.raw, "value"); err == nil {
			return r.id(ofJSON(inner, kind))
		}
		return "", true
	case formString, formBare:
		t := r.text(v)
		if inner, ok := goValue(t); ok {
			t = inner
		}
		if integer(t) {
			if v.form == formBare || r.textual {
				return mcp.NewID(t), false
			}
			return mcp.StringID(string(t)), false
		}
		return mcp.StringID(string(t)), !r.textual
	}
	return "", true
}

// goValue undoes {value:7}, as Go prints the id of its SDK.
func goValue(t []byte) ([]byte, bool) {
	if bytes.HasPrefix(t, []byte("{value:")) && t[len(t)-1] == '}' {
		return t[len("{value:") : len(t)-1], true
	}
	return nil, false
}

func integer(t []byte) bool {
	if len(t) > 0 && t[0] == '-' {
		t = t[1:]
	}
	for _, c := range t {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(t) > 0 && len(t) < 20
}

func ofJSON(raw []byte, kind jsonparser.ValueType) value {
	switch kind {
	case jsonparser.String:
		return value{raw, formString}
	case jsonparser.Number:
		return value{raw, formNumber}
	case jsonparser.Object:
		return value{raw, formObject}
	case jsonparser.Array:
		return value{raw, formArray}
	case jsonparser.Boolean, jsonparser.Null:
		return value{raw, formLiteral}
	}
	return value{}
}
