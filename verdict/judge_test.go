package verdict

import (
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

// sink returns an engine with one domain of two live sessions and its sink.
func sink(o rules.Options) (*rules.Engine, *rules.Sink) {
	e := rules.NewEngine(o)
	for i, id := range []string{"a", "b"} {
		dom := event.Domain{Server: "http://h", Path: "/mcp"}
		e.Apply(&event.Event{Kind: event.Opened, Time: event.At(int64(i + 1)), Domain: dom, Exchange: event.ExchangeID{N: uint64(i + 1)}, HTTPMethod: "GET", Asked: event.Named(id)})
		e.Apply(&event.Event{Kind: event.Head, Time: event.At(int64(i + 1)), Domain: dom, Exchange: event.ExchangeID{N: uint64(i + 1)}, Status: 200})
	}
	return e, e.Sinks[0]
}

func finding(st signals.Strength) signals.Finding {
	return signals.Finding{Signal: signals.TokenCollision, Variant: "misdelivered", Strength: st, First: 5, Parties: []signals.Party{
		{Alias: "S1", Session: "a", Role: signals.Cause}, {Alias: "S2", Session: "b", Role: signals.Victim}}}
}

func TestExitCodes(t *testing.T) {
	f := func(name string, prepare func(*rules.Sink), o Options, outcome string, code int) {
		t.Helper()
		e, s := sink(rules.Options{})
		prepare(s)
		if res := Judge(e, o); res.Outcome != outcome || res.ExitCode != code {
			t.Errorf("%s: %s %d (%s), want %s %d", name, res.Outcome, res.ExitCode, res.Why, outcome, code)
		}
	}
	probable := Options{}
	report := func(st signals.Strength) func(*rules.Sink) {
		return func(s *rules.Sink) { s.Judged(signals.TokenCollision); s.Report(finding(st)) }
	}
	f("nothing judged", func(*rules.Sink) {}, probable, OutcomeInconclusive, ExitInconclusive)
	f("judged, nothing found", func(s *rules.Sink) { s.Judged(signals.TokenCollision) }, probable, OutcomeClean, ExitClean)
	f("at the threshold", report(signals.Probable), probable, OutcomeSignals, ExitFindings)
	f("above", report(signals.Confirmed), probable, OutcomeSignals, ExitFindings)
	f("below", report(signals.Possible), probable, OutcomeClean, ExitClean)
	f("a lower threshold", report(signals.Possible), Options{Gate: gate.AtLeast(signals.Possible)}, OutcomeSignals, ExitFindings)
	f("no threshold", report(signals.Confirmed), Options{Gate: gate.AtLeast(signals.None)}, OutcomeClean, ExitClean)
	f("before the window", report(signals.Confirmed), Options{Since: 6}, OutcomeClean, ExitClean)
	f("after the window", report(signals.Confirmed), Options{Until: 4}, OutcomeClean, ExitClean)
	f("not assessable is no pass", func(s *rules.Sink) { s.Unassessable(signals.TokenCollision, "why") }, probable, OutcomeInconclusive, ExitInconclusive)
}

func TestRejected(t *testing.T) {
	f := func(name string, o rules.Options, st signals.Strength, prepare func(*correlate.Domain), want string) {
		t.Helper()
		e, s := sink(o)
		prepare(s.Domain)
		s.Judged(signals.TokenCollision)
		s.Report(finding(st))
		res := Judge(e, Options{})
		if got := res.Findings[0].Rejected; got != want || (res.ExitCode == ExitFindings) != (want == "") {
			t.Errorf("%s: rejected %q, exit %d, want %q", name, got, res.ExitCode, want)
		}
	}
	cookies := func(a, b string) func(*correlate.Domain) {
		return func(d *correlate.Domain) {
			d.Sessions["a"].Hints, d.Sessions["b"].Hints, d.Cookies = &correlate.Hints{Cookies: []string{a}}, &correlate.Hints{Cookies: []string{b}}, []string{a, b}
		}
	}
	none := func(*correlate.Domain) {}
	f("plain", rules.Options{}, signals.Probable, none, "")
	f("other affinity cookies", rules.Options{}, signals.Probable, cookies("r=1", "r=2"), "multiplexed")
	f("one cookie", rules.Options{}, signals.Probable, cookies("r=1", "r=1"), "")
	f("a confirmed delivery proves shared state", rules.Options{}, signals.Confirmed, cookies("r=1", "r=2"), "")
	f("the user knows better", rules.Options{Multiplexed: true}, signals.Probable, cookies("r=1", "r=2"), "")
	f("pinned by the user's word", rules.Options{Pinned: true}, signals.Probable, none, "multiplexed")
	f("no overlap", rules.Options{}, signals.Probable, func(d *correlate.Domain) { d.Overlap = false }, "overlap")
}

func TestConditions(t *testing.T) {
	f := func(name, condition string, o rules.Options, prepare func(*rules.Engine, *rules.Sink), want string) {
		t.Helper()
		e, s := sink(o)
		prepare(e, s)
		for _, c := range Judge(e, Options{}).Domains[0].Conditions {
			if c.Name == condition && (c.State != want || c.Why == "") {
				t.Errorf("%s: %s is %s (%s), want %s", name, condition, c.State, c.Why, want)
			}
		}
	}
	d := func(change func(*correlate.Domain)) func(*rules.Engine, *rules.Sink) {
		return func(_ *rules.Engine, s *rules.Sink) { change(s.Domain) }
	}
	plain := d(func(*correlate.Domain) {})
	f("one listener", "multiplexed", rules.Options{}, plain, Met)
	f("two affinity cookies", "multiplexed", rules.Options{}, d(func(c *correlate.Domain) { c.Cookies = []string{"r=1", "r=2"} }), Unknown)
	f("a log without process", "multiplexed", rules.Options{}, d(func(c *correlate.Domain) { c.Log = true }), Unknown)
	f("pinned", "multiplexed", rules.Options{Pinned: true}, plain, Failed)
	f("two live", "overlap", rules.Options{}, plain, Met)
	f("never two", "overlap", rules.Options{}, d(func(c *correlate.Domain) { c.Overlap = false }), Failed)
	f("in no known order", "overlap", rules.Options{}, d(func(c *correlate.Domain) { c.Overlap, c.Untimed = false, true }), Unknown)
	f("wire", "http", rules.Options{}, plain, Met)
	f("log", "http", rules.Options{}, d(func(c *correlate.Domain) { c.Log = true }), Unknown)
	f("stdio", "http", rules.Options{}, func(e *rules.Engine, _ *rules.Sink) { e.State.Stdio = true }, Failed)
	f("no initialize in view", "creation_visible", rules.Options{}, plain, Failed)
	f("one of two", "creation_visible", rules.Options{}, d(func(c *correlate.Domain) { c.Sessions["a"].Born = true }), Unknown)
	f("whole", "complete", rules.Options{}, plain, Met)
	f("gaps", "complete", rules.Options{}, d(func(c *correlate.Domain) { c.Gaps = 2 }), Failed)
	f("unshared", "unshared", rules.Options{}, plain, Met)
	f("shared", "unshared", rules.Options{}, func(_ *rules.Engine, s *rules.Sink) {
		s.Report(signals.Finding{Signal: signals.SharedSession, Variant: "equal_ids", Strength: signals.Hazard, Parties: []signals.Party{{Alias: "S1·a", Session: "a"}}})
	}, Failed)
}
