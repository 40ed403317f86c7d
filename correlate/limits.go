package correlate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits bounds the state (DESIGN, "State is bounded"). What is dropped for one of
// them is counted and leaves a hole in coverage.
type Limits struct {
	Domains      int   // in one run
	OpenPerParty int   // requests in flight of one party
	EndedKept    int   // ended requests kept in one domain
	Sessions     int   // of one domain
	Conns        int   // of one domain
	RequestIdle  int64 // ns after which an unanswered request is given up as lost
	SessionIdle  int64 // ns after last use
}

// DefaultLimits are the limits that hold unless a user says otherwise.
func DefaultLimits() Limits {
	return Limits{
		Domains: 10_000, OpenPerParty: 64, EndedKept: 100_000, Sessions: 200_000, Conns: 200_000,
		RequestIdle: 15 * minute, SessionIdle: 24 * 60 * minute,
	}
}

// LimitNames lists the names that Set takes.
func LimitNames() []string {
	return []string{"domains", "open-requests", "ended-requests", "sessions", "connections", "request-idle", "session-idle"}
}

// Set gives a limit a value: a number, or a duration such as 15m for the idle ones.
func (l *Limits) Set(name, value string) error {
	counts := map[string]*int{"domains": &l.Domains, "open-requests": &l.OpenPerParty, "ended-requests": &l.EndedKept, "sessions": &l.Sessions, "connections": &l.Conns}
	if p, ok := counts[name]; ok {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit {
			return fmt.Errorf("%q is no number from 1 to %d", value, maxLimit)
		}
		*p = n
		return nil
	}
	idle := map[string]*int64{"request-idle": &l.RequestIdle, "session-idle": &l.SessionIdle}
	p, ok := idle[name]
	if !ok {
		return fmt.Errorf("there is no limit %q; limits: %s", name, strings.Join(LimitNames(), ", "))
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second {
		return fmt.Errorf("%q is no duration of a second or more, such as 15m", value)
	}
	*p = d.Nanoseconds()
	return nil
}

const maxLimit = 10_000_000
