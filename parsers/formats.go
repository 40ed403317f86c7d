// Package parsers opens inputs, recognises what is in them by their content, and
// merges their events into one order. The formats themselves are values in the
// packages below it.
package parsers

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/har"
	"github.com/isodetect/isodetect/parsers/inspector"
	"github.com/isodetect/isodetect/parsers/logs"
	"github.com/isodetect/isodetect/parsers/pcap"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/parsers/tshark"
	"github.com/isodetect/isodetect/parsers/wire"
)

// Formats lists every input format. Where two are equally sure of an input, the first wins.
var Formats = append([]source.Format{
	pcap.Format, har.Format, har.Zip, har.Mitmproxy, har.Burp, har.SAZ, wire.Format,
	tshark.JSON, tshark.EK, tshark.PDML, inspector.Format,
}, logs.Formats()...)

// Wrappers lists what may stand around the lines of a log, in any order.
func Wrappers() []source.Form {
	var out []source.Form
	for _, e := range envelope.All() {
		out = append(out, source.Form{Name: e.Name, Title: e.Title, Checked: e.Checked})
	}
	return out
}

// find returns the format of a name.
func find(formats []source.Format, name string) (*source.Format, error) {
	names := make([]string, len(formats))
	for i := range formats {
		if formats[i].Name == name {
			return &formats[i], nil
		}
		names[i] = formats[i].Name
	}
	return nil, fmt.Errorf("cannot read inputs as %q: no such format; use one of %s", name, strings.Join(names, ", "))
}
