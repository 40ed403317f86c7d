package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/signals"
)

const second = int64(1e9)

// found makes a finding that occurred at these seconds.
func found(sig *signals.Signal, st signals.Strength, domain, method string, at ...int64) *signals.Finding {
	f := &signals.Finding{Signal: sig, Variant: "v", Strength: st, Family: sig.Family, Era: "legacy", Domain: domain, Method: method}
	for _, t := range at {
		f.Occur(t*second, 1)
	}
	return f
}

func TestParseRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want one with %q", text, err, want)
		}
	}
	f("", "empty")
	f(strings.Repeat("a", MaxText+1), "more than 16384")
	f("often", "no strength, signal or family")
	f("token_collision,nope", `"nope"`)
	f("1 > 0", "does not look at findings")
	f("isodetect_finding > (1 > 2)", "compares constants")
	f("isodetect_findings_total > 1", "the only series is isodetect_finding")
	f(`{__name__=~"isodetect.*"} > 1`, "the only series is")
	f(`isodetect_finding{signal="tokn"}`, `there is no signal "tokn"`)
	f(`isodetect_finding{strength="sure"}`, "there is no strength")
	f(`isodetect_finding{session="x"}`, `no label "session"`)
	f(`isodetect_finding{method=~"("}`, "invalid regexp")
	f(`isodetect_finding{domain="a" or domain="b"}`, "or between filters")
	f("sum(isodetect_finding) by (pod) > 1", `no label "pod"`)
	f("quantile(0.5, isodetect_finding)", "quantile(…) is not supported")
	f("histogram_quantile(0.5, isodetect_finding)", "histogram_quantile(…) is not supported")
	f("ru(isodetect_finding, isodetect_finding)", "ru(…) is not supported")
	f("WITH (a = isodetect_finding) a > 1", "WITH(…) is not supported")
	f("with a = 1 a", "WITH templates are not supported")
	f("topk(3, isodetect_finding)", "topk(…)")
	f("sum(isodetect_finding) limit 3", "without limit")
	f("count_over_time(isodetect_finding) > 1", "needs a series with a window")
	f("count_over_time(isodetect_finding[5m] offset 1m) > 1", "without offset")
	f("count_over_time(isodetect_finding[5m:1m]) > 1", "subqueries")
	f("count_over_time(sum(isodetect_finding)[5m]) > 1", "the argument of count_over_time")
	f("count_over_time(isodetect_finding[5i]) > 1", "must not depend on a step")
	f("isodetect_finding[5m]", "windows stand inside")
	f("isodetect_finding @ 5 > 1", "windows stand inside")
	f("isodetect_finding > bool 1", "bool is not supported")
	f("isodetect_finding and 1", "joins a number")
	f("isodetect_finding + on (domain) 1", "matches labels with a number")
	f("isodetect_finding * on (domain) group_left isodetect_finding", "group_left")
	f("isodetect_finding default 1 > 1", "operator default is not supported")
	f("isodetect_finding > 1 # comment", "comments")
	f(`isodetect_finding{domain="x}`, "is not closed")
	f(`"text"`, `"text" is not supported`)
	f("isodetect_finding >", "no expression of MetricsQL")
	f(strings.Repeat("sum(", 3000)+"isodetect_finding"+strings.Repeat(")", 3000), "more than 256 parts")
	f("isodetect_finding"+strings.Repeat("+1", 7000), "more than 256 parts")
	f(strings.Repeat("(", 5000)+"isodetect_finding"+strings.Repeat(")", 4999), "no expression")
}

func TestJudge(t *testing.T) {
	all := []*signals.Finding{
		found(signals.TokenCollision, signals.Confirmed, "a", "tools/call", 10, 20, 30, 40),
		found(signals.TokenCollision, signals.Hazard, "a", "tools/call", 11, 12, 13, 14, 15, 16),
		found(signals.SubscriptionBleed, signals.Probable, "a", "resources/read", 100),
		found(signals.FallbackResolution, signals.Possible, "b", "tools/call", 400, 401),
		found(signals.SharedSession, signals.Hazard, "b", "", 500),
	}
	f := func(text, counts string, times int) {
		t.Helper()
		g, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		r, err := g.Judge(all)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		var got []string
		for i, f := range all {
			if r.Counts[f] {
				got = append(got, fmt.Sprint(i))
			}
		}
		if g := strings.Join(got, " "); g != counts || r.Times != times {
			t.Errorf("%s: findings %q at %d times, want %q at %d", text, g, r.Times, counts, times)
		}
	}
	f("none", "", 0)
	f("confirmed", "0", 0)
	f("probable", "0 2", 0)
	f("possible", "0 2 3", 0)
	f("hazard", "0 1 2 3 4", 0)
	f("token_collision", "0", 0)
	f("shared_session", "4", 0)
	f("keying, subscription_bleed", "2", 0)
	f("lifetime-and-namespace", "0 2", 0)

	f(`isodetect_finding{signal="token_collision"}`, "0", 11) // seen for five minutes after each: ten times up to 40, and 100
	f(`isodetect_finding{signal="token_collision"} > 3`, "0", 2)
	f(`isodetect_finding{signal="token_collision",strength="hazard"} > 5`, "1", 5)
	f(`count_over_time(isodetect_finding[15s]) > 1`, "0", 3)
	f(`count_over_time(isodetect_finding{domain="a"}[20s]) > 1`, "0", 3)
	f(`sum(count_over_time(isodetect_finding{family="lifetime-and-namespace"}[5m])) by (domain) > 4`, "0 2", 1)
	f(`sum(count_over_time(isodetect_finding[5m])) by (domain) > 5`, "", 0)
	f(`sum(isodetect_finding) by (domain) >= 4 and sum(isodetect_finding{signal="subscription_bleed"}) by (domain) > 0`, "0 2", 1)
	f(`isodetect_finding unless isodetect_finding{signal="token_collision"}`, "2", 1)
	f(`rate(isodetect_finding[10s]) * 10 > 0.9`, "0 2", 11)
	f(`4 <= isodetect_finding`, "0", 2)
	f(`max(isodetect_finding{strength=~".+"}) without (strength, signal) == 6`, "0 1", 5)
	f(`max(isodetect_finding{strength=~".+"}) by (domain) == 6`, "0 1 2", 5) // the label that is left is the domain's
	f(`avg(isodetect_finding) + 1 < 2 or isodetect_finding{method!~"tools/.*"}`, "2", 1)
}

// A side without elements matches nothing, so nothing in the other can match twice.
func TestJudgePairsWithNothing(t *testing.T) {
	all := []*signals.Finding{
		found(signals.TokenCollision, signals.Confirmed, "a", "tools/call", 10),
		found(signals.SubscriptionBleed, signals.Confirmed, "a", "resources/read", 10),
	}
	f := func(text string) {
		t.Helper()
		g, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := g.Judge(all); err != nil || r.Times != 0 {
			t.Errorf("%s: %d times, error %v", text, r.Times, err)
		}
	}
	f(`isodetect_finding{signal="shared_session"} / on (domain) isodetect_finding > 0`)
	f(`isodetect_finding / on (domain) isodetect_finding{signal="shared_session"} > 0`)
}

// What cannot be matched one to one is an error, as in Prometheus.
func TestJudgeCannotMatch(t *testing.T) {
	all := []*signals.Finding{
		found(signals.TokenCollision, signals.Confirmed, "a", "tools/call", 10),
		found(signals.SubscriptionBleed, signals.Confirmed, "a", "resources/read", 10),
	}
	f := func(text, want string) {
		t.Helper()
		g, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Judge(all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	f("isodetect_finding / on (domain) isodetect_finding > 0", "on the right match the same")
	f("isodetect_finding / on (domain) sum(isodetect_finding) by (domain) > 0", "on the left match the same")
}

// However many findings a hostile log makes, the evaluation ends, and not with a pass.
func TestJudgeEnds(t *testing.T) {
	var all []*signals.Finding
	for i := range int64(signals.MaxTimes) {
		f := &signals.Finding{Signal: signals.TokenCollision, Strength: signals.Confirmed, Domain: fmt.Sprint(i)}
		for k := range int64(signals.MaxTimes) {
			f.Occur(i+k*1000, 1)
		}
		all = append(all, f)
	}
	g, err := Parse("isodetect_finding + on (domain, method) isodetect_finding > 1e9")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Judge(all); err == nil || !strings.Contains(err.Error(), "too much for it") {
		t.Error(err)
	}
}

func TestOccurJoinsNeighbours(t *testing.T) {
	f := &signals.Finding{}
	for i := range int64(10_000) {
		f.Occur(i, 1)
	}
	f.Occur(5, 3) // a late one
	n := 0
	for _, o := range f.Times {
		n += o.N
	}
	if n != 10_003 || len(f.Times) > signals.MaxTimes || !slices.IsSortedFunc(f.Times, func(a, b signals.Occurred) int { return compare(a.At, b.At) }) {
		t.Errorf("%d occurrences in %d times", n, len(f.Times))
	}
	if last := f.Times[len(f.Times)-1].At; last != 9999 {
		t.Error(last)
	}
}

func TestSelector(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Matches(found(signals.TokenCollision, signals.Hazard, "http://a/mcp", "tools/call", 1)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	f(`{signal="token_collision",method=~"tools/.*"}`, true)
	f(`isodetect_finding`, true)
	f(`{method=~"tools"}`, false)
	f(`{method!~"tools"}`, true)
	f(`{signal!="token_collision"}`, false)
	f(`{strength=~"hazard|possible"}`, true)
	f(`{variant=""}`, false)
	f(`{domain=~"http.*"}`, true)
	lines, err := ParseSelector(`{domain=~"a.b"}`)
	if err != nil || !lines.Matches(found(signals.TokenCollision, signals.Hazard, "a\nb", "", 1)) {
		t.Error("a dot does not match the end of a line")
	}
	if _, err := ParseSelector("sum(isodetect_finding)"); err == nil {
		t.Error("an expression is taken for a selector")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"probable", `sum(count_over_time(isodetect_finding{family="keying"}[5m])) by (domain) > 3`, "isodetect_finding and isodetect_finding or -isodetect_finding ^ 2"} {
		f.Add(s)
	}
	all := []*signals.Finding{found(signals.TokenCollision, signals.Confirmed, "a", "tools/call", 10, 20), found(signals.SubscriptionBleed, signals.Probable, "a", "resources/read", 100)}
	f.Fuzz(func(_ *testing.T, text string) {
		if g, err := Parse(text); err == nil {
			g.Judge(all) // no panic
		}
	})
}
