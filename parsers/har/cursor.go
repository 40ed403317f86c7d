package har

import (
	"bytes"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// cursor reads JSON once from front to back: entries are mostly long strings, so
// that looking for the end of an object before looking into it costs as much again
// for every level. The text should have passed exchange.Valid; in one that has not,
// the cursor goes to the end and is bad.
type cursor struct {
	raw []byte
	i   int
	bad bool
}

// object calls member with each key of the object that comes; member may take the
// value, else it is skipped. Anything but an object is skipped.
func (c *cursor) object(member func(key []byte)) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	c.i++
	for c.more('}') {
		key := c.key()
		at := c.i
		member(key)
		if c.i == at {
			c.skip()
		}
	}
}

// array calls element before each element of the array that comes.
func (c *cursor) array(element func()) {
	if c.peek() != '[' {
		c.skip()
		return
	}
	c.i++
	for c.more(']') {
		at := c.i
		element()
		if c.i == at {
			c.skip()
		}
		if c.i == at {
			c.fail() // nothing that begins a value
		}
	}
}

// more goes to the next member or element; at the end it goes behind it.
func (c *cursor) more(end byte) bool {
	if c.peek() == ',' {
		c.i++
	}
	switch c.peek() {
	case end:
		c.i++
		return false
	case 0:
		c.bad = true
		return false
	}
	return !c.bad
}

// peek skips white space and returns the byte that comes, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.raw) {
		switch b := c.raw[c.i]; b {
		case ' ', '\n', '\r', '\t':
			c.i++
		default:
			return b
		}
	}
	return 0
}

func (c *cursor) key() []byte {
	if c.peek() != '"' {
		c.fail()
		return nil
	}
	key := c.text()
	if c.peek() != ':' {
		c.fail()
		return nil
	}
	c.i++
	c.peek()
	if bytes.IndexByte(key, '\\') >= 0 {
		key, _ = mcp.UnescapeBytes(key, nil)
	}
	return key
}

// text takes the string that comes and returns it without its quotes, still escaped.
func (c *cursor) text() []byte {
	start := c.i + 1
	end := exchange.StringEnd(c.raw, start)
	if end < 0 {
		c.fail()
		return nil
	}
	c.i = end
	return c.raw[start : end-1]
}

func (c *cursor) fail() { c.i, c.bad = len(c.raw), true }

// value takes the value that comes: a string without its quotes, anything else as it stands.
func (c *cursor) value() ([]byte, jsonparser.ValueType) {
	var kind jsonparser.ValueType
	switch c.peek() {
	case '"':
		return c.text(), jsonparser.String
	case '{':
		kind = jsonparser.Object
	case '[':
		kind = jsonparser.Array
	case 't', 'f':
		kind = jsonparser.Boolean
	case 'n':
		kind = jsonparser.Null
	default:
		kind = jsonparser.Number
	}
	at := c.i
	c.skip()
	return c.raw[at:c.i], kind
}

// skip goes behind the value that comes.
func (c *cursor) skip() {
	depth := 0
	for c.peek(); c.i < len(c.raw); c.i++ {
		switch c.raw[c.i] {
		case '"':
			c.text()
			if depth == 0 {
				return
			}
			c.i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // of what holds a number or word
			}
			if depth--; depth == 0 {
				c.i++
				return
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return
			}
		}
	}
}
