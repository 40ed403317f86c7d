// Package rules judges timelines: one file per signal, each a value with the
// signal it reports and a detector per domain. The package is pure: same events, same findings.
package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Rule is one signal's module.
type Rule struct {
	Signal *signals.Signal
	New    func(Options) Detector
}

// Detector watches one domain. Its state hangs on exported fields.
type Detector interface {
	// Observe takes the next moment of the domain.
	Observe(m *correlate.Moment, out *Sink)
	// End takes the end of the window: what waited for more evidence is decided now.
	End(d *correlate.Domain, out *Sink)
}

// All lists the rules in the order of the catalogue.
func All() []Rule {
	return []Rule{
		{signals.FallbackResolution, newFallback},
		{signals.CapabilityDrift, newDrift},
		{signals.TokenCollision, newToken},
		{signals.CancellationCrosstalk, newCancel},
		{signals.SubscriptionBleed, newSubscription},
		{signals.ResponseCrossing, newCrossing},
		{signals.SharedSession, newShared},
	}
}

// Options is what a user may decide about judging.
type Options struct {
	CancelWindow   int64 // ns between a cancel and its effect
	SharedByDesign bool  // sharing a session is intended: no hazard, crossings stay
	Pinned         bool  // --assume pinned: sessions do not share a process
	Multiplexed    bool  // --assume multiplexed
	Since, Until   int64 // ns; occasions outside are not counted as judged, 0 = no limit
	Limits         correlate.Limits
}

// DefaultCancelWindow is the time in which a cancel shows its effect (DETECTION §3).
const DefaultCancelWindow = int64(500e6)

// Engine feeds events through the state and the detectors.
type Engine struct {
	Options Options
	State   *correlate.State
	Sinks   []*Sink // one per domain, in order of appearance; after End without those of one recording alone
}

// NewEngine returns an engine without any state.
func NewEngine(o Options) *Engine {
	if o.CancelWindow == 0 {
		o.CancelWindow = DefaultCancelWindow
	}
	if o.Limits == (correlate.Limits{}) {
		o.Limits = correlate.DefaultLimits()
	}
	return &Engine{Options: o, State: correlate.NewState(o.Limits)}
}

// Apply takes the next event in order of event time. The moment is valid until
// the next call and nil for events that belong to no domain.
func (e *Engine) Apply(ev *event.Event) *correlate.Moment {
	if ev.Kind == event.Idle {
		e.idle(ev)
		return nil
	}
	m := e.apply(ev)
	if m == nil || !ev.Joined {
		return m
	}
	all := *m
	all.Ended = slices.Clone(m.Ended)
	alone := *ev
	alone.Domain.View = ev.View + 1
	e.apply(&alone)
	return &all
}

func (e *Engine) apply(ev *event.Event) *correlate.Moment {
	m := e.State.Apply(ev)
	if m == nil {
		return nil
	}
	s := e.sink(m.Domain)
	if s.Links != nil && m.Domain.Of == nil {
		s.Links.See(m)
	}
	for _, d := range s.Detectors {
		d.Observe(m, s)
	}
	return m
}

// idle has every domain decide what waited for its time to go on.
func (e *Engine) idle(ev *event.Event) {
	for _, d := range e.State.Domains {
		m := e.State.Pass(d, ev)
		if m == nil {
			continue
		}
		s := e.sink(d)
		for _, o := range s.Detectors {
			o.Observe(m, s)
		}
	}
}

func (e *Engine) sink(d *correlate.Domain) *Sink {
	if d.Seq <= len(e.Sinks) {
		return e.Sinks[d.Seq-1]
	}
	s := &Sink{Domain: d, Since: e.Options.Since, Until: e.Options.Until}
	if d.Of != nil {
		s.Links = e.Sinks[d.Of.Seq-1].Links
	} else if d.Joined {
		s.Links = &Links{}
	}
	for _, r := range All() {
		s.Detectors = append(s.Detectors, r.New(e.Options))
	}
	e.Sinks = append(e.Sinks, s)
	return s
}

// End tells every detector that the window ended.
func (e *Engine) End() {
	for _, s := range e.Sinks {
		for _, d := range s.Detectors {
			d.End(s.Domain, s)
		}
	}
	e.unite()
}
