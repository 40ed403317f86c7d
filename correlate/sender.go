package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Relation is what the sender hints show about a request and a session.
type Relation uint8

const (
	RelationUnknown Relation = iota
	SamePerson               // shown to be that session's own client
	AnotherPerson            // shown to be another client
)

// Relate says whether the sender of an exchange is the client that holds a
// session, from the hints of DETECTION §1.
func Relate(x *Exchange, s *Party) Relation {
	from, before, known := x.From(), x.CarriedBefore(), s.Known()
	if from.Principal != "" && slices.Contains(known.Principals, from.Principal) {
		return SamePerson
	}
	if from.Cookie != "" && slices.Contains(known.Cookies, from.Cookie) {
		return SamePerson
	}
	if len(before) == 1 && before[0] == s && !x.mixedBefore() {
		return SamePerson
	}
	if from.Subject() && hasSubject(known.Principals) {
		return AnotherPerson // readable, and no equal one above
	}
	carriedBefore := slices.Contains(before, s)
	if x.Asked.State == event.Present && x.Asked.ID != s.ID && !carriedBefore {
		return AnotherPerson // the principal did not carry it either: see above
	}
	differ := 0
	if from.Cookie != "" && len(known.Cookies) > 0 {
		differ++
	}
	if len(before) > 0 && !carriedBefore && !x.mixedBefore() {
		differ++
	}
	if from.ClientInfo != "" && s.ClientInfo != "" && from.ClientInfo != s.ClientInfo {
		differ++
	}
	if from.UserAgent != "" && len(known.UserAgents) > 0 && !slices.Contains(known.UserAgents, from.UserAgent) {
		differ++
	}
	if counterDiffers(x, s) {
		differ++
	}
	if differ >= 2 {
		return AnotherPerson
	}
	return RelationUnknown
}

func (x *Exchange) mixedBefore() bool { return x.Conn != nil && x.Conn.Mixed }

func hasSubject(principals []string) bool {
	for _, p := range principals {
		if (event.Sender{Principal: p}).Subject() {
			return true
		}
	}
	return false
}

// counterDiffers reports whether the ids of the exchange cannot come from the
// counter of the session's client: of another type, used already, or more than 20 ahead.
func counterDiffers(x *Exchange, s *Party) bool {
	highest, counts := s.Given.Max()
	for _, r := range x.Requests {
		if r.Method == mcp.Initialize {
			return false
		}
		if s.Given.Empty() {
			return false
		}
		n, isNumber := number(r.ID)
		if !isNumber || r.ID.IsString() {
			if counts && !s.Given.Names() {
				return true // that client counts, this one names
			}
			return s.Given.Has(r.ID)
		}
		if !counts {
			return true
		}
		if s.Given.Has(r.ID) || n > highest+20 {
			return true
		}
	}
	return false
}
