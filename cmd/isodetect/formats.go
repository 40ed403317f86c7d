package main

import (
	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
)

func newFormats() *cobra.Command {
	var color string
	cmd := &cobra.Command{
		Use:   "formats",
		Short: "list the input formats and what each can carry",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return report.Formats(c.OutOrStdout(), parsers.Formats, parsers.Wrappers(), style(c.OutOrStdout(), color))
		},
	}
	cmd.Flags().StringVar(&color, "color", "auto", "`WHEN` to use colour: auto, always, never")
	return cmd
}
