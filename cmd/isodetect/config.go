package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isodetect/isodetect/report"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "show what is set, and where",
		Long: `A flag wins over its environment variable, that over isodetect.yaml, that over
the default. isodetect.yaml is looked for in the working directory and above it,
up to the root of the repository; --config FILE names another, --config none uses
none. Its keys are the names of flags; paths in it are relative to it.`,
	}
	cmd.AddCommand(newConfigShow(), newConfigSchema())
	return cmd
}

func newConfigShow() *cobra.Command {
	scan := newScan()
	cmd := &cobra.Command{
		Use:   "show [flags of scan]",
		Short: "print every setting with its value and where it comes from",
		Args:  cobra.NoArgs,
		// What sets the flags of other commands would lose where they come from.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(c *cobra.Command, _ []string) error {
			from, err := resolve(c.Flags())
			if err != nil {
				return err
			}
			width := style(c.OutOrStdout(), "never").Width
			c.Flags().VisitAll(func(f *pflag.Flag) {
				if slices.Contains(settingNames, f.Name) {
					value := strings.Trim(f.Value.String(), "[]")
					if value == "" {
						value = "(not set)"
					}
					report.Entry(c.OutOrStdout(), f.Name+" = "+value, from.of(f), 44, width)
				}
			})
			return nil
		},
	}
	cmd.Flags().AddFlagSet(scan.Flags())
	return cmd
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print the JSON Schema of isodetect.yaml",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			enc := json.NewEncoder(c.OutOrStdout())
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(settingsSchema(newScan().Flags()))
		},
	}
}

// settingsSchema describes isodetect.yaml by the flags that it sets.
func settingsSchema(flags *pflag.FlagSet) map[string]any {
	props := map[string]any{"version": map[string]any{"const": 1}}
	for _, name := range settingNames {
		f := flags.Lookup(name)
		if f == nil {
			continue
		}
		_, usage := pflag.UnquoteUsage(f)
		one := map[string]any{"type": "string"}
		if f.Value.Type() == "bool" {
			one = map[string]any{"type": "boolean"}
		}
		if values := valuesOf(name); values != nil && name != "fail-on" {
			one["enum"] = values
		}
		if strings.HasPrefix(f.Value.Type(), "string") && f.Value.Type() != "string" {
			one = map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
		}
		one["description"] = usage
		props[name] = one
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "isodetect.yaml, version 1",
		"type": "object", "required": []string{"version"}, "additionalProperties": false, "properties": props,
	}
}

// of tells where the value of a flag comes from.
func (o origin) of(f *pflag.Flag) string {
	if where, ok := o[f.Name]; ok {
		return where
	}
	if f.Changed {
		return "flag"
	}
	return "default"
}
