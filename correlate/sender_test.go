package correlate

import (
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// One weak hint that differs shows nothing, two do; what is not known does not differ.
func TestRelateCountsHints(t *testing.T) {
	known := func() *Party {
		p := &Party{Kind: BySession, ID: "s", Hints: &Hints{nil, []string{"aff=1"}, []string{"ua/1"}}, ClientInfo: "x 1"}
		p.Given.Add("7")
		return p
	}
	bare := func() *Party { return &Party{Kind: BySession, ID: "s"} }
	other := &Party{Kind: BySession, ID: "o"}
	f := func(name string, s *Party, x Exchange, want Relation) {
		t.Helper()
		if x.Conn == nil {
			x.Conn = carried()
		}
		if got := Relate(&x, s); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	sender := func(cookie, ua, client string) *Sender {
		return &Sender{Cookie: cookie, UserAgent: ua, ClientInfo: client}
	}
	req := func(id mcp.ID) []*Request { return []*Request{{ID: id, Method: mcp.ToolsCall}} }
	mixed := func(p *Party) *Conn { return &Conn{ID: "c", Sessions: []*Party{p}, Mixed: true} }
	f("another cookie", known(), Exchange{Sender: sender("aff=2", "", "")}, RelationUnknown)
	f("another User-Agent", known(), Exchange{Sender: sender("", "ua/2", "")}, RelationUnknown)
	f("another clientInfo", known(), Exchange{Sender: sender("", "", "y 2")}, RelationUnknown)
	f("another cookie and User-Agent", known(), Exchange{Sender: sender("aff=2", "ua/2", "")}, AnotherPerson)
	f("another cookie and clientInfo", known(), Exchange{Sender: sender("aff=2", "", "y 2")}, AnotherPerson)
	f("another cookie, equal rest", known(), Exchange{Sender: sender("aff=2", "ua/1", "x 1")}, RelationUnknown)
	f("all differ, and nothing is known of the session", bare(), Exchange{Sender: sender("aff=2", "ua/2", "y 2")}, RelationUnknown)
	f("another User-Agent and a number that was used", known(), Exchange{Sender: sender("", "ua/2", ""), Requests: req("7")}, AnotherPerson)
	f("another User-Agent and a name for a number", known(), Exchange{Sender: sender("", "ua/2", ""), Requests: req(`"job-1"`)}, AnotherPerson)
	f("another User-Agent and the first number of all", bare(), Exchange{Sender: sender("", "ua/2", ""), Requests: req("0")}, RelationUnknown)
	f("initialize begins a counter", known(), Exchange{Sender: sender("", "ua/2", ""), Requests: []*Request{{ID: "7", Method: mcp.Initialize}}}, RelationUnknown)
	f("another connection and User-Agent", known(), Exchange{Conn: carried(other), Before: 1, Sender: sender("", "ua/2", "")}, AnotherPerson)
	f("a connection of many and another User-Agent", known(), Exchange{Conn: mixed(other), Before: 1, Sender: sender("", "ua/2", "")}, RelationUnknown)
	f("a connection of many that carried it first", known(), Exchange{Conn: mixed(known()), Before: 1}, RelationUnknown)
	f("a readable subject, and none is known of the session", bare(), Exchange{Sender: &Sender{Principal: "sub:i|bob"}}, RelationUnknown)
	opaque := bare()
	opaque.Hints = &Hints{Principals: []string{"key:1"}}
	f("a readable subject beside an opaque one", opaque, Exchange{Sender: &Sender{Principal: "sub:i|bob"}}, RelationUnknown)
	f("its own id", known(), Exchange{Asked: event.Named("s")}, RelationUnknown)
	names := bare()
	names.Given.Add(`"job-1"`)
	f("a client that names, and a number", names, Exchange{Sender: sender("", "ua/2", ""), Requests: req("3")}, RelationUnknown)
	names.Hints = &Hints{UserAgents: []string{"ua/1"}}
	f("the same and another User-Agent", names, Exchange{Sender: sender("", "ua/2", ""), Requests: req("3")}, AnotherPerson)
	f("a client that names, and a new name", names, Exchange{Sender: sender("", "ua/2", ""), Requests: req(`"job-2"`)}, RelationUnknown)
	f("a client that names, and a name that was used", names, Exchange{Sender: sender("", "ua/2", ""), Requests: req(`"job-1"`)}, AnotherPerson)
}

// What became of a request whose exchange closed without an answer (DETECTION §1, fate).
func TestFateOfAnUnansweredRequest(t *testing.T) {
	f := func(name string, ev event.Event, change func(x *Exchange, r *Request), want Fate, left bool) {
		t.Helper()
		s := NewState(DefaultLimits())
		d := storm(s, 1)
		r := d.Sessions["s0"].Open[0]
		change(r.Exchange, r)
		ev.Kind, ev.Time, ev.Domain, ev.Exchange = event.Closed, at(50), d.Key, event.ExchangeID{N: 1}
		s.Apply(&ev)
		if r.Fate != want || r.Left != left {
			t.Errorf("%s: %s, left %v, want %s, %v", name, r.Fate, r.Left, want, left)
		}
		if running := d.Sessions["s0"].Running; (running == 0) != r.Ended() {
			t.Errorf("%s: %d running", name, running)
		}
	}
	none := func(*Exchange, *Request) {}
	resumable := func(x *Exchange, _ *Request) { x.Resumable = true }
	f("its client closed", event.Event{By: event.ByClient}, none, GivenUp, true)
	f("who closed is not recorded", event.Event{By: event.ByUnknown}, none, GivenUp, true)
	f("the server closed", event.Event{By: event.ByServer}, none, Cut, false)
	f("the window ended", event.Event{By: event.ByWindow}, none, Open, false)
	f("4xx", event.Event{By: event.ByServer, Status: 409}, none, Refused, false)
	f("5xx by a client that left", event.Event{By: event.ByClient, Status: 502}, none, Refused, false)
	f("202: the answer comes elsewhere", event.Event{By: event.ByServer, Status: 202}, none, Open, false)
	f("the server closed, and events had ids", event.Event{By: event.ByServer}, resumable, Open, false)
	f("its client closed, and events had ids", event.Event{By: event.ByClient}, resumable, GivenUp, true)
	f("its own cancel", event.Event{By: event.ByServer}, func(_ *Exchange, r *Request) { r.OwnCancel = at(20) }, GivenUp, false)
	f("the body was not recorded", event.Event{By: event.ByServer, Status: 200, Loss: event.LossResponseBody}, none, Lost, false)
	f("the pairing is lost", event.Event{By: event.ByServer, Loss: event.LossPairing}, none, Lost, false)
	f("a hole on its connection", event.Event{By: event.ByServer}, func(x *Exchange, _ *Request) { x.Conn.lose(event.ToClient, 40*1e6) }, Lost, false)
	f("a hole before it was sent", event.Event{By: event.ByServer}, func(x *Exchange, _ *Request) { x.Conn.lose(event.ToClient, 1) }, Cut, false)
	f("a hole in the other direction", event.Event{By: event.ByServer}, func(x *Exchange, _ *Request) { x.Conn.lose(event.ToServer, 40*1e6) }, Cut, false)
}
