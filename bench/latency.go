package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/isodetect/isodetect/bench/traffic"
)

// load is the traffic under which findings are timed.
type load struct {
	files  int
	events float64 // a second, in all
	span   time.Duration
}

// latency is how long findings took, from the writing of the line that decides them to
// their line on standard output.
type latency struct {
	findings      int
	p50, p99, max time.Duration
	events        float64 // a second, that were judged
	cpu           float64 // processors that were busy
	rss           int64
}

func latencyFlags(args []string) error {
	flags := flag.NewFlagSet("bench latency", flag.ContinueOnError)
	bin := flags.String("bin", "bin/isodetect", "the program to measure")
	o := usualLoad
	flags.IntVar(&o.files, "files", o.files, "logs that are written at once")
	flags.Float64Var(&o.events, "events", o.events, "events a second, in all logs")
	flags.DurationVar(&o.span, "span", o.span, "how long")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := measureLatency(*bin, o)
	if err == nil {
		fmt.Println(l)
	}
	return err
}

var usualLoad = load{files: 4, events: 50_000, span: 20 * time.Second}

func (l latency) String() string {
	return fmt.Sprintf("%d findings at %.0f events/s: p50 %s, p99 %s, max %s; %.2f processors, %.0f MiB at most",
		l.findings, l.events, l.p50.Round(time.Millisecond), l.p99.Round(time.Millisecond), l.max.Round(time.Millisecond), l.cpu, mib(l.rss))
}

const (
	batch      = 10 * time.Millisecond  // between two writes to a log
	faultEvery = 100 * time.Millisecond // a finding, in one of the logs
)

// eventsPerLine is about how many events a line of the log is.
const eventsPerLine = 0.917

// measureLatency writes logs at a steady rate, as a server would, stamped with the time
// at which they are written, and now and then a line that decides a finding.
func measureLatency(bin string, o load) (latency, error) {
	var l latency
	dir, err := os.MkdirTemp("", "isodetect-bench-")
	if err != nil {
		return l, fmt.Errorf("cannot make a directory for the traffic: %w", err)
	}
	defer os.RemoveAll(dir)
	logs := make([]*replay, o.files)
	args := []string{"--checkpoint", filepath.Join(dir, "state.db")}
	for i := range logs {
		if logs[i], err = newReplay(dir, i, int64(o.events*(o.span.Seconds()+2)/float64(o.files)/eventsPerLine*430)); err != nil {
			return l, err
		}
		defer logs[i].close()
		args = append(args, logs[i].out.Name())
	}
	w, err := watch(bin, args...)
	if err != nil {
		return l, err
	}
	t := &timing{wrote: map[string]time.Time{}}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for w.out.Scan() {
			t.hear(w.out.Bytes())
		}
	}()
	began := time.Now()
	err = t.write(logs, o, began)
	wrote := time.Since(began)
	events, e := w.settled()
	_, l.rss = w.resident()
	_, cpu, stopped := w.stop()
	<-heard
	if err = errors.Join(err, e, stopped); err != nil {
		return l, err
	}
	if len(t.took) != t.faults {
		return l, fmt.Errorf("%d faults were written, and %d findings told; none of %v", t.faults, len(t.took), slices.Sorted(maps.Keys(t.wrote)))
	}
	slices.Sort(t.took)
	n := len(t.took)
	l.findings, l.p50, l.p99, l.max = n, t.took[n/2], t.took[n*99/100], t.took[n-1]
	l.events, l.cpu = events/wrote.Seconds(), cpu.Seconds()/wrote.Seconds()
	return l, nil
}

// timing is when lines that decide were written, and how long their findings took.
type timing struct {
	mu     sync.Mutex
	wrote  map[string]time.Time // by file and line
	faults int
	took   []time.Duration
}

// hear takes a finding, and knows its line by the last record that it shows.
func (t *timing) hear(line []byte) {
	now := time.Now()
	var told struct {
		Finding struct {
			Evidence []struct {
				Source string
				At     struct{ N int64 }
			}
		}
	}
	if json.Unmarshal(line, &told) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range told.Finding.Evidence {
		key := fmt.Sprint(e.Source, e.At.N)
		if at, ok := t.wrote[key]; ok {
			t.took = append(t.took, now.Sub(at))
			delete(t.wrote, key)
			return
		}
	}
}

func (t *timing) write(logs []*replay, o load, began time.Time) error {
	perLog := o.events / eventsPerLine / float64(len(logs)) // lines a second
	for tick := 0; ; tick++ {
		at := time.Duration(tick) * batch
		if at >= o.span {
			return nil
		}
		time.Sleep(time.Until(began.Add(at)))
		for i, r := range logs {
			now := time.Now()
			fault := at%faultEvery == 0 && tick/int(faultEvery/batch)%len(logs) == i
			due := int64(perLog * (at + batch).Seconds())
			if fault && r.lines > 0 {
				t.mu.Lock()
				t.faults++
				t.wrote[fmt.Sprint(r.out.Name(), r.lines+max(due-r.lines, 0)+1)] = now
				t.mu.Unlock()
			}
			if err := r.write(due, now, fault && r.lines > 0, t.faults); err != nil {
				return err
			}
		}
	}
}

// replay writes a log that was made before, with the time of now in each line.
type replay struct {
	in    *bufio.Reader
	file  *os.File
	out   *os.File
	lines int64
	buf   []byte
}

func newReplay(dir string, n int, bytes int64) (*replay, error) {
	made := filepath.Join(dir, fmt.Sprintf("made-%d", n))
	if err := writeFile(made, traffic.Formats()[0], traffic.Options{Seed: uint64(n + 1), Sessions: 125, Bytes: bytes}); err != nil {
		return nil, err
	}
	in, err := os.Open(made)
	if err != nil {
		return nil, fmt.Errorf("cannot read traffic: %w", err)
	}
	out, err := os.Create(filepath.Join(dir, fmt.Sprintf("server-%d.log", n)))
	if err != nil {
		return nil, fmt.Errorf("cannot write traffic: %w", err)
	}
	return &replay{in: bufio.NewReaderSize(in, 1<<16), file: in, out: out}, nil
}

// write writes lines until there are so many, and with fault one more that decides.
func (r *replay) write(until int64, now time.Time, fault bool, number int) error {
	r.buf = r.buf[:0]
	stamp := now.UTC().Format(stampLayout)
	for ; r.lines < until; r.lines++ {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("the traffic that was made is too short: %w", err)
		}
		at := len(r.buf)
		r.buf = append(r.buf, line...)
		if bytes.HasPrefix(line, []byte(`{"time":"`)) {
			copy(r.buf[at+len(`{"time":"`):], stamp)
		}
	}
	if fault {
		r.buf = fmt.Appendf(r.buf, `{"time":"%s","level":"info","logger":"mcp.transport","msg":"session_resolved","source":"fallback","pid":4242,"instance":"notes-mcp-0","session_id":"%032x","method":"tools/call","id":%d}`+"\n",
			stamp, number, number)
		r.lines++
	}
	_, err := r.out.Write(r.buf)
	return err
}

const stampLayout = "2006-01-02T15:04:05.000000Z"

func (r *replay) close() {
	r.file.Close()
	r.out.Close()
}
