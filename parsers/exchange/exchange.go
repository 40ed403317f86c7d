// Package exchange turns one HTTP exchange into events: headers, body decoding,
// SSE framing, JSON-RPC batches. HAR, captures and wire JSONL all come through
// here, so that a fact about MCP over HTTP is read in one place.
package exchange

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// Builder makes events of the exchanges of one source and queues them in the
// order of the calls.
type Builder struct{}

// New returns a Builder whose events and problems count in stats.
func New(src int32, stats *source.Stats) *Builder { panic("TODO") }

// Pop returns the next queued event, valid until the following call to Pop, and nil if there is none.
func (b *Builder) Pop() *event.Event { return nil }

// Header is one header field; names compare without case.
type Header struct{ Name, Value string }

// Request is the head of an HTTP request.
type Request struct {
	Time   event.Time
	At     event.Address
	Server string // event.Domain.Server
	Method string
	Target string // path with query, or an absolute URL
	Header []Header
	Loss   event.Loss // LossHeaders if the head is cut, so that an absent header is unknown
	Conn   string
	Peer   string
}

// Response is the head of an HTTP response.
type Response struct {
	Time   event.Time
	At     event.Address
	Status int
	Header []Header
	Loss   event.Loss
}

// Exchange is one request with its response while it is read.
type Exchange struct{}

// Open starts an exchange and queues Opened.
func (b *Builder) Open(r Request) *Exchange { panic("TODO") }

// RequestBody gives the whole request body (content-encoding still applied). Call it once, after Open.
func (x *Exchange) RequestBody(t event.Time, at event.Address, body []byte, loss event.Loss) {}

// Head gives the response head and queues Head.
func (x *Exchange) Head(r Response) {}

// Data gives a piece of the response body after transfer decoding, in order;
// content-encoding (gzip, deflate, br, zstd) is undone here. Pieces may split
// anywhere. An SSE message is queued as soon as its last byte came.
func (x *Exchange) Data(t event.Time, at event.Address, piece []byte) {}

// SSE gives one event of the response stream that the input has split already.
func (x *Exchange) SSE(t event.Time, at event.Address, id, name, data string) {}

// Gap says that bytes of the exchange are missing in one direction.
func (x *Exchange) Gap(t event.Time, at event.Address, dir event.Dir, why string) {}

// Close ends the exchange, reads a body that was still buffered, and queues Closed.
func (x *Exchange) Close(t event.Time, at event.Address, by event.By, loss event.Loss) {}
