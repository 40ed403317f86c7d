package parsers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Pipes keeps what standard input and pipes hold in temporary files, so that several
// Sets can read them, one after the other. Close removes the files.
type Pipes struct {
	ctx  context.Context
	kept map[string]*kept
}

type kept struct {
	file *spool
	size int64
	err  error // what ended it early
}

// NewPipes returns Pipes that stop reading when ctx ends.
func NewPipes(ctx context.Context) *Pipes { return &Pipes{ctx: ctx, kept: map[string]*kept{}} }

// of returns a reader from the beginning of what path gives, which is r the first time.
func (p *Pipes) of(path string, r io.Reader, closer func() error) (io.Reader, func() error) {
	k := p.kept[path]
	if k == nil {
		k = &kept{}
		p.kept[path] = k
		k.fill(newPump(r, NewMeter(p.ctx)))
		if closer != nil {
			closer()
		}
	}
	var all []io.Reader
	if k.file != nil {
		all = append(all, io.NewSectionReader(k.file, 0, k.size))
	}
	if k.err != nil {
		all = append(all, failing{k.err})
	}
	return io.MultiReader(all...), nil
}

// again returns a reader of a path that was read before, nil for another one.
func (p *Pipes) again(path string) io.Reader {
	if p == nil || p.kept[path] == nil {
		return nil
	}
	r, _ := p.of(path, nil, nil)
	return r
}

func (k *kept) fill(r io.Reader) {
	f, err := os.CreateTemp("", "isodetect-*")
	if err != nil {
		k.err = fmt.Errorf("cannot keep the input for a second reading: %w", err)
		return
	}
	k.file = &spool{File: f}
	k.file.gone = os.Remove(f.Name()) == nil // not on Windows, where Close does it
	k.size, k.err = io.Copy(f, r)
}

// Close removes the temporary files.
func (p *Pipes) Close() error {
	var errs []error
	for _, k := range p.kept {
		if k.file != nil {
			errs = append(errs, k.file.Close())
		}
	}
	return errors.Join(errs...)
}
