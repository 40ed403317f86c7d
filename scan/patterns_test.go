package scan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/pattern"
)

// shownByPatterns is what the logs of the recorded cases show once their wording
// is known (testdata/patterns), beyond what they must show anyway.
var shownByPatterns = map[string][]string{
	"go-f03-capability-drift-gateway/server.debug.log":   {"capability_drift"},
	"go-f04-token-collision-gateway/server.debug.log":    {"token_collision"},
	"go-f06-cancel-crosstalk-forwarded/server.debug.log": {"cancellation_crosstalk"},
	"go-f08-subscription-bleed-gateway/server.debug.log": {"subscription_bleed"},
	"go-f12-combined-incident-60s/server.debug.log":      {"cancellation_crosstalk", "capability_drift", "fallback_resolution", "subscription_bleed", "token_collision"},
	"ts-f05_token_global_hub/server.log":                 {"token_collision"},
	"ts-f07_cancel_bare_id/server.log":                   {"cancellation_crosstalk"},
	"ts-f09_bleed_uri_only/server.log":                   {"subscription_bleed"},
	"ts-f17_mix_all/server.log":                          {"cancellation_crosstalk", "capability_drift", "fallback_resolution", "subscription_bleed", "token_collision"},
}

// Every log of every recording, read with the patterns of its kind of server and
// with those of the other kind, shows what happened and nothing else.
func TestRecordedLogsWithPatterns(t *testing.T) {
	sets := map[string]*pattern.Set{}
	for _, kind := range []string{"go", "ts"} {
		set, err := pattern.Load("../testdata/patterns/" + kind + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		sets[kind] = set
	}
	files, err := filepath.Glob("../testdata/cases/*/expect.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find the recorded cases: %v", err)
	}
	left := len(shownByPatterns)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("cannot parse %s: %s", file, err)
		}
		dir := filepath.Dir(file)
		for name, want := range r.Inputs {
			if !strings.HasSuffix(name, ".log") {
				continue
			}
			id := filepath.Base(dir) + "/" + name
			for kind, set := range sets {
				want := want
				want.patterns = set
				if shown := shownByPatterns[id]; shown != nil && strings.HasPrefix(id, kind+"-") {
					left--
					for _, s := range shown {
						if !slices.Contains(want.May, s) && !slices.Contains(want.Must, s) {
							t.Errorf("%s: %s may not be shown at all", id, s)
						}
					}
					want.Must, want.Sessions = shown, r.Inputs["capture.pcap"].Sessions
				}
				t.Run(id+"/"+kind, func(t *testing.T) {
					for _, failure := range judge(t, dir, name, want) {
						t.Error(failure)
					}
				})
			}
		}
	}
	if left != 0 {
		t.Errorf("%d logs that patterns explain were not found", left)
	}
}
