// Package verdict says whether a diagnosis is valid at all and which repair it
// needs: validity conditions, outcome of each domain, decision boundary, exit code.
package verdict

import "github.com/isodetect/isodetect/signals"

// Exit codes, the same for every output format (DETECTION §5).
const (
	ExitClean        = 0 // judged, nothing at the threshold
	ExitFindings     = 1 // findings at the threshold
	ExitError        = 2 // usage, or a named input could not be opened or decoded at all
	ExitInconclusive = 3 // nothing could be judged, or whole streams or connections are not in view
)

// State of a validity condition.
const (
	Met     = "met"
	Failed  = "failed"
	Unknown = "unknown"
)

// State of a signal in a domain. Not observed is never a pass.
const (
	Judged        = "judged"
	NotObserved   = "not_observed"
	NotAssessable = "not_assessable"
)

// Outcome of a domain or a run.
const (
	OutcomeSignals      = "signals"
	OutcomeClean        = "clean"
	OutcomeInconclusive = "inconclusive"
	OutcomeError        = "error"
)

// Result is the verdict over everything that was read.
type Result struct {
	Domains  []Domain
	Without  WithoutMCP        // what else was read, beside the domains
	Findings []signals.Finding // sorted: strongest first, then by first occurrence
	Notes    []signals.Note
	Outcome  string
	ExitCode int
	Why      string
	Below    string   // findings that are valid and do not fail the run, by strength, such as "2 probable"; "" = none
	FailOn   string   // the gate, as the user wrote it
	Known    Known    // what the baseline did
	Help     []string // recipes for the run as a whole; those of a domain stand there
	Unmet    string   // which demand of the user the run did not meet, "" = none
}

// Domain is the verdict over one domain.
type Domain struct {
	ID         string
	Parties    int
	Sessions   int
	Eras       []string
	First      int64 // ns, 0 = no stamps
	Last       int64
	Conditions []Condition
	Signals    []SignalState
	Outcome    string
	Why        string
	Help       []string // recipes that would make more assessable
	Boundary   []signals.Family
	AlsoIn     []string
	Unseen     string // what of its traffic is known not to be in the recording, "" = nothing
}

// Condition is one validity condition with its evidence.
type Condition struct{ Name, State, Why string }

// SignalState tells whether a signal could be judged.
type SignalState struct {
	Signal string
	State  string
	Judged int
	Why    string
}
