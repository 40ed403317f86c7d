package scan_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/verdict"
)

// events reads all events of inputs.
func events(t *testing.T, opt parsers.Options, paths ...string) []event.Event {
	t.Helper()
	set, err := parsers.Open(context.Background(), paths, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	r := set.Reader()
	defer r.Close()
	var out []event.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *e
		c.RPC.Marks = slices.Clone(e.RPC.Marks)
		out = append(out, c)
	}
}

// resumed feeds events to an engine that is put away and restored before the events with
// the indexes cuts, and tells everything that it says at the end.
func resumed(t *testing.T, all []event.Event, cuts ...int) string {
	t.Helper()
	eng := rules.NewEngine(rules.Options{})
	for i := range all {
		if slices.Contains(cuts, i) {
			var b bytes.Buffer
			if err := eng.Snapshot(&b); err != nil {
				t.Fatal(err)
			}
			var err error
			if eng, err = rules.Restore(&b); err != nil {
				t.Fatal(err)
			}
		}
		eng.Apply(&all[i])
	}
	eng.End()
	res := verdict.Judge(eng, verdict.Options{})
	return located(res) + conclusion(res)
}

// An engine that was put away at any event and restored says the same.
func TestSnapshotAtAnyEventChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, in := range inputs(t, 300_000, ".jsonl", ".har", ".pcap", ".log") {
		all := events(t, parsers.Options{}, in.path)
		want := resumed(t, all)
		for range 3 {
			k := rng.IntN(len(all) + 1)
			same(t, in.path, resumed(t, all, k, k/2), want)
		}
	}
	for name, data := range acts(t) {
		all := events(t, parsers.Options{Stdin: bytes.NewReader(data)}, "-")
		want := resumed(t, all)
		if every := make([]int, len(all)); strings.HasSuffix(name, "wire.jsonl") {
			for i := range all {
				every[i] = i
			}
			same(t, name+" at every event", resumed(t, all, every...), want)
		}
		if len(all) > 0 {
			same(t, name, resumed(t, all, rng.IntN(len(all))), want)
		}
	}
}

// So does one that judges recordings of one server together.
func TestSnapshotOfJoinedRecordings(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, name := range []string{"ts-f03_drift_shared_server", "ts-f17_mix_all"} {
		dir := "../testdata/cases/" + name + "/"
		paths := []string{dir + "capture.har", dir + "capture.pcap", dir + "server.log"}
		set, err := parsers.Open(t.Context(), paths, parsers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		joins, err := set.Survey()
		set.Close()
		if err != nil {
			t.Fatal(err)
		}
		all := events(t, parsers.Options{Joins: joins}, paths...)
		want := resumed(t, all)
		for range 8 {
			k := rng.IntN(len(all) + 1)
			same(t, name, resumed(t, all, k, k/2), want)
		}
		slices.Reverse(paths)
		same(t, name+" in reverse", resumed(t, events(t, parsers.Options{Joins: joins}, paths...)), want)
	}
}
