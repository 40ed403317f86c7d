package correlate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// A storm of sessions, each with a call that is never answered, keeps no more
// than the limits allow, and what was forgotten leaves a hole.
func TestStormStaysBounded(t *testing.T) {
	l := DefaultLimits()
	l.Sessions, l.Conns = 500, 500
	s := NewState(l)
	const n = 200_000
	d := storm(s, 1)
	for i := 1; i < n; i++ {
		start(s, i)
		if i >= 100 { // parsers bound what is open
			s.Apply(&event.Event{Kind: event.Closed, Time: at(int64(i) + 1), Domain: d.Key, Exchange: event.ExchangeID{N: uint64(i - 98)}, By: event.ByWindow})
		}
	}
	f := func(what string, got, most int) {
		t.Helper()
		if got > most {
			t.Errorf("%d %s kept, at most %d are allowed", got, what, most)
		}
	}
	f("sessions", len(d.Sessions), l.Sessions+1)
	f("parties", len(d.Parties), l.Sessions+1)
	f("connections", len(d.Conns), l.Conns+1)
	f("busy parties", len(d.Busy), l.Sessions+1)
	f("live sessions", len(d.Lively), l.Sessions+1)
	f("open exchanges", len(d.Exchanges), 100)
	indexed := 0
	for _, list := range d.Index.Entries {
		indexed += len(list)
	}
	f("requests in the index", indexed, l.Sessions+1)
	if d.Evicted < n-l.Sessions-1 {
		t.Errorf("%d evictions counted", d.Evicted)
	}
	if d.Sessions["s0"] != nil || d.Sessions[fmt.Sprint("s", n-1)] == nil {
		t.Error("not the least recently used was forgotten")
	}
	// What comes back was not born in view, so nothing is concluded from its silence.
	s.Apply(&event.Event{Kind: event.Opened, Time: at(n + 1), Domain: d.Key, Exchange: event.ExchangeID{N: n + 1}, HTTPMethod: "POST", Asked: event.Named("s0")})
	if p := d.Sessions["s0"]; p == nil || p.Whole() || p.WhyNotWhole() == "" {
		t.Error("a session that came back counts as whole")
	}
	// An exchange of a session that was forgotten may still go on.
	id := event.ExchangeID{N: 1}
	s.Apply(&event.Event{Kind: event.Head, Time: at(n + 2), Domain: d.Key, Exchange: id, Status: 200})
	s.Apply(&event.Event{Kind: event.Message, Time: at(n + 2), Domain: d.Key, Exchange: id, Dir: event.ToClient, RPC: event.RPC{Kind: mcp.KindResult, ID: "1"}})
	s.Apply(&event.Event{Kind: event.Closed, Time: at(n + 2), Domain: d.Key, Exchange: id, By: event.ByServer})
}

func TestIdleSessionIsForgotten(t *testing.T) {
	s := NewState(DefaultLimits())
	d := storm(s, 3)
	gone := d.Sessions["s0"]
	day := DefaultLimits().SessionIdle + 2*minute
	s.Apply(&event.Event{Kind: event.Opened, Time: event.At(day), Domain: d.Key, Exchange: event.ExchangeID{N: 99}, HTTPMethod: "GET", Asked: event.Named("x")})
	if len(d.Sessions) != 1 || d.Sessions["x"] == nil || !gone.Gone || gone.Complete(event.ToServer, day*2) {
		t.Errorf("%d sessions, gone %v", len(d.Sessions), gone.Gone)
	}
	if d.Evicted < 3 {
		t.Errorf("%d evictions counted", d.Evicted)
	}
}

// Ended requests explain what arrives for a while, and no more of them are kept than the limit says.
func TestEndedRequestsAreReleased(t *testing.T) {
	l := DefaultLimits()
	l.EndedKept = 50
	s := NewState(l)
	dom := event.Domain{Server: "http://h"}
	call := func(n int, ms int64) {
		id := event.ExchangeID{N: uint64(n)}
		s.Apply(&event.Event{Kind: event.Opened, Time: at(ms), Domain: dom, Exchange: id, HTTPMethod: "POST", Asked: event.Named("s")})
		s.Apply(&event.Event{Kind: event.Message, Time: at(ms), Domain: dom, Exchange: id, Dir: event.ToServer, RPC: event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(fmt.Sprint(n)), Method: mcp.ToolsCall}})
		s.Apply(&event.Event{Kind: event.Head, Time: at(ms), Domain: dom, Exchange: id, Status: 200})
		s.Apply(&event.Event{Kind: event.Message, Time: at(ms), Domain: dom, Exchange: id, Dir: event.ToClient, RPC: event.RPC{Kind: mcp.KindResult, ID: mcp.ID(fmt.Sprint(n))}})
		s.Apply(&event.Event{Kind: event.Closed, Time: at(ms), Domain: dom, Exchange: id, By: event.ByServer})
	}
	found := func(n int) bool { return len(s.Domains[0].Index.Find(IDKey(ByID, mcp.ID(fmt.Sprint(n))))) > 0 }
	call(1, 1000)
	call(2, 2500)
	if !found(1) {
		t.Error("a request is forgotten within the grace")
	}
	call(3, 1000+2*Grace/1e6+1)
	if found(1) || !found(2) {
		t.Errorf("after two graces: first %v, second %v", found(1), found(2))
	}
	for i := range 500 {
		call(10+i, 6000)
	}
	d := s.Domains[0]
	if kept := len(d.Ended) - d.EndedHead; kept > l.EndedKept+1 || len(d.Index.Entries) > l.EndedKept+1 || d.Evicted == 0 {
		t.Errorf("%d kept, %d in the index, %d evicted", kept, len(d.Index.Entries), d.Evicted)
	}
	if len(d.Exchanges) != 0 || d.Sessions["s"].Running != 0 {
		t.Errorf("%d exchanges, %d running", len(d.Exchanges), d.Sessions["s"].Running)
	}
}

func TestIDSetOfOtherIDs(t *testing.T) {
	var s IDSet
	if !s.Empty() {
		t.Error("a new set is not empty")
	}
	if _, ok := s.Max(); ok {
		t.Error("a set without numbers has a largest")
	}
	f := func(id mcp.ID, has ...mcp.ID) {
		t.Helper()
		s.Add(id)
		for _, h := range has {
			if !s.Has(h) {
				t.Errorf("with %s in it, %s is not", id, h)
			}
		}
	}
	f(`"7"`, "7", `"7"`) // folded
	f("-1", "-1", `"-1"`)
	f("1.5", "1.5")
	f("99999999999999999999", "99999999999999999999")
	f(`""`, `""`)
	if n, ok := s.Max(); n != 7 || !ok {
		t.Errorf("largest %d, %v", n, ok)
	}
	for i := range maxOther {
		s.Add(mcp.ID(fmt.Sprintf("%q", fmt.Sprint("job-", i))))
	}
	if !s.Forgot() || len(s.Many.Other) > maxOther || s.Has("-1") {
		t.Errorf("forgot %v, %d kept", s.Forgot(), len(s.Many.Other))
	}
}

func TestMarkSetKeepsTwoGenerations(t *testing.T) {
	var s MarkSet
	if s.Has(1) {
		t.Error("an empty set has a mark")
	}
	rng := rand.New(rand.NewPCG(3, 3))
	early := make([]uint64, 1000)
	for i := range early {
		early[i] = rng.Uint64()
		s.Add(early[i])
		s.Add(early[i])
	}
	if s.Young.Used > len(early) {
		t.Errorf("%d used for %d marks", s.Young.Used, len(early))
	}
	for s.Old.Used == 0 {
		s.Add(rng.Uint64())
	}
	for _, v := range early {
		if !s.Has(v) {
			t.Fatal("a mark of the generation before is forgotten")
		}
	}
	wrong := 0
	for range 10_000 {
		if s.Has(rng.Uint64()) {
			wrong++
		}
	}
	if wrong > 20 {
		t.Errorf("%d of 10000 marks look known that are not", wrong)
	}
}

// The index gives back what stands under a key, in order, and nothing that was taken out.
func TestIndex(t *testing.T) {
	var x Index
	rng := rand.New(rand.NewPCG(4, 4))
	want := map[Key][]*Request{}
	for i := range 5000 {
		k := key(IndexKind(rng.IntN(4)), uint64(rng.IntN(40))<<2)
		if list := want[k]; len(list) > 0 && rng.IntN(2) == 0 {
			j := rng.IntN(len(list))
			x.remove(k, list[j])
			want[k] = append(append([]*Request(nil), list[:j]...), list[j+1:]...)
			continue
		}
		r := &Request{Seq: uint64(i)}
		x.add(k, r)
		want[k] = append(want[k], r)
	}
	for k, list := range want {
		got := x.Find(k)
		for i := range list {
			if i >= len(got) || got[i] != list[i] {
				t.Fatalf("under %v not what was put there", k)
			}
		}
		if len(got) != len(list) {
			t.Fatalf("%d under %v, want %d", len(got), k, len(list))
		}
		if k.kind() == ByMark && len(list) > 0 && !x.MayHold(uint64(k)>>2) {
			t.Fatal("the filter denies a mark that is there")
		}
	}
	x.remove(key(ByID, 1), &Request{}) // not there: nothing happens
}

// Domains beyond the limit get no timeline; their events are counted.
func TestDomainsAreBounded(t *testing.T) {
	l := DefaultLimits()
	l.Domains = 10
	s := NewState(l)
	for i := range 25 {
		s.Apply(&event.Event{Kind: event.SessionCreated, Time: at(int64(i)), Domain: event.Domain{Server: fmt.Sprint("n", i)}, Answered: event.Named("s")})
	}
	if len(s.Domains) != 10 || s.Beyond != 15 {
		t.Errorf("%d domains, %d events beyond", len(s.Domains), s.Beyond)
	}
}

// A connection may outlive by far the sessions that it carried; it does not keep those
// that were forgotten, and still shows that they were there.
func TestConnectionKeepsNoForgottenSession(t *testing.T) {
	l := DefaultLimits()
	l.Sessions = 50
	s := NewState(l)
	const n, conns = 2000, 20
	var x *Exchange
	for i := range n {
		id := event.ExchangeID{N: uint64(i + 1)}
		dom, when := event.Domain{Server: "http://h", Path: "/mcp"}, at(int64(i)+1)
		m := s.Apply(&event.Event{Kind: event.Opened, Time: when, Domain: dom, Exchange: id, HTTPMethod: "POST", Asked: event.Named(fmt.Sprint("s", i)),
			Sender: event.Sender{Conn: fmt.Sprint("10.0.0.1:", i%conns)}})
		x = m.Exchange
		s.Apply(&event.Event{Kind: event.Closed, Time: when, Domain: dom, Exchange: id, By: event.ByServer})
	}
	d := s.Domains[0]
	if len(d.Conns) != conns || len(x.CarriedBefore()) != maxHints {
		t.Fatalf("%d connections, the last exchange came behind %d sessions", len(d.Conns), len(x.CarriedBefore()))
	}
	for _, c := range d.Conns {
		for _, p := range c.Sessions {
			if p.Gone && p != d.Forgotten {
				t.Errorf("%s keeps %s, which was forgotten", c.ID, p.Alias)
			}
		}
	}
}
