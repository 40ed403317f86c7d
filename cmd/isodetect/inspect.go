package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/verdict"
)

func newInspect() *cobra.Command {
	var (
		in      inputFlags
		party   string
		suggest suggestion
	)
	cmd := &cobra.Command{
		Use:   "inspect [flags] PATH...",
		Short: "show what inputs hold and what can be judged from them",
		Long: `Show what was recognised in the inputs, and for every domain what can be judged
and what not, why, and what to record to judge more. With --patterns it also
counts the lines of each pattern; --suggest-patterns writes patterns to begin with.`,
		Example: `  isodetect inspect logs/ capture.pcapng
  isodetect inspect --suggest-patterns my.yaml logs/
  isodetect inspect --party S2 capture.pcapng`,
		Args: needPaths,
		RunE: func(c *cobra.Command, args []string) error {
			opt, err := in.options(args, c.InOrStdin())
			if err != nil {
				return err
			}
			if party != "" && suggest.file != "" {
				return fmt.Errorf("cannot use --party and --suggest-patterns at once: both write to standard output")
			}
			if opt.Suggest, err = suggest.begin(); err != nil {
				return err
			}
			out, st := c.OutOrStdout(), style(c.OutOrStdout(), in.color)
			timeline := report.NewTimeline(out, party, st)
			if party != "" {
				opt.Observe = timeline.Add
				in.noProgress = true // the timeline is written while it is read
			}
			rep, res, err := in.read(c.Context(), opt, report.Options{}, c.ErrOrStderr())
			if err != nil {
				return err
			}
			if party != "" && res.ExitCode != verdict.ExitError {
				return timeline.End()
			}
			if suggest.file != "-" {
				if err := report.Inspect(out, rep, st); err != nil {
					return err
				}
			}
			if suggest.file != "" {
				if err := suggest.write(out); err != nil {
					return err
				}
			}
			if res.ExitCode == verdict.ExitError {
				return exit(res.ExitCode)
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&party, "party", "", "print the timeline of one party by its `ALIAS`, such as S2")
	cmd.Flags().StringVar(&suggest.file, "suggest-patterns", "", "propose patterns for lines that were not understood in a new `FILE`, or - for standard output")
	in.register(cmd.Flags())
	completeValues(cmd)
	return cmd
}
