package rules

import (
	"cmp"
	"slices"

	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Findings of several recordings that are one fact.

// once makes one finding of those by which a log and a capture report one fact.
func (s *Sink) once() {
	s.served()
	for i := 0; i < len(s.Findings); i++ {
		for k := len(s.Findings) - 1; k > i; k-- {
			if f, o := s.Findings[i], s.Findings[k]; vague(f) == vague(o) && sameFact(f, o) && s.twoTellers(f, o) {
				absorb(f, o)
				s.Findings = slices.Delete(s.Findings, k, k+1)
			}
		}
	}
	s.Keys = nil
}

// served takes the findings that do not know whose session served a request into those of
// another recording that name it: they are about one set of requests. Where several sessions
// served them, the first takes those that none of the others counts.
func (s *Sink) served() {
	for k := 0; k < len(s.Findings); k++ {
		o := s.Findings[k]
		if !vague(o) {
			continue
		}
		var by []*signals.Finding
		others := 0 // occurrences that all but the first count
		for _, f := range s.Findings {
			if f.Signal != o.Signal || vague(f) || !s.names(f, o) {
				continue
			}
			if by = append(by, f); len(by) > 1 {
				others += f.Count
			}
		}
		if len(by) == 0 {
			continue
		}
		rest := *o
		if len(by) > 1 {
			rest.Count, rest.RequestIDs = o.Count-others, nil
		}
		if rest.Count <= by[0].Count {
			rest.Count = 0
		}
		absorb(by[0], &rest)
		s.Findings = slices.Delete(s.Findings, k, k+1)
		k--
	}
}

// vague reports whether a finding has candidates only for a victim.
func vague(f *signals.Finding) bool {
	role := func(r signals.Role) bool {
		return slices.ContainsFunc(f.Parties, func(p signals.Party) bool { return p.Role == r })
	}
	return role(signals.Candidate) && !role(signals.Victim)
}

// names reports whether f says of requests whom they reached of which o does not know it:
// they are the same ones, or have the ids and one of the candidates in common.
func (s *Sink) names(f, o *signals.Finding) bool {
	if accused(f) == 0 || f.Strength == signals.Hazard || !common(f.RequestIDs, o.RequestIDs) || !s.twoTellers(f, o) {
		return false
	}
	for _, p := range f.Parties {
		q := slices.IndexFunc(o.Parties, func(q signals.Party) bool { return q.Role == p.Role && q.Session != "" })
		if p.Role == signals.Cause && p.Session != "" && q >= 0 && o.Parties[q].Session != p.Session {
			return false // of another client
		}
	}
	return s.meet(f, o) || within(f.Parties, o.Parties) && f.First <= o.Last && o.First <= f.Last
}

// meet reports whether two findings rest on one happening, as two recordings show it.
func (s *Sink) meet(a, b *signals.Finding) bool {
	return slices.ContainsFunc(a.Evidence, func(e signals.Evidence) bool {
		return e.Role != signals.Context && slices.ContainsFunc(b.Evidence, func(o signals.Evidence) bool { return o.Role != signals.Context && s.Links.same(&e, &o) })
	})
}

// sameFact reports whether two findings of different recordings may be one fact, told
// in two ways: the same signal about parties of which one tells no more than the other
// does, and about an id, token or URI that both name.
func sameFact(a, b *signals.Finding) bool {
	if a.Signal != b.Signal || (a.Strength == signals.Hazard) != (b.Strength == signals.Hazard) {
		return false
	}
	if !within(a.Parties, b.Parties) && !within(b.Parties, a.Parties) {
		return false
	}
	return common(a.RequestIDs, b.RequestIDs) && common(a.Tokens, b.Tokens) && common(a.URIs, b.URIs)
}

// within reports whether all sessions that one finding accuses or pities stand in the other.
func within(a, b []signals.Party) bool {
	named := 0
	for _, p := range a {
		if p.Session == "" || p.Role != signals.Cause && p.Role != signals.Victim {
			continue
		}
		named++
		if !slices.ContainsFunc(b, func(q signals.Party) bool { return q.Session == p.Session }) {
			return false
		}
	}
	return named > 0
}

// common reports whether two lists share a value, or one of them says nothing. A log
// may not keep the type of an id.
func common(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(v string) bool { return holds(b, v) })
}

// holds reports whether an id is in a list, as a number or a string.
func holds(ids []string, id string) bool {
	return slices.ContainsFunc(ids, func(o string) bool { return o == id || mcp.ID(o).Fold() == mcp.ID(id).Fold() })
}

// folded is union of ids of which a may hold the same with another type.
func folded(a, b []string) []string {
	return union(a, slices.DeleteFunc(slices.Clone(b), func(v string) bool { return holds(a, v) }))
}

// twoTellers reports whether two recordings tell of two findings: a log and a capture,
// or two that have no record in common, or that begin with one happening.
func (s *Sink) twoTellers(a, b *signals.Finding) bool {
	if (a.Variant == byLog) != (b.Variant == byLog) {
		return true
	}
	if len(a.Evidence) > 0 && len(b.Evidence) > 0 {
		if e, o := &a.Evidence[0], &b.Evidence[0]; s.Links.same(e, o) {
			return true
		}
	}
	return !slices.ContainsFunc(a.Evidence, func(e signals.Evidence) bool {
		return slices.ContainsFunc(b.Evidence, func(o signals.Evidence) bool { return o.View == e.View })
	})
}

const byLog = "log" // the variant of what log lines say

// absorb takes what another recording tells of the same fact. The one that knows whom it
// hit, the stronger one, or the one that knows more parties, gives the text, and the other
// one the records that it alone rests on, and the sender if only it knows it.
func absorb(f, o *signals.Finding) {
	main, rest := *f, *o
	switch {
	case vague(f) != vague(o):
		if vague(f) {
			main, rest = rest, main
		}
		if main.Strength < signals.Probable && rest.Strength > main.Strength {
			main.Strength, main.Assumption = rest.Strength, rest.Assumption
		}
	case o.Strength > f.Strength || o.Strength == f.Strength && accused(o) > accused(f):
		main, rest = rest, main
	}
	if rest.Count > main.Count { // the occurrences are the same ones
		main.Count, main.Times = rest.Count, rest.Times
	}
	main.First, main.Last = min(f.First, o.First), max(f.Last, o.Last)
	main.RequestIDs, main.Tokens, main.URIs = typed(&main, &rest), folded(main.Tokens, rest.Tokens), union(main.URIs, rest.URIs)
	if main.Method == "" || main.Method == rest.Method {
		main.Method, main.Tool = cmp.Or(main.Method, rest.Method), cmp.Or(main.Tool, rest.Tool)
	}
	main.Evidence = slices.Clone(main.Evidence)
	known(&main, &rest)
	decided := vague(&rest) && !vague(&main)
	for _, e := range rest.Evidence {
		if decided && e.Role == signals.Candidate {
			continue // it is known which of them it was
		}
		if len(main.Evidence) < maxEvidence && !slices.ContainsFunc(main.Evidence, func(m signals.Evidence) bool { return sameRecord(&m, &e) }) {
			main.Evidence = append(main.Evidence, e)
		}
	}
	*f = main
}

// typed is the ids of two findings, each as the capture has it: logs may not keep their types.
func typed(a, b *signals.Finding) []string {
	if a.Variant == byLog && b.Variant != byLog {
		a, b = b, a
	}
	return folded(a.RequestIDs, b.RequestIDs)
}

// known names the party of a role that only the other recording knows.
func known(f, o *signals.Finding) {
	f.Parties = slices.Clone(f.Parties)
	for i := range f.Parties {
		p := &f.Parties[i]
		k := slices.IndexFunc(o.Parties, func(q signals.Party) bool { return q.Role == p.Role && q.Alias != nobody })
		if p.Alias != nobody || k < 0 {
			continue
		}
		*p = o.Parties[k]
		for n := range f.Evidence {
			if e := &f.Evidence[n]; e.Party == nobody && e.Role == p.Role {
				e.Party = p.Alias
			}
		}
	}
}

// accused counts the sessions that a finding accuses or pities.
func accused(f *signals.Finding) (n int) {
	for _, p := range f.Parties {
		if p.Session != "" && (p.Role == signals.Cause || p.Role == signals.Victim) {
			n++
		}
	}
	return n
}
