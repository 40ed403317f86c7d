package correlate

import (
	"slices"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// PartyKind is what a party is known by, strongest first (DETECTION §1).
type PartyKind uint8

const (
	BySession PartyKind = iota
	ByPrincipal
	ByClientInfo
	ByAddress
)

// Party is who a message belongs to.
type Party struct {
	Kind   PartyKind
	Seq    int    // order of first appearance in the domain, from 1
	Alias  string // S1, S2, … for sessions, P1, P2, … for others
	ID     string // session id, principal, clientInfo or address
	Domain *Domain

	// Life of a session.
	Born      bool       // the window holds its initialize exchange or creation line
	BornAt    event.Time // of the initialize request
	Issued    bool       // the server named it in an answer to initialize, or announced its endpoint
	Live      bool
	LiveFrom  event.Time
	LiveTo    event.Time // end, once Live is false after it was true
	InitOrder int        // 1, 2, … in order of initialization in the domain; 0 = unknown
	Expired   bool       // a 404 ended it: the server forgot it, by expiry or restart
	Rekeyed   bool       // a second InitializeResult came: capabilities are unknown from then on

	Caps       mcp.Caps
	CapsKnown  bool
	CapsDiffer bool // lines of a log name two sets
	CapsRef    Ref
	Birth      Ref          // the initialize request, creation line or first use
	Views      []int32      // other recordings that told of it
	InitIn     []int32      // other recordings that hold an initialize which made it
	Ready      []event.Time // notifications/initialized and roots/list_changed, the newest maxReady

	// What its requests show about who holds it; each list is bounded.
	Principals []string
	Cookies    []string
	ClientInfo string
	UserAgents []string
	Conns      []*Conn

	Given      IDSet // ids of its requests
	Tokens     IDSet // tokens it ever gave
	Subs       []Subscription
	Subscriber uint64     // its number among Domain.Subscribers, in order; 0 = it is not among them
	Open       []*Request // requests of the party, either direction, that are not released yet
	Requests   int        // how many it sent or got, ever
	Running    int        // its client requests in flight
	Busy       int        // its place in Domain.Busy, from 1; 0 = it is not there
	Streams    int        // its exchanges that are open

	Early []EarlyAnswer // answers of its client to server requests that are not applied yet
	Gone  bool          // evicted: nothing may be concluded from it any more

	Hole       [3]int64 // by event.Dir: last time something of this party was lost; 0 = never
	Lossy      [3]int64 // by event.Dir: last time a body of this party was not recorded
	LastResult int64    // when a call of it was last answered with a result
	LastUse    int64
}

const (
	maxReady = 16
	maxHints = 8
	maxConns = 64
)

// Name returns how a report calls a party without a session, "" for sessions.
func (p *Party) Name() string {
	switch p.Kind {
	case ByPrincipal:
		if strings.HasPrefix(p.ID, "sub:") {
			return "subject " + strings.TrimPrefix(p.ID, "sub:")
		}
		hash := strings.TrimPrefix(p.ID, "key:")
		return "credential " + hash[:min(6, len(hash))] // more would let a weak password be guessed
	case ByClientInfo:
		return "client " + p.ID
	case ByAddress:
		return "address " + p.ID
	}
	return ""
}

// IsSession reports whether the party is a session.
func (p *Party) IsSession() bool { return p != nil && p.Kind == BySession }

// LiveAt says whether the session was live at t.
func (p *Party) LiveAt(t event.Time) Certainty {
	if !p.Live && p.LiveTo == (event.Time{}) {
		return No
	}
	began := Before(p.LiveFrom, t)
	if began == No || p.Live {
		return began
	}
	return min(began, Before(t, p.LiveTo))
}

// Complete reports whether nothing that the party sent or received in this
// direction since a time was lost (DETECTION §1, complete).
func (p *Party) Complete(dir event.Dir, since int64) bool {
	if p.Gone {
		return false
	}
	hole := max(p.Hole[dir], p.Lossy[dir], p.Domain.Hole[dir])
	for _, c := range p.Conns {
		hole = max(hole, c.Hole[dir])
	}
	return hole == 0 || hole < since
}

// Whole reports whether an argument from absence about what the party sent may
// be made: born in view, and nothing lost since.
func (p *Party) Whole() bool {
	return p.WhyNotWhole() == ""
}

// WhyNotWhole names what stands against an argument from absence.
func (p *Party) WhyNotWhole() string {
	switch {
	case !p.Born, p.InitOrder == 0: // of HTTP+SSE, the announcement alone is not enough
		return "its initialize is not in view, so what it asked for before is unknown"
	case !p.Complete(event.ToServer, p.BornAt.From):
		return "part of what it sent is missing from the input"
	}
	return ""
}

// Subscription is one resources/subscribe of a session.
type Subscription struct {
	URI      URI
	From     event.Time // its request
	Accepted bool
	Refused  bool
	Ended    event.Time // answer to the unsubscribe; zero = in force
	Ref      Ref
	Request  uint64 // Seq of the subscribing request
}

func addHint(list []string, v string) []string {
	if v == "" || slices.Contains(list, v) || len(list) >= maxHints {
		return list
	}
	return append(list, v)
}

// Conn is a client connection; it is no party, only a hint.
type Conn struct {
	ID       string
	Sessions []*Party // sessions whose requests it carried, in order, bounded
	Mixed    bool     // it carried more sessions than the list holds
	Hole     [3]int64
	Unpaired bool // how many messages a hole swallowed is not known: answers and requests cannot be paired from then on
	LastUse  int64
}

// Carried reports whether a request of the session came on the connection.
func (c *Conn) Carried(p *Party) bool {
	return c != nil && slices.Contains(c.Sessions, p)
}

func (c *Conn) carry(p *Party) {
	if slices.Contains(c.Sessions, p) {
		return
	}
	if len(c.Sessions) >= maxHints {
		c.Mixed = true
		return
	}
	c.Sessions = append(c.Sessions, p)
}

// EarlyAnswer is a client's answer that came before its request was applied.
type EarlyAnswer struct {
	ID   mcp.ID
	Kind mcp.Kind
	Code int
	Ref  Ref
}

const maxEarly = 64
