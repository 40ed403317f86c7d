package parsers

import (
	"cmp"
	"io"

	"github.com/isodetect/isodetect/correlate/snapshot"
	"github.com/isodetect/isodetect/parsers/logs"
	"github.com/isodetect/isodetect/parsers/wire"
)

// Known is what a snapshot of a Live refers to: the types of the formats that can be followed.
func Known() snapshot.Known {
	return snapshot.Known{Types: append(wire.Known(), logs.Known()...)}
}

// Snapshot writes everything that is known of the sources and what waits. What a
// restored Live gives out for the lines that follow is what this one would.
func (l *Live) Snapshot(w io.Writer) error { return snapshot.Write(w, &l, Known()) }

// RestoreLive makes a Live of a snapshot. The error wraps snapshot.ErrVersion if
// another version of the program wrote it.
func RestoreLive(r io.Reader, opt Options) (*Live, error) {
	var l *Live
	if err := snapshot.Read(r, &l, Known()); err != nil {
		return nil, err
	}
	l.Resume(opt)
	return l, nil
}

// Resume gives a Live that was restored as part of something else what a snapshot
// does not hold. The options must be those with which it was made.
func (l *Live) Resume(opt Options) {
	opt.Reorder, opt.Idle, opt.Lag = cmp.Or(opt.Reorder, defaultReorder), cmp.Or(opt.Idle, defaultIdle), cmp.Or(opt.Lag, defaultLag)
	l.opt = opt
	for _, s := range l.Sources {
		if s.Feeder != nil {
			s.Feeder.Resume(s.Input, opt.Source)
		}
	}
}
