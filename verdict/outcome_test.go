package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
)

// engine returns an engine over domains of two live sessions each.
func engine(domains int) *rules.Engine {
	e := rules.NewEngine(rules.Options{})
	n := uint64(0)
	for i := range domains {
		dom := event.Domain{Server: "http://h" + string(rune('a'+i)), Path: "/mcp"}
		for _, id := range []string{"a", "b"} {
			n++
			e.Apply(&event.Event{Kind: event.Opened, Time: event.At(int64(n)), Domain: dom, Exchange: event.ExchangeID{N: n}, HTTPMethod: "GET", Asked: event.Named(id)})
			e.Apply(&event.Event{Kind: event.Head, Time: event.At(int64(n)), Domain: dom, Exchange: event.ExchangeID{N: n}, Status: 200})
		}
	}
	return e
}

// DETECTION §5: 1 if any domain has a finding, else 0 if one was judged, else 3.
func TestExitCodeOverDomains(t *testing.T) {
	found := func(s *rules.Sink) { s.Judged(signals.TokenCollision); s.Report(finding(signals.Probable)) }
	clean := func(s *rules.Sink) { s.Judged(signals.TokenCollision) }
	open := func(s *rules.Sink) {}
	hazard := func(s *rules.Sink) { s.Judged(signals.TokenCollision); s.Report(finding(signals.Hazard)) }
	rejected := func(s *rules.Sink) { s.Domain.Overlap = false; found(s) }
	f := func(name string, code int, outcomes []string, prepare ...func(*rules.Sink)) {
		t.Helper()
		e := engine(len(prepare))
		for i, p := range prepare {
			p(e.Sinks[i])
		}
		res := Judge(e, Options{})
		var got []string
		for _, d := range res.Domains {
			got = append(got, d.Outcome)
			if d.Why == "" {
				t.Errorf("%s: %s has no reason", name, d.ID)
			}
		}
		if res.ExitCode != code || !slices.Equal(got, outcomes) || res.Why == "" {
			t.Errorf("%s: exit %d (%s), domains %v, want %d, %v", name, res.ExitCode, res.Why, got, code, outcomes)
		}
	}
	const s, c, i = OutcomeSignals, OutcomeClean, OutcomeInconclusive
	f("none", 3, nil)
	f("found and clean", 1, []string{s, c}, found, clean)
	f("clean and found", 1, []string{c, s}, clean, found)
	f("not judged and found", 1, []string{i, s}, open, found)
	f("clean and not judged", 0, []string{c, i}, clean, open)
	f("not judged twice", 3, []string{i, i}, open, open)
	f("a hazard fails nothing", 0, []string{c}, hazard)
	f("a rejected finding fails nothing, and without overlap nothing is judged", 3, []string{i}, rejected)
	f("rejected beside clean", 0, []string{i, c}, rejected, clean)
}

// Strongest first, then by first occurrence; a hazard that a finding between
// the same parties covers is not repeated.
func TestFindingsAreSortedAndHazardsCovered(t *testing.T) {
	e := engine(1)
	s := e.Sinks[0]
	add := func(sig *signals.Signal, variant string, st signals.Strength, first int64, a, b string) {
		s.Report(signals.Finding{Signal: sig, Variant: variant, Strength: st, First: first, Parties: []signals.Party{
			{Alias: a, Session: a, Role: signals.Cause}, {Alias: b, Session: b, Role: signals.Victim}}})
	}
	add(signals.TokenCollision, "equal_tokens", signals.Hazard, 1, "S1", "S2")
	add(signals.TokenCollision, "equal_tokens", signals.Hazard, 2, "S1", "S3")
	add(signals.SubscriptionBleed, "unsubscribed", signals.Possible, 3, "S1", "S3")
	add(signals.TokenCollision, "misdelivered", signals.Probable, 9, "S2", "S1")
	add(signals.SubscriptionBleed, "unsubscribed", signals.Probable, 8, "S2", "S1")
	add(signals.ResponseCrossing, "shared_transport", signals.Confirmed, 20, "S1", "S2")
	var got []string
	for _, f := range Judge(e, Options{}).Findings {
		got = append(got, f.Variant+" "+f.Parties[0].Alias+f.Parties[1].Alias)
	}
	want := []string{"shared_transport S1S2", "unsubscribed S2S1", "misdelivered S2S1", "unsubscribed S1S3", "equal_tokens S1S3"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The boundary is the set of families of what counts at the threshold.
func TestBoundary(t *testing.T) {
	e := engine(1)
	s := e.Sinks[0]
	for i, sig := range []*signals.Signal{signals.TokenCollision, signals.CancellationCrosstalk, signals.ResponseCrossing, signals.FallbackResolution} {
		f := finding(signals.Probable)
		f.Signal, f.Variant = sig, "v"
		if i == 3 {
			f.Strength = signals.Possible // below the threshold: its family is not needed
		}
		s.Report(f)
	}
	if got := Judge(e, Options{}).Domains[0].Boundary; !slices.Equal(got, []signals.Family{signals.Lifetime, signals.ExchangeKey}) {
		t.Errorf("%v", got)
	}
}

// A session that one endpoint issued and another one serves hints at a shared store.
func TestAlsoIn(t *testing.T) {
	f := func(name string, notes int, prepare func(a, b *rules.Sink)) {
		t.Helper()
		e := engine(2)
		prepare(e.Sinks[0], e.Sinks[1])
		res, got := Judge(e, Options{}), 0
		for _, n := range res.Notes {
			if n.Kind == signals.NoteSharedStoreSuspected {
				got += n.Count
			}
		}
		if got != notes || (len(res.Domains[0].AlsoIn) > 0) != (notes > 0) {
			t.Errorf("%s: noted %d times, also in %v", name, got, res.Domains[0].AlsoIn)
		}
	}
	f("nobody issued it in view", 0, func(_, _ *rules.Sink) {})
	f("one issued it, the other serves it", 1, func(a, _ *rules.Sink) { a.Domain.Sessions["a"].Issued = true })
}

// What was not judged for want of room is no ground for a pass.
func TestBeyondTheLimit(t *testing.T) {
	e := engine(1)
	e.Sinks[0].Judged(signals.TokenCollision)
	if res := Judge(e, Options{}); res.ExitCode != ExitClean {
		t.Fatalf("exit code %d: %s", res.ExitCode, res.Why)
	}
	e.State.Beyond = 3
	if res := Judge(e, Options{}); res.ExitCode != ExitInconclusive || !strings.Contains(res.Why, "3 events") {
		t.Errorf("exit code %d: %s", res.ExitCode, res.Why)
	}
}
