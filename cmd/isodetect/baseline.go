package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/verdict"
	"github.com/isodetect/isodetect/verdict/gate"
)

// baselineFile is where a baseline is looked for unless a user says otherwise.
const baselineFile = "isodetect-baseline.yaml"

func newBaseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "accept known findings until a day",
		Long: `Keep a file of known findings, which do not fail a run that is given
--baseline FILE. Each entry names one fault: signal, variant, endpoint, method and
tool or shape of the URI. The same signal elsewhere is a new finding. Each has a
reason and a last day; after it, the finding counts again.`,
	}
	cmd.AddCommand(newBaselineWrite(), newBaselinePrune())
	return cmd
}

func newBaselineWrite() *cobra.Command {
	var (
		in                    inputFlags
		file, reason, expires string
		failOn                string
	)
	cmd := &cobra.Command{
		Use:   "write --reason TEXT --expires DATE PATH...",
		Short: "add what fails a run to the baseline",
		Long: `Add the findings that fail a scan of PATH to the baseline. Entries that are
there stay as they are.`,
		Example: `  isodetect baseline write --reason "fixed in 2.4, see #812" --expires 2027-01-31 logs/`,
		Args:    needPaths,
		RunE: func(c *cobra.Command, args []string) error {
			day, err := time.Parse(time.DateOnly, expires)
			if err != nil {
				return fmt.Errorf("cannot use --expires %q: give the last day as 2027-01-31", expires)
			}
			if day.Before(today()) {
				return fmt.Errorf("cannot use --expires %s: it is over", expires)
			}
			if reason == "" {
				return errors.New("no --reason: say why these findings are accepted for now")
			}
			b, err := loadBaseline(file)
			if errors.Is(err, fs.ErrNotExist) {
				b, err = &verdict.Baseline{Version: 1}, nil
			}
			if err != nil {
				return err
			}
			res, err := in.judge(c, args, failOn)
			if err != nil {
				return err
			}
			n := b.Add(res.Findings, reason, day)
			if err := saveBaseline(file, b); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %d added, %d in all\n", report.Printable(file), n, len(b.Entries))
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	registerBaseline(fs, &file)
	fs.StringVar(&reason, "reason", "", "`TEXT` that says why they are accepted (required)")
	fs.StringVar(&expires, "expires", "", "last `DATE` on which they are, such as 2027-01-31 (required)")
	fs.StringVar(&failOn, "fail-on", "probable", "what to accept: `GATE` as of scan")
	in.register(fs)
	completeValues(cmd)
	return cmd
}

func newBaselinePrune() *cobra.Command {
	var (
		in   inputFlags
		file string
	)
	cmd := &cobra.Command{
		Use:   "prune PATH...",
		Short: "remove entries that do not occur any more",
		Long: `Remove the entries of the baseline that a scan of PATH does not show although it
judged their signal. An entry whose signal was not judged stays: nothing was seen
of it either way.`,
		Args: needPaths,
		RunE: func(c *cobra.Command, args []string) error {
			b, err := loadBaseline(file)
			if err != nil {
				return err
			}
			res, err := in.judge(c, args, "none")
			if err != nil {
				return err
			}
			gone := b.Prune(res)
			if len(gone) > 0 {
				if err := saveBaseline(file, b); err != nil {
					return err
				}
			}
			for _, e := range gone {
				fmt.Fprintf(c.OutOrStdout(), "removed %s %s %s\n", report.Printable(e.Fingerprint), report.Printable(e.Signal), report.Printable(e.Variant))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %d removed, %d left\n", report.Printable(file), len(gone), len(b.Entries))
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	registerBaseline(cmd.Flags(), &file)
	in.register(cmd.Flags())
	completeValues(cmd)
	return cmd
}

func registerBaseline(fs *pflag.FlagSet, file *string) {
	fs.StringVar(file, "baseline", baselineFile, "the baseline `FILE`")
}

// judge scans for a baseline. What could not be read proves nothing about entries.
func (f *inputFlags) judge(c *cobra.Command, args []string, failOn string) (*verdict.Result, error) {
	opt, err := f.options(args, c.InOrStdin())
	if err != nil {
		return nil, err
	}
	if opt.Gate, err = gate.Parse(failOn); err != nil {
		return nil, fmt.Errorf("cannot use --fail-on %s: %w", quoted(failOn), err)
	}
	res, _, err := scan.Run(c.Context(), opt)
	if err != nil {
		return nil, err
	}
	if c.Context().Err() != nil {
		return nil, errors.New("interrupted: the baseline is as it was")
	}
	if res.ExitCode == verdict.ExitError {
		return nil, errors.New(res.Why)
	}
	return res, nil
}

// loadBaseline reads a baseline file; the error says what is wrong in which line.
func loadBaseline(file string) (*verdict.Baseline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the baseline: %w", err)
	}
	b, err := verdict.ReadBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("cannot use the baseline %s: %w", file, err)
	}
	return b, nil
}

// saveBaseline writes a baseline beside the old one and puts it in its place.
func saveBaseline(file string, b *verdict.Baseline) error {
	data, err := b.Bytes()
	if err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".isodetect-baseline-*")
	if err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if e := tmp.Chmod(0o644); err == nil {
		err = e
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("cannot write the baseline: %w", err)
	}
	return nil
}

// today is the day by which entries expire.
func today() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }
