package scenario

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/isodetect/isodetect/signals"
)

// Expectation is what must be found, and what may be.
type Expectation struct {
	None     bool
	Want     []Wanted
	Allowed  []Wanted
	Notes    []string
	States   map[string]string // signal → judged, not_observed, not_assessable
	Unjudged []string          // signals that must not be called judged
}

// Wanted is one expected finding.
type Wanted struct {
	Signal   string
	Variant  string // "" = any
	Strength signals.Strength
	Rejected string // name of the failed condition, "" = the finding counts
	Roles    map[signals.Role]string
}

func (e *Expectation) empty() bool {
	return len(e.Want) == 0 && len(e.Notes) == 0 && len(e.States) == 0
}

// add reads the words behind `expect` or `allow`.
func (e *Expectation) add(head string, words []string) error {
	switch {
	case len(words) == 0:
		return errors.New("expect what?")
	case words[0] == "none":
		e.None = true
		return nil
	case words[0] == "note" && len(words) == 2:
		e.Notes = append(e.Notes, words[1])
		return nil
	case words[0] == "state" && len(words) == 3:
		if e.States == nil {
			e.States = map[string]string{}
		}
		e.States[words[1]] = words[2]
		return nil
	case len(words) < 2:
		return fmt.Errorf("want `%s signal strength`", head)
	}
	w := Wanted{Roles: map[signals.Role]string{}}
	w.Signal, w.Variant, _ = strings.Cut(words[0], ".")
	s, ok := signals.ParseStrength(words[1])
	if !ok {
		return fmt.Errorf("unknown strength %q", words[1])
	}
	w.Strength = s
	for _, x := range words[2:] {
		k, v, _ := strings.Cut(x, "=")
		switch k {
		case "cause":
			w.Roles[signals.Cause] = v
		case "victim":
			w.Roles[signals.Victim] = v
		case "candidate":
			w.Roles[signals.Candidate] = v
		case "rejected":
			w.Rejected = v
		default:
			return fmt.Errorf("unknown word %q in an expectation", x)
		}
	}
	if head == "allow" {
		e.Allowed = append(e.Allowed, w)
	} else {
		e.Want = append(e.Want, w)
	}
	return nil
}

// weaker is the same expectation with another strength.
func (e *Expectation) weaker(strength string) (Expectation, error) {
	s, ok := signals.ParseStrength(strength)
	if !ok || len(e.Want) == 0 {
		return Expectation{}, fmt.Errorf("cannot weaken to %q: expectations must stand before the formats", strength)
	}
	out := Expectation{Allowed: e.Allowed, Notes: e.Notes}
	for _, w := range e.Want {
		if w.Strength > s {
			w.Strength = s
		}
		out.Want = append(out.Want, w)
	}
	return out, nil
}

// Outcome is what the pipeline made of a compiled scenario.
type Outcome struct {
	Findings []signals.Finding
	Notes    []signals.Note
	States   map[string]string
}

// Check compares an outcome with what is expected and returns what differs, one
// sentence each. Findings at hazard need to be expected only where hazards says so.
func (e *Expectation) Check(got Outcome, sessions map[string]string) []string {
	var wrong []string
	used := make([]bool, len(got.Findings))
	for _, w := range e.Want {
		if !take(w, got.Findings, used, sessions) {
			wrong = append(wrong, "missing: "+w.String())
		}
	}
	for _, w := range e.Allowed {
		for take(w, got.Findings, used, sessions) {
		}
	}
	for i := range got.Findings {
		if !used[i] {
			wrong = append(wrong, "unexpected: "+describe(&got.Findings[i], sessions))
		}
	}
	return append(wrong, e.checkRest(got)...)
}

func (e *Expectation) checkRest(got Outcome) (wrong []string) {
	notes := map[string]bool{}
	for _, n := range got.Notes {
		notes[n.Kind] = true
	}
	for _, n := range e.Notes {
		if !notes[n] {
			wrong = append(wrong, "missing: note "+n)
		}
	}
	var names []string
	for s := range e.States {
		names = append(names, s)
	}
	sort.Strings(names)
	for _, s := range names {
		if got.States[s] != e.States[s] {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", s, got.States[s], e.States[s]))
		}
	}
	for _, s := range e.Unjudged {
		if got.States[s] == "judged" {
			wrong = append(wrong, s+" is called judged, but this format cannot show it")
		}
	}
	return wrong
}

// take marks the first unused finding that fits w.
func take(w Wanted, fs []signals.Finding, used []bool, sessions map[string]string) bool {
	for i := range fs {
		f := &fs[i]
		if used[i] || f.Signal == nil || f.Signal.Name != w.Signal || f.Strength != w.Strength || f.Rejected != w.Rejected ||
			w.Variant != "" && f.Variant != w.Variant || !rolesFit(w, f, sessions) {
			continue
		}
		used[i] = true
		return true
	}
	return false
}

func rolesFit(w Wanted, f *signals.Finding, sessions map[string]string) bool {
	for role, names := range w.Roles {
		for _, name := range strings.Split(names, "+") {
			if !hasParty(f, role, name, sessions) {
				return false
			}
		}
	}
	return true
}

func hasParty(f *signals.Finding, role signals.Role, name string, sessions map[string]string) bool {
	for _, p := range f.Parties {
		if p.Role != role {
			continue
		}
		if id := sessions[name]; id != "" && p.Session == id || id == "" && p.Session == "" {
			return true
		}
	}
	return false
}

func (w Wanted) String() string {
	s := w.Signal
	if w.Variant != "" {
		s += "." + w.Variant
	}
	s += " " + w.Strength.String()
	for _, r := range []signals.Role{signals.Cause, signals.Victim, signals.Candidate} {
		if v := w.Roles[r]; v != "" {
			s += " " + r.String() + "=" + v
		}
	}
	if w.Rejected != "" {
		s += " rejected=" + w.Rejected
	}
	return s
}

func describe(f *signals.Finding, sessions map[string]string) string {
	name := "?"
	if f.Signal != nil {
		name = f.Signal.Name
	}
	if f.Variant != "" {
		name += "." + f.Variant
	}
	s := name + " " + f.Strength.String()
	for _, p := range f.Parties {
		who := p.Text
		for n, id := range sessions {
			if id != "" && id == p.Session {
				who = n
			}
		}
		s += " " + p.Role.String() + "=" + who
	}
	if f.Rejected != "" {
		s += " rejected=" + f.Rejected
	}
	return s + " (" + f.Summary + ")"
}
