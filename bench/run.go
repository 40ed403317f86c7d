package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/isodetect/isodetect/bench/traffic"
)

// rival is the tool that pulls the same fields out of a format.
type rival struct {
	name string
	args []string // before the file
	does string   // "" = it reads the lines only
}

// The fields that a person hunting by hand would pull out: session, id, method and token of every message.
func rivals() map[string]rival {
	const rpc = `[.id,.method,.params._meta.progressToken//.params.progressToken]`
	fields := []string{"-Y", "http", "-T", "fields", "-e", "frame.time_epoch", "-e", "http.request.line", "-e", "http.response.line", "-e", "http.file_data", "-r"}
	return map[string]rival{
		"log":  {"jq", []string{"-c", `[.session_id,(((.body//(.raw|strings|fromjson))//empty)|` + rpc + `)]`}, "session, id, method and token of every line"},
		"wire": {"jq", []string{"-c", `[.x,.h["mcp-session-id"]?,((.body//(.data|strings|fromjson))//{}|` + rpc + `)]`}, "session, id, method and token of every line"},
		"har": {"jq", []string{"-c", `.log.entries[]|[(.request.headers[]|select(.name=="mcp-session-id").value),(.request.postData.text//"null"|fromjson|` + rpc +
			`?),(.response.content.text|[splits("\n")|select(startswith("data: "))|.[6:]|fromjson|` + rpc + `])]`}, "session, id, method and token of every entry and event"},
		"pcap":   {"tshark", fields, "time, header lines and body of every HTTP message"},
		"python": {"wc", []string{"-l"}, ""},
		"slog":   {"wc", []string{"-l"}, ""},
	}
}

type row struct {
	format       string
	small, large figure
	rival        rival
	other        figure // zero: the tool is not installed
	own          figure // small or large: the input that the other tool read
	reading      figure // of that input, without what is made of it; captures only
	growth       []growth
}

// growth is what a capture of one size takes; its readers hold no more for more of it.
type growth struct{ reading, whole figure }

func measureAll(args []string) error {
	flags := flag.NewFlagSet("bench run", flag.ContinueOnError)
	bin := flags.String("bin", "bin/isodetect", "the program to measure")
	size := flags.String("size", "20M", "bytes of the smaller input; the larger has ten times as many")
	sessions := flags.Int("sessions", 500, "live sessions at once")
	runs := flags.Int("runs", 3, "runs of each command; the median counts")
	following := flags.Bool("follow", true, "measure isodetect tail, too, which takes some ten minutes")
	out := flags.String("out", "", "Markdown file to write, \"\" = standard output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	bytes, err := parseSize(*size)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "isodetect-bench-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the traffic: %w", err)
	}
	defer os.RemoveAll(dir)
	var rows []row
	for _, f := range traffic.Formats() {
		fmt.Fprintf(os.Stderr, "%s …\n", f.Name)
		r, err := measure(*bin, dir, f, traffic.Options{Seed: 1, Sessions: *sessions, Bytes: bytes}, *runs)
		if err != nil {
			return fmt.Errorf("cannot measure %s: %w", f.Name, err)
		}
		rows = append(rows, r)
	}
	page := markdown(rows, allocations(), "go run ./bench run "+strings.Join(args, " "))
	if *following {
		f, err := measureFollowing(*bin)
		if err != nil {
			return fmt.Errorf("cannot measure isodetect tail: %w", err)
		}
		page += f.markdown()
	}
	if *out == "" {
		fmt.Print(page)
		return nil
	}
	return os.WriteFile(*out, []byte(page), 0o644)
}

// readAlone reads a capture into events in a process of its own.
func readAlone(file string) (run1, error) {
	self, err := os.Executable()
	if err != nil {
		return run1{}, fmt.Errorf("cannot find this program: %w", err)
	}
	return process(false, self, "read", file)
}

// grow measures captures of o.Bytes, and of a tenth, four and eight times as many, once each.
func grow(bin, dir string, f traffic.Format, o traffic.Options) (all []growth, err error) {
	file := filepath.Join(dir, "growing-"+f.File)
	defer os.Remove(file)
	for _, size := range []int64{o.Bytes / 10, o.Bytes, 4 * o.Bytes, 8 * o.Bytes} {
		o.Bytes = size
		if err := writeFile(file, f, o); err != nil {
			return nil, err
		}
		reading, err := readAlone(file)
		if err != nil {
			return nil, err
		}
		whole, err := process(false, bin, "scan", "--no-progress", "--format", "json", file)
		if err != nil {
			return nil, err
		}
		g := growth{median([]run1{reading}), median([]run1{whole})}
		g.reading.bytes, g.whole.bytes = sizeOf(file), sizeOf(file)
		all = append(all, g)
	}
	return all, nil
}

func measure(bin, dir string, f traffic.Format, o traffic.Options, runs int) (row, error) {
	r := row{format: f.Name, rival: rivals()[f.Name]}
	small, large := filepath.Join(dir, f.File), filepath.Join(dir, "large-"+f.File)
	defer os.Remove(small)
	defer os.Remove(large)
	if err := writeFile(small, f, o); err != nil {
		return r, err
	}
	o.Bytes *= 10
	if err := writeFile(large, f, o); err != nil {
		return r, err
	}
	_, missing := exec.LookPath(r.rival.name)
	beside := small
	if r.rival.does == "" || f.Name == "pcap" {
		beside = large // wc is so quick that the smaller one would measure its start; so is reading a capture
	}
	var a, b, c, alone []run1
	for range runs {
		for _, step := range []struct {
			to   *[]run1
			file string
		}{{&a, small}, {&b, large}} {
			p, err := process(true, bin, "scan", "--no-progress", "--format", "json", step.file)
			if err != nil {
				return r, err
			}
			*step.to = append(*step.to, p)
		}
		if f.Name == "pcap" {
			p, err := readAlone(beside)
			if err != nil {
				return r, err
			}
			alone = append(alone, p)
		}
		if missing != nil {
			continue
		}
		p, err := process(false, r.rival.name, append(append([]string{}, r.rival.args...), beside)...)
		if err != nil {
			return r, err
		}
		c = append(c, p)
	}
	r.small, r.large = median(a), median(b)
	r.small.bytes, r.large.bytes = sizeOf(small), sizeOf(large)
	if r.own = r.small; beside == large {
		r.own = r.large
	}
	if len(alone) > 0 {
		r.reading = median(alone)
		var err error
		if r.growth, err = grow(bin, dir, f, o); err != nil {
			return r, err
		}
	}
	if len(c) > 0 {
		r.other = median(c)
		r.other.bytes = sizeOf(beside)
	}
	if err := r.small.counts(a[0].out); err != nil {
		return r, err
	}
	return r, r.large.counts(b[0].out)
}

// allocations runs the Go benchmarks and returns their lines.
func allocations() string {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "3x", "./bench").CombinedOutput()
	var lines []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Benchmark") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if err != nil || len(lines) == 0 {
		return fmt.Sprintf("The benchmarks did not run: %v", err)
	}
	return strings.Join(lines, "\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
