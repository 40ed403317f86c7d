package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
	"github.com/isodetect/isodetect/verdict/gate"
)

// Options says what a report shows.
type Options struct {
	Version string // of the program
	Reveal  bool   // session ids and values as they are; credentials never
	Show    Show
	Where   *gate.Selector // the findings to show, nil = all; it decides nothing about the verdict
}

// selects reports whether the user asked for a finding.
func (o *Options) selects(f *signals.Finding) bool { return o.Where == nil || o.Where.Matches(f) }

// Show says what a report holds beyond the findings that are probable or confirmed.
type Show struct {
	Possible, Hazard, Rejected, Suppressed, Notes bool
}

// Build makes the report of a result. It keeps no reference to its arguments.
func Build(res *verdict.Result, inputs []*source.Input, opt Options) *Report {
	b := builder{opt: opt, inputs: inputs, mask: newMasker(res, opt.Reveal, func(f *signals.Finding) bool {
		return opt.selects(f) && opt.Show.hides(f) == ""
	})}
	r := &Report{
		Schema:   Schema,
		Tool:     Tool{Name: "isodetect", Version: opt.Version},
		Inputs:   b.allInputs(),
		Domains:  make([]Domain, 0, len(res.Domains)),
		Findings: []Finding{},
		Notes:    []Note{},
		Verdict:  Verdict{Outcome: res.Outcome, ExitCode: res.ExitCode, Why: b.mask.text(res.Why), FailOn: res.FailOn, Help: b.mask.texts(res.Help), Below: res.Below},
	}
	if w := &res.Without; w.URLs > 0 {
		r.Without = &WithoutMCP{URLs: w.URLs, Exchanges: w.Exchanges, Named: b.mask.texts(w.Named)}
	}
	for _, e := range res.Known.Expired {
		r.Baseline = append(r.Baseline, Baseline{Entry: e.Fingerprint, State: "expired", Why: b.mask.text(fmt.Sprintf("accepted until %s (%s); its finding counts again", e.Expires.Format(time.DateOnly), e.Reason))})
	}
	for _, e := range res.Known.Unmatched {
		r.Baseline = append(r.Baseline, Baseline{Entry: e.Fingerprint, State: "unmatched", Why: b.mask.text(strings.TrimSpace(e.Signal+" "+e.Variant) + " did not occur in this run")})
	}
	for i := range res.Domains {
		r.Domains = append(r.Domains, b.domain(&res.Domains[i]))
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if !opt.selects(f) {
			r.Unselected++
			if f.Fails {
				r.Failing++
			}
			continue
		}
		if hide := opt.Show.hides(f); hide != "" {
			r.hide(hide, 1)
			continue
		}
		r.Findings = append(r.Findings, b.finding(f))
	}
	for _, n := range res.Notes {
		if !opt.Show.Notes {
			r.hide("notes", 1)
			continue
		}
		r.Notes = append(r.Notes, Note{Kind: n.Kind, Domain: b.mask.text(n.Domain), Count: n.Count, Text: b.mask.text(n.Text)})
	}
	return r
}

// hides returns the word of --show that would bring a finding, "" if it is shown.
// What fails the run is always shown.
func (s Show) hides(f *signals.Finding) string {
	switch {
	case f.Rejected != "" && !s.Rejected:
		return "rejected"
	case f.Suppressed != "" && !s.Suppressed:
		return "suppressed"
	case f.Rejected != "", f.Suppressed != "", f.Fails:
		return ""
	case f.Strength == signals.Possible && !s.Possible:
		return "possible"
	case f.Strength <= signals.Hazard && !s.Hazard:
		return "hazard"
	}
	return ""
}

func (r *Report) hide(word string, n int) {
	if r.Hidden == nil {
		r.Hidden = map[string]int{}
	}
	r.Hidden[word] += n
}

type builder struct {
	opt    Options
	inputs []*source.Input
	mask   *masker
}

func (b *builder) allInputs() []Input {
	out := make([]Input, 0, len(b.inputs))
	for _, in := range b.inputs {
		st := &in.Stats
		v := Input{
			Path: in.Path, Log: in.Log, Format: st.Format, Wrappers: list(st.Wrappers), Bytes: st.Bytes,
			Records: st.Records, Used: st.Used, Ignored: st.Ignored, Malformed: st.Malformed,
			Events: st.Events, Gaps: st.Gaps, Repeated: st.Repeated, Conns: st.Conns, BackSteps: st.BackSteps,
			First: stamp(st.First), Last: stamp(st.Last), Notes: b.mask.texts(st.Notes), Error: b.mask.text(st.Err), named: in.Named,
		}
		for _, u := range st.Patterns {
			v.Patterns = append(v.Patterns, Pattern{Name: u.Name, Row: u.Row, Lines: u.Lines})
		}
		v.Carries, v.Lacks = carries(st.Facts)
		for _, p := range st.Problems {
			v.Problems = append(v.Problems, Problem{At: address(p.At), Text: b.mask.text(p.Text)})
		}
		out = append(out, v)
	}
	return out
}

// carries tells which signals a log could show by what its lines tell.
func carries(facts event.Facts) (can []string, not []Lack) {
	if facts == 0 {
		return nil, nil // no log, or nothing about MCP
	}
	for _, s := range signals.All() {
		if missing := s.Facts &^ facts; missing != 0 {
			not = append(not, Lack{s.Name, missing.Words()})
			continue
		}
		can = append(can, s.Name)
	}
	return can, not
}

func (b *builder) domain(d *verdict.Domain) Domain {
	v := Domain{
		ID: b.mask.text(d.ID), Parties: d.Parties, Sessions: d.Sessions, Eras: list(d.Eras), First: stamp(d.First), Last: stamp(d.Last),
		Conditions: []Condition{}, Signals: []SignalState{}, Outcome: d.Outcome, Why: b.mask.text(d.Why),
		Help: b.mask.texts(d.Help), Boundary: []string{}, AlsoIn: b.mask.texts(d.AlsoIn),
	}
	for _, c := range d.Conditions {
		v.Conditions = append(v.Conditions, Condition{Name: c.Name, State: c.State, Why: b.mask.text(c.Why)})
	}
	for _, s := range d.Signals {
		v.Signals = append(v.Signals, SignalState{Signal: s.Signal, State: s.State, Judged: s.Judged, Why: b.mask.text(s.Why)})
	}
	for _, f := range d.Boundary {
		v.Boundary = append(v.Boundary, string(f))
	}
	return v
}

func (b *builder) finding(f *signals.Finding) Finding {
	m := b.mask.within(f)
	v := Finding{
		Fingerprint: f.Fingerprint(), Occurrence: f.Occurrence(),
		Variant: f.Variant, Strength: f.Strength.String(), Family: string(f.Family), Era: f.Era, Domain: m.text(f.Domain),
		RequestIDs: m.plain(f.RequestIDs), Tokens: m.plain(f.Tokens), URIs: m.plain(f.URIs), Method: m.text(f.Method), Tool: m.text(f.Tool),
		FirstSeen: stamp(f.First), LastSeen: stamp(f.Last), Count: f.Count, Fails: f.Fails, Rejected: f.Rejected, Suppressed: m.text(f.Suppressed), Rules: list(f.Rules),
		Summary: m.text(f.Summary), Because: m.texts(f.Because), Assumption: m.text(f.Assumption),
		Parties: []Party{}, Evidence: []Evidence{},
	}
	if f.Signal != nil {
		v.Signal, v.Remedy = f.Signal.Name, f.Signal.Remedy
	}
	for _, p := range f.Parties {
		v.Parties = append(v.Parties, Party{Alias: p.Alias, Session: m.session(p.Session), Party: m.who(p.Text), Role: p.Role.String()})
	}
	for i := range f.Evidence {
		v.Evidence = append(v.Evidence, b.evidence(&f.Evidence[i], m))
	}
	return v
}

func (b *builder) evidence(e *signals.Evidence, m *masker) Evidence {
	v := Evidence{
		Role: e.Role.String(), At: address(e.At), Time: stamp(e.Time.From), Party: e.Party,
		Says: m.text(e.Says), Excerpt: m.excerpt(e.Excerpt),
	}
	if e.Time.From == 0 {
		v.Time = stamp(e.Time.To)
	} else if e.Time.To > e.Time.From {
		v.Until = stamp(e.Time.To)
	}
	if n := int(e.At.Source); n >= 0 && n < len(b.inputs) {
		in := b.inputs[n]
		v.Source, v.Locate = in.Path, locate(in, e.At)
	}
	return v
}

func address(a event.Address) Address {
	return Address{Unit: a.Unit.String(), N: a.N, Offset: a.Offset}
}

func stamp(ns int64) string {
	if ns == 0 {
		return ""
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

// list copies a slice and is never nil, so that JSON shows [] for none.
func list(s []string) []string { return append([]string{}, s...) }

// families returns the boundary of all domains in the order of the catalogue.
func families(r *Report) []signals.Family {
	var out []signals.Family
	for _, f := range signals.Families() {
		if slices.ContainsFunc(r.Domains, func(d Domain) bool { return slices.Contains(d.Boundary, string(f)) }) {
			out = append(out, f)
		}
	}
	return out
}

// sorted returns the words of Hidden with their counts, in a fixed order.
func (r *Report) sortedHidden() []string {
	words := make([]string, 0, len(r.Hidden))
	for w := range r.Hidden {
		words = append(words, w)
	}
	order := "possible hazard rejected notes"
	slices.SortFunc(words, func(a, b string) int { return cmp.Compare(strings.Index(order, a), strings.Index(order, b)) })
	return words
}
