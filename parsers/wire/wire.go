// Package wire reads wire JSONL, isodetect's own recording format: one HTTP
// happening a line (DESIGN, "Native formats"; wire.schema.json beside this file).
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// Schema is the value of the key "schema" in the optional first line.
const Schema = "isodetect/wire/v1"

const name = "wire"

// Format is wire JSONL as an input format.
var Format = source.Format{
	Name:    name,
	Title:   "isodetect wire JSONL: one HTTP happening a line",
	Checked: "real",
	Carries: "all signals: bodies, headers, times of every SSE event, who closed",
	Sniff:   sniff,
	Open:    open,
	Follow:  follow,
}

// sniff looks at the first lines: the schema line is certain, a line with the
// keys k and x nearly so.
func sniff(head []byte, all bool) int {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	for n := 0; n < 4 && len(head) > 0; n++ {
		text, rest, whole := bytes.Cut(head, []byte("\n"))
		head = rest
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		if text[0] != '{' || !whole && !all {
			// A first line that is longer than the head still shows its keys.
			if text[0] == '{' && bytes.Contains(text, []byte(`"k":`)) && bytes.Contains(text, []byte(`"x":`)) {
				return 60
			}
			return 0
		}
		var schema string
		var k, x bool
		err := jsonparser.ObjectEach(text, func(key, value []byte, _ jsonparser.ValueType, _ int) error {
			switch string(key) {
			case "schema":
				schema = string(value)
			case "k":
				k = kindOf(value) != kindNone
			case "x":
				x = true
			}
			return nil
		})
		switch {
		case err != nil:
			return 0
		case schema == Schema:
			return 100
		case k && x:
			return 95
		case schema == "":
			return 0
		}
		return 0
	}
	return 0
}

func open(in []*source.Input, _ source.Options) (source.Reader, error) {
	i := in[0]
	rc, err := i.Stream()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", i.Path, err)
	}
	return &reader{feeder: newFeeder(i), rc: rc, lines: lines.New(rc, source.MaxRecord)}, nil
}

// reader reads one wire JSONL input.
type reader struct {
	*feeder
	rc    io.ReadCloser
	lines *lines.Reader
	ended bool
	err   error
}

// Next returns the next event.
func (r *reader) Next() (*event.Event, error) {
	for {
		if e := r.feeder.Next(); e != nil {
			return e, nil
		}
		if r.ended {
			return nil, r.err
		}
		r.step()
	}
}

// Close ends the reading.
func (r *reader) Close() error { return r.rc.Close() }

// step reads one line.
func (r *reader) step() {
	raw, err := r.lines.Next()
	long := errors.Is(err, lines.ErrTooLong)
	if err != nil && !long {
		r.finish(err)
		return
	}
	r.stats.Bytes = r.lines.Read()
	at := event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.lines.N(), Offset: r.lines.Offset()}
	if long {
		r.long(at)
		return
	}
	r.Feed(raw, at)
}

// finish closes what is still open: it was open when the recording ended.
func (r *reader) finish(err error) {
	r.ended, r.err = true, err
	if err != io.EOF {
		r.err = fmt.Errorf("cannot read %s: %w", r.in.Path, err)
	}
	r.End(event.Address{Source: r.in.Index, Unit: event.UnitLine, N: r.lines.N(), Offset: r.lines.Offset()})
}
