package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

// reporting is an engine whose only domain reports what setup does.
func reporting(setup func(*rules.Sink)) *rules.Engine {
	e, s := sink(rules.Options{})
	setup(s)
	return e
}

func TestReadBaselineRefuses(t *testing.T) {
	f := func(doc, want string) {
		t.Helper()
		if _, err := ReadBaseline([]byte(doc)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", doc, err, want)
		}
	}
	const head = "version: 1\nentries:\n"
	f("", "version is 0")
	f("version: 2\n", "version is 2")
	f("version: 1\nother: 2\n", "line 2: field other not found")
	f(head+"- fingerprint: v1:a\n  reason: x\n", "line 3: v1:a has no date")
	f(head+"- fingerprint: v1:a\n  expires: 2027-01-31\n", "has no reason")
	f(head+"- fingerprint: a\n  reason: x\n  expires: 2027-01-31\n", "begins with v1:")
	f(head+"- fingerprint: v1:a\n  reason: x\n  expires: soon\n", `line 5, column 12: "soon" is no date`)
	f(head+"- fingerprint: v1:a\n  reson: x\n", `line 4, column 3: an entry has no key "reson"`)
	f(head+"- fingerprint: v1:a\n  reason: x\n  expires: 2027-01-31\n- fingerprint: v1:a\n  reason: x\n  expires: 2027-01-31\n", "line 6: v1:a stands in line 3 already")
	f("- a\n", "line 1")
}

// A finding that is known does not fail until the day after its last one; the
// same signal elsewhere is new.
func TestBaseline(t *testing.T) {
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	run := func(b *Baseline, today, method string, strict bool) *Result {
		e := reporting(func(s *rules.Sink) {
			s.Judged(signals.TokenCollision)
			f := finding(signals.Confirmed)
			f.Method = method
			s.Report(f)
		})
		return Judge(e, Options{Baseline: b, Today: day(today), Strict: strict})
	}
	first := run(nil, "2026-12-01", "tools/call", false)
	b := &Baseline{Version: 1}
	if n := b.Add(first.Findings, "why", day("2026-12-31")); n != 1 {
		t.Fatal(n, " added")
	}
	if n := b.Add(first.Findings, "other", day("2027-12-31")); n != 0 || b.Entries[0].Reason != "why" {
		t.Error("an entry was replaced")
	}
	doc, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if b, err = ReadBaseline(doc); err != nil {
		t.Fatal(err)
	}
	f := func(today, method string, strict bool, code, suppressed, expired, unmatched int) {
		t.Helper()
		r := run(b, today, method, strict)
		if k := r.Known; r.ExitCode != code || k.Suppressed != suppressed || len(k.Expired) != expired || len(k.Unmatched) != unmatched {
			t.Errorf("%s %s: exit %d, %d known, %d expired, %d unmatched", today, method, r.ExitCode, k.Suppressed, len(k.Expired), len(k.Unmatched))
		}
	}
	f("2026-12-31", "tools/call", true, ExitClean, 1, 0, 0)
	f("2027-01-01", "tools/call", false, ExitFindings, 0, 1, 0)
	f("2026-12-31", "tools/list", false, ExitFindings, 0, 0, 1)

	clean := Judge(reporting(func(s *rules.Sink) { s.Judged(signals.TokenCollision) }), Options{Baseline: b, Today: day("2026-12-01"), Strict: true})
	if clean.ExitCode != ExitFindings || !strings.Contains(clean.Why, "1 unmatched") {
		t.Errorf("strict: %d %s", clean.ExitCode, clean.Why)
	}
	unjudged := Judge(reporting(func(*rules.Sink) {}), Options{})
	if gone := b.Prune(unjudged); len(gone) != 0 {
		t.Error("an entry was pruned whose signal was not judged")
	}
	if gone := b.Prune(first); len(gone) != 0 {
		t.Error("an entry was pruned that occurs")
	}
	if gone := b.Prune(clean); len(gone) != 1 || len(b.Entries) != 0 {
		t.Error("an entry stays that does not occur")
	}
}

func TestRequire(t *testing.T) {
	f := func(names []string, setup func(*rules.Sink), code int) {
		t.Helper()
		if r := Judge(reporting(setup), Options{Require: names}); r.ExitCode != code || (r.Unmet != "") != (code == ExitInconclusive) {
			t.Errorf("%v: exit %d, %q", names, r.ExitCode, r.Unmet)
		}
	}
	judged := func(s *rules.Sink) { s.Judged(signals.TokenCollision) }
	f([]string{"token_collision"}, judged, ExitClean)
	f([]string{"token_collision", "subscription_bleed"}, judged, ExitInconclusive)
	f([]string{"token_collision"}, func(*rules.Sink) {}, ExitInconclusive)
}

func TestGateThatCannotBeEvaluated(t *testing.T) {
	g, err := gate.Parse("isodetect_finding / on (era) isodetect_finding > 0")
	if err != nil {
		t.Fatal(err)
	}
	e := reporting(func(s *rules.Sink) {
		a, b := finding(signals.Confirmed), finding(signals.Confirmed)
		b.Method = "other"
		b.Variant = "other"
		s.Report(a)
		s.Report(b)
	})
	if r := Judge(e, Options{Gate: g}); r.ExitCode != ExitError || !strings.Contains(r.Why, "--fail-on: cannot evaluate") {
		t.Errorf("exit %d: %s", r.ExitCode, r.Why)
	}
}
