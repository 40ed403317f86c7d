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
	Alias  string // S1, S2, … for sessions, P1, P2, … for others
	ID     string // session id, principal, clientInfo or address
	Domain *Domain

	Kind PartyKind

	// Life of a session.
	Born      bool       // the window holds its initialize exchange or creation line
	Issued    bool       // the server named it in an answer to initialize, or announced its endpoint
	Live      bool       // now
	WasLive   bool       // or is
	Expired   bool       // a 404 ended it: the server forgot it, by expiry or restart
	Rekeyed   bool       // a second InitializeResult came: capabilities are unknown from then on
	Gone      bool       // evicted: nothing may be concluded from it any more
	InitOrder int32      // 1, 2, … in order of initialization in the domain; 0 = unknown
	BornAt    event.Time // of the initialize request
	LiveFrom  event.Time
	LiveTo    event.Time // end, once Live is false after it was true

	Birth      *Ref // the initialize request, creation line or first use; never nil
	CapsRef    *Ref // where Caps are told; nil = nowhere
	Caps       mcp.Caps
	CapsKnown  bool
	CapsDiffer bool         // lines of a log name two sets
	Ready      []event.Time // notifications/initialized and roots/list_changed, the newest maxReady

	// What its requests show about who holds it.
	Hints      *Hints // nil = nothing; what it points to never changes
	ClientInfo string
	Conns      []*Conn // the newest maxConns

	Given      IDSet // ids of its requests
	Tokens     IDSet // tokens it ever gave
	Subs       []Subscription
	Subscriber uint32     // its number among Domain.Subscribers, in order; 0 = it is not among them
	Open       []*Request // requests of the party, either direction, that are not released yet
	Requests   int32      // how many it sent or got, ever
	Running    int32      // its client requests in flight
	Number     uint32     // in its alias, of a party without a session
	Busy       int32      // its place in Domain.Busy, from 1; 0 = it is not there
	Streams    int32      // its exchanges that are open
	Exchanges  int32      // that ever were its own

	Rare *Rare // nil = nothing of that

	Holes      *Holes // of what it sent and received
	LastResult int64  // when a call of it was last answered with a result
	LastUse    int64
}

// Rare is what few parties have.
type Rare struct {
	Views  []int32       // other recordings that told of it
	InitIn []int32       // other recordings that hold an initialize which made it
	Early  []EarlyAnswer // answers of its client to server requests that are not applied yet
	Unseen int32         // its GETs that may have been answered out of view
}

// rare returns what is rare of a party, to be changed.
func (p *Party) rare() *Rare {
	if p.Rare == nil {
		p.Rare = &Rare{}
	}
	return p.Rare
}

// Unseen reports whether there may be streams of the party that are not in view.
func (p *Party) Unseen() bool { return p.Rare != nil && p.Rare.Unseen > 0 }

// Holes is when something was lost last, by event.Dir; 0 = never. A nil one has no hole.
type Holes [3]int64

// At returns when something was lost last in a direction, 0 if nothing was.
func (h *Holes) At(dir event.Dir) int64 {
	if h == nil {
		return 0
	}
	return h[dir]
}

// lose returns h with a hole at a time.
func (h *Holes) lose(dir event.Dir, at int64) *Holes {
	if h == nil {
		h = &Holes{}
	}
	h[dir] = max(h[dir], at)
	return h
}

// Lose notes that something which the party sent or received was lost at a time.
func (p *Party) Lose(dir event.Dir, at int64) { p.Holes = p.Holes.lose(dir, at) }

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
	hole := max(p.Holes.At(dir), p.Domain.Hole[dir])
	for _, c := range p.Conns {
		hole = max(hole, c.Holes.At(dir))
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
	Ref      Ref        // its request, from whose time on it counts
	Ended    event.Time // answer to the unsubscribe; zero = in force
	Request  uint64     // Seq of the subscribing request
	Accepted bool
	Refused  bool
}

// Conn is a client connection; it is no party, only a hint.
type Conn struct {
	ID       string
	Sessions []*Party // sessions whose requests it carried, in order, bounded; Domain.Forgotten where one was evicted
	Sender   *Sender  // who sent its last request
	Holes    *Holes
	LastUse  int64
	Gapped   bool // a gap of the recording is on it
	Mixed    bool // it carried more sessions than the list holds
	Unpaired bool // how many messages a hole swallowed is not known: answers and requests cannot be paired from then on
}

// lose notes that something on the connection was lost at a time.
func (c *Conn) lose(dir event.Dir, at int64) { c.Holes = c.Holes.lose(dir, at) }

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
