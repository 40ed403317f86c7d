package correlate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Domain is one MCP endpoint of one server process with everything known about
// its parties. Two domains are never correlated.
type Domain struct {
	ID     string
	Key    event.Domain
	Of     *Domain // the same server as all recordings show it, where this is what one shows; it names the parties
	Seq    int
	Source int32 // of its first event
	View   int32 // of its first event
	Views  bool  // several recordings tell about it, each by its own clock
	Joined bool  // several recordings show its traffic, and what each shows alone is judged beside it
	Lags   []Lag
	Log    bool // known from logs only
	MCP    bool // something of it is MCP
	Inline bool // a POST was answered on its own exchange: no transport where all answers come on another one
	First  int64
	Last   int64
	Now    event.Time // of the event being applied
	Swept  int64      // event time of the last look for idle state

	Parties   []*Party // in order of appearance, without evicted ones
	Forgotten *Party   // stands for those in the lists of connections; nil = none was evicted
	Sessions  map[string]*Party
	Others    map[Other]*Party // those without a session
	Parked    map[Other]uint32 // number of those that are forgotten since nothing of them is left
	Conns     map[string]*Conn
	Exchanges map[event.ExchangeID]*Exchange // not closed yet
	newest    *Exchange                      `snapshot:"-"` // of them, the one that was looked up last
	Index     Index
	Seen      MarkSet
	Tokens    IDSet      // tokens that any request gave
	Ended     []*Request // ended requests waiting for their release, in order of their end, from EndedHead on
	EndedHead int
	Abandoned []*Request // requests that ended without an answer, waiting for their release
	Starts    starts     // of exchanges whose messages have intervals
	Intervals int        // open exchanges whose messages have intervals

	Requests    uint64 // number of requests so far
	Xchanges    uint64
	Inits       int               // initialize requests that were accepted, in order
	Declared    mcp.Caps          // by every client whose capabilities are known
	Lively      []*Party          // sessions that are live or ended a moment ago, in order of becoming live
	over        over              `snapshot:"-"` // the first of them
	Subscribers []*Party          // sessions that ever subscribed to something, in order
	Covering    SubIndex          // the same by what they subscribed to
	SubsMade    uint32            // sessions that ever were among Subscribers
	Texts       map[string]string // that many sessions have alike, the latest maxTexts
	Senders     map[Sender]*Shown // those that share one value, the latest maxSenders
	Busy        []*Party          // parties with client requests in flight or exchanges open (Party.Busy)
	LiveCount   int

	SessionsMade  int // sessions ever seen
	OthersMade    int
	Issued        int  // answers to initialize that named a session
	Unissued      int  // answers to initialize that named none
	StatelessHint bool // the server says that it keeps no sessions, or served a session-bound request while no session was live
	CreationLines int  // log lines that name a created session
	Legacy        bool
	Modern        bool

	Nameless   int  // client requests of unknown senders in flight
	Untimed    bool // there were exchanges without times in an archive that keeps no order: nothing is known to overlap them
	untimedNow bool `snapshot:"-"` // the event being applied is of one
	Overlap    bool // two parties were live, or had requests in flight, at one moment
	OverlapWhy string
	Hole       [3]int64 // loss that may concern any party
	Mixing     bool     // a connection carried requests of more than one session
	Gaps       int
	LossFlags  event.Loss // of all its exchanges, together
	BodiesLost int        // exchanges whose response or request body was not recorded
	Losses     Losses
	Units      uint8 // set of 1 << event.Unit: what records its exchanges stand in

	StreamsUnseen int // GETs that may have been answered out of view, with all that came on their streams
	AnswersUnseen int // the same of other requests
	Split         string
	// Split is the path at which requests came before a stream of HTTP+SSE announced it:
	// they and their answers stand in two domains; "" = there is none.

	Dark    int  // packets of connections to its server whose content is closed to us
	Paired  bool // exchanges were rebuilt by id: crossing cannot show
	Evicted int
	SSE     bool // the HTTP+SSE transport was seen

	Cookies []string // affinity cookies seen, bounded

	Tellings []Telling // what lines of logs told a moment ago, the latest maxTellings
}

// DomainID is how a report names a domain.
func DomainID(k event.Domain) string {
	id := k.Server + k.Path
	if k.Epoch != "" {
		id += "#" + k.Epoch
	}
	return id
}

func newDomain(k event.Domain, seq int) *Domain {
	return &Domain{
		ID: DomainID(k), Key: k, Seq: seq, Declared: ^mcp.Caps(0),
		Sessions: map[string]*Party{}, Others: map[Other]*Party{}, Conns: map[string]*Conn{}, Exchanges: map[event.ExchangeID]*Exchange{},
	}
}

// Other is what a party without a session is known by.
type Other struct {
	Kind PartyKind
	ID   string
}

// exchange returns an exchange that is not closed yet, nil if there is none. Its
// events mostly follow one another.
func (d *Domain) exchange(id event.ExchangeID) *Exchange {
	if x := d.newest; x != nil && x.ID == id {
		return x
	}
	x := d.Exchanges[id]
	if x != nil {
		d.newest = x
	}
	return x
}

// sessionOf returns the party of a session id and makes it if it is new.
func (d *Domain) sessionOf(id string, ev *event.Event) *Party {
	if p := d.Sessions[id]; p != nil {
		return p
	}
	d.SessionsMade++
	p := &Party{Kind: BySession, ID: id, Alias: d.alias("S", d.SessionsMade), Domain: d, Birth: newRef(ev)}
	if d.Of != nil && d.Of.Sessions[id] != nil {
		p.Alias = d.Of.Sessions[id].Alias
	}
	d.Sessions[id] = p
	d.addParty(p)
	return p
}

// alias numbers a party. What one recording shows alone is named as all together show
// it, or where they do not, by a number that none of them has.
func (d *Domain) alias(letter string, n int) string {
	if d.Of == nil {
		return letter + strconv.Itoa(n)
	}
	return fmt.Sprintf("%s%d.%d", letter, d.Key.View, n)
}

// told returns a reference of a party: its birth, where that is the record, since it is kept already.
func (p *Party) told(at Ref) *Ref {
	if *p.Birth == at {
		return p.Birth
	}
	return &at
}

// declare keeps what a client declared that it can do.
func (d *Domain) declare(p *Party, caps mcp.Caps, at Ref) {
	p.Caps, p.CapsKnown, p.CapsRef = caps, true, p.told(at)
	d.Declared &= caps
}

func (d *Domain) otherOf(kind PartyKind, id string, ev *event.Event) *Party {
	key := Other{kind, id}
	if p := d.Others[key]; p != nil {
		return p
	}
	n := int(d.Parked[key])
	if n != 0 {
		delete(d.Parked, key)
	} else {
		d.OthersMade++
		n = d.OthersMade
	}
	p := &Party{Kind: kind, ID: id, Alias: d.alias("P", n), Number: uint32(n), Domain: d, Birth: newRef(ev)}
	if d.Of != nil && d.Of.Others[key] != nil {
		p.Alias = d.Of.Others[key].Alias
	}
	d.Others[key] = p
	d.addParty(p)
	return p
}

func (d *Domain) addParty(p *Party) {
	d.Parties = append(d.Parties, p)
}

func (d *Domain) connOf(id string) *Conn {
	if id == "" {
		return nil
	}
	c := d.Conns[id]
	if c == nil {
		c = &Conn{ID: id}
		d.Conns[id] = c
	}
	return c
}

// senderParty names the party of a request that carries no session
// (DETECTION §1: principal, then clientInfo, then the address).
func (d *Domain) senderParty(s event.Sender, ev *event.Event) *Party {
	switch {
	case s.Principal != "":
		return d.otherOf(ByPrincipal, s.Principal, ev)
	case s.ClientInfo != "":
		return d.otherOf(ByClientInfo, s.ClientInfo, ev)
	case s.Peer != "":
		return d.otherOf(ByAddress, s.Peer, ev)
	}
	return nil
}

// Distinct reports whether two parties may be two different clients at all. An
// address, principal or clientInfo is no other party than a session that came from it.
func Distinct(a, b *Party) bool {
	if a == nil || b == nil || a == b {
		return false
	}
	return !a.is(b) && !b.is(a)
}

// is reports whether weak, a party without a session, was seen at p.
func (p *Party) is(weak *Party) bool {
	if p.Kind == weak.Kind {
		return false
	}
	switch weak.Kind {
	case ByAddress:
		return p.seenAt(weak.ID)
	case ByPrincipal:
		return slices.Contains(p.Known().Principals, weak.ID)
	case ByClientInfo:
		return p.ClientInfo == weak.ID
	}
	return false
}

func (p *Party) seenAt(address string) bool {
	for _, c := range p.Conns {
		if host(c.ID) == address {
			return true
		}
	}
	return false
}

// host returns the address part of "ip:port" or "[ip]:port#2".
func host(conn string) string {
	if i := strings.IndexByte(conn, '#'); i >= 0 {
		conn = conn[:i]
	}
	if i := strings.LastIndexByte(conn, ':'); i >= 0 {
		conn = conn[:i]
	}
	return strings.Trim(conn, "[]")
}

func (d *Domain) stamp(t event.Time) {
	d.Now = t
	if t.To == 0 {
		return
	}
	if d.First == 0 || t.From < d.First {
		d.First = t.From
	}
	d.Last = max(d.Last, t.To)
}
