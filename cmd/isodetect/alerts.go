package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/metrics"
)

func newAlerts() *cobra.Command {
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "print alert rules for Prometheus and vmalert",
		Long: `Print alert rules for Prometheus and vmalert over the metrics of an isodetect that
watches a server: what it found, and what keeps it from finding anything.`,
		Example: "  isodetect alerts > /etc/prometheus/rules/isodetect.yml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if idle < 0 || idle > 0 && idle < time.Second {
				return fmt.Errorf("cannot use --idle %v: it must be 1s or longer, or 0", idle)
			}
			return metrics.WriteRules(c.OutOrStdout(), metrics.Alerts(idle))
		},
	}
	cmd.Flags().DurationVar(&idle, "idle", metrics.Idle, "tell when no event came for this `DURATION`; 0 for never")
	return cmd
}
