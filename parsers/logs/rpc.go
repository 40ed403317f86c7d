package logs

import (
	"bytes"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// rpcMethod reports whether a text is the name of an MCP method.
func rpcMethod(b []byte) bool {
	switch string(b) {
	case mcp.Initialize, mcp.Ping:
		return true
	}
	k := bytes.IndexByte(b, '/')
	if k <= 0 {
		return false
	}
	switch string(b[:k]) {
	case "tools", "resources", "prompts", "notifications", "sampling", "elicitation", "roots", "completion", "logging", "tasks", "subscriptions", "server":
		return true
	}
	return false
}

// methodName is the MCP method that a line names, or nil.
func (p *parser) methodName() []byte {
	r := &p.rec
	if m := r.text(r.get(slotRPCMethod)); len(m) > 0 && !nothing(m) {
		return bytes.TrimRight(m, ",;")
	}
	for _, s := range [...]slot{slotMethod, slotOperation} {
		if m := r.text(r.get(s)); rpcMethod(m) {
			return bytes.TrimRight(m, ",;")
		}
	}
	return nil
}

// rpcID is the JSON-RPC id that a line names. A bare id or request id counts
// where it cannot be the number of an HTTP request or a trace.
func (p *parser) rpcID() (mcp.ID, bool) {
	r := &p.rec
	if r.has(slotRPCID) {
		return r.id(r.get(slotRPCID))
	}
	for _, s := range [...]slot{slotRequestID, slotID} {
		v := r.get(s)
		if v.form == formNone || s == slotRequestID && traceLike(r.text(v)) {
			continue
		}
		return r.id(v)
	}
	return "", true
}

// traceLike reports ids as HTTP servers give them: UUIDs and long runs of hex.
func traceLike(t []byte) bool { return len(t) >= 16 }

// request fills method, id, token, tool and URI of a line about a request.
func (p *parser) request(e *event.Event) {
	id, sure := p.rpcID()
	e.RPC.ID = id
	e.RPC.Method = p.name(p.methodName())
	p.lossy(e, sure)
	p.subject(e)
	if e.RPC.Era == mcp.EraUnknown && e.RPC.Method == mcp.Initialize {
		e.RPC.Era = mcp.EraLegacy
	}
}

// subject fills what a message is about: token, URI, tool, progress, cancelled id.
func (p *parser) subject(e *event.Event) {
	r := &p.rec
	v := r.get(slotToken)
	if v.form == formNone && p.said.has(wProgress) {
		if v = r.get(slotBareToken); v.form != formNumber && !integer(r.text(v)) {
			v = value{} // "token" is mostly a credential
		}
	}
	var sure bool
	e.RPC.Token, sure = r.id(v)
	p.lossy(e, sure)
	if e.RPC.ID == "" {
		e.RPC.ID, sure = r.id(r.get(slotRPCID))
		p.lossy(e, sure)
	}
	e.RPC.CancelID, sure = r.id(r.get(slotCancelID))
	p.lossy(e, sure)
	e.RPC.URI = p.name(p.uri())
	e.RPC.Tool = p.name(r.text(r.get(slotTool)))
	if r.has(slotReason) {
		e.RPC.Reason = p.reason()
	}
	if e.RPC.Method == mcp.Progress {
		if r.has(slotProgress) {
			e.RPC.Progress, e.RPC.HasProgress = mcp.Number(r.text(r.get(slotProgress)))
		}
		if r.has(slotTotal) {
			e.RPC.Total, e.RPC.HasTotal = mcp.Number(r.text(r.get(slotTotal)))
		}
		e.RPC.ProgressMsg = mcp.Cut(string(mustCut(r.text(r.get(slotDetail)), 400)), 200)
	}
}

// rpcLine reads a line about one JSON-RPC message that names its parts by keys.
func (p *parser) rpcLine() {
	r, s := &p.rec, &p.said
	method := p.methodName()
	kind := p.kindKey()
	if s.has(wFailed) || len(method) == 0 && kind == mcp.KindNone && !p.answer() && !p.mention() {
		return
	}
	e := p.emit(event.Message)
	e.Dir = p.direction(method, kind)
	p.parties(e)
	p.client(e)
	p.request(e)
	if len(method) == 0 && r.has(slotTool) {
		e.RPC.Method = mcp.ToolsCall
	}
	e.RPC.Kind = p.kind(e, kind)
	if e.RPC.Kind == mcp.KindRequest && e.Dir == event.DirUnknown && !s.any(wServer|wClient) {
		e.Dir = event.ToServer
	}
	p.failure(e)
	e.Stream = p.streamKind()
	if e.Dir == event.ToClient && e.RPC.Kind == mcp.KindRequest {
		p.needed(e, kind, nil)
	}
	p.canceller(e)
}

// canceller says that the session that a cancel is logged under sent it.
func (p *parser) canceller(e *event.Event) {
	if e.RPC.Method == mcp.Cancelled && e.Dir != event.ToClient && e.Asked.State == event.Unknown {
		e.Asked = e.Answered
	}
}

// answer reports a line about an answer that names its id and nothing else.
func (p *parser) answer() bool {
	return p.rec.has(slotRPCID) && p.said.any(wResponse) && !p.said.any(wNot|wRequest)
}

// mention reports a line that names a call by its id, with its tool or token.
func (p *parser) mention() bool {
	r := &p.rec
	id := r.has(slotRPCID) || (r.has(slotID) || r.has(slotRequestID)) && p.said.any(wTool|wCall|wProgress)
	return id && (r.has(slotToken) || r.has(slotTool))
}

// kindKey reads a key that says what a message is.
func (p *parser) kindKey() mcp.Kind {
	r := &p.rec
	for _, s := range [...]slot{slotKind, slotType} {
		switch string(r.text(r.get(s))) {
		case "request":
			return mcp.KindRequest
		case "notification":
			return mcp.KindNotification
		case "response", "result":
			return mcp.KindResult
		case "error":
			if s == slotKind {
				return mcp.KindError
			}
		}
	}
	return mcp.KindNone
}

// kind says what the message of a line is. A line that only mentions a call (a
// tool begins, a call is forwarded, its token is registered) is a further line
// about one request, which the correlator folds by session and id.
func (p *parser) kind(e *event.Event, key mcp.Kind) mcp.Kind {
	switch {
	case key == mcp.KindResult && p.rec.has(slotError) && !p.rec.get(slotError).absent():
		return mcp.KindError
	case key != mcp.KindNone:
		return key
	case bytes.HasPrefix([]byte(e.RPC.Method), []byte("notifications/")):
		return mcp.KindNotification
	case p.said.any(wResponse) && !p.said.any(wRequest):
		return mcp.KindResult
	}
	return mcp.KindRequest
}

// needed fills what a server request needs of its client. The id of such a line
// is that of the message only where the line is about the message itself: others
// name the call that made it.
func (p *parser) needed(e *event.Event, key mcp.Kind, params []byte) {
	if need, ok := mcp.NeededCaps(e.RPC.Method, params); ok {
		e.RPC.Caps, e.RPC.CapsKnown = need, true
	}
	if params == nil && key == mcp.KindNone && !p.said.any(wSent|wRPC) {
		e.RPC.ID = ""
	}
}

// failure fills code and text of an error answer.
func (p *parser) failure(e *event.Event) {
	r := &p.rec
	if e.RPC.Kind != mcp.KindError {
		return
	}
	v := r.get(slotError)
	t := r.text(v)
	if v.form == formObject {
		t = v.raw
	}
	if len(t) > 0 && t[0] == '{' {
		p.errorObject(t, e)
	} else {
		e.RPC.ErrorText = mcp.Cut(string(mustCut(t, 2048)), 1024)
	}
	if !r.has(slotErrorCode) {
		return
	}
	if c, ok := mcp.Number(r.text(r.get(slotErrorCode))); ok && c > -1e9 && c < 1e9 {
		e.RPC.Code = int(c)
	}
}

func (p *parser) errorObject(raw []byte, e *event.Event) {
	if c, err := jsonparser.GetInt(raw, "code"); err == nil {
		e.RPC.Code = int(c)
	}
	msg, kind, _, err := jsonparser.Get(raw, "message")
	if err == nil && kind == jsonparser.String {
		e.RPC.ErrorText = mcp.Cut(mcp.Unescape(mustCut(msg, 4096)), 1024)
	}
	if data, kind, _, err := jsonparser.Get(raw, "data"); err == nil && kind == jsonparser.String {
		e.RPC.ErrorText = mcp.Cut(e.RPC.ErrorText+" "+mcp.Unescape(mustCut(data, 4096)), 1024)
	}
}

// direction says which way a message went: by its method where that decides, by
// what the line says otherwise. The log is taken to be the server's.
func (p *parser) direction(method []byte, kind mcp.Kind) event.Dir {
	if d := methodDir(method); d != event.DirUnknown {
		return d
	}
	r, s := &p.rec, &p.said
	switch string(r.text(r.get(slotDirection))) {
	case "c2s", "in", "inbound", "incoming", "recv", "received", "receive", "client_to_server", "client->server", "client-to-server":
		return event.ToServer
	case "s2c", "out", "outbound", "outgoing", "send", "sent", "server_to_client", "server->client", "server-to-client":
		return event.ToClient
	}
	switch {
	case s.has(wReceived) && !s.has(wSent):
		return event.ToServer
	case s.has(wSent) && !s.has(wReceived):
		return event.ToClient
	case s.any(wRequest) && !s.any(wServer|wClient|wResponse) && kind != mcp.KindResult:
		return event.ToServer
	}
	return event.DirUnknown
}

// methodDir is the direction of methods that go one way only.
func methodDir(method []byte) event.Dir {
	switch string(method) {
	case "", mcp.Ping, mcp.Cancelled, mcp.Progress:
		return event.DirUnknown
	case mcp.Sampling, mcp.Elicitation, mcp.RootsList, mcp.LogMessage, mcp.ResourceUpdated, "notifications/tools/list_changed",
		"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/elicitation/complete",
		"notifications/subscriptions/acknowledged":
		return event.ToClient
	case mcp.Initialized, mcp.RootsListChanged:
		return event.ToServer
	}
	if rpcMethod(method) && !bytes.HasPrefix(method, []byte("notifications/")) && !bytes.HasPrefix(method, []byte("tasks/")) {
		return event.ToServer
	}
	return event.DirUnknown
}

func (p *parser) streamKind() event.StreamKind {
	switch string(p.rec.text(p.rec.get(slotStreamKind))) {
	case "post", "POST", "listen":
		return event.StreamPost
	case "get", "GET":
		return event.StreamGet
	case "sse":
		return event.StreamSSE
	}
	return event.StreamUnknown
}
