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
			Sniff:   sniffNative, Times: times, Open: open, Follow: follow,
		},
		{
			Name: "jsonlines", Title: "JSON lines of a server, proxy or gateway", Checked: "real",
			Carries: "fallback_resolution; with lines about messages also capability_drift, token_collision, cancellation_crosstalk, subscription_bleed, response_crossing",
			Forms:   jsonForms(),
			Sniff:   sniffJSON, Times: times, Open: open, Follow: follow,
		},
		{
			Name: "logfmt", Title: "key=value lines of a server log", Checked: "real",
			Carries: "as jsonlines; the types of ids are lost",
			Forms:   pairForms(),
			Sniff:   sniffLogfmt, Times: times, Open: open, Follow: follow,
		},
		{
			Name: "text", Title: "text of a server or proxy: access logs, consoles of SDKs, running text", Checked: "real",
			Carries: "fallback_resolution where request and response session headers are logged or the log says session_resolved; the sessions that it names",
			Forms:   Forms(),
			Sniff:   sniffText, Times: times, Open: open, Follow: follow,
		},
	}
}

func open(in []*source.Input, opt source.Options) (source.Reader, error) {
	r := &reader{files: in, several: len(in) > 1, opt: opt, skim: newSkimmer(opt), parser: newParser(&in[0].Stats, opt)}
	if err := r.turn(); err != nil && len(in) == 1 {
		return nil, fmt.Errorf("cannot open log %s: %w", in[0].Path, err)
	} else if err != nil {
		r.broken = err
	}
	return r, nil
}
