package document

import "strings"

// The kinds of tables.

var insightsTable = Kind{
	Name: "cloudwatch-insights-csv", Title: "CloudWatch Logs Insights, CSV", Checked: "docs", Carries: "the lines in it",
	rows: true, marks: "@message", is: every("@timestamp", "@message"),
	line: func(c columns) plan {
		p := plan{{`{"@timestamp":`, c["@timestamp"], formUTC}, {`,"@message":`, c["@message"], formText}}
		for _, name := range [...]string{"@logStream", "@ptr"} {
			p = c.optional(p, name, `,"`+name+`":`)
		}
		return append(p, piece{"}", -1, 0})
	},
	time: "@timestamp", id: "@ptr", most: []int{1000, 10_000}, advice: insightsAdvice,
}

var cloudwatchTable = Kind{
	Name: "cloudwatch-csv", Title: "CloudWatch Logs, events downloaded from the console as CSV", Checked: "docs", Carries: "the lines in it",
	rows: true, marks: "timestamp,", is: func(has func(string) bool) bool {
		return has("timestamp") && has("message") && !has("@timestamp") && !has("level")
	},
	line: func(c columns) plan {
		p := plan{{`{"timestamp":`, c["timestamp"], formUTC}, {`,"message":`, c["message"], formText}, {`,"ingestionTime":"","logStreamName":`, c.or("logstreamname", "log_stream_name"), formText}}
		return append(p, piece{"}", -1, 0})
	},
	time: "timestamp",
}

var lokiTable = Kind{
	Name: "grafana-csv", Title: "Grafana: lines of Loki downloaded as CSV", Checked: "docs", Carries: "the lines in it",
	rows: true, marks: "Line line", is: func(has func(string) bool) bool {
		return has("line") && (has("time") || has("tsns") || has("date"))
	},
	line: func(c columns) plan {
		p := plan{{`{"timestamp":`, c.or("tsns", "time", "date"), formTime}, {`,"line":`, c["line"], formText}}
		if c.has("labels") {
			return append(p, piece{`,"labels":`, c["labels"], formObject}, piece{"}", -1, 0})
		}
		p = append(p, piece{`,"labels":{`, -1, 0})
		p = append(p, nested(c, "tsns", "time", "date", "line", "id", "labeltypes")...)
		return append(p, piece{"}}", -1, 0})
	},
	time: "timestamp", id: "*", most: []int{1000, 5000}, advice: "raise the limit of lines",
}

var elasticTable = Kind{
	Name: "kibana-csv", Title: "Kibana: documents exported as CSV", Checked: "docs", Carries: "the lines in it",
	rows: true, marks: "@timestamp", is: func(has func(string) bool) bool { return has("@timestamp") && has("message") },
	line: func(c columns) plan {
		p := plan{{`{"@timestamp":`, c["@timestamp"], formTime}, {`,"input":{"type":"csv"},"message":`, c["message"], formText}}
		if rest := nested(c, "@timestamp", "message", "input", "input.type", "_score"); len(rest) > 1 {
			p = append(append(p, piece{",", -1, 0}), rest...)
		}
		return append(p, piece{"}", -1, 0})
	},
	time: "@timestamp", id: "_id", most: []int{10_000}, advice: "an export of Kibana ends at its limit; narrow the time range",
}

// or is the place of the first of these columns that there is, one beyond all if there is none.
func (c columns) or(names ...string) int {
	for _, n := range names {
		if i, ok := c[n]; ok {
			return i
		}
	}
	return maxHeader
}

func (c columns) optional(p plan, name, text string) plan {
	if c.has(name) {
		return append(p, piece{text, c.or(strings.ToLower(name)), formText})
	}
	return p
}
