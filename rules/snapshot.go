package rules

import (
	"io"

	"github.com/isodetect/isodetect/correlate/snapshot"
	"github.com/isodetect/isodetect/signals"
)

// Known is what a snapshot of an engine refers to instead of holding it: the types
// of the detectors, and the entries of the catalogue.
func Known() snapshot.Known {
	k := snapshot.Known{Shared: map[string]any{}}
	for _, r := range All() {
		k.Types = append(k.Types, r.New(Options{}))
	}
	for _, s := range signals.All() {
		k.Shared[s.Name] = s
	}
	return k
}

// Snapshot writes everything that the engine knows. What a restored engine says of
// the events that follow is what this one would say.
func (e *Engine) Snapshot(w io.Writer) error { return snapshot.Write(w, &e, Known()) }

// Restore makes an engine of a snapshot. The error wraps snapshot.ErrVersion if
// another version of the program wrote it.
func Restore(r io.Reader) (*Engine, error) {
	var e *Engine
	if err := snapshot.Read(r, &e, Known()); err != nil {
		return nil, err
	}
	return e, nil
}
