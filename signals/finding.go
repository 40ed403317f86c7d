package signals

import "github.com/isodetect/isodetect/event"

// Strength is how much a finding proves (DETECTION §2).
type Strength uint8

const (
	None Strength = iota
	Hazard
	Possible
	Probable
	Confirmed
)

var strengthNames = [...]string{"none", "hazard", "possible", "probable", "confirmed"}

func (s Strength) String() string { return strengthNames[s] }

// ParseStrength reads the name of a strength.
func ParseStrength(name string) (Strength, bool) {
	for i, n := range strengthNames {
		if n == name {
			return Strength(i), true
		}
	}
	return None, false
}

// Down returns the next weaker strength, but never less than Hazard: the price
// of an order that the stamps do not give.
func (s Strength) Down() Strength {
	if s <= Hazard {
		return s
	}
	return s - 1
}

// Role is what part a party or a piece of evidence plays.
type Role uint8

const (
	Cause Role = iota
	Victim
	Candidate
	Context
)

func (r Role) String() string { return [...]string{"cause", "victim", "candidate", "context"}[r] }

// Finding is one signal seen between certain parties, with everything a report needs.
type Finding struct {
	Signal     *Signal
	Variant    string
	Strength   Strength
	Family     Family // the signal's, unless the variant has its own
	Era        string
	Domain     string
	Parties    []Party
	RequestIDs []string // raw JSON text
	Tokens     []string
	URIs       []string
	Method     string // method of the request or message concerned
	Tool       string // tool or prompt name, where there is one
	Path       string // path of the endpoint
	First      int64  // event time of the first and last occurrence, ns
	Last       int64
	Count      int
	Times      []Occurred // when it occurred, in order; at most MaxTimes
	Fails      bool       // the gate of the run counts it
	Rejected   string     // name of the validity condition that failed, "" = valid
	Suppressed string     // why a baseline accepts it, "" = it does not
	Rules      []string
	Summary    string // one sentence that names parties by alias
	Because    []string
	// Because is the chain of the witness, in order: what follows from which piece of evidence.
	Assumption string
	Evidence   []Evidence
}

// Occurred is one occurrence of a finding, or several at about the same time.
type Occurred struct {
	At int64 // event time of the last of them, ns
	N  int
}

// MaxTimes bounds Finding.Times.
const MaxTimes = 512

// Occur notes n occurrences at a time. Beyond MaxTimes neighbours are joined, so
// that the number stays right and the times become coarse.
func (f *Finding) Occur(at int64, n int) {
	if k := len(f.Times) - 1; k >= 0 && f.Times[k].At >= at {
		f.Times[k].N += n
		return
	}
	if len(f.Times) >= MaxTimes {
		for i := 0; i < MaxTimes/2; i++ {
			a, b := f.Times[2*i], f.Times[2*i+1]
			f.Times[i] = Occurred{At: b.At, N: a.N + b.N}
		}
		f.Times = f.Times[:MaxTimes/2]
	}
	f.Times = append(f.Times, Occurred{At: at, N: n})
}

// Party is one side of a finding.
type Party struct {
	Alias   string // S1, S2, … in order of first appearance in the domain; P1 … without a session; S1·a for conversations
	Session string // full session id, "" without one
	Text    string // without a session: principal, clientInfo or peer
	Role    Role
}

// Evidence is one record that a finding rests on. It is filled from an event
// and outlives it.
type Evidence struct {
	Role    Role
	At      event.Address
	Time    event.Time
	Party   string // alias
	Says    string // what this record shows, a few words
	Excerpt string // unmasked, at most event.MaxExcerpt bytes
	Link    uint64 // as in event.Event; 0 = no other recording could tell of it
	View    int32  // which recording it stands in
}

// Note is something worth knowing that is no isolation failure (the closed list of DETECTION §6).
type Note struct {
	Kind   string
	Domain string
	Count  int
	Text   string
	At     event.Address // of the first occurrence
}
