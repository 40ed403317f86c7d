package pcap

import (
	"fmt"

	"github.com/isodetect/isodetect/event"
)

// kind is what a connection carries. Kinds beyond kindHTTP are not read any further.
type kind uint8

const (
	kindUnknown kind = iota
	kindHTTP
	kindOther  // not HTTP, encrypted, or HTTP/2
	kindClosed // ended; kept to drop what is repeated
)

// conn is one TCP connection.
type conn struct {
	a             *assembler
	key           connKey
	n             int // which connection between these endpoints, from 1
	kind          kind
	client        int // index of the client's half, -1 = not known
	half          [2]half
	in            *connList
	before, after *conn
	waits         bool // is on the assembler's list of late connections
	waited        bool // and was so before
	deadline      int64

	server, name, peer string
	through            string // what a tunnel leads to, "host:port"; "" = no tunnel

	open      []*pending // exchanges in the order of their requests
	req, resp *pending   // those whose request and response are read now
	asked     int64      // when the last request was complete
	firstLoss event.Loss // what the first exchange has to tell about the beginning
	unpaired  bool       // a hole may have swallowed a whole request or response
	deaf      bool       // the client left: what the server still sends reaches nobody
	parted    bool       // the client closed its half right behind a request
	partedAt  spot

	exchange event.ExchangeID // the last one whose Opened was yielded
	domain   event.Domain     // and its domain

	tls     *tlsConn       // the layer that decrypts; nil = none
	h2      *h2Conn        // what it carries; nil = HTTP/1.1
	domains []event.Domain // that its exchanges belong to beside domain
	dark    bool           // it is closed to us, and what it carries may be MCP
	socket  bool           // it became a WebSocket, of the path of domain

	born int64 // which connection of the recording it is

	unsure int // packets that count as used if this turns out to be HTTP
	early  int // bytes that were missing before that
}

// becomeHTTP is called when the first message of a connection is found, a request
// of half client.
func (c *conn) becomeHTTP(client int, at spot) {
	c.kind = kindHTTP
	c.client = client
	from, to := c.key.a, c.key.b
	if client == 1 {
		from, to = to, from
	}
	c.server = c.serverName(to, c.tls != nil)
	addr := from.addrPort()
	c.name, c.peer = connName(addr, c.n), addr.Addr().String()
	if c.half[0].msg.lost || c.half[1].msg.lost {
		c.firstLoss = event.LossStart
	}
	stats := &c.a.input(at.at.Source).Stats
	n := min(int64(c.unsure), stats.Ignored)
	stats.Used += n
	stats.Ignored -= n
	c.unsure = 0
	c.unpaired = c.early > 0
}

// serverName names who serves: the other end of the connection, or of the tunnel that it
// is, with the proxy in brackets. What goes through a proxy and what reaches the server from
// there are two domains, even in one capture.
func (c *conn) serverName(to endpoint, tls bool) string {
	if c.through == "" {
		return c.a.serverName(to, tls)
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + c.through + "[" + to.addrPort().String() + "]"
}

// tellEarly tells of the bytes that were missing before the first message.
func (c *conn) tellEarly(at spot) {
	if c.early > 0 {
		c.gap(at, event.DirUnknown, fmt.Sprintf("%d bytes were not captured before the first message of the connection", c.early), 0)
		c.early = 0
	}
}

// used counts the packet of a piece.
func (c *conn) used(pc *piece) {
	if !pc.first {
		return
	}
	if c.kind != kindHTTP {
		c.unsure++
		return
	}
	stats := &c.a.input(pc.at.Source).Stats
	if stats.Ignored > 0 {
		stats.Used++
		stats.Ignored--
	}
}

// maxOfConn bounds conn.domains.
const maxOfConn = 16

// gap queues a Gap that belongs to the connection as a whole.
func (c *conn) gap(at spot, dir event.Dir, why string, loss event.Loss) {
	c.a.out.drain() // so that c.exchange and c.domain are known
	if c.exchange.N == 0 {
		return // no exchange of it was seen: there is nothing that could be incomplete
	}
	ev := event.Event{Kind: event.Gap, Time: at.time(), At: at.at, Dir: dir, Note: why, Loss: loss,
		Domain: c.domain, Exchange: c.exchange, Sender: event.Sender{Conn: c.name, Peer: c.peer}}
	c.a.out.own(ev)
	ev.Exchange = event.ExchangeID{}
	others := c.domains
	if len(others) == maxOfConn { // there may be more
		others = c.a.out.domains
	}
	for _, d := range others {
		if d != c.domain && d.Server == c.server {
			ev.Domain = d
			c.a.out.own(ev)
		}
	}
}

// strange tells of bytes of half i that are missing before anything of the
// connection was read. It may never be, so that no exchange can tell of them; at an
// address that is known to serve, whole requests of any party may be among them.
func (c *conn) strange(i int, at spot, loss event.Loss, why string) {
	ends := [...]endpoint{c.key.a, c.key.b}
	for k, e := range ends {
		if c.client == k || !c.a.isServer(e) {
			continue
		}
		dir := event.ToServer
		if i == k {
			dir = event.ToClient
		}
		c.a.out.drain() // so that the domains are known
		for _, d := range c.a.out.domains {
			if d.Server == c.a.serverName(e, false) || d.Server == c.a.serverName(e, true) {
				c.a.out.own(event.Event{Kind: event.Gap, Time: at.time(), At: at.at, Dir: dir, Domain: d, Loss: loss,
					Note: why + ", on a connection of which nothing was read"})
			}
		}
	}
}

// unreadable ends the reading of a connection whose content is closed to us. i is
// the half that showed it.
func (c *conn) unreadable(note string, i int, first []byte, at spot) {
	client := c.client
	switch {
	case client >= 0:
	case len(first) > 5 && first[0] == 0x16 && first[5] == 1: // ClientHello
		client = i
	case len(first) > 5 && first[0] == 0x16: // ServerHello and so on
		client = 1 - i
	default: // begun before the capture: servers have the lower port
		client = 0
		if c.key.a.port < c.key.b.port {
			client = 1
		}
	}
	from, to := c.key.a, c.key.b
	if client == 1 {
		from, to = to, from
	}
	addr := from.addrPort()
	c.client, c.dark = client, true
	path := ""
	if c.socket {
		c.server, path = c.domain.Server, c.domain.Path
	} else {
		c.server = c.serverName(to, true)
	}
	c.a.unreadable(note, at, c.server, path, connName(addr, c.n), addr.Addr().String())
	c.darken(at)
	c.retire(kindOther)
}

// darken tells of what was kept of a connection that turns out to be closed to us.
func (c *conn) darken(at spot) {
	if c.dark {
		c.a.shade(c, 0, at)
		c.a.shade(c, 1, at)
	}
}

// retire stops the reading. What is needed to know repeated packets stays.
func (c *conn) retire(k kind) {
	for len(c.open) > 0 {
		c.close(c.open[0], c.a.last, event.ByUnknown, event.LossResponseBody)
	}
	c.kind = k
	c.release()
	c.open, c.req, c.resp = nil, nil, nil
}

// ended is called when the FIN of half i is in order.
func (c *conn) ended(i int, at spot) {
	c.leaves(i, at)
	if c.half[1-i].ended {
		c.closeAll(at, event.ByServer, 0)
		c.finishTLS()
		c.retire(kindClosed)
	}
}

// leaves is called where half i has said all.
func (c *conn) leaves(i int, at spot) {
	switch {
	case c.kind != kindHTTP:
	case i == c.client:
		c.clientLeft(at, false)
	default:
		c.serverLeft(at, false)
	}
}

// reset takes a RST of half i.
func (c *conn) reset(i int, s *segment) {
	c.flush()
	if c.kind > kindHTTP {
		return
	}
	if c.kind == kindHTTP {
		if i == c.client {
			c.clientLeft(s.spot, true)
		} else {
			c.serverLeft(s.spot, true)
		}
	}
	c.finishTLS()
	c.retire(kindClosed)
}

// partSoon is how soon behind its request a client closes its half that still
// waits for the answer (half-close); one that gives up takes longer.
const partSoon = 1e6 // ns

func (c *conn) clientLeft(at spot, reset bool) {
	if c.req != nil {
		c.requestDone(at, event.LossRequestBody)
	}
	gone := c.half[1-c.client].ended
	if !reset && !gone && c.h2 == nil && len(c.open) > 0 && !c.open[0].answered && at.ns-c.asked <= partSoon {
		c.parted, c.partedAt = true, at
		return
	}
	by := event.ByClient
	if gone {
		by = event.ByServer
	}
	c.closeAll(at, by, 0)
	c.deaf = true
}

func (c *conn) serverLeft(at spot, reset bool) {
	if m := &c.half[1-c.client].msg; m.state == inClose && c.resp != nil && !reset {
		c.responseDone(at)
	}
	by := event.ByServer
	if c.parted {
		by, at = event.ByClient, c.partedAt
	}
	c.closeAll(at, by, 0)
}

// closeAll ends all open exchanges. Where the end of a response may have been
// missed, it is not known who ended it.
func (c *conn) closeAll(at spot, by event.By, loss event.Loss) {
	for len(c.open) > 0 {
		p := c.open[0]
		switch {
		case p.answerDone:
			c.close(p, p.end, event.ByServer, loss)
		case p.doubt && by != event.ByWindow,
			p.loss&event.LossResponseBody != 0 && c.half[1-c.client].msg.lost && by == event.ByClient:
			c.close(p, at, event.ByUnknown, loss)
		default:
			c.close(p, at, by, loss)
		}
	}
}
