package scenario

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/signals"
)

func TestCheck(t *testing.T) {
	sessions := map[string]string{"A": "id-a", "B": "id-b"}
	token := &signals.Signal{Name: "token_collision"}
	found := func(st signals.Strength, variant, rejected string) Outcome {
		return Outcome{Findings: []signals.Finding{{Signal: token, Variant: variant, Strength: st, Rejected: rejected,
			Parties: []signals.Party{{Session: "id-a", Role: signals.Cause}, {Session: "id-b", Role: signals.Victim}}}},
			Notes: []signals.Note{{Kind: "fallback_own"}}, States: map[string]string{"token_collision": "judged"}}
	}
	f := func(expect string, got Outcome, want ...string) {
		t.Helper()
		var e Expectation
		for _, line := range strings.Split(expect, ";") {
			words := strings.Fields(line)
			if err := e.add(words[0], words[1:]); err != nil {
				t.Fatal(err)
			}
		}
		wrong := e.Check(got, sessions)
		if len(wrong) != len(want) {
			t.Errorf("%s: got %q, want %q", expect, wrong, want)
			return
		}
		for i := range want {
			if !strings.Contains(wrong[i], want[i]) {
				t.Errorf("%s: got %q, want %q", expect, wrong[i], want[i])
			}
		}
	}
	confirmed := found(signals.Confirmed, "misdelivered", "")
	f("expect token_collision confirmed cause=A victim=B", confirmed)
	f("expect token_collision.misdelivered confirmed", confirmed)
	f("allow token_collision confirmed", confirmed)
	f("expect note fallback_own;allow token_collision confirmed", confirmed)
	f("expect state token_collision judged;allow token_collision confirmed", confirmed)
	f("expect token_collision confirmed rejected=overlap", found(signals.Confirmed, "", "overlap"))
	f("expect none", confirmed, "unexpected: token_collision")
	f("expect none", found(signals.Hazard, "equal_tokens", ""), "unexpected")
	f("expect token_collision confirmed", Outcome{}, "missing")
	f("expect token_collision probable", confirmed, "missing", "unexpected")
	f("expect token_collision confirmed cause=B", confirmed, "missing", "unexpected")
	f("expect token_collision.interleaved confirmed", confirmed, "missing", "unexpected")
	f("expect token_collision confirmed", found(signals.Confirmed, "", "overlap"), "missing", "unexpected")
	f("expect token_collision confirmed;expect note invented_token", confirmed, "missing: note")
	f("expect state token_collision judged", Outcome{}, "want \"judged\"")
}
