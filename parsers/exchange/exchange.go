// Package exchange turns one HTTP exchange into events: headers, body decoding,
// SSE framing, JSON-RPC batches. HAR, captures and wire JSONL all come through
// here, so that a fact about MCP over HTTP is read in one place.
package exchange

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Header is one header field; names compare without case.
type Header struct {
	Name, Value string

	known field // what Name is, where somebody has asked before
}

// Request is the head of an HTTP request.
type Request struct {
	Time   event.Time
	At     event.Address
	Server string // event.Domain.Server
	Hosted bool   // Server is an address, where several servers may stand: it is told if target and Host say so
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

// Exchange is one request with its response while it is read. It must not be
// used after Close.
type Exchange struct {
	b        *Builder
	id       event.ExchangeID
	domain   *event.Domain // one value for exchanges that follow one another
	asked    event.Session
	answered event.Session
	sender   event.Sender
	stream   event.StreamKind
	method   string
	revision string
	resume   string
	era      mcp.Era // of the request, as far as its head and body show it
	status   int
	loss     event.Loss // what is lost of this exchange so far
	lastID   string     // last SSE id on the stream

	coding  string // content-encoding of the request
	foreign bool   // its body is no message
	body    response
	closed  bool
}

// Open starts an exchange and queues Opened.
func (b *Builder) Open(r Request) *Exchange {
	x := new(Exchange)
	b.OpenIn(x, r)
	return x
}

// OpenIn is Open with x as the room for the exchange: an empty one, or one that is closed.
func (b *Builder) OpenIn(x *Exchange, r Request) {
	b.exchanges++
	path, query := splitTarget(r.Target)
	if r.Method == "CONNECT" { // its target is an authority (RFC 9112 §3.2.3)
		path, query = "/", ""
	}
	if r.Hosted {
		b.noteHost(&r)
	}
	h := readRequestHeader(b, r)
	*x = Exchange{
		b: b, id: event.ExchangeID{Source: b.src, N: b.exchanges},
		domain:   b.domainOf(b.names.text(r.Server), b.names.text(path)),
		sender:   event.Sender{Conn: b.names.text(r.Conn), Peer: b.names.text(r.Peer), Principal: h.principal, Cookie: h.cookie, UserAgent: h.userAgent},
		method:   b.names.text(cutText(r.Method, 32)),
		revision: h.revision, resume: h.resume, coding: h.coding, foreign: h.foreign, loss: r.Loss | h.loss,
	}
	x.asked = b.askedSession(h, path, query, x.loss, r.Server)
	switch x.method {
	case "POST":
		x.stream = event.StreamPost
	case "GET":
		x.stream = event.StreamGet
	}
	x.era = headEra(x.revision, x.asked)
	x.body.x = x
	e := x.push(event.Opened, r.Time, r.At)
	e.RPC.Era = x.era
	e.Excerpt = b.openedExcerpt(x.method, path, query, h.sessionLine)
}

// domainOf returns the domain of a server and path.
func (b *Builder) domainOf(server, path string) *event.Domain {
	if b.domain == nil || b.domain.Path != path || b.domain.Server != server {
		b.domain = &event.Domain{Server: server, Path: path}
	}
	return b.domain
}

// RequestBody gives the whole request body (content-encoding still applied). Call it once, after Open.
func (x *Exchange) RequestBody(t event.Time, at event.Address, body []byte, loss event.Loss) {
	x.loss |= loss
	if len(body) == 0 {
		return
	}
	if x.coding != "" {
		plain, err := Decode(x.coding, body)
		if err != nil {
			x.b.stats.Flaw(at, "cannot decode the request body: "+err.Error()+"; its messages are not seen")
			x.loss |= event.LossRequestBody
			return
		}
		body = plain
	}
	x.document(body, document{time: t, at: at, dir: event.ToServer, strict: loss&event.LossRequestBody == 0 && !x.foreign})
}

// Head gives the response head and queues Head.
func (x *Exchange) Head(r Response) {
	x.loss |= r.Loss
	x.status = r.Status
	h := readResponseHeader(x.b, r)
	x.loss |= h.loss
	x.answered = h.session
	if h.session.State == event.Absent && x.loss&event.LossHeaders != 0 {
		x.answered.State = event.Unknown
	}
	x.body.begin(h)
	if x.era == mcp.EraUnknown && x.answered.State == event.Present {
		x.era = mcp.EraLegacy
	}
	e := x.push(event.Head, r.Time, r.At)
	e.RPC.Era = x.era
	e.Excerpt = x.b.headExcerpt(r.Status, h.sessionLine)
}

// Data gives a piece of the response body after transfer decoding, in order;
// content-encoding (gzip, deflate, br, zstd) is undone here. Pieces may split
// anywhere. An SSE message is queued as soon as its last byte came.
func (x *Exchange) Data(t event.Time, at event.Address, piece []byte) {
	if len(piece) > 0 && !x.closed {
		x.body.data(t, at, piece)
	}
}

// Text gives a piece of the response body as Data does, but with its
// content-encoding already undone by the recorder.
func (x *Exchange) Text(t event.Time, at event.Address, piece []byte) {
	if len(piece) == 0 || x.closed {
		return
	}
	x.body.given = true
	x.body.take(t, at)
	x.body.plain(piece)
	x.body.rest()
}

// SSE gives one event of the response stream, or one JSON body, that the input
// has split off already. data is not kept.
func (x *Exchange) SSE(t event.Time, at event.Address, id, name string, data []byte) {
	x.body.given = true
	x.body.bytes += int64(len(data))
	x.body.take(t, at)
	defer x.body.rest()
	if id != "" {
		x.lastID = x.b.names.text(cutText(id, maxName))
	}
	x.dispatch(x.b.names.text(cutText(id, maxName)), name, data)
}

// Lose says that something of the exchange is not known, where no event tells of it.
func (x *Exchange) Lose(loss event.Loss) { x.loss |= loss }

// Gap says that bytes of the exchange are missing in one direction.
func (x *Exchange) Gap(t event.Time, at event.Address, dir event.Dir, why string) {
	switch dir {
	case event.ToServer:
		x.loss |= event.LossRequestBody
	case event.ToClient:
		x.loss |= event.LossResponseBody
		x.body.gap()
	default:
		x.loss |= event.LossRequestBody | event.LossResponseBody
		x.body.gap()
	}
	x.b.stats.Gaps++
	e := x.push(event.Gap, t, at)
	e.Dir = dir
	e.Note = why
}

// Close ends the exchange, reads a body that was still buffered, and queues Closed.
func (x *Exchange) Close(t event.Time, at event.Address, by event.By, loss event.Loss) {
	if x.closed {
		return
	}
	x.loss |= loss
	x.body.end()
	x.closed = true
	e := x.push(event.Closed, t, at)
	e.RPC.Era = x.era
	e.By = by
	e.EventID = x.lastID
	e.Bytes = x.body.bytes
	if x.body.part || !x.body.given && x.loss&event.LossResponseBody != 0 {
		e.Bytes = -1
	}
}

// push queues an event with what is known of the exchange so far.
func (x *Exchange) push(kind event.Kind, t event.Time, at event.Address) *event.Event {
	e := x.b.push(t)
	e.Kind, e.Time, e.At = kind, t, at
	e.Domain, e.Asked, e.Answered, e.Sender = *x.domain, x.asked, x.answered, x.sender
	e.Exchange, e.Stream, e.Loss = x.id, x.stream, x.loss
	e.HTTPMethod, e.Status, e.Revision, e.Resume = x.method, x.status, x.revision, x.resume
	return e
}

// headEra reads the era from a request head. A session id is of the handshake
// revisions; the header of the revision says it outright (2025-06-18 and
// 2026-07-28 basic/transports, "Protocol Version Header").
func headEra(revision string, asked event.Session) mcp.Era {
	if era := mcp.RevisionEra(revision); era != mcp.EraUnknown {
		return era
	}
	if asked.State == event.Present {
		return mcp.EraLegacy
	}
	return mcp.EraUnknown
}
