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
	principal := x.Sender.Principal
	if principal != "" && slices.Contains(s.Principals, principal) {
		return SamePerson
	}
	if x.Sender.Cookie != "" && slices.Contains(s.Cookies, x.Sender.Cookie) {
		return SamePerson
	}
	if len(x.Before) == 1 && x.Before[0] == s && !x.mixedBefore() {
		return SamePerson
	}
	if x.Sender.Subject() && hasSubject(s.Principals) {
		return AnotherPerson // readable, and no equal one above
	}
	carriedBefore := slices.Contains(x.Before, s)
	if x.Asked.State == event.Present && x.Asked.ID != s.ID && !carriedBefore {
		return AnotherPerson // the principal did not carry it either: see above
	}
	differ := 0
	if x.Sender.Cookie != "" && len(s.Cookies) > 0 {
		differ++
	}
	if len(x.Before) > 0 && !carriedBefore && !x.mixedBefore() {
		differ++
	}
	if x.Sender.ClientInfo != "" && s.ClientInfo != "" && x.Sender.ClientInfo != s.ClientInfo {
		differ++
	}
	if x.Sender.UserAgent != "" && len(s.UserAgents) > 0 && !slices.Contains(s.UserAgents, x.Sender.UserAgent) {
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
			if counts && len(s.Given.Other) == 0 {
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
