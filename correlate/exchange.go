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
	Asked    event.Session
	Answered event.Session
	Sender   *Sender // nil = it shows nothing about its sender
	Conn     *Conn

	Opened Ref  // its Excerpt only until the response head shows that no evidence needs it
	Headed *Ref // the response head, where it names another session than the request; else nil
	Status int32
	Before uint8 // how many of the sessions of Conn it had carried before
	Stream event.StreamKind
	Era    mcp.Era
	By     event.By
	Loss   event.Loss

	Done      bool
	Whole     bool // it closed before its connection got a hole that unpairs
	Resumed   bool // the stream replays or goes on with an earlier one
	Resumable bool // an SSE event id was seen: the client may resume it elsewhere
	Gapped    bool // a gap of the recording is in it
	Interval  bool // its messages have intervals for times
	NewID     bool // its response named a session that no exchange named before
	Bound     bool // fallback: the answer named another session

	Requests []*Request // client requests in its body
	Initial  *Request   // the initialize among them
}

// Paired reports whether it is known that the answers on this exchange belong to its requests.
func (x *Exchange) Paired() bool {
	return x.Loss&(event.LossPairing|event.LossRequest) == 0 && !(x.Conn != nil && x.Conn.Unpaired && !x.Whole)
}

// CarriedBefore returns the sessions that its connection carried before it, in order.
func (x *Exchange) CarriedBefore() []*Party {
	if x.Conn == nil {
		return nil
	}
	return x.Conn.Sessions[:x.Before] // the list only grows
}

// From returns what the exchange shows about its sender.
func (x *Exchange) From() Sender {
	if x.Sender == nil {
		return Sender{}
	}
	return *x.Sender
}
