package correlate

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Exchange is one HTTP request with its response and the stream of messages on it.
type Exchange struct {
	ID       event.ExchangeID
	Domain   *Domain
	Party    *Party // nil = unknown
	Method   string // GET, POST, DELETE
	Stream   event.StreamKind
	Era      mcp.Era
	Asked    event.Session
	Answered event.Session
	Sender   event.Sender
	Conn     *Conn
	Before   []*Party // sessions that its connection carried before it

	Opened    Ref
	Headed    Ref
	Status    int
	Done      bool
	By        event.By
	Loss      event.Loss
	Whole     bool // it closed before its connection got a hole that unpairs
	Resume    string
	Resumable bool // an SSE event id was seen: the client may resume it elsewhere
	Interval  bool // its messages have intervals for times
	NewID     bool // its response named a session that no exchange named before

	Requests []*Request // client requests in its body
	Initial  *Request   // the initialize among them
	Results  int        // results to its own requests
	Errors   int        // errors to its own requests, and HTTP refusals
	Bound    bool       // fallback: the answer named another session
}

// Resumed reports whether the stream replays or goes on with an earlier one.
func (x *Exchange) Resumed() bool { return x.Resume != "" }

// Paired reports whether it is known that the answers on this exchange belong to its requests.
func (x *Exchange) Paired() bool {
	return x.Loss&(event.LossPairing|event.LossRequest) == 0 && !(x.Conn != nil && x.Conn.Unpaired && !x.Whole)
}
