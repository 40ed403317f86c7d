package exchange

import (
	"bytes"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Keys of _meta (2026-07-28 basic, "Request metadata").
const (
	metaRevision     = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

const (
	maxTool   = 256
	maxURI    = 2048
	maxReason = 256
	maxPMsg   = 200
	maxError  = 1024
)

// ReadMessage fills e.RPC, e.Revision and e.Sender.ClientInfo from one JSON-RPC
// message in valid JSON nested no deeper than mcp.MaxDepth. e.Dir must be set. It
// returns mcp.ErrNotRPC for an object that is no JSON-RPC message. What e keeps
// does not point into raw.
func (b *Builder) ReadMessage(e *event.Event, raw []byte) error {
	m := &b.msg
	if err := mcp.ParseValid(raw, m); err != nil {
		return err
	}
	if !plausible(m, raw) {
		return mcp.ErrNotRPC
	}
	r := &e.RPC
	r.Kind, r.ID, r.Method = m.Kind, m.ID, b.names.text(m.Method)
	switch m.Kind {
	case mcp.KindRequest, mcp.KindNotification:
		b.readParams(e, m)
	case mcp.KindResult:
		b.readResult(e, m.Result)
	case mcp.KindError:
		readError(r, m.Error)
	}
	if e.Dir == event.ToClient {
		body := m.Params
		switch m.Kind {
		case mcp.KindResult:
			body = m.Result
		case mcp.KindError:
			body = m.Error
		}
		r.Marks, r.MarksCut = b.readMarks(r.Marks[:0], body)
	}
	return nil
}

// plausible keeps other JSON with a key "method", "result" or "error" out:
// without "jsonrpc" only what is MCP by its method, or answers an id, counts.
func plausible(m *mcp.Message, raw []byte) bool {
	if m.Version || bytes.Contains(raw, []byte(`"jsonrpc"`)) {
		return true
	}
	switch m.Kind {
	case mcp.KindResult, mcp.KindError:
		return m.ID != "" && m.ID != mcp.NullID
	}
	return m.Method == mcp.Initialize || m.Method == mcp.Ping || strings.Contains(m.Method, "/")
}

// readParams fills the facts of a request or notification.
func (b *Builder) readParams(e *event.Event, m *mcp.Message) {
	r := &e.RPC
	if m.Method == mcp.Initialize {
		r.Era = mcp.EraLegacy
	}
	var arguments []byte
	hash := event.Hash(m.Method)
	for o := mcp.MembersOf(m.Params); o.Next(); {
		key, value, kind := o.Key, o.Value, o.Kind
		if string(key) == "_meta" {
			b.readMeta(e, value)
			continue
		}
		hash = pathHash(hashBytes(pathHash(hash, key), value), nil)
		switch string(key) {
		case "name":
			if m.Method == mcp.ToolsCall || m.Method == mcp.PromptsGet {
				r.Tool = b.name(value, kind, maxTool)
			}
		case "uri":
			r.URI = b.name(value, kind, maxURI)
		case "arguments":
			arguments = value
		case "progressToken":
			r.Token = idOf(value, kind)
		case "requestId":
			r.CancelID = idOf(value, kind)
		case "reason":
			r.Reason = short(value, kind, maxReason)
		case "progress", "total", "message":
			readProgress(r, m.Method, string(key), value, kind)
		case "protocolVersion":
			if m.Method == mcp.Initialize {
				e.Revision = b.name(value, kind, 64)
			}
		case "capabilities":
			if m.Method == mcp.Initialize && kind == jsonparser.Object {
				r.Caps, r.CapsKnown = mcp.ParseCaps(value), true
			}
		case "clientInfo":
			r.ClientInfo = b.clientInfo(value)
		}
	}
	if m.Method == mcp.Initialize && !r.CapsKnown {
		r.CapsKnown = m.Params != nil // declared nothing
	}
	if m.Params != nil || m.Method != "" {
		r.BodyHash = hash
	}
	if e.Dir == event.ToClient {
		if need, ok := mcp.NeededCaps(m.Method, m.Params); ok && m.Kind == mcp.KindRequest {
			r.Caps, r.CapsKnown = need, true
		}
		return
	}
	if m.Kind != mcp.KindRequest {
		return
	}
	if m.Method == mcp.ToolsCall {
		r.Args = b.readArgs(arguments, nil)
		return
	}
	r.Args = b.readArgs(m.Params, notArgument)
}

// notArgument tells the members of params that describe the request and are no
// values of the caller.
func notArgument(key []byte) bool {
	switch string(key) {
	case "_meta", "name", "protocolVersion", "capabilities", "clientInfo":
		return true
	}
	return false
}

func readProgress(r *event.RPC, method, key string, value []byte, kind jsonparser.ValueType) {
	if method != mcp.Progress {
		return
	}
	switch key {
	case "progress":
		r.Progress, r.HasProgress = mcp.Number(value)
	case "total":
		r.Total, r.HasTotal = mcp.Number(value)
	case "message":
		r.ProgressMsg = short(value, kind, maxPMsg)
	}
}

// readMeta reads _meta of params.
func (b *Builder) readMeta(e *event.Event, raw []byte) {
	r := &e.RPC
	for o := mcp.MembersOf(raw); o.Next(); {
		value, kind := o.Value, o.Kind
		switch string(o.Key) {
		case "progressToken":
			r.Token = idOf(value, kind)
		case "traceparent":
			r.Trace = b.traceID(value, kind)
		case metaRevision:
			e.Revision = b.name(value, kind, 64)
			if r.Era == mcp.EraUnknown {
				r.Era = mcp.RevisionEra(e.Revision)
			}
		case metaClientInfo:
			r.ClientInfo = b.clientInfo(value)
			e.Sender.ClientInfo = r.ClientInfo
		case metaCapabilities:
			if kind == jsonparser.Object {
				r.Caps, r.CapsKnown = mcp.ParseCaps(value), true
			}
		case metaSubscription:
			r.Listen = idOf(value, kind)
		}
	}
}

// traceID takes the trace id out of a traceparent, 00-<32 hex>-<16 hex>-<2 hex>
// (W3C Trace Context §3.2).
func (b *Builder) traceID(value []byte, kind jsonparser.ValueType) string {
	if kind != jsonparser.String || len(value) < 55 || value[2] != '-' || value[35] != '-' {
		return ""
	}
	return b.names.bytes(value[3:35])
}

// clientInfo gives "name version" of an Implementation object.
func (b *Builder) clientInfo(raw []byte) string {
	var name, version string
	for o := mcp.MembersOf(raw); o.Next(); {
		value, kind := o.Value, o.Kind
		switch string(o.Key) {
		case "name":
			name = b.name(value, kind, 128)
		case "version":
			version = b.name(value, kind, 64)
		}
	}
	if name == "" || version == "" {
		return name + version
	}
	return b.names.text(name + " " + version)
}

// name reads a string that will be seen again.
func (b *Builder) name(value []byte, kind jsonparser.ValueType, max int) string {
	if kind != jsonparser.String {
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 && len(value) <= max {
		if s, ok := b.names.have(value); ok {
			return s
		}
	}
	return b.names.text(short(value, kind, max))
}

// short reads a string, copied and cut.
func short(value []byte, kind jsonparser.ValueType, max int) string {
	if kind != jsonparser.String {
		return ""
	}
	text := mcp.Unescape(head(value, max))
	if len(text) <= max {
		return text
	}
	return mcp.Cut(text, max)
}

// head takes enough of a raw string for max bytes of text, ending in no escape.
func head(value []byte, max int) []byte {
	n := 6*max + 12 // \u00e9 is six bytes for two, and a pair of surrogates twelve
	if len(value) <= n {
		return value
	}
	value = value[:n]
	for i := 1; i <= 12 && i <= len(value); i++ {
		if value[len(value)-i] == '\\' {
			return value[:bytes.IndexByte(value[len(value)-12:], '\\')+len(value)-12]
		}
	}
	return value
}

func idOf(value []byte, kind jsonparser.ValueType) mcp.ID {
	switch kind {
	case jsonparser.String:
		return mcp.StringID(mcp.Unescape(head(value, mcp.MaxIDLen)))
	case jsonparser.Number:
		return mcp.NewID(value)
	}
	return ""
}

// readError fills the facts of an error answer.
func readError(r *event.RPC, raw []byte) {
	var message, data string
	for o := mcp.MembersOf(raw); o.Next(); {
		value, kind := o.Value, o.Kind
		switch string(o.Key) {
		case "code":
			if f, ok := mcp.Number(value); ok && f > -1e9 && f < 1e9 {
				r.Code = int(f)
			}
		case "message":
			message = short(value, kind, maxError)
		case "data":
			switch kind {
			case jsonparser.String:
				data = short(value, kind, maxError)
			case jsonparser.Object, jsonparser.Array:
				data = strings.ToValidUTF8(string(value[:min(len(value), maxError)]), "\uFFFD")
			}
		}
	}
	switch {
	case data == "":
		r.ErrorText = message
	case message == "":
		r.ErrorText = data
	default:
		r.ErrorText = mcp.Cut(message+": "+data, maxError)
	}
}
