package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

func TestEqualFindingsAreOne(t *testing.T) {
	d, p, q := domain()
	s := &Sink{Domain: d}
	report := func(st signals.Strength, variant string, first, last int64, id, summary string, parties ...signals.Party) *signals.Finding {
		return s.Report(signals.Finding{Signal: signals.TokenCollision, Variant: variant, Strength: st, First: first, Last: last, RequestIDs: []string{id}, Summary: summary, Parties: parties})
	}
	a, b, ctx := party(p, signals.Cause), party(q, signals.Victim), signals.Party{Alias: "S3", Role: signals.Context}
	one := report(signals.Probable, "interleaved", 5, 6, "1", "weak", a, b)
	report(signals.Confirmed, "interleaved", 7, 9, "2", "strong", a, b, ctx)
	report(signals.Possible, "interleaved", 3, 4, "1", "weaker", a, b)
	if one.Count != 3 || one.First != 3 || one.Last != 9 || one.Strength != signals.Confirmed || one.Summary != "strong" || fmt.Sprint(one.RequestIDs) != "[1 2]" {
		t.Errorf("%+v", one)
	}
	report(signals.Probable, "duplicated", 5, 6, "1", "", a, b)
	report(signals.Probable, "interleaved", 5, 6, "1", "", b, a)
	report(signals.Probable, "interleaved", 5, 6, "1", "", party(p, signals.Victim), party(q, signals.Cause))
	if len(s.Findings) != 4 {
		t.Errorf("%d findings, want 4: another variant, order or role is another finding", len(s.Findings))
	}
}

func TestFindingsAreBounded(t *testing.T) {
	d, p, _ := domain()
	s := &Sink{Domain: d}
	for i := range maxFindings + 7 {
		s.Report(signals.Finding{Signal: signals.TokenCollision, Strength: signals.Probable,
			Parties: []signals.Party{party(p, signals.Cause), {Alias: fmt.Sprint("P", i), Role: signals.Victim}}, RequestIDs: []string{"1"}})
	}
	for i := range 3 * maxList {
		s.Report(signals.Finding{Signal: signals.TokenCollision, Strength: signals.Probable,
			Parties: []signals.Party{party(p, signals.Cause), {Alias: "P0", Role: signals.Victim}}, RequestIDs: []string{fmt.Sprint(i)}})
	}
	if len(s.Findings) != maxFindings || s.Beyond != 7 || s.Findings[0].Count != 1+3*maxList || len(s.Findings[0].RequestIDs) != maxList {
		t.Errorf("%d findings, %d beyond, the first %d times with %d ids", len(s.Findings), s.Beyond, s.Findings[0].Count, len(s.Findings[0].RequestIDs))
	}
}

// Parties that are known by address only never give more than probable.
func TestCapByAddress(t *testing.T) {
	f := func(st signals.Strength, p signals.Party, want signals.Strength) {
		t.Helper()
		if got := capByAddress(st, []signals.Party{{Alias: "S1", Session: "a", Role: signals.Cause}, p}); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
	f(signals.Confirmed, signals.Party{Text: "address 10.0.0.7", Role: signals.Victim}, signals.Probable)
	f(signals.Possible, signals.Party{Text: "address 10.0.0.7", Role: signals.Victim}, signals.Possible)
	f(signals.Confirmed, signals.Party{Text: "address 10.0.0.7", Role: signals.Context}, signals.Confirmed)
	f(signals.Confirmed, signals.Party{Text: "subject i|ann", Role: signals.Victim}, signals.Confirmed)
	f(signals.Confirmed, signals.Party{Session: "b", Text: "address 10.0.0.7", Role: signals.Victim}, signals.Confirmed)
}

func TestRaise(t *testing.T) {
	s := &Sink{}
	f := signals.Finding{Strength: signals.Probable, Assumption: "x"}
	s.Raise(&f, signals.Probable, "same")
	if f.Assumption == "" || len(f.Because) != 0 {
		t.Error("raised to what it was")
	}
	s.Raise(&f, signals.Confirmed, "why")
	if f.Strength != signals.Confirmed || f.Assumption != "" || len(f.Because) != 1 {
		t.Errorf("%+v", f)
	}
	f = signals.Finding{Strength: signals.Possible, Because: []string{"a", "so it is"}}
	s.Raise(&f, signals.Confirmed, "b")
	if got := strings.Join(f.Because, "; "); got != "a; b; so it is" {
		t.Error("the reason does not stand before what follows from it: ", got)
	}
}

// unbound requests are fallback_resolution's matter: they came without a valid
// session to an endpoint that issues sessions.
func TestUnbound(t *testing.T) {
	f := func(name string, want bool, change func(d *correlate.Domain, r *correlate.Request)) {
		t.Helper()
		d, p, _ := domain()
		d.Issued = 1
		r := ended(p, correlate.Open, 1, 0)
		r.Exchange.Asked = event.Session{State: event.Absent}
		change(d, r)
		if got := unbound(r, d); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	f("no id", true, func(*correlate.Domain, *correlate.Request) {})
	f("not known", false, func(_ *correlate.Domain, r *correlate.Request) { r.Exchange.Asked = event.Session{} })
	f("its id", false, func(_ *correlate.Domain, r *correlate.Request) { r.Exchange.Asked = event.Named("a") })
	f("no endpoint with sessions", false, func(d *correlate.Domain, _ *correlate.Request) { d.Issued = 0 })
	f("a ping", false, func(_ *correlate.Domain, r *correlate.Request) { r.Method = mcp.Ping })
	f("of a log", false, func(_ *correlate.Domain, r *correlate.Request) { r.Exchange = nil })
}

func TestDelivers(t *testing.T) {
	f := func(want bool, ev event.Event) {
		t.Helper()
		if got := delivers(&ev, mcp.Progress); got != want {
			t.Errorf("%s %s %s: %v", ev.Kind, ev.Dir, ev.RPC.Method, got)
		}
	}
	f(true, event.Event{Kind: event.Routed})
	f(true, event.Event{Kind: event.Message, Dir: event.ToClient, RPC: event.RPC{Method: mcp.Progress}})
	f(false, event.Event{Kind: event.Message, Dir: event.ToServer, RPC: event.RPC{Method: mcp.Progress}})
	f(false, event.Event{Kind: event.Message, Dir: event.ToClient, RPC: event.RPC{Method: mcp.ResourceUpdated}})
	f(false, event.Event{Kind: event.RequestDone, Dir: event.ToClient, RPC: event.RPC{Method: mcp.Progress}})
}

func TestSaysUnsupported(t *testing.T) {
	f := func(text string, lacks, not mcp.Caps) {
		t.Helper()
		if got := saysUnsupported(text); got&lacks != lacks || got&not != 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
	all := ^mcp.Caps(0)
	f("client does not support sampling", mcp.CapSampling|mcp.CapSamplingTools, mcp.CapRoots|mcp.CapElicitationForm)
	f("Elicitation not supported", mcp.CapElicitationForm|mcp.CapElicitationURL, mcp.CapSampling|mcp.CapRoots)
	f("missing capability: roots", mcp.CapRoots, mcp.CapSampling)
	f("needs the capabilities sampling and roots", mcp.CapRoots|mcp.CapSampling, mcp.CapElicitationForm)
	f("Client lacks the capability", all, 0)
	f("unsupported format", 0, all)
	f("sampling failed", 0, all)
	f("", 0, all)
}

func TestFallbackSource(t *testing.T) {
	for _, s := range []string{"fallback", "latest", "last", "last_used", "newest", "most_recent", "most_recently_created", "first", "oldest"} {
		if !fallbackSource(s) {
			t.Errorf("%s is no fallback", s)
		}
	}
	for _, s := range []string{"", "header", "cookie", "session", "query", "only", "global"} {
		if fallbackSource(s) {
			t.Errorf("%q is a fallback", s)
		}
	}
}

// A, B and A again is two holders of a session; A and then B for good is a refresh.
func TestSendersInTurns(t *testing.T) {
	f := func(want int, who ...string) {
		t.Helper()
		d, p, _ := domain()
		out, s := &Sink{Domain: d}, newShared(Options{}).(*Shared)
		for i, w := range who {
			s.senders(p, "credential", w, &event.Event{Time: at(int64(i))}, out)
		}
		got := 0
		for _, fd := range out.Findings {
			got += fd.Count
		}
		if got != want {
			t.Errorf("%v: %d", who, got)
		}
	}
	f(0, "a", "a", "a")
	f(0, "a", "b", "b", "c")
	f(0, "a", "", "a")
	f(1, "a", "b", "a")
	f(1, "a", "b", "a", "b", "a") // once a session
	f(1, "a", "b", "c", "b")
}
