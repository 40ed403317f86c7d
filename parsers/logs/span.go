package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// times returns the times that the lines of a piece of a log say, in the order of
// the lines, also of those that say nothing about MCP. Lines without a time of
// their own, and what a line says about other times, are passed over.
func times(piece []byte, in *source.Input, opt source.Options) []int64 {
	var out []int64
	p := newParser(&source.Stats{}, opt)
	p.modified = in.Modified
	p.peeler = envelope.New(in.Path, func(line []byte, m *envelope.Meta) {
		p.tell(m)
		if ns := p.lineTime(line); ns != 0 {
			out = append(out, ns)
		}
	})
	if envelope.IsExport(piece) {
		for entries := envelope.NewExport(bytes.NewReader(piece), len(piece)); entries.Next() == nil; {
			p.peeler.PeelExport(entries)
		}
		return out
	}
	for len(piece) > 0 {
		line, rest, _ := bytes.Cut(piece, []byte{'\n'})
		piece = rest
		if line = bytes.Trim(line, "\x00\r \t"); len(line) > 0 {
			p.peeler.Peel(line, envelope.Address{})
		}
	}
	return out
}

// lineTime is the time of a line whose envelopes were taken off, 0 = it has none.
func (p *parser) lineTime(b []byte) int64 {
	r := &p.rec
	r.reset()
	if p.wrap.at.dated && p.wrap.at.zoned {
		return p.wrap.at.ns
	}
	b = bytes.TrimSpace(b)
	if bytes.IndexByte(b, 0x1b) >= 0 {
		p.strip = stripANSI(p.strip[:0], b)
		b = p.strip
	}
	switch {
	case len(b) == 0 || len(b) > maxText:
	case b[0] == '{':
		r.readJSON(b)
	default:
		if r.prefix(b, 0); r.has(slotTime) {
			break
		}
		// Common log and HAProxy have their time in brackets behind the address.
		if k := bytes.IndexByte(b[:min(len(b), 256)], '['); k >= 0 {
			if st, ok := parseTime(b[k+1:], 0); ok {
				r.set(slotTime, nil, value{b[k+1 : k+1+st.length], formBare})
				break
			}
		}
		r.readPairs(b, 0)
	}
	if r.has(slotTime) {
		st, ok := parseTime(r.text(r.get(slotTime)), p.opt.AssumeUTCOffset)
		if ok && st.month > 0 {
			st, ok = p.complete(st, 0)
		}
		if ok && st.dated {
			return st.ns
		}
	}
	if p.wrap.at.dated {
		return p.wrap.at.ns
	}
	return 0
}
