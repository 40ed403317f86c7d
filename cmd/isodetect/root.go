package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootLong = `isodetect reads logs and traces of MCP servers over HTTP and finds failures of
per-session isolation: what one client sent that reached, cancelled or was
answered to another.

It reads packet captures, HAR files, wire JSONL, exports and archives of other
tools, and server logs, compressed or not, and recognises them by their content.`

// exitHelp is part of every help that judges (DETECTION §5).
const exitHelp = `Exit codes:
  0  judged, and nothing at or above --fail-on
  1  findings at or above --fail-on
  2  wrong usage, or a named input that could not be opened or decoded at all
  3  inconclusive: nothing could be judged, or nothing was found while whole
     streams or connections to the server are not in view
  Over several inputs: 1 before 2 before 0 before 3.

Every flag can be set by an environment variable: --fail-on by ISODETECT_FAIL_ON.
The flag wins.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "isodetect",
		Short:         "find isolation failures between sessions of MCP servers",
		Long:          rootLong + "\n\n" + exitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	root.SetUsageFunc(usage)
	root.AddCommand(newScan(), newInspect(), newTail(), newRecord(), newBaseline(), newConfig(), newExplain(), newFormats(), newAlerts(), newVersion(), newMan())
	return root
}

// resolve gives flags that were not set the values of the environment and of the
// configuration, and tells where each value comes from.
func resolve(flags *pflag.FlagSet) (origin, error) {
	from := origin{}
	if err := setFromEnvironment(flags, os.LookupEnv, from); err != nil {
		return nil, err
	}
	config := flags.Lookup("config")
	if config == nil {
		return from, nil
	}
	s, err := loadSettings(config.Value.String())
	if err != nil {
		return nil, err
	}
	return from, s.apply(flags, from)
}

// envPrefix begins the name of the environment variable of a flag.
const envPrefix = "ISODETECT_"

// byHand marks a flag that no environment variable sets: what shows secrets in a
// report must not make a recorder store them.
const byHand = "isodetect_by_hand"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromEnvironment gives every flag that was not set the value of its
// environment variable. Flags that may be repeated take values divided by commas.
func setFromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool), from origin) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(envName(f.Name))
		if !ok || value == "" || f.Changed || failed != nil || f.Name == "help" || f.Annotations[byHand] != nil {
			return // pipelines set empty variables for what was left out
		}
		values := []string{value}
		if f.Value.Type() == "stringArray" {
			values = strings.Split(value, ",")
		}
		for _, v := range values {
			if err := flags.Set(f.Name, v); err != nil {
				failed = fmt.Errorf("cannot use %s=%q: %w", envName(f.Name), value, err)
				return
			}
		}
		from[f.Name] = envName(f.Name)
	})
	return failed
}
