package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The messages of java-sdk and Spring AI (FORMATS A9, checked against java-sdk 2.0),
// behind the prefixes of logback and Spring Boot. No line says which session an
// initialize made.

var javaTemplates = []template{
	{begins: "Client initialize request - Protocol: ", read: javaInitialize},
	{begins: "Session ", holds: "ubscribed ", read: javaSubscribed, pairs: true},
	{begins: "Received JSON message: {", read: javaReceived},
	{begins: "No handler registered for "},
	{begins: "Received request: JSONRPCRequest[", read: javaRequest},
	{begins: "Received notification: JSONRPCNotification[", read: javaNotification},
	{begins: "Received response: JSONRPCResponse["},
	{begins: "Streamable session transport "}, // of one request: no session begins with it
	{begins: "Successfully completed async context for session "},
	{begins: "Handling GET request for session: "},
	{begins: "Message sent to session "},
	{begins: "Unexpected response for unknown id "},
	{begins: "Discarded MCP request response without session id"},
}

// javaInitialize reads the initialize of a client. The line names no session.
func javaInitialize(p *parser, rest []byte) verdict {
	revision, tail, _ := bytes.Cut(rest, []byte(", Capabilities: "))
	caps, info, ok := bytes.Cut(tail, []byte(", Info: "))
	if !ok {
		return silent
	}
	p.mcp = true
	e := p.emit(event.Message)
	e.Dir, e.RPC.Kind, e.RPC.Method = event.ToServer, mcp.KindRequest, mcp.Initialize
	p.setRevision(e, revision)
	if e.RPC.Era == mcp.EraUnknown {
		e.RPC.Era = mcp.EraLegacy
	}
	if raw, ok := javaRecord(nil, caps); ok {
		e.RPC.Caps, e.RPC.CapsKnown = mcp.ParseCaps(raw), true
	}
	if raw, ok := javaRecord(nil, info); ok {
		e.RPC.ClientInfo = p.implementation(raw)
	}
	return silent
}

// javaReceived reads the body of a POST at DEBUG. Whose it is does not show.
func javaReceived(p *parser, _ []byte) verdict {
	p.mcp = true
	p.bodyOf(p.msg, event.ToServer)
	return silent
}

// javaSubscribed reads "Session ID subscribed to resource URI: URI".
func javaSubscribed(p *parser, rest []byte) verdict {
	id, tail, _ := bytes.Cut(rest, []byte(" "))
	method := mcp.Subscribe
	uri, ok := bytes.CutPrefix(tail, []byte("subscribed to resource URI: "))
	if !ok {
		method = mcp.Unsubscribe
		if uri, ok = bytes.CutPrefix(tail, []byte("unsubscribed from resource URI: ")); !ok {
			return unclaimed
		}
	}
	p.mcp = true
	p.rec.set(slotMCPSession, nil, value{id, formBare})
	p.rec.set(slotURI, nil, value{bytes.TrimSpace(uri), formBare})
	p.subscribed(method)
	return silent
}

func javaRequest(p *parser, rest []byte) verdict { return p.javaMessage(rest, mcp.KindRequest) }

func javaNotification(p *parser, rest []byte) verdict {
	return p.javaMessage(rest, mcp.KindNotification)
}

// javaMessage reads method and id of JSONRPCRequest[jsonrpc=2.0, method=tools/call, id=7, …].
func (p *parser) javaMessage(rest []byte, kind mcp.Kind) verdict {
	p.mcp = true
	method := javaField(rest, "method=")
	if len(method) == 0 {
		return silent
	}
	e := p.emit(event.Message)
	e.Dir, e.RPC.Kind, e.RPC.Method = event.ToServer, kind, p.name(method)
	if id := javaField(rest, "id="); kind == mcp.KindRequest && len(id) > 0 {
		e.RPC.ID, e.Loss = mcp.NewID(id), e.Loss|event.LossIDType
		if !integer(id) {
			e.RPC.ID = mcp.StringID(string(id))
		}
	}
	if e.RPC.Method == mcp.ToolsCall {
		if k := bytes.Index(rest, []byte("params={name=")); k >= 0 {
			e.RPC.Tool = p.name(javaField(rest[k+len("params={"):], "name="))
		}
	}
	return silent
}

// javaField is the value of a component in the head of a record, in front of its params.
func javaField(b []byte, key string) []byte {
	if k := bytes.Index(b, []byte("params=")); k > 0 {
		b = b[:k]
	}
	k := bytes.Index(b, []byte(key))
	if k < 0 || k > 0 && b[k-1] != ' ' {
		return nil
	}
	b = b[k+len(key):]
	if end := bytes.IndexAny(b, ",]}"); end >= 0 {
		b = b[:end]
	}
	return b
}

// javaRecord writes Name[k=v, k=Name[…]], as records of Java print, as JSON without
// the components that are null.
func javaRecord(dst, b []byte) ([]byte, bool) {
	dst, rest, ok := javaValue(dst, b, 0)
	return dst, ok && len(bytes.TrimSpace(rest)) == 0
}

func javaValue(dst, b []byte, depth int) (out, rest []byte, ok bool) {
	k := bytes.IndexAny(b, "[{,]}")
	if k < 0 {
		k = len(b)
	}
	if depth > maxNested || k == len(b) && depth == 0 {
		return dst, nil, false
	}
	if k == len(b) || b[k] != '[' && b[k] != '{' { // a scalar
		text := bytes.TrimSpace(b[:k])
		if string(text) == "true" || string(text) == "false" {
			return append(dst, text...), b[k:], true
		}
		dst = append(dst, '"')
		for _, c := range text {
			if c != '"' && c != '\\' && c >= ' ' {
				dst = append(dst, c)
			}
		}
		return append(dst, '"'), b[k:], true
	}
	closing := b[k] + 2
	b = b[k+1:]
	dst = append(dst, '{')
	for n := 0; ; {
		b = bytes.TrimLeft(b, ", ")
		if len(b) == 0 {
			return dst, nil, false
		}
		if b[0] == closing {
			return append(dst, '}'), b[1:], true
		}
		eq := bytes.IndexAny(b, "=]}")
		if eq <= 0 || b[eq] != '=' {
			return dst, nil, false
		}
		key := b[:eq]
		b = b[eq+1:]
		if tail, is := bytes.CutPrefix(b, []byte("null")); is && len(tail) > 0 && bytes.IndexByte([]byte(",]}"), tail[0]) >= 0 {
			b = tail
			continue
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), bytes.Trim(key, `"\`)...), `":`...)
		if dst, b, ok = javaValue(dst, b, depth+1); !ok {
			return dst, nil, false
		}
		n++
	}
}
