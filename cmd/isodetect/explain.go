package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/signals"
)

func newExplain() *cobra.Command {
	var color string
	cmd := &cobra.Command{
		Use:       "explain [SIGNAL]",
		Short:     "explain a signal: what it is, how it looks, what to change",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: signals.Names(),
		RunE: func(c *cobra.Command, args []string) error {
			st := style(c.OutOrStdout(), color)
			if len(args) == 0 {
				return report.Catalogue(c.OutOrStdout(), st)
			}
			s := signals.ByName(args[0])
			if s == nil {
				return fmt.Errorf("no signal is called %q: use one of %s", args[0], words(signals.Names()))
			}
			return report.Explain(c.OutOrStdout(), s, st)
		},
	}
	cmd.Flags().StringVar(&color, "color", "auto", "`WHEN` to use colour: auto, always, never")
	return cmd
}
