package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// recorder is a running `isodetect record`.
type recorder struct {
	cmd *exec.Cmd
	url string
}

var listening = regexp.MustCompile(`recording (http://\S+) -> `)

func startRecorder(ctx context.Context, bin, upstream, file string) (*recorder, error) {
	r := &recorder{cmd: exec.CommandContext(ctx, bin, "record", "--listen", "127.0.0.1:0", "--upstream", upstream, "-o", file)}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			r.url = m[1]
			go func() {
				for lines.Scan() {
				}
			}()
			return r, nil
		}
	}
	return nil, fmt.Errorf("the recorder did not start: %w", r.cmd.Wait())
}

// end interrupts the recorder, which must end by itself with exit code 0.
func (r *recorder) end() error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("the recorder ended badly: %w", err)
	}
	return nil
}
