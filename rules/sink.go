package rules

import (
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// Sink takes what the detectors of one domain report.
type Sink struct {
	Domain    *correlate.Domain
	Links     *Links              // where other recordings of the domain tell of the same; nil = there are none
	Told      map[uint64][]Teller // where there are: which of them told of a finding, by its key
	Detectors []Detector
	Findings  []*signals.Finding
	Keys      map[uint64]int // index in Findings by signal, variant and parties
	Beyond    int            // occurrences not kept because there were maxFindings already
	Notes     []*signals.Note
	Tallies   []Tally
	Changes   uint64 // grows with every finding that is new, stronger or occurred again
	Since     int64  // occasions outside this window are not counted
	Until     int64
}

// Tally counts how often a signal could be judged in a domain.
type Tally struct {
	Signal *signals.Signal
	Judged int
	Why    []string // why it was not assessable, distinct
}

func (s *Sink) tally(sig *signals.Signal) *Tally {
	for i := range s.Tallies {
		if s.Tallies[i].Signal == sig {
			return &s.Tallies[i]
		}
	}
	s.Tallies = append(s.Tallies, Tally{Signal: sig})
	return &s.Tallies[len(s.Tallies)-1]
}

// Tally returns what was counted for a signal.
func (s *Sink) Tally(sig *signals.Signal) Tally { return *s.tally(sig) }

// Judged counts one occasion at which the evidence could have shown the signal.
func (s *Sink) Judged(sig *signals.Signal) {
	now := s.Domain.Now.To
	if (s.Since == 0 || now >= s.Since) && (s.Until == 0 || now <= s.Until) {
		s.tally(sig).Judged++
	}
}

// Unassessable says why an occasion could not be judged.
func (s *Sink) Unassessable(sig *signals.Signal, why string) {
	t := s.tally(sig)
	if !slices.Contains(t.Why, why) && len(t.Why) < 8 {
		t.Why = append(t.Why, why)
	}
}

// Note counts something worth knowing that is no finding.
func (s *Sink) Note(kind string, at event.Address) {
	for _, n := range s.Notes {
		if n.Kind == kind {
			n.Count++
			return
		}
	}
	s.Notes = append(s.Notes, &signals.Note{Kind: kind, Domain: s.Domain.ID, Count: 1, Text: signals.NoteText(kind), At: at})
}

// Report takes a finding. Equal findings (signal, variant, parties) become one
// with a count; the strongest of them gives the text and the evidence.
func (s *Sink) Report(f signals.Finding) *signals.Finding {
	s.Changes++
	f.Domain, f.Path, f.Count = s.Domain.ID, s.Domain.Key.Path, 1
	if f.Family == "" {
		f.Family = f.Signal.Family
		for _, v := range f.Signal.Variants {
			if v.Name == f.Variant && v.Family != "" {
				f.Family = v.Family
			}
		}
	}
	if f.Rules == nil {
		f.Rules = f.Signal.Protocol
	}
	if st := capByAddress(f.Strength, f.Parties); st < f.Strength {
		f.Strength = st
		if f.Assumption == "" {
			f.Assumption = "different addresses are different clients"
		}
	}
	if s.Links != nil {
		s.Links.Pin(&f)
	}
	f.Times = nil
	f.Occur(f.Last, 1)
	k := key(&f)
	if s.Links != nil {
		s.tells(k, &f)
	}
	if i, ok := s.Keys[k]; ok {
		merge(s.Findings[i], &f)
		return s.Findings[i]
	}
	n := f
	if len(s.Findings) >= maxFindings {
		s.Beyond++
		return &n
	}
	if s.Keys == nil {
		s.Keys = map[uint64]int{}
	}
	s.Keys[k] = len(s.Findings)
	s.Findings = append(s.Findings, &n)
	return &n
}

// maxFindings bounds the different findings of one domain.
const maxFindings = 5000

// Raise gives a finding that was reported before a higher strength.
func (s *Sink) Raise(f *signals.Finding, to signals.Strength, because string) {
	if to = capByAddress(to, f.Parties); to > f.Strength {
		s.Changes++
		f.Strength = to
		f.Assumption = ""
		if because != "" {
			f.Because = slices.Insert(f.Because, conclusion(f.Because), because)
		}
	}
}

// conclusion is where the last sentence of a chain stands if it is what follows
// from the others ("so …"), else the end of the chain.
func conclusion(because []string) int {
	if n := len(because); n > 0 && strings.HasPrefix(because[n-1], "so ") {
		return n - 1
	}
	return len(because)
}

// capByAddress keeps findings whose parties are known by address only at
// probable (DETECTION §1, party 4).
func capByAddress(st signals.Strength, parties []signals.Party) signals.Strength {
	for _, p := range parties {
		if p.Session == "" && strings.HasPrefix(p.Text, "address ") && (p.Role == signals.Cause || p.Role == signals.Victim) {
			return min(st, signals.Probable)
		}
	}
	return st
}

// key hashes what makes findings equal: signal, variant, cause and victim.
func key(f *signals.Finding) uint64 {
	var b strings.Builder
	b.WriteString(f.Signal.Name + "|" + f.Variant)
	for _, p := range f.Parties {
		if p.Role == signals.Cause || p.Role == signals.Victim {
			b.WriteString("|" + p.Role.String() + " " + p.Alias + " " + p.Session + " " + p.Text)
		}
	}
	return event.Hash(b.String())
}

func merge(o, f *signals.Finding) {
	first, last, count, times := min(o.First, f.First), max(o.Last, f.Last), o.Count+1, o.Times
	ids, tokens, uris := union(o.RequestIDs, f.RequestIDs), union(o.Tokens, f.Tokens), union(o.URIs, f.URIs)
	if f.Strength > o.Strength {
		*o = *f
	}
	o.First, o.Last, o.Count, o.Times = first, last, count, times
	o.Occur(f.Last, 1)
	o.RequestIDs, o.Tokens, o.URIs = ids, tokens, uris
}

const maxList = 16

func union(a, b []string) []string {
	for _, v := range b {
		if !slices.Contains(a, v) && len(a) < maxList {
			a = append(a, v)
		}
	}
	return a
}

// legacy reports whether a legacy row may judge the exchange.
func legacy(x *correlate.Exchange) bool { return x != nil && x.Era != mcp.EraModern }

// delivers reports whether a log line says that the server sent a message to a
// session: a router line, or a line about that notification itself.
func delivers(ev *event.Event, method string) bool {
	if ev.Kind == event.Routed {
		return true
	}
	return ev.Kind == event.Message && ev.Dir == event.ToClient && ev.RPC.Method == method
}

// orderless reports whether a record has an interval for a time, so that orders with it are uncertain.
func orderless(t event.Time) bool { return t.From != t.To }

// unbound reports whether a request came without a session of its own to an
// endpoint that issues sessions: what becomes of it is fallback_resolution's matter.
func unbound(r *correlate.Request, d *correlate.Domain) bool {
	x := r.Exchange
	if x == nil || d.Issued == 0 || mcp.NeedsNoSession(r.Method) {
		return false
	}
	return x.Asked.State == event.Absent || x.Asked.State == event.Present && !x.Party.IsSession()
}

// marked returns the requests of which a marker stands in marks, each once.
func marked(d *correlate.Domain, marks []uint64) []*correlate.Request {
	var out []*correlate.Request
	for i, v := range marks {
		if !event.Telling(v) || !d.Index.MayHold(v) {
			continue
		}
		for _, r := range d.Index.Find(correlate.MarkKey(v)) {
			if !slices.Contains(out, r) && slices.ContainsFunc(r.Markers, func(m correlate.Marker) bool { return m.At(marks, i) }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// Forget drops the findings that occurred last before a time.
func (s *Sink) Forget(before int64) {
	n := len(s.Findings)
	s.Findings = slices.DeleteFunc(s.Findings, func(f *signals.Finding) bool { return f.Last < before })
	if len(s.Findings) == n {
		return
	}
	clear(s.Keys)
	for i, f := range s.Findings {
		s.Keys[key(f)] = i
	}
}
