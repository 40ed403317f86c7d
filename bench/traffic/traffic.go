// Package traffic makes traffic of MCP clients and one server as it looks in
// the inputs that isodetect reads: server logs, wire JSONL, capture and HAR. The
// same seed gives the same bytes. The traffic is healthy: equal ids and equal
// tokens in many sessions, each served on its own streams.
package traffic

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Options describe the traffic.
type Options struct {
	Seed     uint64
	Sessions int   // live at once
	Bytes    int64 // stop after about so many bytes of output
}

// Format is one output format.
type Format struct {
	Name  string
	File  string // usual file name
	write func(w io.Writer) writer
}

// writer turns happenings into bytes. done ends the file.
type writer interface {
	happen(h *happening) error
	done() error
}

// Formats returns the output formats.
func Formats() []Format {
	return []Format{
		{"log", "server.jsonl", newLog},
		{"wire", "capture.wire.jsonl", newWire},
		{"pcap", "capture.pcap", newPcap},
		{"har", "capture.har", newHAR},
		{"python", "python.log", newPython},
		{"slog", "slog.log", newSlog},
	}
}

// Write writes traffic in one format to w until the size is reached and every
// exchange that began has ended. It returns the number of bytes.
func (f Format) Write(w io.Writer, o Options) (int64, error) {
	out := &counter{w: w}
	wr := f.write(out)
	s := newServer(o)
	for out.n < o.Bytes {
		s.step()
		for h := s.next(false); h != nil; h = s.next(false) {
			if err := wr.happen(h); err != nil {
				return out.n, fmt.Errorf("cannot write %s traffic: %w", f.Name, err)
			}
		}
	}
	for h := s.next(true); h != nil; h = s.next(true) {
		if err := wr.happen(h); err != nil {
			return out.n, fmt.Errorf("cannot write %s traffic: %w", f.Name, err)
		}
	}
	if err := wr.done(); err != nil {
		return out.n, fmt.Errorf("cannot end %s traffic: %w", f.Name, err)
	}
	return out.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

type what uint8

const (
	opened what = iota // the request, head and body
	headed             // the response head
	event              // one JSON-RPC message of an event stream
	body               // the whole JSON body of a response
	closed             // the end of the response
)

// happening is one moment of one exchange.
type happening struct {
	at   int64 // ns since 1970
	n    uint64
	what what
	x    *exchange
	msg  string // JSON of event and body
}

// exchange is one HTTP request with its response.
type exchange struct {
	n       uint64
	s       *session
	c       *conn
	at      int64
	verb    string // HTTP method
	send    string // JSON body of the request
	sse     bool
	status  int
	answers bool // the response names the session

	written []*happening // kept for writers that write whole exchanges
	end     int64
}

// conn is one keep-alive connection of one client.
type conn struct {
	ip, port int
	free     int64 // when it can carry the next exchange
	open     bool
	seq      [2]uint32 // next sequence number of client and server
}

type session struct {
	id    string
	ip    int
	next  int // next JSON-RPC id
	conns []*conn
	left  int   // exchanges before the session ends
	ready int64 // when it may say the next thing

	made    int  // how many were made before it, and itself
	streams bool // its GET stream is open
}

// busy reports whether an exchange of the session is still open.
func (c *session) busy(at int64) bool {
	for _, k := range c.conns {
		if k.free > at {
			return true
		}
	}
	return false
}

type server struct {
	rng      *rand.Rand
	now      int64
	sessions []*session
	made     int
	pending  queue
	n, xs    uint64
	ports    int
}

func newServer(o Options) *server {
	s := &server{
		rng: rand.New(rand.NewPCG(o.Seed, 0x15a)), ports: 20000,
		now: time.Date(2026, 7, 19, 22, 20, 0, 0, time.UTC).UnixNano(),
	}
	s.sessions = make([]*session, max(o.Sessions, 2))
	return s
}

// next pops the next happening that no later exchange can precede; all pops the rest too.
func (s *server) next(all bool) *happening {
	if len(s.pending) == 0 || (!all && s.pending[0].at >= s.now) {
		return nil
	}
	return heap.Pop(&s.pending).(*happening)
}

func (s *server) add(x *exchange, at int64, w what, msg string) {
	s.n++
	heap.Push(&s.pending, &happening{at: at, n: s.n, what: w, x: x, msg: msg})
	x.c.free = max(x.c.free, at+int64(time.Millisecond))
	x.end = max(x.end, at)
}

// open begins an exchange of the session on a connection that is free.
func (s *server) open(c *session, at int64, verb, send string, sse bool, status int) *exchange {
	var on *conn
	for _, k := range c.conns {
		if k.free <= at {
			on = k
			break
		}
	}
	if on == nil {
		s.ports = 20000 + (s.ports-20000+1)%40000
		on = &conn{ip: c.ip, port: s.ports, seq: [2]uint32{s.rng.Uint32(), s.rng.Uint32()}}
		c.conns = append(c.conns, on)
	}
	s.xs++
	x := &exchange{n: s.xs, s: c, c: on, at: at, verb: verb, send: send, sse: sse, status: status}
	s.add(x, at, opened, "")
	return x
}

// queue is a heap by time, and by order of making within equal times.
type queue []*happening

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || (q[i].at == q[j].at && q[i].n < q[j].n)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*happening)) }
func (q *queue) Pop() any {
	old := *q
	h := old[len(old)-1]
	*q = old[:len(old)-1]
	return h
}
