package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/isodetect/isodetect/report"
)

// output is one --format.
type output struct{ format, file string }

type outputs []output

// formatNames lists what --format takes.
func formatNames() (names []string) {
	for _, o := range report.Outputs() {
		names = append(names, o.Name)
	}
	return names
}

// parseOutputs reads the values of --format. No report may go onto an input, and
// only one to standard output.
func parseOutputs(specs, inputs []string) (outputs, error) {
	var outs outputs
	stdout := 0
	for _, spec := range specs {
		format, file, toFile := strings.Cut(spec, "=")
		if !slices.Contains(formatNames(), format) {
			return nil, fmt.Errorf("cannot write format %q: use %s", format, words(formatNames()))
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
		if file != "" && format == "sarif" {
			if err := notAnInput(trailOf(file), inputs); err != nil {
				return nil, err
			}
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

// trailOf is the file beside a SARIF document that holds the records which have no lines.
func trailOf(file string) string { return file + ".trail.jsonl" }

// notAnInput refuses a file that is one of the inputs, by whatever path.
func notAnInput(file string, inputs []string) error {
	if file == "" {
		return nil
	}
	out, err := os.Stat(file)
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	for _, in := range inputs {
		info, err := os.Stat(in)
		if in == "-" {
			info, err = os.Stdin.Stat()
		}
		if err == nil && os.SameFile(out, info) {
			return fmt.Errorf("cannot write the report to %s: it is an input", file)
		}
	}
	return nil
}

// spare refuses to write onto a file of a directory that was looked at, except
// onto the report of an earlier run.
func (o outputs) spare(inputs []report.Input) error {
	for _, out := range o {
		if out.file == "" || isReport(out.file) {
			continue
		}
		for i := range inputs {
			if err := notAnInput(out.file, []string{inputs[i].Path}); err != nil {
				return err
			}
		}
	}
	return nil
}

func isReport(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	return report.Is(head[:n])
}

// write writes every report. A reader that closed standard output is no error.
func (o outputs) write(stdout io.Writer, r *report.Report, color string, quiet bool) error {
	if err := o.spare(r.Inputs); err != nil {
		return err
	}
	files, err := o.open()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return err
	}
	for i, out := range o {
		var buf bytes.Buffer
		if err := o.render(&buf, out, r, stdout, color, quiet); err != nil {
			return err
		}
		if f := files[i]; f != nil {
			err = replace(f, buf.Bytes())
		} else if _, err = stdout.Write(buf.Bytes()); errors.Is(err, syscall.EPIPE) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
	}
	return nil
}

// render writes one report into a buffer, and what belongs beside it into its file.
func (o outputs) render(buf *bytes.Buffer, out output, r *report.Report, stdout io.Writer, color string, quiet bool) error {
	to := report.Target{Style: report.Style{Width: widthOfPipe(), Color: color == "always"}}
	if out.file == "" {
		to.Style = style(stdout, color)
	}
	to.Style.Quiet = quiet
	if dir, err := os.Getwd(); err == nil {
		to.Base = filepath.ToSlash(dir)
	}
	if out.format == "sarif" && out.file != "" && report.NeedsTrail(r) {
		to.Trail = trailOf(out.file)
		if err := beside(to.Trail, r); err != nil {
			return err
		}
	}
	if summary := os.Getenv("GITHUB_STEP_SUMMARY"); out.format == "github" && summary != "" {
		if err := appendSummary(summary, r); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(report.Outputs(), func(f report.Output) bool { return f.Name == out.format })
	return report.Outputs()[i].Write(buf, r, to)
}

// beside writes the trail of a report, only onto the trail of an earlier run.
func beside(file string, r *report.Report) error {
	if _, err := os.Stat(file); err == nil && !isReport(file) {
		return fmt.Errorf("cannot write %s: there is another file of this name", file)
	}
	var buf bytes.Buffer
	if err := report.Trail(&buf, r); err != nil {
		return err
	}
	if err := os.WriteFile(file, buf.Bytes(), 0o666); err != nil {
		return fmt.Errorf("cannot write the records beside the report: %w", err)
	}
	return nil
}

// appendSummary adds the report to the summary page of a step of GitHub Actions.
func appendSummary(file string, r *report.Report) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("cannot write to the step summary: %w", err)
	}
	defer f.Close()
	if err := report.Markdown(f, r); err != nil {
		return err
	}
	return f.Close()
}

// open opens the files of all outputs, nil for standard output, and refuses two
// outputs that lead to one file.
func (o outputs) open() ([]*os.File, error) {
	files := make([]*os.File, len(o))
	infos := make([]os.FileInfo, len(o))
	for i, out := range o {
		if out.file == "" {
			continue
		}
		f, err := os.OpenFile(out.file, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return files, fmt.Errorf("cannot write the report: %w", err)
		}
		files[i] = f
		if infos[i], err = f.Stat(); err != nil {
			return files, fmt.Errorf("cannot write the report: %w", err)
		}
		for k := range i {
			if infos[k] != nil && infos[i].Mode().IsRegular() && os.SameFile(infos[k], infos[i]) {
				return files, fmt.Errorf("cannot write two reports to one file: %s and %s", o[k].file, out.file)
			}
		}
	}
	return files, nil
}

// replace writes the new contents of a file that is open.
func replace(f *os.File, doc []byte) error {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := f.Truncate(0); err != nil {
			return err
		}
	}
	_, err := f.Write(doc)
	return err
}
