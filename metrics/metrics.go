// Package metrics names what a watching isodetect tells a Prometheus: the one place
// from which the exporter, the alert rules and the dashboard take their names.
package metrics

// Kind is the type of a metric as Prometheus knows it.
type Kind string

const (
	Counter Kind = "counter" // since the process began; 0 from the beginning, except with labels
	Gauge   Kind = "gauge"
)

// Metric is one metric: what it is called and what its value means.
type Metric struct {
	Name   string
	Kind   Kind
	Help   string // one sentence
	Labels []string
}

var (
	// Findings counts what a finding of the labels was seen to happen; no label ever
	// holds a session id.
	Findings = Metric{"isodetect_findings_total", Counter, "Occurrences of isolation failures since the process began.",
		[]string{"signal", "strength", "family", "domain"}}
	Events    = Metric{"isodetect_events_total", Counter, "Events read from all inputs since the process began.", nil}
	Malformed = Metric{"isodetect_malformed_total", Counter, "Records that could not be read since the process began.", nil}
	Late      = Metric{"isodetect_late_total", Counter, "Events that came after the reorder window had passed them; they are judged, with less certainty.", nil}
	Evictions = Metric{"isodetect_evictions_total", Counter, "Sessions and requests forgotten because a limit of the state was reached.", nil}
	Gaps      = Metric{"isodetect_coverage_gaps_total", Counter, "Holes in what was read: lost packets, truncated files, a late start.", nil}
	Dropped   = Metric{"isodetect_syslog_dropped_total", Counter, "Findings that did not go to syslog, since too many waited for its receiver.", nil}
	Refused   = Metric{"isodetect_webhook_refused", Gauge, "Findings that the webhook's receiver refused for good and that are kept aside.", nil}
	Lag       = Metric{"isodetect_lag_seconds", Gauge, "Age of the oldest record that is written but not judged yet.", nil}
	Watermark = Metric{"isodetect_watermark_seconds", Gauge, "Event time up to which everything is judged, in seconds since 1970.", nil}
	Sessions  = Metric{"isodetect_live_sessions", Gauge, "Sessions that are held in memory.", nil}
	Memory    = Metric{"isodetect_memory_bytes", Gauge, "Memory in use by the process.", nil}
)

// All lists every metric.
func All() []Metric {
	return []Metric{Findings, Events, Malformed, Late, Evictions, Gaps, Dropped, Refused, Lag, Watermark, Sessions, Memory}
}
