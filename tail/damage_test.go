package tail

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/rules"
)

func someGraph() *graph {
	return &graph{Live: parsers.NewLive(parsers.Options{}), Engine: rules.NewEngine(rules.Options{})}
}

// checkpointOf writes the checkpoint of a watch that has read some lines.
func checkpointOf(t *testing.T, path string) []byte {
	t.Helper()
	s, err := OpenStore(path, "me", false)
	if err != nil {
		t.Fatal(err)
	}
	g := someGraph()
	for i, line := range bleeding(200).lines {
		if err := g.Live.Line(0, "x", []byte(line), int64(i+1), 0, 0); err != nil {
			t.Fatal(err)
		}
		for e := g.Live.Next(); e != nil; e = g.Live.Next() {
			g.Engine.Apply(e)
		}
	}
	for range 3 {
		if err := errors.Join(s.Save([]int{1}, g, known(), []string{"f"}), s.Tell([]string{"f", "g"}, [][]byte{[]byte("m")})); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// A checkpoint that was cut, or in which bytes are wrong, is refused or read, and can be
// dropped; it ends nothing.
func TestDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	whole := checkpointOf(t, filepath.Join(dir, "whole.db"))
	rng := rand.New(rand.NewPCG(1, 9))
	refused := 0
	f := func(name string, data []byte) {
		t.Helper()
		use := func(anew bool) error {
			path := filepath.Join(dir, fmt.Sprint(anew, name)) // bbolt keeps its lock on what it panicked over
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := OpenStore(path, "me", anew)
			if err != nil {
				return err
			}
			defer guard(s.Close)
			var at []int
			var told []string
			if _, err := s.Load(&at, someGraph(), known(), &told); err != nil {
				return err
			}
			_, _, err = s.Oldest()
			return err
		}
		if use(false) != nil {
			refused++
		}
		if err := use(true); err != nil {
			t.Errorf("%s: cannot be dropped: %s", name, err)
		}
	}
	const page = 4 << 10
	for n := 0; n*page < len(whole); n++ {
		f(fmt.Sprintf("cut-%d.db", n), whole[:n*page])
		zero := append([]byte(nil), whole...)
		clear(zero[n*page : min(len(zero), (n+1)*page)])
		f(fmt.Sprintf("zero-%d.db", n), zero)
		noise := append([]byte(nil), whole...)
		for i := n * page; i < min(len(noise), (n+1)*page); i++ {
			noise[i] = byte(rng.Uint32())
		}
		f(fmt.Sprintf("noise-%d.db", n), noise)
	}
	f("short.db", whole[:2294])
	if refused < 10 {
		t.Errorf("only %d damaged checkpoints were refused", refused)
	}
}

// What is no checkpoint is left as it is, whatever is asked for.
func TestOtherFileIsNoCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	text := strings.Repeat("a line of a log\n", 10_000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, anew := range []bool{false, true} {
		if _, err := OpenStore(path, "me", anew); err == nil || !strings.Contains(err.Error(), "it is something else") {
			t.Errorf("anew %t: %v", anew, err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file was changed: %d bytes, %v", len(got), err)
	}
}
