// Package inspector reads the HTTP requests that MCP Inspector exports: what one
// client sent and got, with headers and bodies. The file is read twice, since an answer
// is told when it was complete.
package inspector

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/document"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// Format is the network export of MCP Inspector as an input format.
var Format = source.Format{
	Name:    "inspector-network",
	Title:   "HTTP requests exported by MCP Inspector",
	Checked: "docs",
	Carries: "all signals that one client can see; no times inside streams, not who closed",
	Sniff: func(head []byte, _ bool) int {
		if k := document.Find(head); k != nil && k.Exchanges {
			return 96
		}
		return 0
	},
	Open: open,
}

func open(in []*source.Input, _ source.Options) (source.Reader, error) {
	i := in[0]
	ra, size, err := i.Random()
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", i.Path, err)
	}
	r := &reader{in: i, ra: ra, b: exchange.New(i.Index, &i.Stats), live: map[int64]*live{}}
	if err := r.survey(size); err != nil {
		ra.Close()
		return nil, fmt.Errorf("cannot read %s: %w", i.Path, err)
	}
	return r, nil
}

// reader yields the events of one export.
type reader struct {
	in   *source.Input
	ra   source.RandomReader
	b    *exchange.Builder
	doc  *document.Reader
	rec  document.Record
	live map[int64]*live // exchanges that have begun, by the offset of their record
	open []left
	e    entry
	end  bool
}

type live struct {
	*exchange.Exchange
	start int64
}

// left is an exchange of which the end is not recorded: its stream was open when the
// export was made.
type left struct {
	at   event.Address
	size int
}

func (r *reader) survey(size int64) error {
	head := make([]byte, min(size, source.HeadForSniff))
	if _, err := r.ra.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	kind := document.Find(head)
	if kind == nil || !kind.Exchanges {
		return errors.New("it is no export of HTTP requests of MCP Inspector")
	}
	clock := func(text []byte) (int64, bool) {
		t, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return 0, false
		}
		return t.UnixNano(), true
	}
	x, err := document.Read(kind, io.NewSectionReader(r.ra, 0, size), source.MaxRecord, clock)
	if err != nil {
		return err
	}
	r.doc = document.NewReader(x, r.ra, size)
	s := &r.in.Stats
	s.Bytes, s.Records, s.Malformed = size, x.Records, x.Malformed
	for _, f := range x.Flaws {
		s.Flaw(r.at(f.At), f.Text)
	}
	for _, n := range x.Notes {
		s.Note(n)
	}
	first, _ := r.doc.Span()
	r.holes(true, first)
	return nil
}

func (r *reader) at(a document.Address) event.Address {
	return event.Address{Source: r.in.Index, Unit: event.UnitLine, N: a.N, Offset: a.Offset}
}

// holes says that exchanges are missing before all others, or behind them.
func (r *reader) holes(before bool, ns int64) {
	for _, h := range r.doc.Missing {
		if h.Before == before {
			r.b.Gap(event.At(ns), event.Address{Source: r.in.Index, Offset: -1}, event.Sender{}, event.DirUnknown, 0, h.Why)
		}
	}
}

// Next returns the next event.
func (r *reader) Next() (*event.Event, error) {
	for {
		if e := r.b.Pop(); e != nil {
			return e, nil
		}
		err := r.doc.Next(&r.rec)
		switch {
		case errors.Is(err, io.EOF) && r.end:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			r.end = true
			_, last := r.doc.Span()
			if err := r.finishOpen(last); err != nil {
				return nil, err
			}
			r.holes(false, last)
		case err != nil:
			return nil, err
		default:
			r.record()
		}
	}
}

// finishOpen ends the exchanges that have no end of their own.
func (r *reader) finishOpen(last int64) error {
	for _, o := range r.open {
		raw := make([]byte, o.size)
		if _, err := r.ra.ReadAt(raw, o.at.Offset); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("cannot read the record at byte %d again: %w", o.at.Offset, err)
		}
		if l := r.live[o.at.Offset]; l != nil && r.e.parse(raw) == nil {
			r.finish(l, o.at, last, event.ByWindow)
		}
	}
	return nil
}

// record begins or ends an exchange.
func (r *reader) record() {
	s, rec := &r.in.Stats, &r.rec
	at := r.at(rec.At)
	if rec.Again {
		if rec.Phase != document.End {
			s.Ignored++
		}
		return
	}
	if rec.Phase != document.End {
		if err := r.e.parse(rec.Raw); err != nil {
			s.Bad(at, err.Error()+": skipped")
			return
		}
		if !r.e.transport() {
			s.Ignored++
			return
		}
		s.Used++
		r.live[rec.At.Offset] = r.begin(at)
	}
	l := r.live[rec.At.Offset]
	switch {
	case l == nil || rec.Phase == document.Begin:
		return
	case rec.Phase == document.Whole:
		r.open = append(r.open, left{at, len(rec.Raw)})
		return
	}
	if r.e.parse(rec.Raw) == nil { // it was read before
		r.finish(l, at, rec.Time, event.ByUnknown)
	}
	delete(r.live, rec.At.Offset)
}

func (r *reader) begin(at event.Address) *live {
	e, ns := &r.e, r.rec.Time
	origin, target := splitURL(e.url)
	t := event.Time{From: ns, To: ns, Moment: event.MomentStart}
	var loss event.Loss
	if e.asked == nil {
		loss |= event.LossHeaders
	}
	if e.post == nil && e.method == "POST" {
		loss |= event.LossRequestBody
	}
	l := &live{start: ns, Exchange: r.b.Open(exchange.Request{
		Time: t, At: at, Server: origin, Method: e.method, Target: target, Header: exchange.Decoded(e.asked), Loss: loss,
	})}
	l.RequestBody(t, at, e.post, 0)
	return l
}

// finish gives the answer. The messages of a stream came at some moment before its end.
func (r *reader) finish(l *live, at event.Address, ns int64, by event.By) {
	e := &r.e
	var loss event.Loss
	if e.status > 0 {
		res := exchange.Response{Time: event.At(ns), At: at, Status: e.status, Header: e.answered}
		if !e.named() { // a browser shows only the headers that the server exposes to it
			res.Loss = event.LossHeaders
		}
		l.Head(res)
		switch {
		case e.body != nil && e.stream():
			l.Text(event.Time{From: l.start, To: ns}, at, e.body)
		case e.body != nil:
			l.Text(event.At(ns), at, e.body)
		case e.status == 200:
			loss |= event.LossResponseBody
		}
	}
	l.Close(event.Time{From: ns, To: ns, Moment: event.MomentEnd}, at, by, loss)
}

// Close ends the reading.
func (r *reader) Close() error { return r.ra.Close() }
