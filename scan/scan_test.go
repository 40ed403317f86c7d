package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/verdict"
)

func TestParseZone(t *testing.T) {
	f := func(in string, offset int, given bool) {
		t.Helper()
		got, ok, err := ParseZone(in)
		if err != nil || got != offset || ok != given {
			t.Errorf("%q: %d, %v, %v", in, got, ok, err)
		}
	}
	f("", 0, false)
	f("Z", 0, true)
	f("utc", 0, true)
	f("+02:00", 7200, true)
	f("-0530", -19800, true)
	f("+05", 18000, true)
	for _, bad := range []string{"Europe/Berlin", "2", "+2", "++02:00"} {
		if _, _, err := ParseZone(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	f := func(in, zone, want string) {
		t.Helper()
		got, err := ParseTime(in, zone, now)
		if err != nil {
			t.Error(err)
			return
		}
		if s := time.Unix(0, got).UTC().Format(time.RFC3339Nano); s != want {
			t.Errorf("%q in %q: %s, want %s", in, zone, s, want)
		}
	}
	f("2026-11-30T10:00:00.25Z", "", "2026-11-30T10:00:00.25Z")
	f("2026-11-30T10:00:00+02:00", "-05:00", "2026-11-30T08:00:00Z")
	f("2026-11-30 10:00:00", "+02:00", "2026-11-30T08:00:00Z")
	f("2026-11-30T10:00", "", "2026-11-30T10:00:00Z")
	f("2026-11-30", "", "2026-11-30T00:00:00Z")
	f("15m", "", "2026-11-30T11:45:00Z")
	f("-15m", "", "2026-11-30T11:45:00Z")
	if got, err := ParseTime("", "", now); got != 0 || err != nil {
		t.Errorf("no time: %d, %v", got, err)
	}
	for _, s := range []string{"soon", "9999-01-01", "1677-01-01"} {
		if _, err := ParseTime(s, "", now); err == nil {
			t.Errorf("%s was accepted", s)
		}
	}
}

func TestDomainsOf(t *testing.T) {
	f := func(rules string, source, server, path, want string) {
		t.Helper()
		of, err := domainsOf(strings.Fields(rules))
		if err != nil {
			t.Fatal(err)
		}
		if got := of(source, server, path); got != want {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
	f("prod=logs/*.log", "logs/a/b.log", "", "", "prod")
	f("prod=logs/*.log", "log/a.log", "", "", "")
	f("prod=http://10.0.0.?:8080/mcp", "x", "http://10.0.0.7:8080", "/mcp", "prod")
	f("prod=http://10.0.0.?:8080/mcp", "x", "http://10.0.0.17:8080", "/mcp", "")
	f("a=*1 b=*", "x1", "", "", "a")
	f("a=*1 b=*", "x2", "", "", "b")
	f("a=**x*y**", "zxzyz", "", "", "a")
	for _, bad := range []string{"prod", "=x", "prod="} {
		if _, err := domainsOf([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	long := strings.Repeat("a", 2000)
	if match(strings.Repeat("*a", 1000)+"b", long) {
		t.Error("a glob matched that does not")
	}
}

// plain is a format of which every input holds n records, bad of them malformed.
func plain(n, bad int64, err error) source.Format {
	return source.Format{
		Name:  "plain",
		Sniff: func([]byte, bool) int { return 50 },
		Open: func(in []*source.Input, _ source.Options) (source.Reader, error) {
			st := &in[0].Stats
			st.Records, st.Used = n, n-bad
			for range bad {
				st.Bad(event.Address{}, "bad")
			}
			return ended{err}, nil
		},
	}
}

type ended struct{ err error }

func (e ended) Next() (*event.Event, error) { return nil, e.err }
func (e ended) Close() error                { return nil }

// The whole table of DETECTION §5: what was judged joined with what could not be read.
func TestConclude(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	broken := errors.New("broken")
	clean := verdict.Result{Outcome: verdict.OutcomeClean, ExitCode: verdict.ExitClean}
	found := verdict.Result{Outcome: verdict.OutcomeSignals, ExitCode: verdict.ExitFindings}
	open := verdict.Result{Outcome: verdict.OutcomeInconclusive, ExitCode: verdict.ExitInconclusive}
	f := func(judged verdict.Result, format source.Format, opt Options, interrupted bool, code int, outcome string, paths ...string) {
		t.Helper()
		opt.Paths, opt.formats = paths, []source.Format{format}
		set, done, err := openInputs(t.Context(), &opt)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		r := set.Reader()
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		conclude(&judged, set, opt, interrupted)
		if judged.ExitCode != code || judged.Outcome != outcome {
			t.Errorf("exit code %d, outcome %s, want %d, %s (%s)", judged.ExitCode, judged.Outcome, code, outcome, judged.Why)
		}
		if interrupted && !strings.Contains(judged.Why, "interrupted") {
			t.Errorf("%q does not say that it was interrupted", judged.Why)
		}
	}
	ok, holes, cut, never := plain(3, 0, io.EOF), plain(3, 1, io.EOF), plain(3, 0, broken), plain(0, 0, broken)
	strict, pass := Options{RequireComplete: true}, Options{PassUnjudged: true}
	f(found, ok, Options{}, false, 1, "signals", good)
	f(found, ok, Options{}, false, 1, "signals", good, missing)
	f(found, holes, strict, true, 1, "signals", good)
	f(clean, ok, Options{}, false, 0, "clean", good)
	f(clean, ok, strict, false, 0, "clean", good)
	f(clean, ok, Options{}, false, 2, "error", good, missing)
	f(clean, ok, pass, false, 2, "error", missing)
	f(clean, holes, Options{}, false, 0, "clean", good)
	f(clean, holes, strict, false, 3, "inconclusive", good)
	unseen := clean
	unseen.Domains = []verdict.Domain{{ID: "a"}, {ID: "b", Unseen: "1 answer not in the recording"}}
	f(unseen, ok, Options{}, false, 0, "clean", good)
	f(unseen, ok, strict, false, 3, "inconclusive", good)
	f(clean, cut, Options{}, false, 0, "clean", good)
	f(clean, cut, strict, false, 3, "inconclusive", good)
	f(clean, never, Options{}, false, 2, "error", good)
	f(clean, never, Options{}, false, 3, "inconclusive", dir) // not named itself
	f(found, never, Options{}, false, 1, "signals", dir)
	f(clean, ok, Options{}, true, 0, "clean", good)
	f(clean, ok, strict, true, 3, "inconclusive", good)
	f(open, ok, Options{}, false, 3, "inconclusive", good)
	f(open, ok, pass, false, 0, "inconclusive", good)
	f(open, ok, Options{}, false, 2, "error", missing)
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, inputs, err := Run(ctx, Options{Paths: []string{"-"}, Stdin: strings.NewReader("{}\n"), CancelWindow: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(inputs) != 1 || !strings.Contains(res.Why, "interrupted") {
		t.Errorf("%d inputs, why %q", len(inputs), res.Why)
	}
}

func TestRunProgress(t *testing.T) {
	text := bytes.Repeat([]byte(`{"level":"info","msg":"started"}`+"\n"), 5000)
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	var total int64
	calls := 0
	opt := Options{Paths: []string{path}, Progress: func(_, all int64) { calls, total = calls+1, all }}
	if _, _, err := Run(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	if calls == 0 || total != int64(len(text)) {
		t.Errorf("%d calls, %d bytes in all, want %d", calls, total, len(text))
	}
}
