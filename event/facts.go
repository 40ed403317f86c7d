package event

import "github.com/isodetect/isodetect/mcp"

// Facts is a set of what the lines of a log tell. What a log never tells cannot
// show a signal that rests on it, whatever happened.
type Facts uint16

const (
	FactResolution Facts = 1 << iota // which session a request came with and which one answered it
	FactRequest                      // a request with its session and id
	FactToken                        // a request with its session and progress token
	FactProgress                     // progress with the session that it went to
	FactCancel                       // a cancel with the session of the canceller, or of the request that it hit
	FactSubscribe                    // a subscription with its session
	FactUpdate                       // an update with the session that it went to
	FactCaps                         // what the client of a session can do
	FactAsk                          // a server request with the session that it went to
	FactAnswer                       // an answer with the session that it went to
	FactLine                         // anything: the line of a log spoke of MCP
)

var factWords = [...]string{
	"which session a request came with and which one was used", "requests with their session and id", "requests with their progress token",
	"the session that progress went to", "who cancelled whose request", "subscriptions with their session", "the session that an update went to",
	"what the client of a session can do", "the session that a server request went to", "the session that an answer went to",
}

// Words names each fact of the set.
func (f Facts) Words() (out []string) {
	for i, w := range factWords {
		if f&(1<<i) != 0 {
			out = append(out, w)
		}
	}
	return out
}

// FactsOf tells what a line of a log says; events of exchanges say nothing here.
func FactsOf(e *Event) Facts {
	if e.Exchange.N != 0 || e.Kind == Gap {
		return 0
	}
	return FactLine | lineFacts(e)
}

func lineFacts(e *Event) (f Facts) {
	asked, answered := e.Asked.State == Present, e.Answered.State == Present
	session := asked || answered
	if e.Asked.State != Unknown && e.Answered.State != Unknown || e.Kind == SessionResolved && e.Resolution != "" {
		f |= FactResolution
	}
	if e.RPC.CapsKnown && session && e.RPC.Kind != mcp.KindRequest || e.Kind == SessionCreated && e.RPC.CapsKnown {
		f |= FactCaps
	}
	switch e.Kind {
	case CancelledBy:
		return f | FactCancel
	case Routed:
		return f | delivered(e)
	case Message, RequestDone:
	default:
		return f
	}
	if !session {
		return f
	}
	switch {
	case e.RPC.Method == mcp.Cancelled:
		f |= FactCancel
	case e.RPC.Method == mcp.Progress || e.RPC.Method == mcp.ResourceUpdated:
		f |= delivered(e)
	case e.Dir == ToClient && e.RPC.Kind == mcp.KindRequest:
		f |= FactAsk
	case e.Dir == ToClient && (e.RPC.Kind == mcp.KindResult || e.RPC.Kind == mcp.KindError):
		f |= FactAnswer
	case e.RPC.ID != "":
		f |= FactRequest
		if e.RPC.Token != "" {
			f |= FactToken
		}
	}
	if e.RPC.Method == mcp.Subscribe && e.RPC.URI != "" {
		f |= FactSubscribe
	}
	if e.RPC.Method == mcp.Initialize && e.RPC.CapsKnown {
		f |= FactCaps
	}
	return f
}

func delivered(e *Event) Facts {
	switch {
	case e.Answered.State != Present && e.Asked.State != Present:
		return 0
	case e.RPC.Token != "" || e.RPC.Method == mcp.Progress:
		return FactProgress
	case e.RPC.URI != "":
		return FactUpdate
	case e.RPC.ID != "":
		return FactAnswer
	}
	return 0
}
