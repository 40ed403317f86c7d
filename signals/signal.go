// Package signals is the catalogue: one value per signal with its documentation,
// and the types of a finding. Help, explain, docs and every report derive from these values.
package signals

import "github.com/isodetect/isodetect/event"

// Family is the class of repair that a signal calls for (DETECTION §5).
type Family string

const (
	Keying        Family = "keying"
	Lifetime      Family = "lifetime-and-namespace"
	ExchangeKey   Family = "exchange-keying"
	Authorization Family = "authorization-binding"
	Lifecycle     Family = "lifecycle"
)

// Signal is one entry of the catalogue.
type Signal struct {
	Name      string // as in reports and flags, e.g. "token_collision"
	Title     string // a few words
	Family    Family
	Since     string // version that brought it
	Variants  []Variant
	Protocol  []string    // protocol rules behind it, ids of the project's protocol page, e.g. "P-PRG-2"
	What      string      // what it is, one paragraph
	Cause     string      // who is called the cause, and what that party did
	Victim    string      // who is called the victim
	Word      string      // what a text calls the cause where that party did nothing wrong, "" = cause
	Looks     []Look      // how it looks in each kind of input
	LookAlike []string    // healthy traffic that resembles it and is not reported
	Needs     []string    // conditions and coverage: why it may be "not assessable"
	Log       string      // the least that a log must hold to show it
	Requires  Coverage    // without which nothing can be said of an occasion that was not seen
	Alone     bool        // shows within one party, so that a second live party is no condition
	Facts     event.Facts // what a log must tell that it could show in it
	Hazard    bool        // never more than a hazard
	Occasion  string      // what did not occur where the signal was not observed, e.g. "no progress"
	Remedy    string      // what to change in the server
	Client    string      // what to change in the client, "" = nothing
	Example   string      // path of a sample that shows it, relative to samples/
}

// Variant is a named form of a signal.
type Variant struct {
	Name   string
	What   string
	Family Family // "" = the signal's
	Word   string // "" = the signal's
}

// RoleWord is what a text calls a role in a finding of a signal. Documents for
// programs keep the name of the role.
func (s *Signal) RoleWord(variant string, r Role) string {
	word := s.Word
	for _, v := range s.Variants {
		if v.Name == variant && v.Word != "" {
			word = v.Word
		}
	}
	if r == Cause && word != "" {
		return word
	}
	return r.String()
}

// Look says how a signal appears in one kind of input.
type Look struct{ Input, Text string }

// Coverage is what of the traffic must have been recorded.
type Coverage uint8

const (
	Headers Coverage = 1 << iota // complete heads of requests
	Bodies
	Pairing // which answer came on which exchange
	Streams // what the server sent of itself, on the streams of GETs
)
