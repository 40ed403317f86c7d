package pcap

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// This file pairs requests with responses. HTTP/1.1 answers in the order of the
// requests (RFC 9112 §9.3.2), so the pairing is certain until a hole may hide a
// whole message; from then on exchanges carry LossPairing.

// pending is one exchange that is not over.
type pending struct {
	x      exchange.Exchange
	method string
	target string // of CONNECT
	start  uint32 // sequence number of the request's first byte
	stream uint32 // HTTP/2
	asked  bool   // the request is complete

	answered   bool // the response head was seen
	answerDone bool
	end        spot // of the response

	body    []byte
	held    int // bytes of body as the assembler counts them
	bodyCut bool
	loss    event.Loss

	headless bool // HTTP/2: the response began, but its status is not known
	holed    bool // HTTP/2: a hole was told since the last piece of the response
	doubt    bool // HTTP/2: its end may have been in a hole
}

// maxPipelined bounds the requests that wait for answers on one connection.
const maxPipelined = 1024

// requestHead opens an exchange. It reports whether head is a request at all.
func (c *conn) requestHead(i int, head []byte, whole bool, at spot, loss event.Loss) bool {
	first, fields, f := splitHead(c.a.out.b, head, whole, c.a.fields)
	c.a.fields = fields
	method, target, ok := requestLine(first)
	if !ok {
		return false
	}
	if c.kind == kindUnknown {
		c.becomeHTTP(i, at)
	}
	m := &c.half[i].msg
	m.found()
	c.skipAnswers(at)
	p := c.begin(exchange.Request{Method: method, Target: target, Header: fields, Loss: loss}, at)
	p.start = m.startSeq
	if method == "CONNECT" {
		p.target = target[:min(len(target), 256)]
	}
	c.open = append(c.open, p)
	c.req = p
	switch {
	case !whole:
	case f.bad:
		c.flaw(at, "a request with contradictory lengths; its body is not read")
		c.lose(i, at, 0, "the end of a request is not known")
	case f.chunked:
		m.state = inChunkSize
	case f.length > 0:
		m.state, m.left = inLength, f.length
	default:
		c.requestDone(at, 0)
	}
	return true
}

// begin opens an exchange of this connection.
func (c *conn) begin(r exchange.Request, at spot) *pending {
	r.Time, r.At = at.time(), at.at
	r.Server, r.Conn, r.Peer = c.server, c.name, c.peer
	r.Hosted = c.through == "" && r.Method != "CONNECT" && r.Loss&event.LossRequest == 0
	r.Loss |= c.firstLoss | c.pairing()
	c.firstLoss = 0
	p := c.a.pending()
	c.a.out.openers = append(c.a.out.openers, c)
	c.a.out.b.OpenIn(&p.x, r)
	p.method = r.Method
	c.tellEarly(at)
	return p
}

func (c *conn) pairing() event.Loss {
	if c.unpaired {
		return event.LossPairing
	}
	return 0
}

// skipAnswers is called when a request begins while the answers to earlier ones
// are not readable. Clients in use do not send a request on a connection before
// they have the answer to the last one, so those answers are in the hole.
func (c *conn) skipAnswers(at spot) {
	server := &c.half[1-c.client].msg
	if len(c.open) >= maxPipelined {
		c.unpaired = true
		c.close(c.open[0], at, event.ByUnknown, event.LossResponseBody)
	}
	if !server.lost || len(server.buf) > 0 {
		return
	}
	for len(c.open) > 0 {
		p := c.open[0]
		loss := event.LossResponseBody
		if !p.answered {
			loss |= event.LossHeaders
			c.unpaired = true
		}
		c.close(p, at, event.ByServer, loss)
	}
	server.rechunk = false
}

// requestBody takes a piece of the body of the current request; left is how much
// is still to come after it, -1 if that is not known.
func (c *conn) requestBody(data []byte, at spot, left int64) {
	p := c.req
	if p == nil || p.bodyCut {
		return
	}
	if left == 0 && len(p.body) == 0 {
		p.body = data // requestDone follows at once and keeps nothing
		c.requestDone(at, 0)
		return
	}
	c.addBody(p, data, at)
}

// requestDone ends the current request.
func (c *conn) requestDone(at spot, loss event.Loss) {
	p := c.req
	if p == nil {
		return
	}
	c.req = nil
	c.giveBody(p, at, loss)
	c.asked = at.ns
	if p.answerDone {
		c.close(p, p.end, event.ByServer, 0)
	}
}

func (c *conn) giveBody(p *pending, at spot, loss event.Loss) {
	p.asked = true
	loss |= p.loss & (event.LossRequestBody | event.LossSnap)
	if len(p.body) > 0 || loss != 0 {
		p.x.RequestBody(at.time(), at.at, p.body, loss)
	}
	c.a.texts -= p.held
	p.body, p.held = nil, 0
}

// responseHead gives a response to the exchange that it answers. It reports
// whether head is a response at all.
func (c *conn) responseHead(i int, head []byte, whole bool, at spot, loss event.Loss) bool {
	first, fields, f := splitHead(c.a.out.b, head, whole, c.a.fields)
	c.a.fields = fields
	status, ok := statusLine(first)
	if !ok {
		return false
	}
	if c.kind == kindUnknown {
		c.becomeHTTP(1-i, at)
	}
	m := &c.half[i].msg
	m.found()
	if status < 200 && status != 101 {
		return true // 100 Continue, 103 Early Hints: the response comes later
	}
	p := c.answer(m, at)
	if status == 101 && whole && isH2C(f.upgrade) {
		c.upgradeH2(p, at)
		return true
	}
	p.answered = true
	c.resp = p
	p.x.Head(exchange.Response{Time: at.time(), At: at.at, Status: status, Header: fields, Loss: loss | c.pairing()})
	if !whole {
		return true
	}
	switch {
	case status == 101:
		c.upgraded(p, i, at)
	case p.method == "CONNECT" && status < 300:
		c.tunneled(p, i, at)
	case p.method == "HEAD" || status == 204 || status == 304:
		c.responseDone(at)
	case f.chunked:
		m.state = inChunkSize
	case f.coded || f.bad || f.length < 0:
		if f.bad {
			c.flaw(at, "a response with contradictory lengths; it is read up to the end of the connection")
		}
		m.state = inClose
	case f.length == 0:
		c.responseDone(at)
	default:
		m.state, m.left = inLength, f.length
	}
	return true
}

// answer returns the exchange that a response belongs to.
func (c *conn) answer(m *message, at spot) *pending {
	for n := 0; n < len(c.open); {
		p := c.open[n]
		switch {
		case p.answerDone: // its request is still coming
			n++
			continue
		case p.answered: // its end was in a hole
			c.close(p, at, event.ByServer, event.LossResponseBody)
			continue
		case m.startAcks && !before(p.start, m.startAck):
			// The server had not received this request yet: the answer is to another one.
		default:
			return p
		}
		break
	}
	p := c.begin(exchange.Request{Target: c.likelyPath(), Loss: event.LossRequest | event.LossRequestBody | event.LossHeaders}, at)
	p.asked = true
	c.open = slices.Insert(c.open, 0, p)
	return p
}

// responseBody takes a piece of the body of the current response.
func (c *conn) responseBody(data []byte, at spot) {
	if c.resp != nil && len(data) > 0 {
		c.resp.x.Data(at.time(), at.at, data)
	}
}

// responseDone ends the current response.
func (c *conn) responseDone(at spot) {
	p := c.resp
	if p == nil {
		return
	}
	c.resp = nil
	p.answerDone, p.end = true, at
	if p.asked {
		c.close(p, at, event.ByServer, 0)
	}
}

// upgraded ends the reading of a connection that left HTTP/1.1 (RFC 9110 §7.8).
func (c *conn) upgraded(p *pending, i int, at spot) {
	c.close(p, at, event.ByServer, 0)
	c.a.out.drain() // so that its domain is known
	c.socket = true
	c.unreadable("WebSocket", i, nil, at)
}

// tunneled begins a connection anew behind the CONNECT that p is (RFC 9110 §9.3.6): what
// comes now is between the client and another server.
func (c *conn) tunneled(p *pending, i int, at spot) {
	through := p.target
	c.close(p, at, event.ByServer, 0)
	c.through = through
	if c.tls != nil { // TLS in TLS is not opened
		c.unreadable("TLS in TLS", i, nil, at)
		return
	}
	c.closeAll(at, event.ByUnknown, event.LossResponseBody)
	c.a.out.drain() // so that nothing sets them again
	c.exchange, c.domain, c.domains = event.ExchangeID{}, event.Domain{}, nil
	for k := range c.half {
		m := &c.half[k].msg
		c.dropText(m)
		m.state = inStart
	}
	c.kind = kindUnknown
}

// close ends an exchange and forgets it.
func (c *conn) close(p *pending, at spot, by event.By, loss event.Loss) {
	if !p.asked {
		c.giveBody(p, at, event.LossRequestBody)
	}
	loss |= p.loss | c.pairing()
	if !p.answered && !c.half[1-c.client].seen {
		loss |= event.LossResponseBody | event.LossHeaders // this direction was not captured
	}
	p.x.Close(at.time(), at.at, by, loss)
	if i := slices.Index(c.open, p); i >= 0 {
		c.open = slices.Delete(c.open, i, i+1)
	}
	if c.req == p {
		c.req = nil
	}
	if c.resp == p {
		c.resp = nil
	}
	c.a.done(p)
}

// flaw tells a located defect of the traffic.
func (c *conn) flaw(at spot, text string) {
	c.a.input(at.at.Source).Stats.Flaw(at.at, fmt.Sprintf("connection %s to %s: %s", c.name, c.server, text))
}

// pending returns an empty pending, reusing those that are done.
func (a *assembler) pending() *pending {
	if n := len(a.spare); n > 0 {
		p := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return p
	}
	return &pending{}
}

func (a *assembler) done(p *pending) {
	*p = pending{}
	if len(a.spare) < 64 {
		a.spare = append(a.spare, p)
	}
}
