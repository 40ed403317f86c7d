package verdict

import (
	"fmt"

	"github.com/isodetect/isodetect/correlate"
)

// WithoutMCP counts the URLs whose traffic was read and carried no MCP. Nothing of
// them is judged.
type WithoutMCP struct {
	URLs      int
	Exchanges uint64
	Named     []string // the first of them, at most maxWithout
}

// maxWithout bounds how many URLs without MCP are named.
const maxWithout = 10

func (w *WithoutMCP) add(c *correlate.Domain) {
	w.URLs++
	w.Exchanges += c.Xchanges
	if len(w.Named) < maxWithout {
		w.Named = append(w.Named, c.ID)
	}
}

// why says that nothing else was there, "" if nothing at all was.
func (w *WithoutMCP) why() string {
	switch w.URLs {
	case 0:
		return ""
	case 1:
		return ": the traffic of one URL was read and is ordinary HTTP"
	}
	return fmt.Sprintf(": the traffic of %d URLs was read and is ordinary HTTP", w.URLs)
}

// What to do where no MCP was read at all.
const (
	elsewhere = "record where the MCP server listens, while clients use it: tcpdump -i any -s 0 -B 16384 -w mcp.pcap tcp port PORT"
	orLog     = "; or have the server log what docs/logging.md lists"
)

func (w *WithoutMCP) advice() string {
	if w.URLs == 0 {
		return elsewhere + orLog
	}
	return elsewhere
}
