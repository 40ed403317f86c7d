package har

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// entry is one element of log.entries. Its byte slices point into the raw text.
type entry struct {
	start   int64
	timed   bool    // startedDateTime could be read
	time    float64 // ms, negative = not known
	timings timings

	method, url, version string
	reqHeader            []exchange.Header // those that tell something
	bare                 bool              // there are no header fields at all
	bodySize             int64             // of the request, -1 = not known
	post                 content
	postLost             bool // the writer says that it dropped the body

	response   bool
	status     int
	resHeader  []exchange.Header
	resVersion string
	body       content

	messages []byte // _eventSourceMessages, raw JSON
	address  string // serverIPAddress
	conn     string
	peer     string   // the client's address, "" = not recorded
	by       event.By // who ended the exchange
	viaSW    bool     // fetched by a service worker
	kind     string
}

// content is a recorded body.
type content struct {
	present bool   // text is there and no null
	text    []byte // raw JSON string, still escaped; with plain the bytes themselves
	base64  bool
	plain   bool
	file    string // name of the member of files that holds it
	files   *files
	size    int64 // -1 = not known
	mime    string
}

// timings are the phases of an exchange in ms; what is missing, null or negative counts 0.
type timings struct {
	before  float64 // until the first byte of the answer
	receive float64
	known   bool // wait is there
}

// parseEntry reads one entry strictly. What e keeps of header fields is shared by b.
func parseEntry(b *exchange.Builder, raw []byte, zone int, e *entry) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("entry is no JSON object: skipped")
	}
	switch ok, deep := exchange.Valid(raw); {
	case deep:
		return fmt.Errorf("entry nested deeper than %d: skipped", mcp.MaxDepth)
	case !ok:
		return errors.New("entry is no valid JSON: skipped")
	}
	return readEntry(b, raw, zone, e)
}

// readEntry is parseEntry for a text that was valid before.
func readEntry(b *exchange.Builder, raw []byte, zone int, e *entry) error {
	*e = entry{time: -1, bodySize: -1, reqHeader: e.reqHeader[:0], resHeader: e.resHeader[:0]}
	e.post.size, e.body.size = -1, -1
	c := cursor{raw: raw}
	c.object(func(key []byte) {
		switch string(key) {
		case "startedDateTime":
			e.start, e.timed = parseTime(c.string(), zone)
		case "time":
			e.time = c.number()
		case "timings":
			e.timings.read(&c)
		case "request":
			e.request(b, &c)
		case "response":
			e.answer(b, &c)
		case "_eventSourceMessages":
			if value, kind := c.value(); kind == jsonparser.Array {
				e.messages = value
			}
		case "serverIPAddress":
			e.address = c.shared(b)
		case "connection", "_connectionId":
			if id := c.shared(b); id != "" && (e.conn == "" || string(key) == "connection") {
				e.conn = id
			}
		case "_fetchedViaServiceWorker":
			value, kind := c.value()
			e.viaSW = kind == jsonparser.Boolean && len(value) == 4
		case "_resourceType":
			e.kind = c.shared(b)
		}
	})
	if c.bad {
		return errors.New("cannot parse entry: it is no valid JSON")
	}
	if !e.timed {
		return errors.New("startedDateTime is missing or no time: entry skipped")
	}
	return nil
}

func (e *entry) request(b *exchange.Builder, c *cursor) {
	c.object(func(key []byte) {
		switch string(key) {
		case "method":
			e.method = c.shared(b)
		case "url":
			e.url = c.shared(b)
		case "httpVersion":
			e.version = c.shared(b)
		case "headers":
			e.reqHeader, e.bare = readHeaders(b, c, e.reqHeader[:0])
		case "bodySize":
			e.bodySize = int64(c.number())
		case "postData", "_content":
			// HTTP Toolkit keeps binary bodies in _content.
			if c.peek() == '{' && !e.post.present {
				e.post.read(b, c)
			}
		case "_requestBodyStatus":
			e.postLost = true
		}
	})
}

func (e *entry) answer(b *exchange.Builder, c *cursor) {
	if c.peek() == '{' {
		e.response = true
	}
	c.object(func(key []byte) {
		switch string(key) {
		case "status":
			e.status = int(c.number())
		case "httpVersion":
			e.resVersion = c.shared(b)
		case "headers":
			e.resHeader, _ = readHeaders(b, c, e.resHeader[:0])
		case "content":
			if c.peek() == '{' {
				e.body.read(b, c)
			}
		}
	})
}

func (t *content) read(b *exchange.Builder, c *cursor) {
	c.object(func(key []byte) {
		switch string(key) {
		case "text":
			value, kind := c.value()
			t.present, t.text = kind == jsonparser.String, nil
			if t.present {
				t.text = value
			}
		case "_file":
			t.file = c.string()
		case "encoding":
			t.base64 = c.shared(b) == "base64"
		case "size":
			t.size = int64(c.number())
		case "mimeType":
			t.mime = c.shared(b)
		}
	})
}

func (t *timings) read(c *cursor) {
	c.object(func(key []byte) {
		switch string(key) {
		case "wait":
			ms := c.number()
			t.known = ms >= 0
			t.before += max(ms, 0)
		case "blocked", "dns", "connect", "send": // ssl lies inside connect
			t.before += max(c.number(), 0)
		case "receive":
			t.receive = max(c.number(), 0)
		}
	})
}

// readHeaders appends those of a list of {name, value} that tell something; bare
// says that the list holds nothing at all. HTTP/2 pseudo headers are no fields.
func readHeaders(b *exchange.Builder, c *cursor, h []exchange.Header) (_ []exchange.Header, bare bool) {
	bare = true
	c.array(func() {
		var name, value []byte
		c.object(func(key []byte) {
			switch string(key) {
			case "name":
				name = c.scalar()
			case "value":
				value = c.scalar()
			}
		})
		if len(name) == 0 || name[0] == ':' {
			return
		}
		bare = false
		var room [256]byte
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = mcp.UnescapeBytes(name, nil)
		}
		if exchange.Telling(name) {
			value, _ = mcp.UnescapeBytes(value, room[:])
			h = b.AppendField(h, name, value)
		}
	})
	return h, bare
}

// scalar takes a string, still escaped, or a number; nil for anything else.
func (c *cursor) scalar() []byte {
	switch value, kind := c.value(); kind {
	case jsonparser.String, jsonparser.Number:
		return value
	}
	return nil
}

// string takes the text of a string or number.
func (c *cursor) string() string { return mcp.Unescape(c.scalar()) }

// shared is string for texts that stand in many entries.
func (c *cursor) shared(b *exchange.Builder) string {
	var room [256]byte
	text, _ := mcp.UnescapeBytes(c.scalar(), room[:])
	return b.Shared(text)
}

func (c *cursor) number() float64 { return number(c.value()) }

func text(value []byte, kind jsonparser.ValueType) string {
	switch kind {
	case jsonparser.String:
		return mcp.Unescape(value)
	case jsonparser.Number:
		return string(value)
	}
	return ""
}

// number reads a number, also one that a writer has put in quotes; -1 = none.
func number(value []byte, kind jsonparser.ValueType) float64 {
	if kind != jsonparser.Number && kind != jsonparser.String {
		return -1
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != f || f > 1e15 || f < -1e15 {
		return -1
	}
	return f
}
