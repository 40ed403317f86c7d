package scan_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/isodetect/isodetect/scan"
)

// rotations name the files of a log that was rotated n-1 times, the oldest first.
var rotations = map[string]func(i, n int) string{
	"numbers": func(i, n int) string {
		if i == n-1 {
			return "x.log"
		}
		return fmt.Sprintf("x.log.%d", n-1-i)
	},
	"dates": func(i, n int) string {
		if i == n-1 {
			return "x.log"
		}
		return fmt.Sprintf("x.log-202611%02d", i+1)
	},
	"dated stems":        func(i, n int) string { return fmt.Sprintf("x-202611%02d.log", i+1) },
	"dated fronts":       func(i, n int) string { return fmt.Sprintf("2026-11-%02d-x.log", i+1) },
	"kubelet":            func(i, n int) string { return kubelet("0.log", i, n) },
	"no name at the end": func(i, n int) string { return fmt.Sprintf("x.log.%d", n-i) },
}

func kubelet(base string, i, n int) string {
	if i == n-1 {
		return base
	}
	return fmt.Sprintf("%s.202611%02d-222000", base, i+1)
}

// split cuts a log at n-1 lines, in n parts that all hold something.
func split(rng *rand.Rand, data []byte, n int) [][]byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	n = min(n, len(lines))
	cuts := rng.Perm(len(lines) - 1)[:n-1]
	slices.Sort(cuts)
	var parts [][]byte
	from := 0
	for _, c := range cuts {
		parts = append(parts, bytes.Join(lines[from:c+1], nil))
		from = c + 1
	}
	return append(parts, bytes.Join(lines[from:], nil))
}

// pack compresses a file now and then, and returns what its name then ends in.
func pack(rng *rand.Rand, data []byte) ([]byte, string) {
	switch rng.IntN(3) {
	case 0:
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(data)
		z.Close()
		return b.Bytes(), ".gz"
	case 1:
		z, _ := zstd.NewWriter(nil)
		return z.EncodeAll(data, nil), ".zst"
	}
	return data, ""
}

func put(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A log that was rotated anywhere, under any names, tells what it tells in one file.
func TestRotatedLogChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, in := range inputs(t, 1<<20, ".log") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		want := found(run(t, scan.Options{Paths: []string{in.path}}))
		var names []string
		for style := range rotations {
			names = append(names, style)
		}
		slices.Sort(names)
		for _, style := range names {
			dir := t.TempDir()
			parts := split(rng, data, 2+rng.IntN(8))
			var paths []string
			for i, part := range parts {
				packed, suffix := pack(rng, part)
				paths = append(paths, put(t, filepath.Join(dir, rotations[style](i, len(parts))+suffix), packed))
			}
			rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
			what := "named one by one"
			if rng.IntN(2) == 0 {
				what, paths = "in a directory", []string{dir}
			}
			same(t, fmt.Sprintf("%s as %d files %s, %s", in.path, len(parts), what, style), found(run(t, scan.Options{Paths: paths})), want)
		}
	}
}

// Files that begin with what the one before ends with, as copies do, tell it once.
func TestRepeatedEndsChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	tried := 0
	for _, in := range inputs(t, 1<<20, ".log") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(data, []byte("\n")); bytes.Count(data, []byte(`{"time":"`)) < lines {
			continue // without times of their own equal lines may be different lines
		}
		tried++
		dir := t.TempDir()
		parts := split(rng, data, 5)
		repeated := int64(0)
		for i, part := range parts {
			if i > 0 {
				before := bytes.SplitAfter(parts[i-1], []byte("\n"))
				before = before[:len(before)-1]
				k := rng.IntN(len(before) + 1)
				repeated += int64(k)
				part = append(bytes.Join(before[len(before)-k:], nil), part...)
			}
			packed, suffix := pack(rng, part)
			put(t, filepath.Join(dir, rotations["numbers"](i, len(parts))+suffix), packed)
		}
		whole := scan.Options{Paths: []string{in.path}}
		same(t, in.path+" with repeated ends", found(run(t, scan.Options{Paths: []string{dir}})), found(run(t, whole)))
		_, ins, err := scan.Run(t.Context(), scan.Options{Paths: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range ins {
			repeated -= in.Stats.Repeated
			if in.Stats.Format == "" { // a file that is the beginning of the next, which repeats all of it
				repeated = 0
				break
			}
		}
		if repeated != 0 {
			t.Errorf("%s: %d repeated lines are not counted", in.path, repeated)
		}
	}
	if thin == 1 && tried < 10 {
		t.Errorf("only %d logs were tried", tried)
	}
}

// What stood in a file that is not there, or that cannot be read, may have been
// anything: nothing is said that rests on its absence.
func TestMissingFileOfALog(t *testing.T) {
	line := func(second int, msg, more string) string {
		return fmt.Sprintf(`{"time":"2026-07-19T22:20:%02d.5Z","level":"INFO","msg":%q,%s}`+"\n", second, msg, more)
	}
	a, b := `"session_id":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"`, `"session_id":"1b2c3d4e5f60718293a4b5c6d7e8f90a"`
	update := `"kind":"notification","rpc_method":"notifications/resources/updated","uri":"file:///a",`
	first := line(1, "session_created", a) + line(2, "session_created", b) + line(3, "resource subscribed", `"uri":"file:///a",`+a)
	second := line(10, "ping", a)
	last := line(20, "rpc send", update+a) + line(20, "rpc send", update+b)
	f := func(want string, files map[string]string) {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			put(t, filepath.Join(dir, name), []byte(text))
		}
		var got []string
		for _, f := range run(t, scan.Options{Paths: []string{dir}}).Findings {
			got = append(got, f.Signal.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("subscription_bleed", map[string]string{"x.log.2": first, "x.log.1": second, "x.log": last})
	f("subscription_bleed", map[string]string{"x.log.1": first, "x.log.0": second, "x.log": last})
	f("", map[string]string{"x.log.2": first, "x.log": last})
	f("", map[string]string{"x.log.3": first, "x.log.1": second, "x.log": last})
	f("", map[string]string{"x.log.2": first, "x.log.1.xz": "\xfd7zXZ\x00", "x.log": last})
	f("", map[string]string{"x.log.2": first, "x.log.1.gz": "\x1f\x8b\x08broken", "x.log": last})
}
