package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/isodetect/isodetect/signals"
)

// Mutation is a scenario with one condition taken away, and what must come of it.
type Mutation struct {
	Of   string // the scenario's name and the line
	Text string // the mutant as written
	*Scenario
	Want Expectation
}

// Mutations returns one scenario for every `!` of s.
func (s *Scenario) Mutations() ([]Mutation, error) {
	var all []Mutation
	for i, st := range s.Steps {
		for _, m := range st.Mutants {
			other, err := s.without(i, m.Instead)
			if err != nil {
				return nil, fmt.Errorf("cannot mutate scenario %s.txt:%d: %w", s.Name, st.Line, err)
			}
			want := m.Want
			want.Allowed = append(append([]Wanted(nil), want.Allowed...), s.Expect.Allowed...)
			for _, w := range s.Expect.Want {
				if w.Strength == signals.Hazard && len(s.Expect.Want) > 1 { // the precondition may stay
					want.Allowed = append(want.Allowed, w)
				}
			}
			all = append(all, Mutation{Of: fmt.Sprintf("%s.txt:%d", s.Name, st.Line), Text: m.Text, Scenario: other, Want: want})
		}
	}
	return all, nil
}

// without replaces step i. A step that opened an exchange takes everything on it away.
func (s *Scenario) without(i int, instead string) (*Scenario, error) {
	out := *s
	out.Steps = append([]Step(nil), s.Steps...)
	gone := s.Steps[i]
	if instead != "" {
		words, err := split(instead)
		if err != nil {
			return nil, err
		}
		now := gone.At - time.Millisecond // the same time, unless the other step says one
		st, err := parseStep(gone.Line, words, &now)
		if err != nil {
			return nil, err
		}
		out.Steps[i] = st
		return &out, nil
	}
	out.Steps = append(out.Steps[:i:i], s.Steps[i+1:]...)
	if len(gone.Words) == 0 || gone.Subject[0] < 'A' || gone.Subject[0] > 'Z' || gone.Verb == "drop" {
		return &out, nil
	}
	label := gone.Words[0]
	var kept []Step
	for _, st := range out.Steps {
		if st.Subject != label && !(st.Verb == "drop" && len(st.Words) > 0 && st.Words[0] == label) {
			kept = append(kept, st)
		}
	}
	out.Steps = kept
	return &out, nil
}

// String is the scenario's name.
func (m Mutation) String() string { return m.Of + " " + strings.TrimSpace(m.Text) }
