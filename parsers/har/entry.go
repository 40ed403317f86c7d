package har

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/buger/jsonparser"
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
	reqHeader            []exchange.Header
	bodySize             int64 // of the request, -1 = not known
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
	viaSW    bool // fetched by a service worker
	kind     string
}

// content is a recorded body.
type content struct {
	present bool   // text is there and no null
	text    []byte // raw JSON string, still escaped
	base64  bool
	size    int64 // -1 = not known
	mime    string
}

// timings are the phases of an exchange in ms; what is missing, null or negative counts 0.
type timings struct {
	before  float64 // until the first byte of the answer
	receive float64
	known   bool // wait is there
}

// parseEntry reads one entry strictly.
func parseEntry(raw []byte, zone int, e *entry) error {
	*e = entry{time: -1, bodySize: -1}
	e.post.size, e.body.size = -1, -1
	if len(raw) == 0 || raw[0] != '{' {
		return errors.New("entry is no JSON object: skipped")
	}
	switch ok, deep := exchange.Valid(raw); {
	case deep:
		return fmt.Errorf("entry nested deeper than %d: skipped", mcp.MaxDepth)
	case !ok:
		return errors.New("entry is no valid JSON: skipped")
	}
	err := jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "startedDateTime":
			e.start, e.timed = parseTime(text(value, kind), zone)
		case "time":
			e.time = number(value, kind)
		case "timings":
			e.timings.read(value, kind)
		case "request":
			e.request(value, kind)
		case "response":
			e.answer(value, kind)
		case "_eventSourceMessages":
			if kind == jsonparser.Array {
				e.messages = value
			}
		case "serverIPAddress":
			e.address = text(value, kind)
		case "connection", "_connectionId":
			if c := text(value, kind); c != "" && (e.conn == "" || string(key) == "connection") {
				e.conn = c
			}
		case "_fetchedViaServiceWorker":
			e.viaSW = kind == jsonparser.Boolean && len(value) == 4
		case "_resourceType":
			e.kind = text(value, kind)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot parse entry: %w", err)
	}
	if !e.timed {
		return errors.New("startedDateTime is missing or no time: entry skipped")
	}
	return nil
}

func (e *entry) request(raw []byte, kind jsonparser.ValueType) {
	if kind != jsonparser.Object {
		return
	}
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "method":
			e.method = text(value, kind)
		case "url":
			e.url = text(value, kind)
		case "httpVersion":
			e.version = text(value, kind)
		case "headers":
			e.reqHeader = headers(value, kind)
		case "bodySize":
			e.bodySize = int64(number(value, kind))
		case "postData", "_content":
			// HTTP Toolkit keeps binary bodies in _content.
			if kind == jsonparser.Object && !e.post.present {
				e.post.read(value)
			}
		case "_requestBodyStatus":
			e.postLost = true
		}
		return nil
	})
}

func (e *entry) answer(raw []byte, kind jsonparser.ValueType) {
	if kind != jsonparser.Object {
		return
	}
	e.response = true
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "status":
			e.status = int(number(value, kind))
		case "httpVersion":
			e.resVersion = text(value, kind)
		case "headers":
			e.resHeader = headers(value, kind)
		case "content":
			if kind == jsonparser.Object {
				e.body.read(value)
			}
		}
		return nil
	})
}

func (c *content) read(raw []byte) {
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "text":
			c.present = kind == jsonparser.String
			c.text = nil
			if c.present {
				c.text = value
			}
		case "encoding":
			c.base64 = text(value, kind) == "base64"
		case "size":
			c.size = int64(number(value, kind))
		case "mimeType":
			c.mime = text(value, kind)
		}
		return nil
	})
}

func (t *timings) read(raw []byte, kind jsonparser.ValueType) {
	if kind != jsonparser.Object {
		return
	}
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		ms := number(value, kind)
		switch string(key) {
		case "wait":
			t.known = ms >= 0
			t.before += max(ms, 0)
		case "blocked", "dns", "connect", "send": // ssl lies inside connect
			t.before += max(ms, 0)
		case "receive":
			t.receive = max(ms, 0)
		}
		return nil
	})
}

// headers reads a list of {name, value}; HTTP/2 pseudo headers are no fields.
func headers(raw []byte, kind jsonparser.ValueType) []exchange.Header {
	if kind != jsonparser.Array {
		return nil
	}
	var h []exchange.Header
	_, _ = jsonparser.ArrayEach(raw, func(item []byte, kind jsonparser.ValueType, _ int, err error) {
		if err != nil || kind != jsonparser.Object {
			return
		}
		var f exchange.Header
		_ = jsonparser.ObjectEach(item, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
			switch string(key) {
			case "name":
				f.Name = text(value, kind)
			case "value":
				f.Value = text(value, kind)
			}
			return nil
		})
		if f.Name != "" && f.Name[0] != ':' {
			h = append(h, f)
		}
	})
	return h
}

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
