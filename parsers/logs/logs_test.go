package logs

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/parsers/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden holds the events of each log in testdata against those in its golden file.
func TestGolden(t *testing.T) {
	var logs []string
	for _, pattern := range []string{"*.log", "*.logfmt", "*.jsonl"} {
		found, err := filepath.Glob("testdata/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, found...)
	}
	if len(logs) < 12 {
		t.Fatalf("only %d logs in testdata", len(logs))
	}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			events, stats := scan(t, b, source.Options{})
			if stats.Records != stats.Used+stats.Ignored+stats.Malformed {
				t.Errorf("%d records are not %d used + %d ignored + %d malformed", stats.Records, stats.Used, stats.Ignored, stats.Malformed)
			}
			got := strings.Join(events, "\n") + "\n"
			golden := path + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("events of %s differ (-want +got):\n%s", path, d)
			}
		})
	}
}
