package pcap

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/source"
)

// Bounds of what is kept (PERF §4.2: the usual reassemblers keep without limit).
const (
	maxLive      = 68_000    // open connections that carry HTTP
	maxRest      = 32_000    // all others: not HTTP, not known yet, closed in the dark
	maxSegments  = 64        // out-of-order segments of one direction
	maxAhead     = 1 << 20   // bytes of them
	maxAheadAll  = 64 << 20  // bytes of them in all
	maxTexts     = 256 << 20 // bytes of unfinished heads and request bodies in all
	maxDarkNotes = 4096      // servers whose unreadable traffic is told one by one

	// slack is how long a packet that the other side has acknowledged may still be
	// late in the capture: several capture buffers, or files, are never quite in step.
	slack = 5e6 // ns
)

// assembler turns segments into connections. It is driven by packet alone: its
// clock is the time of the packets.
type assembler struct {
	out   *emitter
	input func(src int32) *source.Input

	conns      map[connKey]*conn
	live, rest connList
	graves     graves
	late       []*conn // connections that wait for packets, oldest first
	lateAt     int
	now        int64
	last       spot // the newest packet
	ahead      int  // bytes held out of order
	texts      int  // bytes of unfinished heads and request bodies
	h2s        int  // connections that carry HTTP/2
	tables     int  // bytes of their tables beyond the usual size
	keys       *keyring
	resumption resumption
	fates      []tlsFate
	missed     []keylog.Random // of connections without secrets
	room       []byte          // a decrypted record
	rooms      [][]byte        // for unfinished records
	block      fieldBlock
	servers    map[serverKey]string
	created    int64 // connections so far
	twins      twins
	dark       map[darkKey]*darkCount
	darkOrder  []darkKey
	spare      []*pending
	fields     []exchange.Header // of the head that is read now
}

// connKey is a pair of endpoints, the lower one first.
type connKey struct{ a, b endpoint }

// keyOf returns the key and which half (0: of a, 1: of b) sent the segment.
func keyOf(s *segment) (connKey, int) {
	if lower(&s.src, &s.dst) {
		return connKey{s.src, s.dst}, 0
	}
	return connKey{s.dst, s.src}, 1
}

func lower(x, y *endpoint) bool {
	for i := range x.ip {
		if x.ip[i] != y.ip[i] {
			return x.ip[i] < y.ip[i]
		}
	}
	return x.port < y.port
}

func newAssembler(out *emitter, keys *keyring, input func(int32) *source.Input) *assembler {
	return &assembler{
		out: out, input: input, conns: map[connKey]*conn{},
		keys: keys, servers: map[serverKey]string{}, dark: map[darkKey]*darkCount{},
	}
}

// packet takes the next segment in capture order.
func (a *assembler) packet(s *segment) {
	a.now, a.last = s.ns, s.spot
	a.expireLate()
	key, i := keyOf(s)
	c := a.conns[key]
	if c == nil {
		n := a.graves.rise(key, i, s)
		if n == 0 {
			return
		}
		c = a.create(key, n)
	} else if c.reusedBy(i, s) {
		n := c.n
		if c.half[0].spoke || c.half[1].spoke {
			n++
		}
		a.finish(c, event.ByUnknown, event.LossResponseBody)
		a.forget(c)
		c = a.create(key, n)
	}
	a.touch(c)
	if c.kind > kindHTTP {
		if c.dark && len(s.data)+s.missing > 0 {
			a.shade(c, i, s.spot)
		}
		return
	}
	c.packet(i, s)
	a.settle(c)
}

func (a *assembler) create(key connKey, n int) *conn {
	a.created++
	c := &conn{a: a, key: key, n: n, client: -1, born: a.created}
	a.input(a.last.at.Source).Stats.Conns++
	a.conns[key] = c
	a.rest.push(c)
	return c
}

// settle moves a connection to the list that it belongs to and evicts what is
// too much.
func (a *assembler) settle(c *conn) {
	want := &a.rest
	if c.kind == kindHTTP {
		want = &a.live
	}
	if c.in != want {
		c.in.remove(c)
		want.push(c)
	}
	if c.kind == kindClosed && !c.dark {
		a.bury(c)
	}
	for a.live.n > maxLive || a.h2s > maxH2 {
		a.evict(a.live.first)
	}
	for a.rest.n > maxRest {
		a.evict(a.rest.first)
	}
}

func (a *assembler) evict(c *conn) {
	if c.kind == kindHTTP {
		a.input(a.last.at.Source).Stats.Note(fmt.Sprintf("more than %d connections at a time, or %d of HTTP/2: the longest idle ones were forgotten", maxLive, maxH2))
		c.gap(a.last, event.DirUnknown, "the connection was forgotten, too many are open", 0)
		a.finish(c, event.ByUnknown, event.LossResponseBody)
	}
	a.forget(c)
}

func (a *assembler) touch(c *conn) {
	if l := c.in; l.last != c {
		l.remove(c)
		l.push(c)
	}
}

// forget drops a connection from the tables.
func (a *assembler) forget(c *conn) {
	c.release()
	c.kind = kindClosed // it may still be on the list of late ones
	c.in.remove(c)
	delete(a.conns, c.key)
}

// finish delivers what a connection still holds and ends its exchanges.
func (a *assembler) finish(c *conn, by event.By, loss event.Loss) {
	if c.kind <= kindHTTP {
		c.flush()
		c.closeAll(a.last, by, loss)
	}
	c.finishTLS()
	c.retire(kindClosed)
}

// wait puts a connection on the list of those that wait for late packets.
func (a *assembler) wait(c *conn) {
	c.deadline = a.now + slack
	c.waits, c.waited = true, true
	a.late = append(a.late, c)
}

func (a *assembler) expireLate() {
	for a.lateAt < len(a.late) {
		c := a.late[a.lateAt]
		if c.deadline > a.now {
			break
		}
		a.late[a.lateAt] = nil
		a.lateAt++
		c.waits = false
		if c.kind <= kindHTTP {
			c.expire()
			a.settle(c)
		}
	}
	if a.lateAt > 256 && a.lateAt > len(a.late)/2 || a.lateAt == len(a.late) {
		n := copy(a.late, a.late[a.lateAt:])
		clear(a.late[n:])
		a.late, a.lateAt = a.late[:n], 0
	}
}

// endOfInput tells what was counted up to now.
func (a *assembler) endOfInput() {
	a.noteTwins()
	for _, key := range a.darkOrder {
		if d := a.dark[key]; d.n > 0 {
			a.out.own(event.Event{Kind: event.Unreadable, Time: d.last.time(), At: d.last.at,
				Domain: event.Domain{Server: key.server, Path: key.path}, Note: key.note, N: d.n})
		}
	}
}

// closeNext ends one connection that is still open at the end of the input.
func (a *assembler) closeNext() bool {
	c := a.live.first
	if c == nil {
		if c = a.rest.first; c == nil {
			return false
		}
	}
	a.finish(c, event.ByWindow, 0)
	a.forget(c)
	return true
}

type darkKey struct{ server, path, note string }

type darkCount struct {
	n    int // connections that no event has told of
	last spot
}

// unreadable tells that a connection to a server cannot be read, which concerns one
// path of it or, "", any. The first of a server is told at once, the number of the
// others at the end of the input.
func (a *assembler) unreadable(note string, at spot, server, path, name, peer string) {
	key := darkKey{server, path, note}
	d := a.dark[key]
	if d != nil {
		d.n++
		d.last = at
		return
	}
	if len(a.darkOrder) >= maxDarkNotes {
		if key.server, key.path = "", ""; a.dark[key] != nil {
			a.dark[key].n++
			a.dark[key].last = at
			return
		}
	}
	a.dark[key] = &darkCount{last: at}
	a.darkOrder = append(a.darkOrder, key)
	a.out.own(event.Event{Kind: event.Unreadable, Time: at.time(), At: at.at, Note: note, N: 1,
		Domain: event.Domain{Server: key.server, Path: key.path}, Sender: event.Sender{Conn: name, Peer: peer}})
}

type serverKey struct {
	endpoint
	tls bool
}

// isServer reports whether an endpoint is known to serve.
func (a *assembler) isServer(e endpoint) bool {
	_, ok := a.servers[serverKey{e, false}]
	if !ok {
		_, ok = a.servers[serverKey{e, true}]
	}
	return ok
}

// serverName returns "http://ip:port", or https; equal servers share one string.
func (a *assembler) serverName(e endpoint, tls bool) string {
	key := serverKey{e, tls}
	if s, ok := a.servers[key]; ok {
		return s
	}
	if len(a.servers) >= 1<<16 {
		clear(a.servers)
	}
	s := "http://" + e.addrPort().String()
	if tls {
		s = "https://" + e.addrPort().String()
	}
	a.servers[key] = s
	return s
}

func connName(client netip.AddrPort, n int) string {
	s := client.String()
	if n > 1 {
		s += "#" + strconv.Itoa(n)
	}
	return s
}

// connList is a list of connections, least recently used first.
type connList struct {
	first, last *conn
	n           int
}

func (l *connList) push(c *conn) {
	c.in, c.before, c.after = l, l.last, nil
	if l.last != nil {
		l.last.after = c
	} else {
		l.first = c
	}
	l.last = c
	l.n++
}

func (l *connList) remove(c *conn) {
	if c.before != nil {
		c.before.after = c.after
	} else {
		l.first = c.after
	}
	if c.after != nil {
		c.after.before = c.before
	} else {
		l.last = c.before
	}
	c.before, c.after = nil, nil
	l.n--
}
