package wire

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// kind is what a line tells.
type kind uint8

const (
	kindNone kind = iota
	kindSchema
	kindReq
	kindHead
	kindBody
	kindSSE
	kindClose
	kindGap
)

func kindOf(s []byte) kind {
	switch string(s) {
	case "req":
		return kindReq
	case "head":
		return kindHead
	case "body":
		return kindBody
	case "sse":
		return kindSSE
	case "close":
		return kindClose
	case "gap":
		return kindGap
	}
	return kindNone
}

// line is one line. Byte slices point into the text that was parsed.
type line struct {
	kind   kind
	ts     int64 // ns, 0 = none
	x      string
	conn   string
	peer   string
	url    string
	method string
	header []exchange.Header
	noHead bool // no key h: the headers were not recorded
	status int

	body []byte // raw JSON, unescaped text or decoded base64; nil = none
	sent bool   // a body key was there
	json bool   // body is a JSON value, whatever the content type
	raw  bool   // body is as it was on the wire: content-encoding still applied
	cut  bool   // body is only the beginning of it

	id, event     string
	data          []byte
	by, dir, note string

	b    *exchange.Builder // shares the texts of header fields
	room [2][]byte         // for the unescaped texts of body and data
}

// reset makes l empty for the next line; it keeps the room it has.
func (l *line) reset() {
	for i := range l.room {
		if len(l.room[i]) > keepRoom {
			l.room[i] = nil
		}
	}
	*l = line{b: l.b, header: l.header[:0], room: l.room, noHead: true}
}

const keepRoom = 1 << 20

// parseLine reads one line strictly: what cannot be trusted is malformed.
func parseLine(raw []byte, l *line) error {
	if raw[0] != '{' {
		return errors.New("line is no JSON object: skipped")
	}
	switch ok, deep := exchange.Valid(raw); {
	case deep:
		return fmt.Errorf("line nested deeper than %d: skipped", mcp.MaxDepth)
	case !ok:
		return errors.New("line is no valid JSON: skipped")
	}
	l.reset()
	var bad error
	err := jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		if err := l.member(key, value, kind); err != nil && bad == nil {
			bad = err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot parse line: %w", err)
	}
	if bad != nil {
		return bad
	}
	if l.kind == kindNone {
		return errors.New("line has no k of req, head, body, sse, close or gap: skipped")
	}
	return nil
}

func (l *line) member(key, value []byte, kind jsonparser.ValueType) error {
	str := func() string {
		switch kind {
		case jsonparser.String:
			return mcp.Unescape(value)
		case jsonparser.Number:
			return string(value)
		}
		return ""
	}
	var err error
	switch string(key) {
	case "schema":
		if l.kind == kindNone {
			l.kind = kindSchema
		}
		if s := str(); s != Schema {
			return fmt.Errorf("schema is %.60q, this program reads %q", s, Schema)
		}
	case "k":
		if l.kind = kindOf(value); l.kind == kindNone {
			return fmt.Errorf("k is %.40q, want req, head, body, sse, close or gap", value)
		}
	case "ts":
		l.ts, err = stamp(str(), kind)
	case "x":
		l.x = str()
	case "conn":
		l.conn = str()
	case "peer":
		l.peer = str()
	case "url":
		l.url = str()
	case "http_method":
		l.method = str()
	case "h":
		if kind == jsonparser.Object {
			l.noHead = false
			l.headers(value)
		}
	case "status":
		l.status, err = strconv.Atoi(str())
		if err != nil || l.status < 0 || l.status > 999 {
			return fmt.Errorf("status is %.40q, want a number", value)
		}
	case "body", "body_text", "body_b64":
		err = l.readBody(string(key), value, kind)
	case "cut":
		l.cut = kind == jsonparser.Boolean && string(value) == "true"
	case "id":
		l.id = str()
	case "event":
		l.event = str()
	case "data":
		switch kind {
		case jsonparser.String:
			l.data, l.room[1] = mcp.UnescapeBytes(value, l.room[1])
		case jsonparser.Number, jsonparser.Object, jsonparser.Array:
			l.data = value
		}
	case "by":
		l.by = str()
	case "dir":
		l.dir = str()
	case "note", "missing", "what":
		l.note = mcp.Cut(str(), 256)
	}
	return err
}

// stamp reads RFC 3339.
func stamp(s string, kind jsonparser.ValueType) (int64, error) {
	if kind == jsonparser.Null {
		return 0, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, fmt.Errorf("ts is %.40q, want RFC 3339 such as 2026-07-19T22:20:43.689Z", s)
	}
	if y := t.Year(); y < 1970 || y > 2261 {
		return 0, fmt.Errorf("ts is in the year %d", y)
	}
	return t.UnixNano(), nil
}

// headers reads an object whose values are strings or lists of strings.
func (l *line) headers(raw []byte) {
	_ = jsonparser.ObjectEach(raw, func(name, value []byte, kind jsonparser.ValueType, _ int) error {
		switch {
		case !exchange.Telling(name):
		case kind == jsonparser.Array:
			_, _ = jsonparser.ArrayEach(value, func(v []byte, kind jsonparser.ValueType, _ int, err error) {
				if err == nil && kind == jsonparser.String {
					l.field(name, v)
				}
			})
		case kind == jsonparser.String || kind == jsonparser.Number:
			l.field(name, value)
		}
		return nil
	})
}

func (l *line) field(name, value []byte) {
	var room [256]byte
	value, _ = mcp.UnescapeBytes(value, room[:])
	l.header = l.b.AppendField(l.header, name, value)
}
