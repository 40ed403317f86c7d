package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

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
