package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "print the manual page",
		Example: "  isodetect man | man -l -",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), manual(c.Root()))
			return err
		},
	}
}

// manual renders all commands as one page in the man macros.
func manual(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH ISODETECT 1 \"\" \"isodetect %s\" \"User Commands\"\n", roff(version()))
	fmt.Fprintf(&b, ".SH NAME\nisodetect \\- %s\n", roff(root.Short))
	b.WriteString(".SH SYNOPSIS\n.B isodetect\n.I COMMAND\n[flags] [arguments]\n")
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(rootLong))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		fmt.Fprintf(&b, ".SS %s\n", roff(c.UseLine()))
		text := c.Long
		if text == "" || c.Name() == "completion" {
			text = c.Short
		}
		b.WriteString(paragraphs(strings.ReplaceAll(text, exitHelp, "")))
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flagEntry(&b, f) })
		if c.Example != "" {
			fmt.Fprintf(&b, ".PP\nExamples:\n.nf\n%s\n.fi\n", roff(c.Example))
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n.nf\n%s\n.fi\n", roff(exitHelp))
	return b.String()
}

func flagEntry(b *strings.Builder, f *pflag.Flag) {
	if f.Name == "help" || f.Hidden {
		return
	}
	arg, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n.B %s %s\n%s", roff(name), roff(arg), roff(usage))
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
		fmt.Fprintf(b, " (default %s)", roff(strings.Trim(f.DefValue, "[]")))
	}
	fmt.Fprintf(b, "\n")
}

func paragraphs(s string) string {
	return roff(strings.ReplaceAll(strings.TrimSpace(s), "\n\n", "\n.PP\n")) + "\n"
}

// roff escapes what the macros would take for themselves.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "'") || strings.HasPrefix(l, ".") && l != ".PP" {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
