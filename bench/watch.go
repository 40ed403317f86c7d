package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// watched is a running `isodetect tail`.
type watched struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner // its findings, one a line
	diag strings.Builder
	addr string // of its metrics
}

// watch starts the program on files and returns once it has looked at all of them.
func watch(bin string, args ...string) (*watched, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot find a port for metrics: %w", err)
	}
	w := &watched{addr: l.Addr().String()}
	l.Close()
	w.cmd = exec.Command(bin, append([]string{"tail", "--listen", w.addr, "--format", "jsonl"}, args...)...)
	w.cmd.Stderr = &w.diag
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewScanner(out)
	w.out.Buffer(nil, 1<<22)
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot run %s: %w", bin, err)
	}
	for range 200 {
		if r, err := http.Get("http://" + w.addr + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return w, nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.cmd.Process.Kill()
	w.cmd.Wait()
	return nil, fmt.Errorf("the watch did not begin: %s", w.diag.String())
}

// metric reads one metric without labels.
func (w *watched) metric(name string) (float64, error) {
	r, err := http.Get("http://" + w.addr + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("cannot read metrics: %w", err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, fmt.Errorf("cannot read metrics: %w", err)
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// settled waits until nothing is read any more and the process rests, and returns how
// many events were read. While it writes a checkpoint it reads nothing either.
func (w *watched) settled() (float64, error) {
	last, same, busy := -1.0, 0, w.busy()
	for same < 8 {
		time.Sleep(500 * time.Millisecond)
		n, err := w.metric("isodetect_events_total")
		if err != nil {
			return 0, errors.Join(err, errors.New(w.diag.String()))
		}
		now := w.busy()
		if n == last && now-busy < 50*time.Millisecond {
			same++
		} else {
			last, same = n, 0
		}
		busy = now
	}
	return last, nil
}

// busy is the CPU time of the process so far, as Linux tells it.
func (w *watched) busy() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident is the memory of the process now and at its peak, in bytes, as Linux tells it.
func (w *watched) resident() (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	field := func(name string) int64 {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		if m == nil {
			return 0
		}
		n, _ := strconv.ParseInt(string(m[1]), 10, 64)
		return n << 10
	}
	return field("VmRSS"), field("VmHWM")
}

var summary = regexp.MustCompile(`(\d+) lines read, (\d+) used, (\d+) malformed`)

// stop ends the watch and returns how many lines it says it has read, and its CPU time.
func (w *watched) stop() (lines int64, cpu time.Duration, err error) {
	w.cmd.Process.Signal(syscall.SIGTERM)
	for w.out.Scan() {
	}
	if err := w.cmd.Wait(); err != nil {
		return 0, 0, fmt.Errorf("the watch failed: %w: %s", err, w.diag.String())
	}
	m := summary.FindStringSubmatch(w.diag.String())
	if m == nil {
		return 0, 0, fmt.Errorf("the watch does not say what it has read: %s", w.diag.String())
	}
	if m[3] != "0" {
		return 0, 0, fmt.Errorf("the watch could not read all lines: %s", w.diag.String())
	}
	lines, _ = strconv.ParseInt(m[1], 10, 64)
	return lines, w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime(), nil
}
