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
