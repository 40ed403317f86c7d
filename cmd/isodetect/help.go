package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
)

// usage writes how a command is used: what follows the description in its help.
func usage(c *cobra.Command) error {
	w := c.OutOrStderr()
	width := style(w, "never").Width
	line := c.UseLine()
	if c.HasAvailableSubCommands() {
		line = c.CommandPath() + " COMMAND"
	}
	fmt.Fprintf(w, "Usage:\n  %s\n", line)
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				report.Entry(w, "  "+sub.Name(), strings.ToLower(sub.Short[:1])+sub.Short[1:], 14, width)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flagUsage(w, f, width) })
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help tells more about a command.\n", c.CommandPath())
	}
	return nil
}

func flagUsage(w io.Writer, f *pflag.Flag, width int) {
	if f.Hidden {
		return
	}
	arg, text := pflag.UnquoteUsage(f)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if f.Value.Type() != "bool" {
		name += " " + arg
		if def := strings.Trim(f.DefValue, "[]"); def != "" {
			text += " (default " + def + ")"
		}
	}
	report.Entry(w, name, text, 34, width)
}

// valuesOf lists what a flag with a closed list of values takes, nil for others.
func valuesOf(flag string) []string {
	switch flag {
	case "fail-on":
		return []string{"confirmed", "probable", "possible", "hazard", "none"}
	case "show":
		return []string{"possible", "hazard", "rejected", "suppressed", "notes"}
	case "assume":
		return []string{scan.Multiplexed, scan.Pinned}
	case "color":
		return []string{"auto", "always", "never"}
	case "inconclusive":
		return []string{"pass", "fail"}
	case "format":
		return formatNames()
	case "input-format":
		var names []string
		for i := range parsers.Formats {
			names = append(names, parsers.Formats[i].Name)
		}
		return names
	}
	return nil
}

// completeValues lets shells complete the values of flags, and the names of files of patterns.
func completeValues(c *cobra.Command) {
	if c.Flags().Lookup("patterns") != nil {
		if err := c.MarkFlagFilename("patterns", "yaml", "yml", "json"); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		list := valuesOf(f.Name)
		if list == nil {
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("BUG: " + err.Error())
		}
	})
}
