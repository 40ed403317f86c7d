package correlate

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// speaks reports whether an event shows that its endpoint speaks MCP: it names a
// session or a revision, carries a message of MCP, or is a fact of a log.
func (d *Domain) speaks(ev *event.Event) bool {
	switch {
	case ev.Asked.State == event.Present, ev.Answered.State == event.Present, ev.Revision != "", ev.Kind == event.Endpoint:
		return true
	case ev.Kind == event.Gap:
		return false
	case ev.Exchange.N == 0:
		return true
	case ev.Kind != event.Message:
		return false
	case mcp.Known(ev.RPC.Method):
		return true
	}
	// The answer to a request that is not in view may be one of MCP. One that is
	// says by its method what both are.
	x := d.exchange(ev.Exchange)
	return ev.RPC.Method == "" && (x == nil || len(x.Requests) == 0)
}

// unread are the losses behind which MCP may hide.
const unread = event.LossRequestBody | event.LossResponseBody | event.LossHeaders | event.LossStart | event.LossSnap | event.LossRequest

// WithoutMCP reports whether the traffic of a domain was read, and none of it was
// MCP: an ordinary page, or another protocol. Where something was not readable it
// may have been MCP.
func (d *Domain) WithoutMCP() bool {
	return !d.MCP && !d.Log && d.Xchanges > 0 && d.Gaps == 0 && d.BodiesLost == 0 && d.LossFlags&unread == 0
}
