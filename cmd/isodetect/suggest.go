package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/isodetect/isodetect/parsers/pattern"
)

// suggestion is --suggest-patterns: where the proposed patterns go. The zero value is none.
type suggestion struct {
	file      string
	collected *pattern.Suggestions
}

// begin refuses a file that is there already, before anything is read.
func (s *suggestion) begin() (*pattern.Suggestions, error) {
	if s.file == "" {
		return nil, nil
	}
	if s.file != "-" {
		if _, err := os.Lstat(s.file); err == nil {
			return nil, s.taken()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("cannot write patterns: %w", err)
		}
	}
	s.collected = &pattern.Suggestions{}
	return s.collected, nil
}

func (s *suggestion) taken() error {
	return fmt.Errorf("cannot write patterns to %s: it is there already; name a new file, or - for standard output", s.file)
}

// write writes the proposal and says on stdout what it holds; to standard output
// it writes nothing else.
func (s *suggestion) write(stdout io.Writer) error {
	doc, n := s.collected.Propose()
	if s.file == "-" {
		_, err := stdout.Write(doc)
		return err
	}
	if n == 0 {
		_, err := fmt.Fprintln(stdout, "\nNo line carries ids, sessions, tokens or methods that was not understood: no patterns were written.")
		return err
	}
	f, err := os.OpenFile(s.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return s.taken()
	}
	if err == nil {
		_, err = f.Write(doc)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot write patterns: %w", err)
	}
	what := "1 pattern was"
	if n != 1 {
		what = fmt.Sprintf("%d patterns were", n)
	}
	_, err = fmt.Fprintf(stdout, "\n%s written to %s. Say there what each line means, then read the log with --patterns %s.\n", what, s.file, s.file)
	return err
}
