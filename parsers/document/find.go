package document

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/buger/jsonparser"
)

// Find returns the kind of the document that begins with head, nil if it is none.
func Find(head []byte) *Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n\x00\x1e")
	if len(text) < 2 {
		return nil
	}
	structured := text[0] == '{' || text[0] == '['
	kinds := All()
	for i := range kinds {
		k := &kinds[i]
		if k.plain {
			if newestFirst(text) {
				return k
			}
			continue
		}
		if k.rows == structured || !k.marked(text) {
			continue
		}
		if k.rows {
			if c := columnsOf(text); k.is(c.has) {
				return k
			}
			continue
		}
		if first := k.first(text); first != nil && k.is(func(key string) bool { return holds(first, key) }) && k.clean(text) {
			return k
		}
	}
	return nil
}

func (k *Kind) marked(text []byte) bool {
	for _, m := range strings.Fields(k.marks) {
		if bytes.Contains(text, []byte(m)) {
			return true
		}
	}
	return false
}

// first is the first record, or what the head holds of it.
func (k *Kind) first(head []byte) (first []byte) {
	s := begin(k, bytes.NewReader(head), len(head), noClock)
	s.probe = func(raw []byte) { first = bytes.Clone(raw) }
	_ = s.values()
	return first
}

func noClock([]byte) (int64, bool) { return 0, false }

// clean reports that the head is this document and nothing else: lines of several
// loggers are read line by line.
func (k *Kind) clean(head []byte) bool {
	s := begin(k, bytes.NewReader(head), len(head), noClock)
	if err := s.values(); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	for _, f := range s.x.Flaws {
		if f.At.Offset < int64(len(head)) && k.paths[0] == "" {
			return false
		}
	}
	return true
}

// holds reports a member of an object of which the end may be missing. Of an array
// of an Insights answer it looks at the names of the fields.
func holds(raw []byte, key string) bool {
	found := false
	path := strings.Split(key, "/")
	if v, kind, _, err := jsonparser.Get(raw, path...); err == nil && kind != jsonparser.NotExist && v != nil {
		return true
	}
	if len(raw) > 0 && raw[0] == '[' {
		return bytes.Contains(raw, []byte(`"`+key+`"`))
	}
	_ = jsonparser.ObjectEach(raw, func(k, _ []byte, _ jsonparser.ValueType, _ int) error {
		found = found || len(path) == 1 && string(k) == key
		return nil
	})
	if !found && len(path) == 1 && len(raw) > 0 && raw[len(raw)-1] != '}' { // cut inside
		return bytes.Contains(raw, []byte(`"`+key+`":`)) || bytes.Contains(raw, []byte(`"`+key+`" :`))
	}
	return found
}

// at is the value under a path; nil if there is none.
func at(raw []byte, path []string) []byte {
	v, kind, _, err := jsonparser.Get(raw, path...)
	if err != nil || kind == jsonparser.NotExist || kind == jsonparser.Null {
		return nil
	}
	return v
}

// text is a value as a time or number is written; others give nothing.
func text(v []byte) []byte {
	if len(v) == 0 || len(v) > 64 || v[0] == '{' || v[0] == '[' {
		return nil
	}
	return v
}

// decimal reads a number of units, in ns.
func decimal(v []byte, unit int64) (ns int64, ok bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || math.IsNaN(f) || f*float64(unit) > 1<<62 {
		return 0, false
	}
	return int64(f * float64(unit)), true
}
