package tail

import (
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Emitter knows which findings were told already. A finding is told once when it
// is sure enough, and again, as an update, when it becomes surer. Occurrences of a
// finding that was told are counted and told no more: they are the same two parties.
type Emitter struct {
	Told map[string]*Told // by occurrence
	Seen map[string]uint64
	// Seen is, by domain, the state of its findings when they were looked at last.
	Names map[string]string
	// Names holds the occurrence under which a finding was told first, by domain and
	// fault and parties: stronger evidence replaces weaker, and the name stays.
}

// Told is what was told of one finding.
type Told struct {
	Strength signals.Strength
	Count    int
	At       int64 // event time when it was told last, ns
}

// Notice is one finding to be told.
type Notice struct {
	Occurrence string
	Update     bool // it was told before, with less certainty
	Finding    signals.Finding
}

// NewEmitter returns an emitter that has told nothing.
func NewEmitter() *Emitter {
	return &Emitter{Told: map[string]*Told{}, Seen: map[string]uint64{}, Names: map[string]string{}}
}

// Look returns what is to be told now, in the order of domains and findings, and
// how many occurrences came since the last look, by the labels of a metric.
func (m *Emitter) Look(e *rules.Engine, o verdict.Options) (notices []Notice, more []Occurrence) {
	for _, s := range e.Sinks {
		if m.Seen[s.Domain.ID] == s.Changes {
			continue
		}
		m.Seen[s.Domain.ID] = s.Changes
		for _, f := range verdict.Standing(e, s, o) {
			name := m.name(f)
			t := m.Told[name]
			if t == nil {
				t = &Told{}
				m.Told[name] = t
			}
			if n := f.Count - t.Count; n > 0 {
				more = append(more, Occurrence{f.Signal.Name, f.Strength.String(), string(f.Family), f.Domain, n})
				t.Count = f.Count
			}
			t.At = f.Last
			if f.Strength > t.Strength {
				notices = append(notices, Notice{Occurrence: name, Update: t.Strength != signals.None, Finding: *f})
				t.Strength = f.Strength
			}
		}
	}
	return notices, more
}

// Occurrence counts what a metric counts.
type Occurrence struct {
	Signal, Strength, Family, Domain string
	N                                int
}

// name is the occurrence under which a finding was told first.
func (m *Emitter) name(f *signals.Finding) string {
	key := f.Domain + "\x00" + f.Signal.Name + "\x00" + f.Variant
	for _, p := range f.Parties {
		if p.Role == signals.Cause || p.Role == signals.Victim {
			key += "\x00" + p.Role.String() + p.Alias + "\x00" + p.Session + "\x00" + p.Text
		}
	}
	key = signals.Digest(32, key)
	name, ok := m.Names[key]
	if !ok {
		name = signals.Digest(16, f.Occurrence(), key)
		m.Names[key] = name
	}
	return name
}

// keepTold is how long after its last occurrence a finding is remembered, in event time.
const keepTold = 24 * 60 * 60 * int64(1e9)

// Forget drops what happened last a day before now, here and in the engine, so that a
// watch of months does not grow with what it found.
func (m *Emitter) Forget(e *rules.Engine, now int64) {
	old := now - keepTold
	for _, s := range e.Sinks {
		s.Forget(old)
	}
	for name, t := range m.Told {
		if t.At < old {
			delete(m.Told, name)
		}
	}
	for key, name := range m.Names {
		if m.Told[name] == nil {
			delete(m.Names, key)
		}
	}
}
