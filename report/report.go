// Package report writes the result of a run. Every output format is made from
// one value, Report, which is also the JSON schema isodetect/report/v1.
package report

// Schema names the JSON form of Report.
const Schema = "isodetect/report/v1"

// Report is the whole result of a run, masked and escaped as the user asked.
type Report struct {
	Schema  string   `json:"schema"`
	Tool    Tool     `json:"tool"`
	Inputs  []Input  `json:"inputs"`
	Domains []Domain `json:"domains"`
	// Without counts what was read and carried no MCP; nil = nothing.
	Without  *WithoutMCP `json:"without_mcp,omitempty"`
	Findings []Finding   `json:"findings"`
	Notes    []Note      `json:"notes"`
	Verdict  Verdict     `json:"verdict"`
	// Hidden counts what --show would bring, by its word: possible, hazard, rejected, notes.
	Hidden   map[string]int `json:"hidden,omitempty"`
	Baseline []Baseline     `json:"baseline,omitempty"` // entries that are over
	// Unselected counts the findings that --where does not select, and Failing those of them that fail the run.
	Unselected int `json:"unselected,omitempty"`
	Failing    int `json:"unselected_failing,omitempty"`
}

// Baseline is an entry of the baseline that is over: expired or unmatched.
type Baseline struct {
	Entry string `json:"entry"` // fingerprint
	State string `json:"state"`
	Why   string `json:"why"`
}

// Tool names the program that wrote a report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Input tells what was read of one input; records = used + ignored + malformed.
type Input struct {
	Path      string    `json:"path"`
	Log       string    `json:"log,omitempty"` // the rotated log of which it is one file
	Format    string    `json:"format"`
	Wrappers  []string  `json:"wrappers"`
	Bytes     int64     `json:"bytes"`
	Records   int64     `json:"records"`
	Used      int64     `json:"used"`
	Ignored   int64     `json:"ignored"`
	Malformed int64     `json:"malformed"`
	Events    int64     `json:"events"`
	Gaps      int64     `json:"gaps"`
	Repeated  int64     `json:"repeated,omitempty"`    // of ignored: stood at the end of the file before, in a rotated log; packets that a capture holds twice
	Conns     int64     `json:"connections,omitempty"` // TCP connections of a capture
	BackSteps int64     `json:"back_steps,omitempty"`  // stamps earlier than the one before, clamped
	First     string    `json:"first_seen,omitempty"`  // RFC 3339
	Last      string    `json:"last_seen,omitempty"`
	Notes     []string  `json:"notes"`
	Problems  []Problem `json:"problems,omitempty"`
	Carries   []string  `json:"carries,omitempty"`  // a log: the signals that what its lines tell could show
	Lacks     []Lack    `json:"lacks,omitempty"`    // and those that it could not, with what no line tells
	Patterns  []Pattern `json:"patterns,omitempty"` // of --patterns, where the input is a log
	Error     string    `json:"error,omitempty"`    // why it could not be read at all

	named bool // stood on the command line itself
}

// Pattern is how many lines of an input one of the user's patterns claimed.
type Pattern struct {
	Name  string `json:"name"`
	Row   int    `json:"line"` // of the file of patterns
	Lines int64  `json:"lines"`
}

// Lack is a signal that a log could not show, whatever happened.
type Lack struct {
	Signal  string   `json:"signal"`
	Missing []string `json:"missing"`
}

// Problem is one located defect of an input.
type Problem struct {
	At   Address `json:"at"`
	Text string  `json:"text"`
}

// Domain is the judgement of one domain.
type Domain struct {
	ID         string        `json:"id"`
	Parties    int           `json:"parties"`
	Sessions   int           `json:"sessions"`
	Eras       []string      `json:"eras"`
	First      string        `json:"first_seen,omitempty"`
	Last       string        `json:"last_seen,omitempty"`
	Conditions []Condition   `json:"conditions"`
	Signals    []SignalState `json:"signals"`
	Outcome    string        `json:"outcome"` // clean, signals, inconclusive
	Why        string        `json:"why"`
	Help       []string      `json:"help,omitempty"` // recipes that would make more assessable
	Boundary   []string      `json:"boundary"`
	AlsoIn     []string      `json:"also_in,omitempty"` // domains that show one of its server-issued session ids
}

// WithoutMCP counts the URLs whose traffic was read and carried no MCP, so that they
// are no domains.
type WithoutMCP struct {
	URLs      int      `json:"urls"`
	Exchanges uint64   `json:"exchanges"`
	Named     []string `json:"named"` // the first of them, at most 10
}

// Condition is one validity condition: met, failed or unknown.
type Condition struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why"`
}

// SignalState tells whether a signal could be judged in a domain: state is
// judged, not_observed or not_assessable.
type SignalState struct {
	Signal string `json:"signal"`
	State  string `json:"state"`
	Judged int    `json:"judged"`
	Why    string `json:"why"`
}

// Finding is one finding, ready to print.
type Finding struct {
	Fingerprint string     `json:"fingerprint"`
	Occurrence  string     `json:"occurrence"`
	Signal      string     `json:"signal"`
	Variant     string     `json:"variant"`
	Strength    string     `json:"strength"`
	Family      string     `json:"family"`
	Era         string     `json:"era"`
	Domain      string     `json:"domain"`
	Parties     []Party    `json:"parties"`
	RequestIDs  []string   `json:"request_ids"`
	Tokens      []string   `json:"tokens"`
	URIs        []string   `json:"uris"`
	Method      string     `json:"method"`
	Tool        string     `json:"tool,omitempty"`
	FirstSeen   string     `json:"first_seen"`
	LastSeen    string     `json:"last_seen"`
	Count       int        `json:"count"`
	Fails       bool       `json:"fails"` // it counts at --fail-on
	Rejected    string     `json:"rejected"`
	Suppressed  string     `json:"suppressed"`
	Rules       []string   `json:"rules"`
	Summary     string     `json:"summary"`
	Because     []string   `json:"because"`
	Assumption  string     `json:"assumption"`
	Evidence    []Evidence `json:"evidence"`
	Remedy      string     `json:"remedy"`
}

// Party is one side of a finding. Session is masked without --reveal.
type Party struct {
	Alias   string `json:"alias"`
	Session string `json:"session,omitempty"`
	Party   string `json:"party,omitempty"`
	Role    string `json:"role"`
}

// Evidence is one record behind a finding.
type Evidence struct {
	Role    string  `json:"role"`
	Source  string  `json:"source"`
	At      Address `json:"at"`
	Time    string  `json:"time"`
	Until   string  `json:"until,omitempty"` // end of the interval, where the moment is not known exactly
	Party   string  `json:"party"`
	Says    string  `json:"says,omitempty"`
	Excerpt string  `json:"excerpt"`
	Locate  string  `json:"locate,omitempty"` // Wireshark filter, jq path or sed command that shows it
}

// Address is a place in an input.
type Address struct {
	Unit   string `json:"unit"` // line, entry, frame
	N      int64  `json:"n"`
	Offset int64  `json:"offset"`
}

// Note is a remark that is no finding.
type Note struct {
	Kind   string `json:"kind"`
	Domain string `json:"domain"`
	Count  int    `json:"count"`
	Text   string `json:"text"`
}

// Verdict is the outcome of the run.
type Verdict struct {
	Outcome  string   `json:"outcome"` // signals, clean, inconclusive, error
	ExitCode int      `json:"exit_code"`
	Why      string   `json:"why"`
	FailOn   string   `json:"fail_on"`
	Help     []string `json:"help,omitempty"`            // recipes for the run as a whole
	Below    string   `json:"below_threshold,omitempty"` // findings that do not fail the run, such as "2 probable"
}
