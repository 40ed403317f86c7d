package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/signals"
)

// Where several recordings show the traffic of one server (--join), its domain is judged
// by what all of them tell together, and each capture also by what it shows alone: there
// a value stands in one request and not in two, and the hole of one is no hole of another.
// At the end both are one domain again, in which every fact stands once.

// unite takes the domains of one recording alone into those of all.
func (e *Engine) unite() {
	var alone []*Sink
	for _, s := range e.Sinks {
		if s.Domain.Of != nil {
			alone = append(alone, s)
		}
	}
	for _, s := range e.Sinks {
		if s.Links == nil || s.Domain.Of != nil {
			continue
		}
		var of []*Sink
		for _, a := range alone {
			if a.Domain.Of == s.Domain {
				of = append(of, a)
			}
		}
		s.unite(of)
	}
	e.Sinks = slices.DeleteFunc(e.Sinks, func(s *Sink) bool { return s.Domain.Of != nil })
}

func (s *Sink) unite(alone []*Sink) {
	captures := slices.DeleteFunc(slices.Clone(alone), func(a *Sink) bool { return a.Domain.Log })
	s.discount(captures)
	if slices.ContainsFunc(captures, func(a *Sink) bool { return whole(a, captures) }) {
		s.vet(alone)
	}
	for _, a := range captures {
		for _, f := range a.Findings {
			s.admit(f, a.Domain, captures)
		}
		s.Beyond = max(s.Beyond, a.Beyond)
		for _, n := range a.Notes {
			s.noted(n)
		}
		s.Domain.Supplement(a.Domain, whole(a, captures) && !slices.ContainsFunc(alone, func(o *Sink) bool {
			return o.Domain.SessionsMade > a.Domain.SessionsMade // a log knows of more
		}))
	}
	for _, a := range alone {
		for i := range a.Tallies {
			s.judgedAlone(&a.Tallies[i])
		}
	}
	s.once()
	for _, f := range s.Findings {
		s.Links.Complete(f)
	}
}

// whole reports whether a capture lost nothing and shows all that any of them does.
func whole(a *Sink, captures []*Sink) bool {
	return a.Domain.Whole() && !slices.ContainsFunc(captures, func(o *Sink) bool {
		return o.Domain.Requests > a.Domain.Requests || o.Domain.SessionsMade > a.Domain.SessionsMade
	})
}

// vet weakens what all recordings show together to what one of them shows alone. Beside
// a whole capture the others have nothing to add but the doubts of their clocks.
func (s *Sink) vet(alone []*Sink) {
	for _, f := range s.Findings {
		most := min(f.Strength, signals.Possible)
		for _, a := range alone {
			if most < f.Strength {
				most = max(most, a.strengthOf(f))
			}
		}
		if most < f.Strength {
			f.Strength, f.Assumption = most, "the clocks of the recordings give the order of what each tells"
		}
	}
}

// strengthOf is how sure one recording alone is of what all together show.
func (s *Sink) strengthOf(f *signals.Finding) signals.Strength {
	most := signals.None
	if i, ok := s.Keys[key(f)]; ok {
		most = s.Findings[i].Strength
	}
	for _, o := range s.Findings {
		if o.Strength > most && sameFact(o, f) {
			most = o.Strength
		}
	}
	return most
}

// Teller is when one of several recordings showed a finding.
type Teller struct {
	View  int32
	Count int
	Shown signals.Finding // only its Times
}

// tells counts an occurrence for the recording that its last record stands in.
func (s *Sink) tells(k uint64, f *signals.Finding) {
	view, at := int32(0), int64(-1<<62)
	for _, e := range f.Evidence {
		if e.Role != signals.Context && e.Time.To >= at {
			view, at = e.View, e.Time.To
		}
	}
	if s.Told == nil {
		s.Told = map[uint64][]Teller{}
	}
	all := s.Told[k]
	i := slices.IndexFunc(all, func(t Teller) bool { return t.View == view })
	if i < 0 {
		if len(s.Told) > maxFindings || len(all) >= maxTellers {
			return
		}
		i, all = len(all), append(all, Teller{View: view})
	}
	all[i].Count++
	all[i].Shown.Occur(f.Last, 1)
	s.Told[k] = all
}

const maxTellers = 16

// discount takes repetitions from the counts of what all recordings show together: its
// occurrences are those of the recording that shows most of them.
func (s *Sink) discount(alone []*Sink) {
	for _, f := range s.Findings {
		all := slices.Clone(s.Told[key(f)])
		if slices.ContainsFunc(alone, func(a *Sink) bool { return a.knows(f) }) {
			f.Count, f.Times = 0, nil // absorb puts in what they count; here stand those of two captures at once, too
			all = slices.DeleteFunc(all, func(t Teller) bool {
				return slices.ContainsFunc(alone, func(a *Sink) bool { return a.Domain.Key.View == t.View+1 })
			})
		}
		if len(all) > 0 {
			most := slices.MaxFunc(all, func(a, b Teller) int { return a.Count - b.Count })
			f.Count, f.Times = most.Count, most.Shown.Times
		}
	}
	for i := range s.Tallies {
		t := &s.Tallies[i]
		if slices.ContainsFunc(alone, func(a *Sink) bool { return a.Tally(t.Signal).Judged > 0 }) {
			t.Judged = 0 // judgedAlone puts in the most
		}
	}
}

func (s *Sink) knows(f *signals.Finding) bool {
	_, ok := s.Keys[key(f)]
	return ok
}

// admit takes a finding of one recording. One that all of them together do not show
// counts where that recording holds as much of its parties as any other capture; what
// shows between the conversations of a session is in the answers and needs no more.
func (s *Sink) admit(f *signals.Finding, d *correlate.Domain, alone []*Sink) {
	if i, ok := s.Keys[key(f)]; ok {
		absorb(s.Findings[i], f)
		return
	}
	for _, o := range s.Findings {
		if sameFact(o, f) {
			absorb(o, f)
			return
		}
	}
	n := *f
	if !f.Signal.Alone && partial(f, d, alone) {
		n.Strength = min(n.Strength, signals.Possible)
		n.Assumption = "what other recordings of the server show and this one does not explains nothing of it"
	}
	if s.Keys == nil {
		s.Keys = map[uint64]int{}
	}
	s.Keys[key(&n)] = len(s.Findings)
	s.Findings = append(s.Findings, &n)
}

// partial reports whether another capture shows more requests of a cause or victim than d.
func partial(f *signals.Finding, d *correlate.Domain, alone []*Sink) bool {
	for _, p := range f.Parties {
		own := d.Sessions[p.Session]
		if p.Session == "" || own == nil || p.Role != signals.Cause && p.Role != signals.Victim {
			continue
		}
		for _, a := range alone {
			if o := a.Domain.Sessions[p.Session]; o != nil && o.Requests > own.Requests {
				return true
			}
		}
	}
	return false
}

// noted takes a note of one recording. What all together noted of a kind holds it already.
func (s *Sink) noted(n *signals.Note) {
	for _, o := range s.Notes {
		if o.Kind == n.Kind {
			o.Count = max(o.Count, n.Count)
			return
		}
	}
	s.Notes = append(s.Notes, n)
}

// judgedAlone takes how often a signal could be judged in one recording: the occasions
// are the same ones, so the most that a recording shows counts.
func (s *Sink) judgedAlone(a *Tally) {
	t := s.tally(a.Signal)
	switch {
	case a.Judged > t.Judged:
		t.Judged, t.Why = a.Judged, a.Why
	case t.Judged == 0:
		for _, why := range a.Why {
			s.Unassessable(a.Signal, why)
		}
	}
}
