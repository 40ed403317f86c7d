// Package envelope takes off what container runtimes, init systems and log
// collectors put around the lines of a server: the time they received a line, the
// stream, and whose line it is. Envelopes lie in each other in any order, up to
// five deep; which ones is decided line by line.
package envelope

// Envelope is one way in which lines are wrapped, as a value. Adding one means
// adding a value to All.
type Envelope struct {
	Name    string // as in Stats.Wrappers
	Title   string // one line for `isodetect formats`
	Checked string // "real": held against output of the tool itself; "docs": against its documentation

	begins class // what a wrapped line may begin with
	// peel takes the envelope off b into l.
	peel func(p *Peeler, l *layer, b []byte) outcome
}

// outcome is what an envelope makes of a line.
type outcome uint8

const (
	other   outcome = iota // not its line
	whole                  // l.inner is the line inside
	record                 // l.inner is an object that was taken apart for the line: nothing is inside it
	part                   // l.inner is a part of the line inside, more follows on the same stream
	several                // it held any number of lines, each of which was handed on
	lost                   // its line, but the text inside was not kept
	bare                   // its line, with nothing inside
)

// class is a set of first bytes.
type class uint8

const (
	digit class = 1 << iota
	letter
	brace   // {
	bracket // [
	angle   // <
	escape  // ESC: the prefix is coloured
)

func classOf(c byte) class {
	switch {
	case '0' <= c && c <= '9':
		return digit
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return letter
	case c == '{':
		return brace
	case c == '[':
		return bracket
	case c == '<':
		return angle
	case c == 0x1b:
		return escape
	}
	return 0
}

// All lists the envelopes in the order in which they are tried; the one that fitted
// the last line is tried first. Where two share a grammar the stricter comes first.
func All() []Envelope {
	return []Envelope{
		{"docker", "Docker json-file log, parts joined", "docs", brace, peelDocker},
		{"cri", "Kubernetes CRI log (/var/log/pods), parts joined per stream", "docs", digit, peelCRI},
		{"kubectl", "kubectl logs --prefix", "docs", bracket, peelKubectl},
		{"compose", "docker compose logs, also coloured", "docs", letter | digit | escape, peelCompose},
		{"stern", "stern, text", "docs", letter | digit | escape, peelStern},
		{"stern-json", "stern -o json and extjson", "docs", brace, peelSternJSON},
		{"journald-json", "journalctl -o json and json-seq", "real", brace, peelJournal},
		{"syslog-5424", "syslog RFC 5424, with its priority", "real", angle | digit, peelSyslog5424},
		{"syslog-3164", "syslog RFC 3164, rsyslog traditional format, journalctl -o short and short-precise", "real", angle | letter, peelSyslog3164},
		{"syslog-iso", "rsyslog file format, journalctl -o short-iso and short-iso-precise", "real", digit, peelSyslogISO},
		{"journald-full", "journalctl -o short-full, short-unix and with-unit", "real", letter | digit, peelJournalFull},
		{"klog", "klog and glog of Go", "real", letter, peelKlog},
		{"heroku", "Heroku and Fly.io log lines", "docs", digit, peelHeroku},
		{"gcp", "Google Cloud Logging entries, one a line", "docs", brace, peelGCP},
		{"loki", "Grafana Loki: logcli -o jsonl, Grafana export, query result of the API", "docs", brace, peelLoki},
		{"victorialogs", "VictoriaLogs query result", "docs", brace, peelVictoria},
		{"elastic", "Elasticsearch documents and Filebeat events", "docs", brace, peelElastic},
		{"fluent", "Fluent Bit, Fluentd and Vector records", "docs", brace | digit, peelFluent},
		{"cloudwatch", "CloudWatch Logs: aws logs tail, filter-log-events, Insights, subscription", "docs", brace | digit, peelCloudWatch},
		{"otlp", "OpenTelemetry logs and traces, OTLP/JSON", "real", brace, peelOTLP},
		{"jaeger", "Jaeger traces", "docs", brace, peelJaeger},
		{"zipkin", "Zipkin spans, version 2", "docs", brace, peelZipkin},
		{"otel-console", "OpenTelemetry for Python, spans on the console", "real", brace, peelConsoleSpan},
		{"mcp-inspector", "MCP Inspector, exported protocol messages", "docs", brace, peelInspector},
		{"mcpsnoop", "mcpsnoop JSONL", "docs", brace, peelSnoop},
		{"github-actions", "GitHub Actions job log", "docs", digit, peelActions},
		{"timestamps", "a time in front of each line: docker logs -t, kubectl --timestamps, CloudWatch export, ts", "docs", digit | letter, peelTimestamp},
		{Export, "journalctl -o export", "real", 0, nil}, // read by its own Reader: its records take several lines
	}
}

// Meta is what the envelopes of one line tell about it. Its slices are valid until
// the next call to Peel.
type Meta struct {
	Depth  int              // how many envelopes were taken off
	Times  [MaxDepth][]byte // as written, the outermost first; nil where an envelope has none
	Server []byte           // names the process: pod and container, or host and program; empty = not told
	Epoch  []byte           // changes when it starts anew: container id, restart count, process id
	Writer []byte           // tells apart the streams of text that are mixed
	Lost   string           // why the text inside is not there; "" = it is
	Single bool             // the physical line holds this line and no other
	Parts  int              // how many physical lines before this one hold its beginning
	First  Address          // of the first of them
	Shares []Share          // how many of them stand in which input
	Head   []byte           // its beginning, as it stands
}

// Address is where a physical line stands.
type Address struct {
	N, Offset int64
	Source    int32 // which input, where a log lies in several
}

// Share counts the lines of a record in one input.
type Share struct {
	Source int32
	N      int64
}

// Count adds a line of an input to shares.
func Count(shares []Share, source int32) []Share {
	if n := len(shares); n > 0 && shares[n-1].Source == source {
		shares[n-1].N++
		return shares
	}
	return append(shares, Share{source, 1})
}

// MaxDepth is how many envelopes are taken off one line.
const MaxDepth = 5
