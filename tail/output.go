package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/isodetect/isodetect/report"
)

// Output writes findings as they become certain.
type Output struct {
	JSON bool   // one JSON object a line, else text for a person
	File string // "" = standard output; reopened on SIGHUP, so that it can be rotated

	Style report.Style

	mu sync.Mutex
	w  io.Writer
	f  *os.File
}

// Open opens the file of an output; stdout is for those without one.
func (o *Output) Open(stdout io.Writer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.File == "" {
		o.w = stdout
		return nil
	}
	f, err := os.OpenFile(o.File, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("cannot write to %s: %w", o.File, err)
	}
	if o.f != nil {
		o.f.Close()
	}
	o.f, o.w = f, f
	return nil
}

// Write tells one finding. A reader of standard output that went away is no error.
func (o *Output) Write(n report.Notice) error {
	var b bytes.Buffer
	err := report.WriteNotice(&b, n, o.JSON, o.Style)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err = o.w.Write(b.Bytes()); errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot write a finding: %w", err)
	}
	if o.f != nil {
		o.f.Sync() // before the checkpoint says that it was told; a pipe has nothing to sync
	}
	return nil
}

// Close closes the file.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f == nil {
		return nil
	}
	err := o.f.Close()
	o.f = nil
	return err
}
