package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

// Options is what a user may decide about the outcome.
type Options struct {
	Gate     gate.Gate // which findings fail the run
	Since    int64     // ns; findings need their anchor inside the window, 0 = no limit
	Until    int64
	Require  []string  // signals that must have been judged somewhere
	Baseline *Baseline // nil = none
	Strict   bool      // entries of the baseline that expired or matched nothing fail the run
	Today    time.Time // the day by which entries expire
}

// Judge turns what the rules reported into the verdict over all domains. The
// engine must have seen the end of the window. A gate that cannot be evaluated
// makes the verdict one of an error, with what was found.
func Judge(e *rules.Engine, o Options) *Result {
	res := &Result{FailOn: o.Gate.String()}
	ruling, known, err := rule(e, o)
	res.Known = known
	sse := unannounced(e)
	for _, s := range e.Sinks {
		if s.Domain.WithoutMCP() && len(s.Findings) == 0 {
			res.Without.add(s.Domain)
			continue
		}
		res.Domains = append(res.Domains, judgeDomain(e, s, unseenOf(e, s.Domain, sse), o))
		for _, f := range s.Findings {
			if f.Strength == signals.Hazard && covered(f, s.Findings) {
				continue
			}
			if o.inside(f) {
				res.Findings = append(res.Findings, *f)
			}
		}
		for _, n := range s.Notes {
			res.Notes = append(res.Notes, *n)
		}
	}
	alsoIn(e, res)
	slices.SortStableFunc(res.Findings, func(a, b signals.Finding) int {
		if a.Strength != b.Strength {
			return int(b.Strength) - int(a.Strength)
		}
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		}
		return strings.Compare(a.Signal.Name+a.Variant, b.Signal.Name+b.Variant)
	})
	overall(e, res, ruling)
	required(res, o.Require)
	if o.Strict {
		strict(res)
	}
	if err != nil {
		res.Outcome, res.ExitCode, res.Why = OutcomeError, ExitError, "--fail-on: "+err.Error()
	}
	return res
}

// rule marks the findings whose validity condition failed, and of the others those that fail the run.
func rule(e *rules.Engine, o Options) (gate.Ruling, Known, error) {
	var valid []*signals.Finding
	for _, s := range e.Sinks {
		reject(e, s)
		for _, f := range s.Findings {
			if f.Rejected == "" && o.inside(f) && (f.Strength > signals.Hazard || !covered(f, s.Findings)) {
				valid = append(valid, f)
			}
		}
	}
	known, valid := o.Baseline.suppress(valid, o.Today)
	ruling, err := o.Gate.Judge(valid)
	for _, f := range valid {
		f.Fails = ruling.Counts[f]
	}
	return ruling, known, err
}

// Standing returns the findings of one domain that fail a run as far as it has
// come, in the order in which they were found. It is for a tail, which tells them
// as they become certain; a gate that is an expression counts nothing here.
func Standing(e *rules.Engine, s *rules.Sink, o Options) []*signals.Finding {
	reject(e, s)
	var out []*signals.Finding
	for _, f := range s.Findings {
		f.Suppressed = ""
		if f.Rejected == "" && (f.Strength > signals.Hazard || !covered(f, s.Findings)) {
			out = append(out, f)
		}
	}
	_, out = o.Baseline.suppress(out, o.Today)
	return slices.DeleteFunc(out, func(f *signals.Finding) bool {
		f.Fails = o.Gate.Counts(f)
		return !f.Fails
	})
}

// inside reports whether a finding began inside the user's window.
func (o Options) inside(f *signals.Finding) bool {
	return (o.Since == 0 || f.First >= o.Since) && (o.Until == 0 || f.First <= o.Until)
}

// covered reports whether a stronger finding of the same signal between the same
// parties makes a hazard superfluous.
func covered(h *signals.Finding, all []*signals.Finding) bool {
	return slices.ContainsFunc(all, func(f *signals.Finding) bool {
		return f.Signal == h.Signal && f.Strength > signals.Hazard && !slices.ContainsFunc(h.Parties, func(p signals.Party) bool {
			return !slices.ContainsFunc(f.Parties, func(q signals.Party) bool { return q.Alias == p.Alias })
		})
	})
}

func judgeDomain(e *rules.Engine, s *rules.Sink, u unseen, o Options) Domain {
	c := s.Domain
	d := Domain{ID: c.ID, Parties: parties(c), Sessions: c.SessionsMade, First: c.First, Last: c.Last, Eras: eras(c)}
	d.Conditions = conditions(e, s, u)
	d.Signals, d.Help = states(s, u)
	if d.Unseen = u.text(); d.Unseen == "" && c.AnswersUnseen > 0 {
		d.Unseen = plural(c.AnswersUnseen, "answer") + " not in the recording"
	}
	judged, blind := 0, false
	for i, st := range d.Signals {
		if st.State == Judged {
			judged++
		}
		blind = blind || st.State == NotAssessable && u.from(signals.All()[i]) != ""
	}
	for _, f := range s.Findings {
		if f.Fails {
			d.Outcome = OutcomeSignals
			if !slices.Contains(d.Boundary, f.Family) {
				d.Boundary = append(d.Boundary, f.Family)
			}
		}
	}
	switch {
	case d.Outcome == OutcomeSignals:
		d.Why = "isolation failed here"
		if s.Beyond > 0 {
			d.Why += fmt.Sprintf("; %d more occurrences of findings beyond the first %d are not listed", s.Beyond, len(s.Findings))
		}
	case judged > 0 && blind:
		d.Outcome = OutcomeInconclusive
		d.Why = fmt.Sprintf("%s; nothing was found in what can be seen, where %d of %d signals could be judged", u.text(), judged, len(d.Signals))
	case judged > 0:
		d.Outcome = OutcomeClean
		d.Why = fmt.Sprintf("%d of %d signals could be judged, nothing was found at or above the threshold", judged, len(d.Signals))
	default:
		d.Outcome = OutcomeInconclusive
		d.Why = whyNothing(s, u, o)
		d.Help = once(append(d.Help, otherwise(c, u, o)...))
	}
	return d
}

// parties counts who took part: sessions, and senders without one that were not
// just about to get one.
func parties(c *correlate.Domain) int {
	n := 0
	for _, p := range c.Parties {
		if p.IsSession() || p.Requests > 0 {
			n++
		}
	}
	return n
}

// outside reports whether a domain has nothing inside the user's window.
func (o Options) outside(c *correlate.Domain) bool {
	return o.Since != 0 && c.Last < o.Since || o.Until != 0 && c.First > o.Until
}

func eras(c *correlate.Domain) []string {
	var out []string
	if c.Legacy {
		out = append(out, "legacy")
	}
	if c.Modern {
		out = append(out, "modern")
	}
	return out
}

// conditions tests the validity conditions of DETECTION §4.
func conditions(e *rules.Engine, s *rules.Sink, u unseen) []Condition {
	c := s.Domain
	return []Condition{multiplexed(e, c), unshared(s), overlap(c, u), http(e, c), creation(c), complete(c, u)}
}

func multiplexed(e *rules.Engine, c *correlate.Domain) Condition {
	k := Condition{Name: "multiplexed"}
	switch {
	case e.Options.Pinned:
		k.State, k.Why = Failed, "the user says that sessions are pinned to processes (--assume pinned)"
	case e.Options.Multiplexed:
		k.State, k.Why = Met, "the user says so (--assume multiplexed)"
	case len(c.Cookies) > 1:
		k.State, k.Why = Unknown, fmt.Sprintf("%d different affinity cookies came back: a proxy pins clients to processes", len(c.Cookies))
	case c.Log && c.Key.Epoch != "":
		k.State, k.Why = Met, "one process wrote these lines"
	case c.Log:
		k.State, k.Why = Unknown, "the log names no process: several may have written it"
	default:
		k.State, k.Why = Met, "one listener served all of it"
	}
	return k
}

func unshared(s *rules.Sink) Condition {
	for _, f := range s.Findings {
		if f.Signal == signals.SharedSession || f.Signal == signals.ResponseCrossing && f.Variant == "shared_session" {
			session, _, _ := strings.Cut(f.Parties[0].Alias, "·") // the finding names its conversations
			return Condition{"unshared", Failed, session + " is used by several conversations; among themselves they are no victims of each other"}
		}
	}
	return Condition{"unshared", Met, "no session was seen in use by two conversations"}
}

func overlap(c *correlate.Domain, u unseen) Condition {
	switch {
	case c.Overlap:
		return Condition{"overlap", Met, c.OverlapWhy}
	case c.Untimed:
		return Condition{"overlap", Unknown, "the exchanges have no times of their own, so that none is known to overlap another one"}
	case !u.parties() && alike(c) != "":
		return Condition{"overlap", Unknown, indistinct}
	}
	if u.parties() {
		return Condition{"overlap", Unknown, "no two parties are seen to be live, or to have requests in flight, at one moment; " + u.text()}
	}
	return Condition{"overlap", Failed, "no two parties were live, or had requests in flight, at one moment"}
}

func http(e *rules.Engine, c *correlate.Domain) Condition {
	switch {
	case e.State.Stdio:
		return Condition{"http", Failed, "the transport is stdio: one client per process"}
	case c.Log:
		return Condition{"http", Unknown, "the log does not show the transport"}
	}
	return Condition{"http", Met, "parsed from HTTP"}
}

func creation(c *correlate.Domain) Condition {
	born, sessions := 0, 0
	for _, p := range c.Parties {
		if p.IsSession() {
			sessions++
			if p.Born {
				born++
			}
		}
	}
	k := Condition{Name: "creation_visible"}
	switch {
	case sessions == 0 && c.Unissued > 0:
		k.State, k.Why = Failed, "the endpoint issues no session ids"
	case born == 0:
		k.State, k.Why = Failed, "no session is seen to be made"
	case born < sessions:
		k.State, k.Why = Unknown, fmt.Sprintf("%d of %d sessions are seen to be made", born, sessions)
	default:
		k.State, k.Why = Met, fmt.Sprintf("all %d sessions are seen to be made", sessions)
	}
	return k
}

func complete(c *correlate.Domain, u unseen) Condition {
	var holes []string
	if why := u.text(); why != "" {
		holes = append(holes, why)
	}
	if c.Gaps > 0 {
		holes = append(holes, strings.Join(append([]string{plural(c.Gaps, "gap")}, c.Losses.Notes...), ": "))
	}
	if c.AnswersUnseen > 0 {
		holes = append(holes, plural(c.AnswersUnseen, "answer")+" not in the recording")
	}
	if c.BodiesLost > 0 {
		holes = append(holes, bodiesLost(c))
	}
	if c.LossFlags&event.LossRest != 0 {
		holes = append(holes, "the rest of the recording is missing, the file ends in the middle")
	}
	if c.LossFlags&event.LossSnap != 0 && c.Losses.Bodies[correlate.BySnap] == 0 {
		holes = append(holes, "packets cut by the snap length")
	}
	if c.LossFlags&event.LossStart != 0 && c.Losses.Bodies[correlate.BeforeStart] == 0 {
		holes = append(holes, "connections that began before the recording")
	}
	if c.Paired {
		holes = append(holes, "requests and answers paired by id")
	}
	if c.Evicted > 0 {
		holes = append(holes, plural(c.Evicted, "item")+" of state evicted")
	}
	if c.Log {
		return Condition{"complete", Unknown, "a log holds what its level lets through"}
	}
	if len(holes) > 0 {
		return Condition{"complete", Failed, strings.Join(holes, "; ") + ": no argument from absence where they touch it"}
	}
	return Condition{"complete", Met, "no gap, all bodies recorded"}
}

// reject marks the findings whose validity condition failed. A confirmed
// delivery across parties proves shared state by itself.
func reject(e *rules.Engine, s *rules.Sink) {
	for _, f := range s.Findings {
		f.Rejected = "" // in a tail a condition may be met later
		if f.Signal.Alone {
			continue
		}
		switch {
		case e.State.Stdio && s.Domain.Log:
			f.Rejected = "http"
		case f.Strength >= signals.Confirmed:
		case e.Options.Pinned || !e.Options.Multiplexed && pinnedApart(s.Domain, f):
			f.Rejected = "multiplexed"
		case !s.Domain.Overlap:
			f.Rejected = "overlap"
		}
	}
}

// pinnedApart reports whether the affinity cookies of cause and victim say that
// a proxy keeps them at different processes.
func pinnedApart(c *correlate.Domain, f *signals.Finding) bool {
	var sets [][]string
	for _, p := range f.Parties {
		if p.Role != signals.Cause && p.Role != signals.Victim && p.Role != signals.Candidate {
			continue
		}
		if q := c.Sessions[p.Session]; q != nil && len(q.Known().Cookies) > 0 {
			sets = append(sets, q.Known().Cookies)
		}
	}
	if len(sets) < 2 {
		return false
	}
	for _, set := range sets[1:] {
		for _, v := range set {
			if slices.Contains(sets[0], v) {
				return false
			}
		}
	}
	return true
}

// states tells for every signal whether it could be judged, and which recipes would help.
func states(s *rules.Sink, u unseen) ([]SignalState, []string) {
	c := s.Domain
	var out []SignalState
	var help []string
	for _, sig := range signals.All() {
		t, hidden := s.Tally(sig), u.from(sig)
		st := SignalState{Signal: sig.Name, Judged: t.Judged}
		switch {
		case c.Modern && !c.Legacy:
			st.State, st.Why = NotAssessable, "not judged: modern"
		case hidden != "" && (u.parties() || c.Overlap || sig.Alone) && !shown(s, sig):
			st.State, st.Judged, st.Why = NotAssessable, 0, strings.Join(append([]string{hidden}, t.Why...), "; ")
		case t.Judged > 0 && (c.Overlap || sig.Alone):
			st.State, st.Why = Judged, strings.Join(t.Why, "; ")
		case !c.Overlap && !sig.Alone:
			st.State, st.Judged, st.Why = NotAssessable, 0, apart(c)
		case len(t.Why) > 0:
			st.State, st.Why = NotAssessable, strings.Join(t.Why, "; ")
		case c.Log:
			st.State, st.Why = NotAssessable, "these logs do not carry what this signal needs"
		case c.Paired && sig.Requires&signals.Pairing != 0:
			st.State, st.Why = NotAssessable, "requests and answers were paired by id"
		case c.LossFlags&event.LossHeaders != 0 && sig.Requires&signals.Headers != 0:
			st.State, st.Why = NotAssessable, headsLost(c)
		case c.BodiesLost > 0 && sig.Requires&signals.Bodies != 0:
			st.State, st.Why = NotAssessable, bodiesLost(c)+", so the occasion may have been there"
		case missed(c, sig) != "":
			st.State, st.Why = NotAssessable, missed(c, sig)
		default:
			st.State, st.Why = NotObserved, sig.Occasion
		}
		if st.State == NotAssessable {
			help = append(append(help, u.recipes()...), recipes(c, u, sig)...)
		}
		out = append(out, st)
	}
	return out, once(help)
}

// alsoIn names, for each domain, others that show one of its server-issued
// session ids. An id that one domain issued and another one served without
// having issued it hints at a shared store.
func alsoIn(e *rules.Engine, res *Result) {
	type places struct{ issuers, shown []int } // indexes of sinks
	byID, order := map[string]*places{}, []string(nil)
	for i, s := range e.Sinks {
		for _, p := range s.Domain.Parties {
			if !p.IsSession() {
				continue
			}
			at := byID[p.ID]
			if at == nil {
				at = &places{}
				byID[p.ID] = at
				order = append(order, p.ID)
			}
			at.shown = append(at.shown, i)
			if p.Issued {
				at.issuers = append(at.issuers, i)
			}
		}
	}
	also := make([][]int, len(e.Sinks))
	for _, id := range order {
		at := byID[id]
		if len(at.shown) < 2 {
			continue
		}
		for _, i := range at.issuers {
			for _, k := range at.shown[:min(len(at.shown), maxAlsoIn+1)] {
				if k != i && len(also[i]) < maxAlsoIn && !slices.Contains(also[i], k) {
					also[i] = append(also[i], k)
				}
			}
		}
	}
	domains := res.Domains // those of the sinks that saw any traffic, in their order
	for i, s := range e.Sinks {
		if len(domains) > 0 && domains[0].ID == s.Domain.ID {
			for _, k := range also[i] {
				domains[0].AlsoIn = append(domains[0].AlsoIn, e.Sinks[k].Domain.ID)
			}
			domains = domains[1:]
		}
		shared := 0
		for _, p := range s.Domain.Parties {
			if p.IsSession() && !p.Issued && p.Live && slices.ContainsFunc(byID[p.ID].issuers, func(k int) bool { return k != i }) {
				shared++
			}
		}
		if shared > 0 {
			res.Notes = append(res.Notes, signals.Note{
				Kind: signals.NoteSharedStoreSuspected, Domain: s.Domain.ID, Count: shared, Text: signals.NoteText(signals.NoteSharedStoreSuspected),
			})
		}
	}
}

// maxAlsoIn bounds how many other domains a domain names.
const maxAlsoIn = 8

// overall decides outcome and exit code of the run from its domains.
func overall(e *rules.Engine, res *Result, ruling gate.Ruling) {
	res.Below = below(res)
	signal, clean := 0, 0
	for _, d := range res.Domains {
		switch d.Outcome {
		case OutcomeSignals:
			signal++
		case OutcomeClean:
			clean++
		}
	}
	switch {
	case ruling.Fails():
		res.Outcome, res.ExitCode = OutcomeSignals, ExitFindings
		res.Why = fmt.Sprintf("isolation failed in %d of %s", signal, plural(len(res.Domains), "domain")) + held(res.FailOn, ruling)
	case clean > 0:
		res.Outcome, res.ExitCode = OutcomeClean, ExitClean
		res.Why = fmt.Sprintf("nothing at or above the threshold in the %d of %s that could be judged%s", clean, plural(len(res.Domains), "domain"), coverage(res))
	default:
		res.Outcome, res.ExitCode = OutcomeInconclusive, ExitInconclusive
		res.Why = inconclusive(e, res)
	}
	if res.Outcome != OutcomeInconclusive { // which says so itself
		if holes := holes(res); holes != "" {
			res.Why += "; " + holes
		}
	}
	if n := res.Known.Suppressed; n > 0 {
		res.Why += fmt.Sprintf("; %d known by the baseline", n)
	}
	if n := e.State.Beyond; n > 0 {
		res.Why += fmt.Sprintf("; %d events of domains beyond the first %d were not judged", n, len(res.Domains))
		if res.ExitCode == ExitClean {
			res.Outcome, res.ExitCode = OutcomeInconclusive, ExitInconclusive
		}
	}
}

// required makes a clean run inconclusive that never judged a signal which the user demands.
func required(res *Result, names []string) {
	var missing []string
	for _, name := range names {
		if !slices.ContainsFunc(res.Domains, func(d Domain) bool {
			return slices.ContainsFunc(d.Signals, func(s SignalState) bool { return s.Signal == name && s.State == Judged })
		}) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	res.Unmet = "--require: " + strings.Join(missing, ", ") + " could not be judged in any domain"
	res.Why += "; " + res.Unmet
	if res.ExitCode == ExitClean {
		res.Outcome, res.ExitCode = OutcomeInconclusive, ExitInconclusive
	}
}

// strict fails a run whose baseline holds what is over.
func strict(res *Result) {
	n := len(res.Known.Expired) + len(res.Known.Unmatched)
	if n == 0 || res.ExitCode != ExitClean {
		return
	}
	res.Outcome, res.ExitCode = OutcomeSignals, ExitFindings
	res.Why = fmt.Sprintf("--strict-baseline: %d expired and %d unmatched entries; %s", len(res.Known.Expired), len(res.Known.Unmatched), res.Why)
}

// held says when an expression of --fail-on held first.
func held(expr string, r gate.Ruling) string {
	if r.Times == 0 {
		return ""
	}
	h := r.Held[0]
	out := fmt.Sprintf("; %s held first at %s for %s with %g", expr, time.Unix(0, h.At).UTC().Format(time.RFC3339Nano), h.Of, h.Value)
	if r.Times > 1 {
		out += fmt.Sprintf(", and at %d more times", r.Times-1)
	}
	return out
}

// coverage says how many signals were judged at all, over all domains.
func coverage(res *Result) string {
	judged := map[string]bool{}
	total := 0
	for _, d := range res.Domains {
		total = len(d.Signals)
		for _, s := range d.Signals {
			if s.State == Judged {
				judged[s.Signal] = true
			}
		}
	}
	return fmt.Sprintf(", %d of %d signals judged", len(judged), total)
}

// below counts the findings that are valid and do not fail the run.
func below(res *Result) string {
	var n [signals.Confirmed + 1]int
	for _, f := range res.Findings {
		if f.Rejected == "" && f.Suppressed == "" && f.Strength > signals.Hazard && !f.Fails {
			n[f.Strength]++
		}
	}
	var parts []string
	for s := signals.Confirmed; s > signals.Hazard; s-- {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return strings.Join(parts, ", ")
}

// inconclusive says why a run judged nothing.
func inconclusive(e *rules.Engine, res *Result) string {
	var why []string
	var judged []*correlate.Domain // they tell of their own
	for _, s := range e.Sinks {
		if slices.ContainsFunc(res.Domains, func(d Domain) bool { return d.ID == s.Domain.ID }) {
			judged = append(judged, s.Domain)
		}
	}
	for _, u := range e.State.Elsewhere(judged) {
		why = append(why, fmt.Sprintf("%s, %s, not readable%s", u.What, plural(u.N, "connection"), unlock(u.What)))
	}
	if e.State.Stdio {
		why = append(why, "stdio transport: one client per process, nothing to judge")
	}
	for _, d := range res.Domains {
		if !slices.Contains(why, d.Why) && len(why) < 4 {
			why = append(why, d.Why)
		}
	}
	if len(why) == 0 {
		res.Help = append(res.Help, res.Without.advice())
		return "no MCP traffic was recognised" + res.Without.why()
	}
	return strings.Join(why, "; ")
}
