package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict/gate"
)

func newScan() *cobra.Command {
	var (
		in           inputFlags
		formats      []string
		failOn       string
		where        string
		baseline     string
		strict       bool
		require      []string
		show         []string
		inconclusive string
		complete     bool
		quiet        bool
	)
	cmd := &cobra.Command{
		Use:   "scan [flags] PATH...",
		Short: "judge logs and traces",
		Long: `Judge logs and traces. PATH is a file, a directory, or - for standard input.
Files compressed with gzip, zstd or bzip2 are read as they are, and the files of
a rotated log as one log.

` + exitHelp,
		Example: `  isodetect scan capture.pcapng
  isodetect scan --format text --format json=report.json logs/
  kubectl logs deploy/mcp | isodetect scan -`,
		Args: needPaths,
		RunE: func(c *cobra.Command, args []string) error {
			opt, err := in.options(args, c.InOrStdin())
			if err != nil {
				return err
			}
			if opt.Gate, err = gate.Parse(failOn); err != nil {
				return fmt.Errorf("cannot use --fail-on %s: %w", quoted(failOn), err)
			}
			if opt.Require, err = signalNames(require); err != nil {
				return err
			}
			if baseline != "" {
				if opt.Baseline, err = loadBaseline(baseline); err != nil {
					return err
				}
			}
			opt.StrictBaseline, opt.Today = strict, today()
			selected, err := selector(where)
			if err != nil {
				return err
			}
			if inconclusive != "pass" && inconclusive != "fail" {
				return fmt.Errorf("cannot use --inconclusive %q: use pass or fail", inconclusive)
			}
			opt.RequireComplete, opt.PassUnjudged = complete, inconclusive == "pass"
			shown, err := report.ParseShow(show)
			if err != nil {
				return err
			}
			outs, err := parseOutputs(formats, append(slices.Clone(args), in.keyLog, in.patterns, baseline))
			if err != nil {
				return err
			}
			rep, res, err := in.read(c.Context(), opt, report.Options{Show: shown, Where: selected}, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := outs.write(c.OutOrStdout(), rep, in.color, quiet); err != nil {
				return err
			}
			return exit(res.ExitCode)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&formats, "format", []string{"text"}, "write the report as `FMT[=FILE]`: "+words(formatNames())+", to FILE or standard output (repeatable)")
	fs.StringVar(&failOn, "fail-on", "probable", "what fails: `GATE` is a weakest strength (confirmed, probable, possible, hazard, none), signals or families, or a MetricsQL expression")
	fs.StringVar(&where, "where", "", "show only findings that this MetricsQL `SELECTOR` takes, such as {signal=\"token_collision\"}; the verdict is over all")
	fs.StringSliceVar(&show, "show", nil, "also report `WHAT`: possible, hazard, rejected, suppressed, notes")
	fs.StringVar(&baseline, "baseline", "", "`FILE` of known findings that do not fail the run (see baseline)")
	fs.BoolVar(&strict, "strict-baseline", false, "entries of the baseline that expired or matched nothing fail the run")
	fs.StringSliceVar(&require, "require", nil, "`SIGNALS` that must have been judged, else the run is inconclusive")
	in.register(fs)
	fs.StringVar(&inconclusive, "inconclusive", "fail", "`WHAT` a run does that could judge nothing: pass (0) or fail (3)")
	fs.BoolVar(&complete, "require-complete", false, "holes in what was read make a clean run inconclusive")
	fs.BoolVarP(&quiet, "quiet", "q", false, "print the verdict only")
	completeValues(cmd)
	return cmd
}

// signalNames checks names of signals.
func signalNames(names []string) ([]string, error) {
	for _, name := range names {
		if !slices.ContainsFunc(signals.All(), func(s *signals.Signal) bool { return s.Name == name }) {
			return nil, fmt.Errorf("cannot use --require %s: there is no such signal; see isodetect explain", quoted(name))
		}
	}
	return names, nil
}

// selector reads --where; nil takes everything.
func selector(text string) (*gate.Selector, error) {
	if text == "" {
		return nil, nil
	}
	s, err := gate.ParseSelector(text)
	if err != nil {
		return nil, fmt.Errorf("cannot use --where %s: %w", quoted(text), err)
	}
	return s, nil
}

// quoted shows what a user gave, cut to a length that a line can hold.
func quoted(text string) string { return strconv.Quote(mcp.Cut(text, 80)) }

func needPaths(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no input: name files or directories, or - for standard input; see %s --help", c.CommandPath())
	}
	return nil
}
