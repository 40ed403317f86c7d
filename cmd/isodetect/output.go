package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/isodetect/isodetect/report"
)

// output is one --format.
type output struct{ format, file string }

type outputs []output

var outputFormats = []string{"text", "json"}

// parseOutputs reads the values of --format. No report may go onto an input, and
// only one to standard output.
func parseOutputs(specs, inputs []string) (outputs, error) {
	var outs outputs
	stdout := 0
	for _, spec := range specs {
		format, file, toFile := strings.Cut(spec, "=")
		if !strings.Contains(" "+strings.Join(outputFormats, " ")+" ", " "+format+" ") {
			return nil, fmt.Errorf("cannot write format %q: use %s", format, words(outputFormats))
		}
		if toFile && file == "" {
			return nil, fmt.Errorf("cannot write %q: the file has no name", spec)
		}
		if !toFile || file == "-" {
			file = ""
			stdout++
		}
		if err := notAnInput(file, inputs); err != nil {
			return nil, err
		}
		for _, o := range outs {
			if file != "" && filepath.Clean(o.file) == filepath.Clean(file) {
				return nil, fmt.Errorf("cannot write two reports to %s: give each its own file", file)
			}
		}
		outs = append(outs, output{format, file})
	}
	if stdout > 1 {
		return nil, errors.New("cannot write two reports to standard output: give one of them a file, such as --format json=report.json")
	}
	return outs, nil
}

func notAnInput(file string, inputs []string) error {
	if file == "" {
		return nil
	}
	out, err := os.Stat(file)
	if err != nil {
		return nil
	}
	for _, in := range inputs {
		if info, err := os.Stat(in); err == nil && os.SameFile(out, info) {
			return fmt.Errorf("cannot write the report to %s: it is an input", file)
		}
	}
	return nil
}

// spare refuses to write onto a file of a directory that was read.
func (o outputs) spare(inputs []report.Input) error {
	var read []string
	for i := range inputs {
		if inputs[i].Format != "" {
			read = append(read, inputs[i].Path)
		}
	}
	for _, out := range o {
		if err := notAnInput(out.file, read); err != nil {
			return err
		}
	}
	return nil
}

// write writes every report. A reader that closed standard output is no error.
func (o outputs) write(stdout io.Writer, r *report.Report, color string, quiet bool) error {
	if err := o.spare(r.Inputs); err != nil {
		return err
	}
	for _, out := range o {
		var buf bytes.Buffer
		var err error
		if out.format == "json" {
			err = report.JSON(&buf, r)
		} else {
			st := report.Style{Width: pipedWidth, Color: color == "always"}
			if out.file == "" {
				st = style(stdout, color)
			}
			st.Quiet = quiet
			err = report.Text(&buf, r, st)
		}
		if err != nil {
			return err
		}
		if out.file != "" {
			err = os.WriteFile(out.file, buf.Bytes(), 0o666)
		} else if _, err = stdout.Write(buf.Bytes()); errors.Is(err, syscall.EPIPE) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
	}
	return nil
}
