package tshark

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/buger/jsonparser"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// jsonPackets reads the elements of the array that -T json writes, one at a time.
type jsonPackets struct {
	r      *reader
	br     *bufio.Reader
	fields map[string]field
	off    int64
	n      int64
	buf    []byte
	room   []byte
	inside bool
	layer  string // that is read now
}

func newJSON(r *reader, in io.Reader) packets {
	return &jsonPackets{r: r, br: bufio.NewReaderSize(in, 256<<10), fields: fieldsOf(func(s string) string { return s })}
}

func (j *jsonPackets) next(p *packet) (event.Address, error) {
	for {
		at := event.Address{Source: j.r.in.Index, Unit: event.UnitFrame, N: j.n + 1, Offset: j.off}
		c, err := j.peek()
		if err != nil {
			return at, j.end(at, err)
		}
		switch {
		case c == '[' && !j.inside:
			j.inside = true
			j.skip(1)
			continue
		case c == ']':
			return at, j.trailer(at)
		case c == ',' || c == 0xEF || c == 0xBB || c == 0xBF:
			j.skip(1)
			continue
		case !j.inside || c == '}' || c == ':':
			j.r.stats.Flaw(at, "the text from here on is no array of packets: it is skipped")
			j.r.hole(at, event.LossRest, "the export is broken: what followed is not known")
			return at, io.EOF
		}
		at.Offset = j.off
		raw, err := j.value()
		j.n++
		j.r.stats.Records++
		j.r.stats.Bytes = j.off
		switch {
		case err != nil:
			j.r.stats.Bad(at, "packet is cut by the end of the file: skipped")
			return at, j.end(at, err)
		case raw == nil:
			j.r.bad(at, "packet over 64 MiB: skipped")
			continue
		}
		if problem := checked(raw); problem != "" {
			j.r.bad(at, "packet "+problem+": skipped")
			continue
		}
		if problem := j.packet(raw, p); problem != "" {
			j.r.bad(at, problem)
			p.reset()
			continue
		}
		if p.frame > 0 {
			at.N = p.frame
		}
		return at, nil
	}
}

// checked says why a text must not be looked into, "" if it may.
func checked(raw []byte) string {
	switch ok, deep := exchange.Valid(raw); {
	case deep:
		return fmt.Sprintf("nested deeper than %d", mcp.MaxDepth)
	case !ok:
		return "is no valid JSON"
	case raw[0] != '{':
		return "is no JSON object"
	}
	return ""
}

// end tells an export that stops before its bracket.
func (j *jsonPackets) end(at event.Address, err error) error {
	if errors.Is(err, io.EOF) && j.n > 0 {
		j.r.hole(at, event.LossRest, "the export is cut: what followed is not known")
	}
	return err
}

// trailer looks at what stands behind the array.
func (j *jsonPackets) trailer(at event.Address) error {
	j.skip(1)
	_, err := j.peek()
	if err == nil {
		j.r.stats.Flaw(at, "there is more text behind the array of packets: it is skipped")
		err = io.EOF
	}
	return err
}

// packet walks one element: {"_source":{"layers":{"http":{…}}}}. jsonparser gives
// every key as often as it stands.
func (j *jsonPackets) packet(raw []byte, p *packet) string {
	found := false
	each(raw, func(key string, value []byte, kind jsonparser.ValueType) {
		if key != "_source" || kind != jsonparser.Object {
			return
		}
		each(value, func(key string, value []byte, kind jsonparser.ValueType) {
			if key != "layers" || kind != jsonparser.Object {
				return
			}
			found = true
			each(value, func(layer string, value []byte, kind jsonparser.ValueType) {
				p.layer(layer)
				j.r.unread.chosen(layer)
				if layerOf(layer) || layer == "http.file_data_raw" {
					j.layer = layer
					j.walk(layer, value, kind, p)
				}
			})
		})
	})
	if !found {
		return "packet has no layers: skipped"
	}
	return ""
}

func each(raw []byte, f func(key string, value []byte, kind jsonparser.ValueType)) {
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		f(string(key), value, kind)
		return nil
	})
}

// walk gives every field below a value in the order of the text.
func (j *jsonPackets) walk(name string, value []byte, kind jsonparser.ValueType, p *packet) {
	switch kind {
	case jsonparser.Object:
		each(value, func(key string, value []byte, kind jsonparser.ValueType) { j.walk(key, value, kind, p) })
	case jsonparser.Array:
		first := true
		_, _ = jsonparser.ArrayEach(value, func(v []byte, kind jsonparser.ValueType, _ int, err error) {
			if raw := strings.HasSuffix(name, "_raw"); err == nil && (!raw || first) { // [bytes, position, length, …]
				j.walk(name, v, kind, p)
			}
			first = false
		})
	case jsonparser.String, jsonparser.Number, jsonparser.Boolean:
		f := j.fields[name]
		if f == fNone {
			if name == "filtered" {
				j.r.left(j.layer)
			}
			return
		}
		text := value
		if kind == jsonparser.String {
			text, j.room = mcp.UnescapeBytes(value, j.room[:0])
		}
		p.take(f, text, false)
	}
}

func (j *jsonPackets) peek() (byte, error) {
	for {
		b, err := j.br.Peek(1)
		if err != nil {
			return 0, err
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n':
			j.skip(1)
			continue
		}
		return b[0], nil
	}
}

func (j *jsonPackets) skip(n int) {
	n, _ = j.br.Discard(n)
	j.off += int64(n)
}

// value reads one value; nil if it is over source.MaxRecord. At a cut it returns an error.
func (j *jsonPackets) value() ([]byte, error) {
	var sc exchange.Scan
	if cap(j.buf) > 4<<20 {
		j.buf = nil
	}
	j.buf = j.buf[:0]
	over := false
	for {
		if _, err := j.br.Peek(1); err != nil {
			return nil, err
		}
		window, _ := j.br.Peek(j.br.Buffered())
		n, done := sc.Advance(window)
		if over = over || len(j.buf)+n > source.MaxRecord; !over {
			j.buf = append(j.buf, window[:n]...)
		}
		j.skip(n)
		if done {
			break
		}
	}
	if over {
		return nil, nil
	}
	return bytes.TrimSpace(j.buf), nil
}

// ekPackets reads the lines of -T ek: an index line and one with the layers.
type ekPackets struct {
	r      *reader
	lines  *lines.Reader
	fields map[string]field
	room   []byte
	at     string // the layer that is read now
}

func newEK(r *reader, in io.Reader) packets {
	return &ekPackets{r: r, lines: lines.New(in, source.MaxRecord), fields: fieldsOf(func(s string) string {
		proto, _, _ := strings.Cut(s, ".")
		return proto + "_" + strings.ReplaceAll(s, ".", "_") // http.file_data is http_http_file_data
	})}
}

func (k *ekPackets) next(p *packet) (event.Address, error) {
	for {
		raw, err := k.lines.Next()
		at := event.Address{Source: k.r.in.Index, Unit: event.UnitLine, N: k.lines.N(), Offset: k.lines.Offset()}
		if err != nil && !errors.Is(err, lines.ErrTooLong) {
			return at, err
		}
		k.r.stats.Bytes = k.lines.Read()
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 && err == nil {
			continue
		}
		k.r.stats.Records++
		if err != nil {
			k.r.bad(at, "line over 64 MiB: skipped")
			continue
		}
		if problem := checked(raw); problem != "" {
			k.r.bad(at, "line "+problem+": skipped")
			continue
		}
		if k.packet(raw, p) {
			return at, nil
		}
		k.r.stats.Ignored++ // {"index":{…}}
	}
}

func (k *ekPackets) packet(raw []byte, p *packet) (found bool) {
	each(raw, func(key string, value []byte, kind jsonparser.ValueType) {
		switch {
		case key == "timestamp" && kind == jsonparser.String && p.time == 0:
			p.time = number(value) * 1e6
		case key == "layers" && kind == jsonparser.Object:
			found = true
			each(value, func(layer string, value []byte, kind jsonparser.ValueType) {
				p.layer(layer)
				if layerOf(layer) {
					k.at = layer
					k.layer(layer, value, kind, p)
				}
			})
		}
	})
	return found
}

// layer reads one layer, or several of one kind that stand in a list.
func (k *ekPackets) layer(layer string, value []byte, kind jsonparser.ValueType, p *packet) {
	switch {
	case kind == jsonparser.Array:
		_, _ = jsonparser.ArrayEach(value, func(v []byte, kind jsonparser.ValueType, _ int, err error) {
			if err == nil && kind == jsonparser.Object {
				k.layer(layer, v, kind, p)
			}
		})
	case kind != jsonparser.Object:
	case layer == "http2":
		k.http2(value, p)
	default:
		k.walk(value, func(f field, text []byte) { p.take(f, text, false) })
	}
}

// walk gives the fields of an object; a list holds what stood repeatedly.
func (k *ekPackets) walk(raw []byte, take func(field, []byte)) {
	each(raw, func(key string, value []byte, kind jsonparser.ValueType) {
		f := k.fields[key]
		if key == "filtered" {
			k.r.left(k.at)
		}
		switch {
		case kind == jsonparser.Object:
			k.walk(value, take)
		case f == fNone:
		case kind == jsonparser.Array:
			_, _ = jsonparser.ArrayEach(value, func(v []byte, kind jsonparser.ValueType, _ int, err error) {
				if err == nil {
					k.text(f, v, kind, take)
				}
			})
		default:
			k.text(f, value, kind, take)
		}
	})
}

func (k *ekPackets) text(f field, value []byte, kind jsonparser.ValueType, take func(field, []byte)) {
	switch kind {
	case jsonparser.String:
		value, k.room = mcp.UnescapeBytes(value, k.room[:0])
	case jsonparser.Number, jsonparser.Boolean:
	default:
		return
	}
	take(f, value)
}

// http2 puts together the frames of one layer: ek flattens them, so that each field
// is a list over all frames that have it.
func (k *ekPackets) http2(raw []byte, p *packet) {
	of := map[field][][]byte{}
	total := 0
	k.walk(raw, func(f field, text []byte) {
		if total++; total <= 8*maxFields {
			of[f] = append(of[f], bytes.Clone(text))
		}
	})
	counts := listOf(raw, "http2_http2_header_count")
	take := func(f field, i int) {
		if i < len(of[f]) {
			p.take(f, of[f][i], false)
		}
	}
	names, data, heads := 0, 0, 0
	for i := range of[f2Kind] {
		take(f2Length, i)
		take(f2Kind, i)
		take(f2Flags, i)
		take(f2Stream, i)
		if len(p.frames) == 0 {
			return
		}
		switch w := &p.frames[len(p.frames)-1]; w.kind {
		case kindHeaders:
			n := len(of[f2Name])
			if heads < len(counts) {
				n = min(n, names+int(counts[heads]))
			}
			heads++
			for ; names < n; names++ {
				take(f2Name, names)
				take(f2Value, names)
			}
		case kindData:
			// An empty frame shows data only where it ends a body that was put together again.
			if w.length > 0 || len(of[f2Kind]) == 1 {
				take(f2Data, data)
				data++
			}
		}
	}
}

// listOf returns the numbers of a member that is one or a list of them.
func listOf(raw []byte, name string) (all []int64) {
	value, kind, _, err := jsonparser.Get(raw, name)
	switch {
	case err != nil:
	case kind == jsonparser.Array:
		_, _ = jsonparser.ArrayEach(value, func(v []byte, _ jsonparser.ValueType, _ int, err error) {
			if err == nil && len(all) < maxFields {
				all = append(all, max(number(v), 0))
			}
		})
	default:
		all = append(all, max(number(value), 0))
	}
	return all
}
