// Package logs reads the logs of MCP servers line by line: JSON lines, logfmt,
// running text, and native events. What a line says is decided line by line,
// never by the file, since real logs mix the lines of several libraries. Labels
// in logs are claims: a line gives what it says and nothing that it leaves out.
package logs

import (
	"fmt"

	"github.com/isodetect/isodetect/parsers/source"
)

// Formats returns the formats of this package, the surest first. All have one
// reader; they differ in how an input is recognised and what it is called.
func Formats() []source.Format {
	return []source.Format{
		documentFormat(),
		{
			Name: "native", Title: "native isodetect events, one JSON object a line", Checked: "real",
			Carries: "all signals, as far as the server writes message events",
			Sniff:   sniffNative, Open: open,
		},
		{
			Name: "jsonlines", Title: "JSON lines of a server, proxy or gateway", Checked: "real",
			Carries: "fallback_resolution; with lines about messages also capability_drift, token_collision, cancellation_crosstalk, subscription_bleed, response_crossing",
			Forms:   jsonForms(),
			Sniff:   sniffJSON, Open: open,
		},
		{
			Name: "logfmt", Title: "key=value lines of a server log", Checked: "real",
			Carries: "as jsonlines; the types of ids are lost",
			Forms:   pairForms(),
			Sniff:   sniffLogfmt, Open: open,
		},
		{
			Name: "text", Title: "text of a server or proxy: access logs, consoles of SDKs, running text", Checked: "real",
			Carries: "fallback_resolution where request and response session headers are logged or the log says session_resolved; the sessions that it names",
			Forms:   Forms(),
			Sniff:   sniffText, Open: open,
		},
	}
}

func open(in []*source.Input, opt source.Options) (source.Reader, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("BUG: cannot open %d inputs as one log", len(in))
	}
	stream, err := in[0].Stream()
	if err != nil {
		return nil, fmt.Errorf("cannot open log %s: %w", in[0].Path, err)
	}
	return newReader(stream, in[0], opt), nil
}
