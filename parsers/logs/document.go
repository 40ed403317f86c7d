package logs

import (
	"errors"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/document"
	"github.com/isodetect/isodetect/parsers/source"
)

// documentFormat is what log stores and tracers export as one document. Its records
// are lines that are read as any other, in the order of their times.
func documentFormat() source.Format {
	f := source.Format{
		Name: "export", Title: "exports of log stores and tracers: arrays, indented JSON, objects without newlines, CSV", Checked: "docs",
		Carries: "what the exported lines carry; spans tell requests with their beginning and end",
		Sniff: func(head []byte, _ bool) int {
			if k := document.Find(head); k != nil && !k.Exchanges {
				return 96
			}
			return 0
		},
		Open: openDocument,
	}
	for _, k := range document.All() {
		if k.Exchanges {
			continue
		}
		f.Forms = append(f.Forms, source.Form{Name: k.Name, Title: k.Title, Checked: k.Checked, Carries: k.Carries})
	}
	return f
}

func openDocument(in []*source.Input, opt source.Options) (source.Reader, error) {
	i := in[0]
	ra, size, err := i.Random()
	if err != nil {
		return nil, fmt.Errorf("cannot open export %s: %w", i.Path, err)
	}
	r, err := newDocument(ra, size, i, opt)
	if err != nil {
		ra.Close()
		return nil, fmt.Errorf("cannot read export %s: %w", i.Path, err)
	}
	return r, nil
}

func newDocument(ra source.RandomReader, size int64, in *source.Input, opt source.Options) (*exported, error) {
	head := make([]byte, min(size, source.HeadForSniff))
	if _, err := ra.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind := document.Find(head)
	if kind == nil || kind.Exchanges {
		return nil, errors.New("it is none that is known; see isodetect formats")
	}
	clock := func(text []byte) (int64, bool) {
		st, ok := parseTime(text, opt.AssumeUTCOffset)
		return st.ns, ok && st.dated
	}
	index, err := document.Read(kind, io.NewSectionReader(ra, 0, size), source.MaxRecord, clock)
	if err != nil {
		return nil, err
	}
	r := &exported{in: in, ra: ra, doc: document.NewReader(index, ra, size), parser: newParser(&in.Stats, opt), open: map[int64]bool{}}
	r.parser.peel(in.Path)
	in.Stats.Bytes = size
	in.Stats.Wrappers = append(in.Stats.Wrappers, kind.Name)
	r.tell(index)
	return r, nil
}

// exported yields the events of one export.
type exported struct {
	in     *source.Input
	ra     source.RandomReader
	doc    *document.Reader
	parser *parser
	open   map[int64]bool // records by their offset that have begun and gave nothing so far
	next   int            // index in parser.queue
	rec    document.Record
	began  bool
	ended  bool
}

// tell takes over what the first reading found.
func (r *exported) tell(x *document.Index) {
	s := &r.in.Stats
	s.Records, s.Malformed = x.Records, x.Malformed
	for _, f := range x.Flaws {
		s.Flaw(r.at(f.At), f.Text)
	}
	for _, n := range x.Notes {
		s.Note(n)
	}
}

func (r *exported) at(a document.Address) event.Address {
	return event.Address{Source: r.in.Index, Unit: event.UnitLine, N: a.N, Offset: a.Offset}
}

// Next returns the next event, valid until the following call, and io.EOF at the end.
func (r *exported) Next() (*event.Event, error) {
	for {
		if q := r.parser.queue; r.next < len(q) {
			e := &q[r.next]
			r.next++
			r.in.Stats.Events++
			return e, nil
		}
		r.next, r.parser.queue = 0, r.parser.queue[:0]
		if !r.began {
			r.began = true
			first, _ := r.doc.Span()
			r.holes(true, first)
			continue
		}
		if err := r.record(); err != nil {
			return nil, err
		}
	}
}

// holes says that records are missing before all others, or behind them.
func (r *exported) holes(before bool, ns int64) {
	for _, h := range r.doc.Missing {
		if h.Before == before {
			r.in.Stats.Gaps++
			r.parser.queue = append(r.parser.queue, event.Event{Kind: event.Gap, Time: event.At(ns), At: event.Address{Source: r.in.Index, Offset: -1}, Note: h.Why})
		}
	}
}

// record reads one record and queues its events.
func (r *exported) record() error {
	err := r.doc.Next(&r.rec)
	if errors.Is(err, io.EOF) {
		if r.ended {
			return io.EOF
		}
		r.ended = true
		r.parser.flush()
		_, last := r.doc.Span()
		r.holes(false, last)
		return nil
	}
	if err != nil {
		return err
	}
	rec := &r.rec
	if rec.Again {
		r.count(ignored, "")
		return nil
	}
	p := r.parser
	p.shown = rec.Raw
	f, why := p.line(rec.Line, r.at(rec.At))
	p.shown = nil
	if rec.Tied {
		for i := range p.queue { // of two records with one time none is the first
			if t := &p.queue[i].Time; t.From == t.To {
				t.To++
			}
		}
	}
	r.count(f, why)
	return nil
}

// count counts a record once, also where it has two moments.
func (r *exported) count(f fate, why string) {
	s, off := &r.in.Stats, r.rec.At.Offset
	switch {
	case f == malformed && r.rec.Phase != document.End:
		s.Bad(r.at(r.rec.At), why)
	case r.rec.Phase == document.End:
		if r.open[off] && f == used {
			s.Ignored--
			s.Used++
		}
		delete(r.open, off)
	case f == used:
		s.Used++
	default:
		s.Ignored++
		if r.rec.Phase == document.Begin {
			r.open[off] = true
		}
	}
}

func (r *exported) Close() error { return r.ra.Close() }
