package scan_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/parsers/source"
)

// Several logs of one server, written at the same time, say what a scan of them says.

// dealt spreads the lines of a log over several files, exchanges of a recording
// whole, and returns them in the order in which they were written.
func dealt(t *testing.T, l log, files int, rng *rand.Rand) (all []written, paths []string) {
	t.Helper()
	dir := t.TempDir()
	content := make([]bytes.Buffer, files)
	rows := make([]int64, files)
	for i := range files {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.log", i)))
	}
	for _, w := range linesOf(t, 0, "", l.data) {
		k := rng.IntN(files)
		var x struct{ X string }
		if json.Unmarshal(w.text, &x) == nil && x.X != "" {
			h := fnv.New32a()
			h.Write([]byte(x.X))
			k = int(h.Sum32()) % files
		}
		rows[k]++
		w.index, w.path, w.n, w.offset = int32(k), paths[k], rows[k], int64(content[k].Len())
		content[k].Write(append(w.text, '\n'))
		all = append(all, w)
	}
	for i, path := range paths {
		if err := os.WriteFile(path, content[i].Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(0, modified), time.Unix(0, modified)); err != nil {
			t.Fatal(err)
		}
	}
	return all, paths
}

// stamps returns the latest time that the lines up to each tell, ns.
func stamps(t *testing.T, opt parsers.Options, all []written) []int64 {
	out := make([]int64, len(all))
	last := int64(0)
	f := newFollower(t, opt, func(e *event.Event) {
		if e.Kind != event.Idle {
			last = max(last, e.Time.To)
		}
	})
	for i, l := range all {
		l.index, l.n = 0, int64(i)+1 // one source: every event comes at once
		f.line(l)
		f.drain()
		last = max(last, f.live.Inputs()[0].Stats.Last) // of a line that gave none
		out[i] = last
	}
	return out
}

// lagging lets the lines of each file come up to lag later than they were written.
func lagging(t *testing.T, opt parsers.Options, all []written, lag time.Duration, rng *rand.Rand) []written {
	type arrival struct {
		written
		at int64
	}
	var out []arrival
	last := map[int32]int64{}
	for i, at := range stamps(t, opt, all) {
		k := all[i].index
		last[k] = max(last[k], at+rng.Int64N(int64(lag)+1))
		out = append(out, arrival{all[i], last[k]})
	}
	slices.SortStableFunc(out, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for i := range out {
		all[i] = out[i].written
	}
	return all
}

func TestSeveralFollowedLogsAreOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	opt := parsers.Options{Source: source.Options{DomainOf: func(string, string, string) string { return "all" }}}
	n := 0
	for _, l := range logs(t) {
		if !bytes.HasPrefix(bytes.TrimSpace(l.data), []byte("{")) {
			continue // records of several lines stay together
		}
		for files := 2; files <= 3 && len(l.data) < 200<<10; files++ {
			all, paths := dealt(t, l, files, rng)
			want := scanOf(events(t, opt, paths...), findings)
			n++
			same(t, fmt.Sprintf("%s in %d files", l.name, files), expecting(t, opt, paths, all), want)
			same(t, fmt.Sprintf("%s in %d files that lag", l.name, files), expecting(t, opt, paths, lagging(t, opt, all, 2*time.Second, rng)), want)
		}
	}
	if n < 100 {
		t.Errorf("only %d", n)
	}
}

// expecting feeds the lines of files that are known from the beginning.
func expecting(t *testing.T, opt parsers.Options, paths []string, all []written) string {
	f, run := newEngine(t, opt)
	for i, path := range paths {
		f.live.Expect(int32(i), path)
	}
	return run(all, findings) // when a file ends shows only when nothing more comes of any
}
