package metrics

import (
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Alert is a rule by which Prometheus and vmalert call somebody.
type Alert struct {
	Name     string
	Severity string // critical, warning, info
	Expr     string // PromQL that is MetricsQL, too
	For      string // how long it must hold, "" = at once
	Summary  string
	What     string // what it means and what to do
}

// Idle is how long no event may come before somebody is told, unless they say otherwise.
const Idle = time.Hour

// maxMemory is twice what 100,000 live sessions may take.
const maxMemory = 512 << 20

// Alerts lists all rules. What isodetect finds is one half of them; the other half
// is what keeps it from finding anything, for silence must not look like a pass.
// No event for idle is told; 0 leaves that out.
func Alerts(idle time.Duration) []Alert {
	out := append(findings(), blind()...)
	if idle > 0 {
		out = append(out, quiet(idle))
	}
	return out
}

func findings() []Alert {
	return []Alert{{
		Name: "IsodetectConfirmed", Severity: "critical", Expr: occurred("confirmed"),
		Summary: "{{ $labels.domain }}: {{ $labels.signal }} is confirmed",
		What:    "What one client of the MCP server sent reached, or ended, another's. `isodetect explain {{ $labels.signal }}` says what to change; the repair is of the class {{ $labels.family }}.",
	}, {
		Name: "IsodetectProbable", Severity: "warning", Expr: occurred("probable"),
		Summary: "{{ $labels.domain }}: {{ $labels.signal }} is probable",
		What:    "It is an isolation failure if the assumption holds that the finding names. `isodetect explain {{ $labels.signal }}` says which healthy traffic resembles it.",
	}}
}

// occurred holds for ten minutes after an occurrence. The first of its labels makes a
// new series, of which increase sees nothing.
func occurred(strength string) string {
	series := fmt.Sprintf("%s{strength=%q}", Findings.Name, strength)
	return fmt.Sprintf("increase(%[1]s[10m]) > 0 or (%[1]s unless %[1]s offset 10m) > 0", series)
}

func blind() []Alert {
	return []Alert{{
		Name: "IsodetectAbsent", Severity: "warning", For: "5m", Expr: "absent(" + Watermark.Name + ")",
		Summary: "no isodetect is watching",
		What:    "Nothing is judged at all. See whether the process runs and its metrics can be reached.",
	}, {
		Name: "IsodetectStuck", Severity: "warning", For: "5m",
		Expr:    fmt.Sprintf("increase(%s[10m]) > 0 and delta(%s[10m]) == 0", Events.Name, Watermark.Name),
		Summary: "isodetect reads events and judges none",
		What:    "The time up to which everything is judged does not move although events come. An input may have a clock that stands still.",
	}, {
		Name: "IsodetectLag", Severity: "warning", For: "5m", Expr: Lag.Name + " > 30",
		Summary: "isodetect is {{ $value }} s behind",
		What:    "Findings come late. It needs more processor time, or fewer inputs.",
	}, {
		Name: "IsodetectEvictions", Severity: "warning", Expr: fmt.Sprintf("increase(%s[10m]) > 0", Evictions.Name),
		Summary: "isodetect forgets sessions",
		What:    "A limit of the state was reached. What the forgotten sessions did before no longer counts, and signals that need it are not assessable.",
	}, {
		Name: "IsodetectCoverageGaps", Severity: "warning", Expr: fmt.Sprintf("increase(%s[10m]) > 0", Gaps.Name),
		Summary: "isodetect did not see everything",
		What:    "Records were lost before they could be read: a file was truncated, or packets were dropped. Signals that need an unbroken view are not assessable there.",
	}, {
		Name: "IsodetectUndelivered", Severity: "warning", Expr: fmt.Sprintf("increase(%s[10m]) > 0 or %s > 0", Dropped.Name, Refused.Name),
		Summary: "findings do not reach their receiver",
		What:    "Syslog takes none, or the webhook's receiver refuses some for good. What isodetect says on standard error tells why; refused findings are kept, and `--webhook-retry` posts them again.",
	}, {
		Name: "IsodetectMalformed", Severity: "warning", For: "5m",
		Expr:    fmt.Sprintf("increase(%[1]s[10m]) > 0.01 * (increase(%[2]s[10m]) + increase(%[1]s[10m]))", Malformed.Name, Events.Name),
		Summary: "isodetect cannot read more than 1 % of the records",
		What:    "The format of a log may have changed. `isodetect inspect` on the file says which records and why.",
	}, {
		Name: "IsodetectLate", Severity: "info", For: "5m",
		Expr:    fmt.Sprintf("increase(%s[10m]) > 0.01 * increase(%s[10m])", Late.Name, Events.Name),
		Summary: "more than 1 % of the events come late",
		What:    "The clocks of two inputs differ, or one is written with a delay. Late events are judged with less certainty.",
	}, {
		Name: "IsodetectMemory", Severity: "warning", For: "10m", Expr: fmt.Sprintf("%s > %d", Memory.Name, maxMemory),
		Summary: "isodetect holds {{ $value | humanize1024 }}B",
		What:    "That is twice what 100,000 live sessions take.",
	}}
}

// quiet holds where no event came for so long from inputs that were watched all the time.
func quiet(idle time.Duration) Alert {
	span := fmt.Sprintf("%ds", max(1, int64(idle/time.Second)))
	return Alert{
		Name: "IsodetectIdle", Severity: "info",
		Expr:    fmt.Sprintf("increase(%[1]s[%[2]s]) == 0 and %[1]s offset %[2]s >= 0", Events.Name, span),
		Summary: "isodetect has seen no event for " + brief(idle),
		What:    "Either nobody uses the server, or its log goes elsewhere. Nothing was judged meanwhile.",
	}
}

// brief writes 1h0m0s as 1h.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// The shape of a rule file, which Prometheus and vmalert share.
type (
	ruleFile  struct{ Groups []ruleGroup }
	ruleGroup struct {
		Name  string
		Rules []rule
	}
	rule struct {
		Alert       string
		Expr        string
		For         string `yaml:"for,omitempty"`
		Labels      map[string]string
		Annotations annotations
	}
	annotations struct{ Summary, Description string }
)

// WriteRules writes the rules as a rule file.
func WriteRules(w io.Writer, alerts []Alert) error {
	group := ruleGroup{Name: "isodetect"}
	for _, a := range alerts {
		group.Rules = append(group.Rules, rule{
			Alert: a.Name, Expr: a.Expr, For: a.For, Labels: map[string]string{"severity": a.Severity},
			Annotations: annotations{a.Summary, a.What},
		})
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(ruleFile{[]ruleGroup{group}}); err != nil {
		return fmt.Errorf("cannot write the rules: %w", err)
	}
	return enc.Close()
}
