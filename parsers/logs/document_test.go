package logs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/document"
	"github.com/isodetect/isodetect/parsers/source"
)

// inMemory is an input that can be read in any order.
type inMemory []byte

func (m inMemory) Stream() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m)), nil }
func (m inMemory) Random() (source.RandomReader, int64, error) {
	return struct {
		io.ReaderAt
		io.Closer
	}{bytes.NewReader(m), io.NopCloser(nil)}, int64(len(m)), nil
}

// export gives the events of an export.
func export(t *testing.T, b []byte) ([]string, *source.Stats) {
	t.Helper()
	in := &source.Input{Opener: inMemory(b)}
	r, err := openDocument([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	last := int64(0)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != event.Gap && e.Time.To < last {
			t.Errorf("line %d goes back in time", e.At.N)
		}
		last = max(last, e.Time.From)
		out = append(out, describe(e))
	}
	if s := &in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
		t.Errorf("%d records are not %d used + %d ignored + %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
	}
	return out, &in.Stats
}

// TestExports holds the events of an export of each kind against a golden file.
func TestExports(t *testing.T) {
	for _, k := range document.All() {
		t.Run(k.Name, func(t *testing.T) {
			paths, _ := filepath.Glob("testdata/exports/" + k.Name + ".[jc]s*")
			if len(paths) != 1 {
				t.Fatalf("files are %v, want one", paths)
			}
			b, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if found := document.Find(b); found == nil || found.Name != k.Name {
				t.Fatalf("taken for %+v", found)
			}
			events, stats := export(t, b)
			if stats.Malformed > 0 {
				t.Errorf("problems: %v", stats.Problems)
			}
			got := fmt.Sprintf("%s\nin %v, %d records, %d used, %d ignored, gaps %d\n%s\n", strings.Join(events, "\n"),
				stats.Wrappers, stats.Records, stats.Used, stats.Ignored, stats.Gaps, strings.Join(stats.Notes, "\n"))
			golden := "testdata/exports/" + k.Name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("events of %s differ (-want +got):\n%s", paths[0], diff)
			}
		})
	}
}
