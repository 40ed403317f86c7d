package event

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/mcp"
)

func TestFactsOf(t *testing.T) {
	f := func(name string, want Facts, e Event) {
		t.Helper()
		if got := FactsOf(&e); got != want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got.Words(), "; "), strings.Join(want.Words(), "; "))
		}
	}
	in, none := Named("a"), Session{State: Absent}
	call := RPC{Kind: mcp.KindRequest, ID: "7", Method: mcp.ToolsCall}
	f("an exchange", 0, Event{Kind: Message, Exchange: ExchangeID{N: 1}, Answered: in, RPC: call})
	f("a gap", 0, Event{Kind: Gap})
	f("a session ends", FactLine, Event{Kind: SessionClosed, Answered: in})
	f("how a session was found", FactLine|FactResolution, Event{Kind: SessionResolved, Resolution: "fallback", Answered: in})
	f("asked and answered", FactLine|FactResolution|FactRequest, Event{Kind: RequestDone, Asked: in, Answered: in, RPC: call})
	f("none asked", FactLine|FactResolution, Event{Kind: RequestDone, Asked: none, Answered: in, RPC: RPC{Method: mcp.ToolsCall}})
	f("asked only", FactLine|FactRequest, Event{Kind: RequestDone, Asked: in, RPC: call})
	f("a session is made", FactLine, Event{Kind: SessionCreated, Answered: in})
	f("with capabilities", FactLine|FactCaps, Event{Kind: SessionCreated, Answered: in, RPC: RPC{CapsKnown: true}})
	f("a request without a session", FactLine, Event{Kind: Message, RPC: call})
	token := call
	token.Token = "1"
	f("a request with a token", FactLine|FactRequest|FactToken, Event{Kind: Message, Dir: ToServer, Asked: in, RPC: token})
	f("progress", FactLine|FactProgress, Event{Kind: Message, Dir: ToClient, Answered: in, RPC: RPC{Method: mcp.Progress, Token: "1"}})
	f("progress to nobody named", FactLine, Event{Kind: Message, Dir: ToClient, RPC: RPC{Method: mcp.Progress, Token: "1"}})
	f("a router's line", FactLine|FactProgress, Event{Kind: Routed, Answered: in, RPC: RPC{Token: "1"}})
	f("an update", FactLine|FactUpdate, Event{Kind: Routed, Answered: in, RPC: RPC{URI: "u"}})
	f("an answer sent", FactLine|FactAnswer, Event{Kind: Routed, Answered: in, RPC: RPC{Kind: mcp.KindResult, ID: "7"}})
	f("an answer", FactLine|FactAnswer, Event{Kind: Message, Dir: ToClient, Answered: in, RPC: RPC{Kind: mcp.KindResult, ID: "7"}})
	f("a server request", FactLine|FactAsk, Event{Kind: Message, Dir: ToClient, Answered: in, RPC: RPC{Kind: mcp.KindRequest, ID: "1", Method: mcp.Sampling}})
	f("a cancel", FactLine|FactCancel, Event{Kind: Message, Dir: ToServer, Asked: in, RPC: RPC{Method: mcp.Cancelled, CancelID: "7"}})
	f("whose request was cancelled", FactLine|FactCancel, Event{Kind: CancelledBy, Answered: in})
	f("a subscription", FactLine|FactRequest|FactSubscribe, Event{Kind: Message, Dir: ToServer, Asked: in, RPC: RPC{Kind: mcp.KindRequest, ID: "7", Method: mcp.Subscribe, URI: "u"}})
}
