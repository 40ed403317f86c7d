package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// run1 is what one process cost.
type run1 struct {
	wall, cpu time.Duration
	rss       int64 // peak resident bytes, by the kernel
	exit      int
	out       []byte // standard output, where it was kept
}

// process runs a command to its end. The kernel's peak can not be lower than the
// peak of this program before the fork, some 10 MB.
func process(keep bool, name string, args ...string) (run1, error) {
	cmd := exec.Command(name, args...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Writer(&out), &diag
	if !keep {
		// A pipe, not /dev/null: some tools stop early when nobody can read them.
		cmd.Stdout = discard{}
	}
	start := time.Now()
	err := cmd.Run()
	r := run1{wall: time.Since(start), out: out.Bytes()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, fmt.Errorf("cannot run %s: %w", name, err)
	}
	state := cmd.ProcessState
	r.cpu = state.UserTime() + state.SystemTime()
	r.exit = state.ExitCode()
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.rss = usage.Maxrss * 1024
	}
	if r.exit > 3 || r.exit == 2 || r.exit < 0 {
		return r, fmt.Errorf("%s failed with exit %d: %s", name, r.exit, bytes.TrimSpace(diag.Bytes()))
	}
	return r, nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// figure is the median over several runs of one command on one file.
type figure struct {
	bytes     int64
	wall, cpu time.Duration
	rss       int64
	events    int64
	records   int64
	outcome   string
}

func (f figure) perSecond(d time.Duration) float64 { return float64(f.bytes) / 1e6 / d.Seconds() }

func median(runs []run1) figure {
	var wall, cpu []time.Duration
	var rss []int64
	for _, r := range runs {
		wall, cpu, rss = append(wall, r.wall), append(cpu, r.cpu), append(rss, r.rss)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	slices.Sort(rss)
	m := len(runs) / 2
	return figure{wall: wall[m], cpu: cpu[m], rss: rss[m]}
}

// counts takes from a JSON report what was read, so that a figure never stands
// for an input that was skipped.
func (f *figure) counts(report []byte) error {
	var r struct {
		Inputs []struct {
			Records, Used, Malformed, Events int64
			Error                            string
		}
		Verdict struct{ Outcome string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return fmt.Errorf("cannot parse the report: %w", err)
	}
	if len(r.Inputs) != 1 || r.Inputs[0].Error != "" || r.Inputs[0].Malformed > 0 || r.Inputs[0].Events == 0 {
		return fmt.Errorf("the input was not read in full: %+v", r.Inputs)
	}
	f.records, f.events, f.outcome = r.Inputs[0].Records, r.Inputs[0].Events, r.Verdict.Outcome
	return nil
}

func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}
