package inspector

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestNetwork holds the events of an export against a golden file: answers that
// overtake each other, a stream that was open, a request that was never answered.
func TestNetwork(t *testing.T) {
	b, err := os.ReadFile("testdata/network.json")
	if err != nil {
		t.Fatal(err)
	}
	if Format.Sniff(b, true) < 90 {
		t.Error("not recognised")
	}
	in := exchangetest.Input(b)
	lines, err := exchangetest.Read(Format, in)
	if err != nil {
		t.Fatal(err)
	}
	if s := in.Stats; s.Records != 6 || s.Used != 5 || s.Ignored != 1 {
		t.Errorf("%d records, %d used, %d ignored", s.Records, s.Used, s.Ignored)
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/network.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/network.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// TestCut holds that what stands before a cut counts, and that holes are told.
func TestCut(t *testing.T) {
	b, err := os.ReadFile("testdata/network.json")
	if err != nil {
		t.Fatal(err)
	}
	in := exchangetest.Input(b[:len(b)*3/4])
	lines, err := exchangetest.Read(Format, in)
	if err != nil {
		t.Fatal(err)
	}
	s := in.Stats
	if s.Used == 0 || s.Malformed != 1 || s.Records != s.Used+s.Ignored+s.Malformed || len(s.Problems) != 1 || s.Gaps != 2 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(lines[0], " gap ") || !strings.Contains(strings.Join(lines, "\n"), "initialize") {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

func TestSplitURL(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if origin, target := splitURL(in); origin+" "+target != want {
			t.Errorf("%s is %s %s, want %s", in, origin, target, want)
		}
	}
	f("https://Notes.example:443/mcp?a=1", "https://notes.example /mcp?a=1")
	f("http://[::1]:80", "http://[::1] /")
	f("http://u:p@h:8080/x", "http://h:8080 /x")
	f("/mcp", " /mcp")
	f("::", " ::")
}

// FuzzNetwork holds that no export breaks the reading and that every record counts.
func FuzzNetwork(f *testing.F) {
	b, err := os.ReadFile("testdata/network.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:1000])
	f.Fuzz(func(t *testing.T, b []byte) {
		in := exchangetest.Input(b)
		if _, err := exchangetest.Read(Format, in); err != nil {
			return
		}
		if s := in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
			t.Fatalf("%d records are not %d used + %d ignored + %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
		}
	})
}

var _ source.Format = Format
