package tail

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// witness is an output that looks at the checkpoint while it is written to.
type witness struct {
	t     *testing.T
	store func() *Store
	fail  int // so many writes fail
	lines []string
}

func (w *witness) Write(b []byte) (int, error) {
	if w.fail > 0 {
		w.fail--
		return 0, errors.New("the disk is full")
	}
	var m Emitter
	err := w.store().db.View(func(tx *bolt.Tx) error {
		if told := tx.Bucket(bucketState).Get(keyTold); told != nil {
			return json.Unmarshal(told, &m)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	for name := range m.Told {
		if strings.Contains(string(b), `"occurrence":"`+name+`"`) {
			w.t.Errorf("the checkpoint says that %s was told before it was", name)
		}
	}
	w.lines = append(w.lines, string(b))
	return len(b), nil
}

// No checkpoint says of a finding that it was told before it was: a kill in between lets
// it be told again, and an output that fails gets it after the restart.
func TestToldBeforeItIsNoted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, []byte(bleeding(5).text()), 0o600); err != nil {
		t.Fatal(err)
	}
	var v *Tail
	out := &witness{t: t, store: func() *Store { return v.store }, fail: 1}
	for _, want := range []string{"the disk is full", ""} {
		ctx, cancel := context.WithCancel(context.Background())
		turns := 0
		clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), step: func() {
			if turns++; turns > 30 {
				cancel()
			}
		}}
		v, _ = watched(t, clock, filepath.Join(dir, "state.db"), path)
		if err := v.opt.Outputs[0].Open(out); err != nil {
			t.Fatal(err)
		}
		err := v.Run(ctx)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("it ended with %v", err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(out.lines) != 5 {
		t.Errorf("%d told, want 5", len(out.lines))
	}
}
