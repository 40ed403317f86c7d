package correlate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

func TestIDSet(t *testing.T) {
	var s IDSet
	want := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 { // fewer than the bounds: nothing may be forgotten
		n := fmt.Sprint(rng.IntN(200))
		s.Add(mcp.ID(n))
		want[n] = true
	}
	s.Add(`"job-1"`)
	for i := range 250 {
		if n := fmt.Sprint(i); s.Has(mcp.ID(n)) != want[n] {
			t.Errorf("has %s: %v", n, !want[n])
		}
	}
	if !s.Has(`"job-1"`) || s.Has(`"job-2"`) || !s.Has(`"7"`) == want["7"] || s.Forgot() {
		t.Error("names and folded numbers")
	}
	for i := 1; i < len(s.Many.Runs); i++ {
		if s.Many.Runs[i].Lo <= s.Many.Runs[i-1].Hi+1 {
			t.Fatalf("runs %v and %v touch", s.Many.Runs[i-1], s.Many.Runs[i])
		}
	}
	for i := range 3 * maxRuns {
		s.Add(mcp.ID(fmt.Sprint(10_000 + 2*i)))
	}
	if !s.Forgot() || len(s.Many.Runs) > maxRuns {
		t.Errorf("%d runs, forgot %v", len(s.Many.Runs), s.Forgot())
	}
}

func TestMarkSet(t *testing.T) {
	var s MarkSet
	rng := rand.New(rand.NewPCG(2, 2))
	first := rng.Uint64()
	s.Add(first)
	for range 3 * markGeneration {
		v := rng.Uint64()
		s.Add(v)
		if !s.Has(v) {
			t.Fatal("what was just added is not there")
		}
	}
	if s.Has(first) {
		t.Error("the oldest mark is still there after three generations")
	}
	if s.Young.Used > markGeneration || s.Old.Used > markGeneration {
		t.Errorf("generations of %d and %d", s.Young.Used, s.Old.Used)
	}
}

func TestCovers(t *testing.T) {
	f := func(update, subscribed string, want bool) {
		t.Helper()
		if got := NewURI(subscribed).Covers(NewURI(update)); got != want {
			t.Errorf("%s by %s: %v", update, subscribed, got)
		}
	}
	f("doc://a/b", "doc://a/b", true)
	f("doc://a/b/", "doc://a/b", true)
	f("DOC://A/b", "doc://a/b", true)
	f("doc://a/B", "doc://a/b", false)
	f("file:///x/y", "file:/x/y", true)
	f("file://localhost/x", "file:///x", true)
	f("doc://a/%62", "doc://a/b", true)
	f("doc://a/b/c", "doc://a/b", true) // sub-resource
	f("doc://a/bc", "doc://a/b", false)
	f("doc://a/b", "doc://a/b/c", false)
	f("doc://a/b#c", "doc://a/b", true)
	f("doc://a/7/log", "doc://a/{id}/log", true)
	f("doc://a/7/8/log", "doc://a/{id}/log", false)
	f("doc://a/7/8/log", "doc://a/{+path}/log", true)
	f("doc://a", "doc://{", false)
	f("notes", "notes", true)
}

func at(ms int64) event.Time { return event.At(ms * 1e6) }

func span(from, to int64) event.Time { return event.Time{From: from * 1e6, To: to * 1e6} }

func TestInFlight(t *testing.T) {
	f := func(r Request, when event.Time, want Certainty) {
		t.Helper()
		if got := r.InFlight(when); got != want {
			t.Errorf("%v to %v at %v: %d, want %d", r.Sent.Time, r.End.Time, when, got, want)
		}
	}
	closed := Request{Sent: Ref{Time: at(10)}, Fate: Answered, End: Ref{Time: at(20)}}
	f(closed, at(9), No)
	f(closed, at(10), Certain)
	f(closed, at(15), Certain)
	f(closed, at(21), No)
	f(closed, span(5, 15), Perhaps)
	f(closed, span(12, 30), Perhaps)
	f(closed, span(12, 18), Certain)
	f(Request{Sent: Ref{Time: at(10)}}, at(1000), Certain)
	if closed.OpenWithin(at(21), Grace) != Certain || closed.OpenWithin(at(2100), Grace) != No {
		t.Error("the grace after the end")
	}
}

func TestTextSaysCancelled(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := TextSaysCancelled(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f("context canceled", true)
	f("Request cancelled by user", true)
	f("AbortError: This operation was aborted", true)
	f("task aborted", true)
	f("context deadline exceeded", false)
	f("Request timed out", false)
	f("connection aborted by peer", false)
	f("transaction aborted", false)
	f("aborted", false)
}

// carried is a connection that carried sessions.
func carried(sessions ...*Party) *Conn { return &Conn{ID: "c", Sessions: sessions} }

func TestRelate(t *testing.T) {
	s := &Party{Kind: BySession, ID: "s", Hints: &Hints{[]string{"sub:i|ann", "key:1"}, []string{"aff=1"}, []string{"ua/1"}}, ClientInfo: "x 1"}
	o := &Party{Kind: BySession, ID: "o"}
	for i := range 10 {
		s.Given.Add(mcp.ID(fmt.Sprint(i)))
	}
	f := func(name string, x Exchange, want Relation) {
		t.Helper()
		if x.Conn == nil {
			x.Conn = &Conn{ID: "c"}
		}
		if got := Relate(&x, s); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	req := func(id mcp.ID) []*Request { return []*Request{{ID: id, Method: mcp.ToolsCall}} }
	f("nothing known", Exchange{}, RelationUnknown)
	f("equal credential", Exchange{Sender: &Sender{Principal: "key:1"}}, SamePerson)
	f("equal subject", Exchange{Sender: &Sender{Principal: "sub:i|ann"}}, SamePerson)
	f("another subject", Exchange{Sender: &Sender{Principal: "sub:i|bob"}}, AnotherPerson)
	f("another credential, opaque", Exchange{Sender: &Sender{Principal: "key:2"}}, RelationUnknown)
	f("equal cookie", Exchange{Sender: &Sender{Cookie: "aff=1"}}, SamePerson)
	f("its connection carried that session only", Exchange{Conn: carried(s), Before: 1}, SamePerson)
	f("its connection carried another", Exchange{Conn: carried(o), Before: 1}, RelationUnknown)
	f("another connection and User-Agent", Exchange{Conn: carried(o), Before: 1, Sender: &Sender{UserAgent: "ua/2"}}, AnotherPerson)
	f("another connection, and the number was used", Exchange{Conn: carried(o), Before: 1, Requests: req("7")}, AnotherPerson)
	f("another connection, next number", Exchange{Conn: carried(o), Before: 1, Requests: req("10")}, RelationUnknown)
	f("another connection, number far ahead", Exchange{Conn: carried(o), Before: 1, Requests: req("31")}, AnotherPerson)
	f("carries another id of its own", Exchange{Asked: event.Named("o")}, AnotherPerson)
	f("carries another id on a connection of both", Exchange{Asked: event.Named("o"), Conn: carried(o, s), Before: 2}, RelationUnknown)
}

// storm applies wire events of many sessions, each with one request that is never answered.
func storm(s *State, n int) *Domain {
	for i := range n {
		start(s, i)
	}
	return s.Domains[0]
}

// start applies the request of session number i.
func start(s *State, i int) {
	dom, id, when := event.Domain{Server: "http://h", Path: "/mcp"}, event.ExchangeID{N: uint64(i + 1)}, at(int64(i)+1)
	s.Apply(&event.Event{Kind: event.Opened, Time: when, Domain: dom, Exchange: id, HTTPMethod: "POST", Asked: event.Named(fmt.Sprint("s", i)),
		Sender: event.Sender{Conn: fmt.Sprint("10.0.0.1:", i)}})
	s.Apply(&event.Event{Kind: event.Message, Time: when, Domain: dom, Exchange: id, Dir: event.ToServer,
		RPC: event.RPC{Kind: mcp.KindRequest, ID: "1", Method: mcp.ToolsCall}})
}

func TestStateIsBounded(t *testing.T) {
	l := DefaultLimits()
	l.Sessions, l.Conns = 100, 100
	s := NewState(l)
	d := storm(s, 2000)
	if len(d.Sessions) > 110 || len(d.Parties) > 110 || len(d.Conns) > 110 {
		t.Errorf("%d sessions, %d parties, %d connections", len(d.Sessions), len(d.Parties), len(d.Conns))
	}
	if d.Evicted == 0 {
		t.Error("what was evicted is not counted")
	}
	for id := range d.Index.Entries {
		for _, r := range d.Index.Find(id) {
			if r.Party.Gone {
				t.Fatal("the index holds a request of a party that is gone")
			}
		}
	}
}

func TestIdleRequestIsLostWithAHole(t *testing.T) {
	s := NewState(DefaultLimits())
	d := storm(s, 1)
	p := d.Sessions["s0"]
	r := p.Open[0]
	s.Apply(&event.Event{Kind: event.Opened, Time: event.At(DefaultLimits().RequestIdle + 2*minute), Domain: d.Key, Exchange: event.ExchangeID{N: 99}, HTTPMethod: "GET", Asked: event.Named("x")})
	if r.Fate != Lost || p.Complete(event.ToClient, 1) || d.Evicted != 1 {
		t.Errorf("fate %s, complete %v, evicted %d", r.Fate, p.Complete(event.ToClient, 1), d.Evicted)
	}
}

func TestTooManyRequestsOfOneParty(t *testing.T) {
	l := DefaultLimits()
	l.OpenPerParty = 4
	s := NewState(l)
	dom := event.Domain{Server: "http://h"}
	for i := range 10 {
		id := event.ExchangeID{N: uint64(i + 1)}
		s.Apply(&event.Event{Kind: event.Opened, Time: at(int64(i)), Domain: dom, Exchange: id, HTTPMethod: "POST", Asked: event.Named("s")})
		s.Apply(&event.Event{Kind: event.Message, Time: at(int64(i)), Domain: dom, Exchange: id, Dir: event.ToServer,
			RPC: event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(fmt.Sprint(i)), Method: mcp.ToolsCall}})
	}
	p := s.Domains[0].Sessions["s"]
	if len(p.Open) > 4 || p.Running > 4 || p.Complete(event.ToServer, 1) {
		t.Errorf("%d kept, %d running, complete %v", len(p.Open), p.Running, p.Complete(event.ToServer, 1))
	}
}
