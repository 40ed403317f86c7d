package scan

import (
	"context"
	"errors"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/rules"
)

// Reading and judging run side by side: one goroutine parses into batches, this
// one feeds them to the rules in the same order, so the outcome is that of one.

// batch is a number of events in order, and what ended the reading behind them.
type batch struct {
	events []event.Event
	n      int
	err    error
}

const (
	batchSize = 256 // events
	batches   = 3   // one that is filled, one that is judged, one between them
)

// feed gives every event to the engine and reports whether ctx ended first.
func feed(ctx context.Context, set *parsers.Set, eng *rules.Engine, opt Options) (interrupted bool, err error) {
	if opt.Progress != nil {
		set.Meter.Watch(func(read int64) { opt.Progress(read, set.Bytes) })
	}
	r := set.Reader()
	defer r.Close()
	empty, full := make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		empty <- &batch{events: make([]event.Event, batchSize)}
	}
	go read(r, empty, full)
	for b := range full {
		if ctx.Err() != nil {
			close(empty)
			for range full { // until the reader has seen it
			}
			return true, nil
		}
		for i := range b.n {
			if m := eng.Apply(&b.events[i]); m != nil && opt.Observe != nil {
				opt.Observe(m)
			}
		}
		if b.err != nil {
			err = b.err
		}
		empty <- b
	}
	if errors.Is(err, io.EOF) {
		return ctx.Err() != nil, nil
	}
	return false, err
}

// read fills batches until the input ends or nobody empties them any more.
func read(r source.Reader, empty <-chan *batch, full chan<- *batch) {
	defer close(full)
	for b := range empty {
		b.n, b.err = 0, nil
		for b.n < batchSize && b.err == nil {
			var e *event.Event
			if e, b.err = r.Next(); b.err == nil {
				keep(&b.events[b.n], e)
				b.n++
			}
		}
		full <- b
		if b.err != nil {
			return
		}
	}
}

// keep copies an event whose marks the reader will reuse.
func keep(to, e *event.Event) {
	marks := append(to.RPC.Marks[:0], e.RPC.Marks...)
	*to = *e
	to.RPC.Marks = marks
}
