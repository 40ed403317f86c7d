package scan

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// conclude joins the verdict over the domains with what could not be read. The
// order of DETECTION §5: findings, else an unreadable input, else what was judged.
func conclude(res *verdict.Result, set *parsers.Set, opt Options, interrupted bool) {
	noteDuplicates(res, set)
	if opt.named != nil {
		if idle := opt.named.idle(opt.Domains); len(idle) > 0 {
			what := "--domain " + idle[0]
			if more := len(idle) - 1; more > 0 {
				what += fmt.Sprintf(" (and %d more)", more)
			}
			res.Help = append(res.Help, what+" took nothing: a glob is held against the path of each input, and against server and path of each endpoint")
		}
	}
	if interrupted {
		res.Why = join("interrupted: the reading is incomplete and covers only what was read until then", res.Why)
	}
	if res.ExitCode == verdict.ExitFindings {
		if why := set.Unopened(); why != "" {
			res.Why = join(res.Why, why)
		}
		return
	}
	if err := set.Unreadable(); err != nil {
		res.Help = nil
		res.Outcome, res.ExitCode, res.Why = verdict.OutcomeError, verdict.ExitError, join(err.Error(), res.Why)
		return
	}
	if why := set.Unopened(); why != "" {
		res.Why = join(why, res.Why)
		if res.ExitCode == verdict.ExitClean {
			res.Outcome, res.ExitCode = verdict.OutcomeInconclusive, verdict.ExitInconclusive
		}
	}
	if why := set.Nothing(); why != "" && len(res.Domains) == 0 {
		res.Why = why
		res.Help = []string{"see that the path is right, and that the command which writes the input succeeds: after a failed one a pipe or file is empty"}
	}
	if opt.RequireComplete && res.ExitCode == verdict.ExitClean {
		if hole := incomplete(res, set, interrupted); hole != "" {
			res.Outcome, res.ExitCode = verdict.OutcomeInconclusive, verdict.ExitInconclusive
			res.Why = join("--require-complete: "+hole, res.Why)
		}
	}
	if opt.PassUnjudged && res.ExitCode == verdict.ExitInconclusive && res.Unmet == "" {
		res.ExitCode = verdict.ExitClean
	}
}

// incomplete names the first hole in what was read, "" if there is none.
func incomplete(res *verdict.Result, set *parsers.Set, interrupted bool) string {
	if interrupted {
		return "the reading was interrupted"
	}
	for _, in := range set.Inputs() {
		switch st := &in.Stats; {
		case st.Err != "":
			return fmt.Sprintf("%s: %s", in.Path, st.Err)
		case st.Malformed > 0:
			return fmt.Sprintf("%s has %d malformed records", in.Path, st.Malformed)
		case st.Gaps > 0:
			return fmt.Sprintf("%s has %d gaps", in.Path, st.Gaps)
		}
	}
	for _, d := range res.Domains {
		if d.Unseen != "" {
			return d.ID + ": " + d.Unseen
		}
	}
	return ""
}

func noteDuplicates(res *verdict.Result, set *parsers.Set) {
	for _, m := range set.Members {
		for _, text := range m.Repeats() {
			res.Notes = append(res.Notes, signals.Note{Kind: signals.NoteSameInputTwice, Count: 1, Text: text})
		}
	}
}

func join(a, b string) string {
	return strings.Trim(a+"; "+b, "; ")
}
