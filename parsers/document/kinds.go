package document

// The kinds of JSON documents. What stands where is known from the documentation of
// each tool, unless Checked says otherwise.

func every(keys ...string) func(func(string) bool) bool {
	return func(has func(string) bool) bool {
		for _, k := range keys {
			if !has(k) {
				return false
			}
		}
		return true
	}
}

func anything(func(string) bool) bool { return true }

var otlpKind = Kind{
	Name: "otlp-json", Title: "OTLP/JSON logs and traces, a line each or indented; answers of Tempo", Checked: "real",
	Carries: "what the attributes of records and spans name; spans with their beginning and end",
	paths: []string{
		"resourceLogs[].scopeLogs[].logRecords[]", "resourceSpans[].scopeSpans[].spans[]",
		"trace=.resourceSpans[].scopeSpans[].spans[]", "batches=resourceSpans[].scopeSpans[].spans[]",
		"batches=resourceSpans[].instrumentationLibrarySpans=scopeSpans[].spans[]",
		"resourceSpans[].instrumentationLibrarySpans=scopeSpans[].spans[]",
	},
	keep: "resource scope", marks: `"resourceLogs" "resourceSpans" "batches"`, is: anything,
	time: "startTimeUnixNano timeUnixNano observedTimeUnixNano", until: "endTimeUnixNano", id: "spanId",
}

var jaegerKind = Kind{
	Name: "jaeger", Title: "Jaeger traces (query API, download of the UI)", Checked: "docs",
	Carries: "as otlp-json; ids are strings",
	paths:   []string{"data[].spans[]"}, keep: "processes", marks: `"operationName"`,
	is:   every("spanID", "startTime"),
	time: "startTime", took: "duration", unit: 1e3, id: "spanID",
}

var zipkinKind = Kind{
	Name: "zipkin", Title: "Zipkin spans and traces, version 2", Checked: "docs",
	Carries: "as otlp-json; ids are strings",
	paths:   []string{""}, marks: `"traceId"`,
	is: func(has func(string) bool) bool {
		return has("traceId") && has("id") && !has("spanId") && (has("localEndpoint") || has("timestamp") && has("duration"))
	},
	time: "timestamp", took: "duration", unit: 1e3, id: "traceId id kind",
}

var consoleKind = Kind{
	Name: "otel-console-spans", Title: "OpenTelemetry for Python, spans on the console, indented", Checked: "real",
	Carries: "as otlp-json, without the name of the tracer",
	paths:   []string{""}, marks: `"trace_id"`,
	is:   every("context", "start_time", "end_time", "attributes"),
	time: "start_time", until: "end_time", id: "context",
}

var lokiAnswerKind = Kind{
	Name: "loki-api", Title: "answer of Loki's query_range", Checked: "docs", Carries: "the lines in it",
	paths: []string{"data.result[].values[]"}, keep: "stream", marks: `"resultType"`,
	is:   anything,
	time: "[0]", id: "*", most: []int{100, 5000}, advice: "ask for more with limit=, in several pages",
}

var lokiKind = Kind{
	Name: "loki-lines", Title: "logcli -o jsonl and the JSON download of Grafana", Checked: "docs", Carries: "the lines in it",
	paths: []string{""}, marks: `"line"`,
	is: func(has func(string) bool) bool {
		return has("line") && has("timestamp") && (has("labels") || has("fields") || has("date"))
	},
	time: "timestamp", id: "*", most: []int{30, 1000, 5000}, advice: "read all with logcli --limit 0 --batch 5000, or raise the limit of lines",
}

var cloudwatchEventsKind = Kind{
	Name: "cloudwatch-events", Title: "aws logs filter-log-events and get-log-events", Checked: "docs", Carries: "the lines in it",
	paths: []string{"events=[]"}, marks: `"ingestionTime"`,
	is:   every("message", "timestamp"),
	time: "timestamp", id: "eventId", more: "nextToken NextToken", advice: "read all pages: aws logs filter-log-events without --max-items",
}

var cloudwatchSubscriptionKind = Kind{
	Name: "cloudwatch-subscription", Title: "CloudWatch Logs subscription, objects behind each other", Checked: "docs", Carries: "the lines in it",
	paths: []string{"logEvents[]"}, keep: "logGroup logStream", marks: `"logEvents"`,
	is:   every("message", "timestamp"),
	time: "timestamp", id: "id",
}

const insightsAdvice = "narrow the time range, or export the log group"

var cloudwatchResultsKind = Kind{
	Name: "cloudwatch-insights-api", Title: "aws logs get-query-results", Checked: "docs", Carries: "the lines in it",
	paths: []string{"results[]"}, marks: `"results"`,
	is:   every("field", "@message"),
	time: "[0]/value [1]/value [2]/value", most: []int{1000, 10_000}, advice: insightsAdvice, id: "*",
}

var cloudwatchRowsKind = Kind{
	Name: "cloudwatch-insights", Title: "CloudWatch Logs Insights, JSON", Checked: "docs", Carries: "the lines in it",
	paths: []string{""}, marks: `"@message"`,
	is:   every("@message", "@timestamp"),
	time: "@timestamp", most: []int{1000, 10_000}, advice: insightsAdvice, id: "@ptr",
}

func elasticRecord(has func(string) bool) bool { return has("_source") && !has("_source/layers") }

var elasticKind = Kind{
	Name: "elastic-hits", Title: "Elasticsearch: answer of _search", Checked: "docs", Carries: "the lines in it",
	paths: []string{"hits=.hits=[]"}, marks: `"_source"`, is: elasticRecord,
	time: "_source/@timestamp @timestamp", id: "_index _id", most: []int{10, 10_000}, advice: "read all with scroll or search_after",
}

var elasticDumpKind = Kind{
	Name: "elastic-dump", Title: "Elasticsearch: documents with _source, a line each or in an array", Checked: "docs", Carries: "the lines in it",
	paths: []string{""}, marks: `"_source"`, is: elasticRecord,
	time: "_source/@timestamp @timestamp", id: "_index _id", most: []int{10_000}, advice: "read all with scroll or search_after",
}

func gcpRecord(has func(string) bool) bool {
	return (has("insertId") || has("logName")) && (has("timestamp") || has("receiveTimestamp")) &&
		(has("textPayload") || has("jsonPayload") || has("protoPayload") || has("httpRequest"))
}

var gcpKind = Kind{
	Name: "gcp-entries", Title: "Google Cloud Logging: gcloud logging read --format=json, exports of a sink", Checked: "docs", Carries: "the lines in it",
	paths: []string{""}, marks: `"insertId" "logName"`, is: gcpRecord,
	time: "timestamp receiveTimestamp", id: "insertId",
}

var gcpListKind = Kind{
	Name: "gcp-list", Title: "Google Cloud Logging: answer of entries:list", Checked: "docs", Carries: "the lines in it",
	paths: []string{"entries=[]"}, marks: `"insertId" "logName"`, is: gcpRecord, more: "nextPageToken",
	time: "timestamp receiveTimestamp", id: "insertId", advice: "read all pages",
}

var victoriaKind = Kind{
	Name: "victorialogs-lines", Title: "VictoriaLogs query results, a line each or indented", Checked: "docs", Carries: "the lines in it",
	paths: []string{""}, marks: `"_time"`,
	is: func(has func(string) bool) bool { return has("_time") && (has("_msg") || has("_stream")) },
	// Two equal rows may be two happenings: VictoriaLogs keeps both.
	time: "_time", most: []int{1000}, advice: "the web UI asks for 1000 rows unless told otherwise",
}

var inspectorKind = Kind{
	Name: "mcp-inspector", Title: "MCP Inspector, exported protocol messages", Checked: "docs",
	Carries: "messages of one client with their direction; no session",
	paths:   []string{""}, marks: `"direction"`,
	is:   every("direction", "origin", "message", "timestamp"),
	time: "timestamp", took: "duration", unit: 1e6, id: "id", most: []int{1000}, advice: "the Inspector keeps the last 1000",
}

var networkKind = Kind{
	Name: "mcp-inspector-network", Title: "MCP Inspector, exported HTTP requests", Checked: "docs",
	Carries:   "all signals that one client can see; no times inside streams",
	Exchanges: true,
	paths:     []string{""}, marks: `"requestHeaders"`,
	is:   every("timestamp", "method", "url", "requestHeaders"),
	time: "timestamp", took: "duration", unit: 1e6, id: "id", most: []int{1000}, advice: "the Inspector keeps the last 1000",
}

var snoopKind = Kind{
	Name: "mcpsnoop", Title: "mcpsnoop JSONL", Checked: "docs",
	Carries: "messages with their direction and connection; no Mcp-Session-Id",
	paths:   []string{""}, marks: `"session_id"`,
	is:   every("session_id", "direction", "seq", "transport"),
	time: "ts", ordered: true,
}
