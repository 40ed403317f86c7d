package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

func describe(e event.Event) string { return fmt.Sprintf("%+v", e) }

// read reads one message as the client or the server sent it.
func read(t *testing.T, dir event.Dir, raw string) event.Event {
	t.Helper()
	e := event.Event{Dir: dir}
	if err := New(0, &source.Stats{}).ReadMessage(&e, []byte(raw)); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}

func TestRequestFacts(t *testing.T) {
	f := func(raw string, ok func(r *event.RPC, e *event.Event) bool) {
		t.Helper()
		e := read(t, event.ToServer, raw)
		if !ok(&e.RPC, &e) {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	f(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"a\u0062","version":"1.0"}}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.ID == "0" && r.Era == mcp.EraLegacy && r.CapsKnown && r.Caps == mcp.CapElicitationForm && r.ClientInfo == "ab 1.0" && e.Revision == "2025-06-18" && r.Args == nil
		})
	f(`{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":{"progressToken":7,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.ID == `"7"` && r.Tool == "add" && r.Token == "7" && r.Trace == "0af7651916cd43dd8448eb211c80319c" && !r.CapsKnown && len(r.Args) == 1
		})
	f(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.Era == mcp.EraModern && e.Revision == "2026-07-28" && e.Sender.ClientInfo == "c 2" && r.Caps == mcp.CapRoots && r.CapsKnown
		})
	f(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"9","reason":"user"}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.Kind == mcp.KindNotification && r.CancelID == `"9"` && r.Reason == "user"
		})
	f(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}`,
		func(r *event.RPC, e *event.Event) bool { return r.URI == "file:///a" })
}

func TestServerMessageFacts(t *testing.T) {
	f := func(raw string, ok func(r *event.RPC, e *event.Event) bool) {
		t.Helper()
		e := read(t, event.ToClient, raw)
		if !ok(&e.RPC, &e) {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	f(`{"method":"notifications/progress","params":{"progressToken":0,"progress":1.5,"total":4,"message":"step"},"jsonrpc":"2.0"}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.Token == "0" && r.Progress == 1.5 && r.HasTotal && r.Total == 4 && r.ProgressMsg == "step"
		})
	f(`{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"tools":[]}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.CapsKnown && r.Caps == mcp.CapSampling|mcp.CapSamplingTools
		})
	f(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled","data":"by peer"}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.Code == -32800 && r.ErrorText == "cancelled: by peer"
		})
	f(`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"a\nb"},{"type":"text","text":"c"}]}}`,
		func(r *event.RPC, e *event.Event) bool {
			return r.IsError && r.ErrorText == "a\nb\nc" && r.Shape == event.ShapeContent
		})
	f(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u","_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}`,
		func(r *event.RPC, e *event.Event) bool { return r.Listen == `"listen:0"` && r.URI == "u" })
	f(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}}}`,
		func(r *event.RPC, e *event.Event) bool { return r.CapsKnown && r.Caps == mcp.CapElicitationURL })
}

func TestShapes(t *testing.T) {
	f := func(result string, want event.Shape) {
		t.Helper()
		if got := read(t, event.ToClient, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`).RPC.Shape; got != want {
			t.Errorf("%s: shape %#x, want %#x", result, got, want)
		}
	}
	f(`{}`, event.ShapeEmpty)
	f(`{"_meta":{"a":1}}`, event.ShapeEmpty)
	f(`{"protocolVersion":"2025-06-18","capabilities":{}}`, event.ShapeInitialize)
	f(`{"tools":[]}`, event.ShapeTools)
	f(`{"resources":[]}`, event.ShapeResources)
	f(`{"resourceTemplates":[]}`, event.ShapeResources)
	f(`{"prompts":[]}`, event.ShapePrompts)
	f(`{"content":[]}`, event.ShapeContent)
	f(`{"contents":[]}`, event.ShapeContents)
	f(`{"messages":[]}`, event.ShapeMessages)
	f(`{"completion":{}}`, event.ShapeCompletion)
	f(`{"roots":[]}`, event.ShapeRoots)
	f(`{"role":"user","content":{}}`, event.ShapeSampling)
	f(`{"action":"accept"}`, event.ShapeElicited)
	f(`{"task":{}}`, event.ShapeTask)
	f(`{"tools":1}`, event.ShapeOther)
	f(`"text"`, event.ShapeOther)
}

func TestNotRPC(t *testing.T) {
	f := func(raw string) {
		t.Helper()
		e := event.Event{Dir: event.ToClient}
		if err := New(0, &source.Stats{}).ReadMessage(&e, []byte(raw)); err != mcp.ErrNotRPC {
			t.Errorf("%s: error %v, want %v", raw, err, mcp.ErrNotRPC)
		}
	}
	f(`{"error":"invalid_token"}`)
	f(`{"error":{"code":404,"message":"x"}}`)
	f(`{"method":"GET"}`)
	f(`{"a":1}`)
}

func TestMarkersOfARequestAreFoundInAnswers(t *testing.T) {
	f := func(arguments, result string, want bool) {
		t.Helper()
		req := read(t, event.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":`+arguments+`}}`)
		ans := read(t, event.ToClient, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
		found := false
		for _, a := range req.RPC.Args {
			if a.Class == event.ArgMarker && a.Run.In(ans.RPC.Marks) {
				found = true
			}
		}
		if found != want {
			t.Errorf("arguments %s in %s: found %v, want %v", arguments, result, found, want)
		}
	}
	text := func(s string) string { return `{"content":[{"type":"text","text":` + s + `}]}` }
	f(`{"q":"APL-1008"}`, text(`"entry APL-1008."`), true)
	f(`{"q":"APL-1008"}`, text(`"entry APL-10081"`), false)
	f(`{"q":"short"}`, text(`"short"`), false)
	f(`{"n":47110}`, text(`"order 47110"`), true)
	f(`{"n":47110}`, `{"structuredContent":{"n":47110}}`, true)
	f(`{"n":4711}`, text(`"order 4711"`), false)
	f(`{"q":"caf\u00e9-12"}`, text(`"caf\u00e9-12"`), true)
	f(`{"q":"two words"}`, text(`"these two words here"`), true)
	f(`{"a":{"b":["deep-value"]}}`, text(`"deep-value"`), true)
	f(`{"q":"{\"id\":\"inner-77\"}"}`, text(`"inner-77"`), true)
	f(`{"q":"inner-77"}`, text(`"{\"id\":\"inner-77\"}"`), true)
	f(`{"q":"a\\b-inner"}`, text(`"{\"id\":\"a\\\\b-inner\"}"`), true)
	f(`{"q":"APL-1008"}`, `{"_meta":{"x":"APL-1008"}}`, false)
}

func TestArgsLeaveProtocolMembersOut(t *testing.T) {
	f := func(method, params string, want int) {
		t.Helper()
		e := read(t, event.ToServer, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
		if len(e.RPC.Args) != want {
			t.Errorf("%s %s: %d args, want %d", method, params, len(e.RPC.Args), want)
		}
	}
	f("tools/call", `{"name":"tool","_meta":{"progressToken":"token"},"arguments":{"a":"x","b":[1,2],"c":true,"d":null}}`, 3)
	f("prompts/get", `{"name":"prompt","arguments":{"a":"x"}}`, 1)
	f("resources/read", `{"uri":"file:///x","_meta":{"a":"b"}}`, 1)
	f("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"a":"b"},"clientInfo":{"name":"n"}}`, 0)
	f("tools/call", `{"arguments":[`+strings.Repeat(`"x",`, 99)+`"x"]}`, 64)
}

func TestArgKeysNameThePathWithoutIndexes(t *testing.T) {
	args := func(arguments string) (keys []uint64) {
		for _, a := range read(t, event.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":`+arguments+`}}`).RPC.Args {
			keys = append(keys, a.Key)
		}
		return keys
	}
	k := args(`{"a":{"b":[1,2,{"b":3}]},"b":4}`)
	if k[0] != k[1] || k[1] == k[2] || k[0] == k[3] || k[2] == k[3] {
		t.Errorf("keys %x", k)
	}
	if !slices.Equal(args(`{"x": "1", "y":"2"}`), args(`{"x":"3","y":"4"}`)) {
		t.Error("keys depend on values")
	}
}

func TestBodyHashIgnoresMeta(t *testing.T) {
	hash := func(params string) uint64 {
		return read(t, event.ToServer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`).RPC.BodyHash
	}
	a := hash(`{"name":"t","arguments":{"x":1},"_meta":{"progressToken":1}}`)
	if a != hash(`{"name":"t","arguments":{"x":1},"_meta":{"progressToken":2}}`) || a != hash(`{"name":"t","arguments":{"x":1}}`) {
		t.Error("_meta changes the hash")
	}
	if a == hash(`{"name":"t","arguments":{"x":2}}`) || a == hash(`{"name":"u","arguments":{"x":1}}`) {
		t.Error("arguments do not change the hash")
	}
}

func TestMarksAreBounded(t *testing.T) {
	var s strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&s, "word%d ", i)
	}
	r := read(t, event.ToClient, `{"jsonrpc":"2.0","id":1,"result":{"t":"`+s.String()+`"}}`).RPC
	if len(r.Marks) != maxMarks || !r.MarksCut {
		t.Errorf("%d marks, cut %v", len(r.Marks), r.MarksCut)
	}
}

func TestEras(t *testing.T) {
	f := func(h []Header, body string, want mcp.Era) {
		t.Helper()
		b := New(0, &source.Stats{})
		x := b.Open(Request{Method: "POST", Header: h})
		x.RequestBody(event.At(1), event.Address{}, []byte(body), 0)
		x.Head(Response{Status: 200})
		x.Data(event.At(2), event.Address{}, []byte(answer("1")))
		all := drain(b)
		if all[1].RPC.Era != want || all[3].RPC.Era != want {
			t.Errorf("%v %s: request %v, answer %v, want %v", h, body, all[1].RPC.Era, all[3].RPC.Era, want)
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	f(nil, list, mcp.EraUnknown)
	f(header("mcp-session-id", "s"), list, mcp.EraLegacy)
	f(header("mcp-protocol-version", "2025-06-18"), list, mcp.EraLegacy)
	f(header("mcp-protocol-version", "2026-07-28"), list, mcp.EraModern)
	f(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, mcp.EraModern)
	f(header("mcp-protocol-version", "2026-07-28"), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, mcp.EraLegacy)
}

func TestExcerptIsCutAtARune(t *testing.T) {
	b := New(0, &source.Stats{})
	x := b.Open(Request{Method: "POST"})
	b.Pop()
	for pad := range 4 {
		raw := `{"jsonrpc":"2.0","method":"notifications/x","params":{"t":"` + strings.Repeat("a", pad) + strings.Repeat("é✓", 300) + `"}}`
		x.RequestBody(event.At(1), event.Address{}, []byte(raw), 0)
		e := b.Pop()
		if len(e.Excerpt) > event.MaxExcerpt || len(e.Excerpt) < event.MaxExcerpt-3 || !strings.HasPrefix(raw, e.Excerpt) {
			t.Errorf("excerpt of %d bytes: …%q", len(e.Excerpt), e.Excerpt[len(e.Excerpt)-8:])
		}
	}
}
