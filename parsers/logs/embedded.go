package logs

import (
	"bytes"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// embedded reads the JSON-RPC messages that stand in a record as objects or text.
func (p *parser) embedded() {
	if p.rec.bare && p.claimed().State == event.Unknown {
		return // a line that is a message and nothing else: whose it is cannot be told
	}
	for _, b := range p.rec.bodies {
		_, _ = mcp.Each(b.raw, func(member []byte) {
			if len(p.queue) < maxEvents {
				p.message(member, b)
			}
		})
	}
}

// maxEvents bounds the events of one line.
const maxEvents = 1000

func (p *parser) message(raw []byte, b body) {
	var m mcp.Message
	if mcp.ParseMessage(raw, &m) != nil {
		return
	}
	e := p.emit(event.Message)
	e.Dir = p.bodyDir(&m, b)
	p.parties(e)
	p.fill(&m, e)
	p.canceller(e)
	e.RPC.Batch = len(b.raw) > 0 && b.raw[0] == '['
}

// bodyDir is the direction of a message that stands in a record.
func (p *parser) bodyDir(m *mcp.Message, b body) event.Dir {
	answer := m.Kind == mcp.KindResult || m.Kind == mcp.KindError
	if b.key == "response" && answer {
		return event.ToClient
	}
	kind := mcp.KindNone
	if answer {
		kind = mcp.KindResult
	}
	d := p.direction([]byte(m.Method), kind)
	if d == event.DirUnknown && b.key == "request" && !answer {
		return event.ToServer
	}
	return d
}

// fill copies the parts of a message that rules read into an event.
func (p *parser) fill(m *mcp.Message, e *event.Event) {
	e.RPC.Kind, e.RPC.ID = m.Kind, m.ID
	e.RPC.Method = m.Method
	if m.Kind == mcp.KindError && len(m.Error) > 0 && m.Error[0] == '{' {
		p.errorObject(m.Error, e)
	}
	if m.Kind == mcp.KindResult && bytes.Contains(m.Result, []byte(`sError"`)) {
		if yes, err := jsonparser.GetBoolean(m.Result, "isError"); err == nil && yes {
			e.RPC.IsError = true
			if text, err := jsonparser.GetString(m.Result, "content", "[0]", "text"); err == nil {
				e.RPC.ErrorText = mcp.Cut(text, 1024)
			}
		}
	}
	p.revision(e)
	p.readParams(m, e)
	if e.RPC.Era == mcp.EraUnknown && m.Method == mcp.Initialize {
		e.RPC.Era = mcp.EraLegacy
	}
	if e.Dir == event.ToClient && m.Kind == mcp.KindRequest {
		p.needed(e, m.Kind, orEmpty(m.Params))
	}
	if m.BadID {
		e.Loss |= event.LossIDType
	}
}

func orEmpty(params []byte) []byte {
	if params == nil {
		return []byte("{}")
	}
	return params
}

// readParams reads the params that rules need.
func (p *parser) readParams(m *mcp.Message, e *event.Event) {
	if m.Params == nil {
		return
	}
	rpc := &e.RPC
	_ = jsonparser.ObjectEach(m.Params, func(key, v []byte, kind jsonparser.ValueType, _ int) error {
		text := kind == jsonparser.String
		switch string(key) {
		case "name":
			if text && (m.Method == mcp.ToolsCall || m.Method == mcp.PromptsGet) {
				rpc.Tool = p.name(p.rec.text(value{v, formString}))
			}
		case "uri":
			if text {
				rpc.URI = p.name(p.rec.text(value{v, formString}))
			}
		case "progressToken":
			if m.Method == mcp.Progress {
				rpc.Token, _ = p.exact(v, kind)
			}
		case "requestId":
			if m.Method == mcp.Cancelled {
				rpc.CancelID, _ = p.exact(v, kind)
			}
		case "reason":
			if text && m.Method == mcp.Cancelled {
				rpc.Reason = mcp.Cut(mcp.Unescape(mustCut(v, 1024)), 256)
			}
		case "progress", "total", "message":
			if m.Method == mcp.Progress {
				progressPart(rpc, string(key), v, kind)
			}
		case "capabilities":
			if m.Method == mcp.Initialize && kind == jsonparser.Object {
				rpc.Caps, rpc.CapsKnown = mcp.ParseCaps(v), true
			}
		case "clientInfo":
			if kind == jsonparser.Object {
				rpc.ClientInfo = p.implementation(v)
			}
		case "protocolVersion":
			if text && m.Method == mcp.Initialize {
				p.setRevision(e, v)
			}
		case "_meta":
			if kind == jsonparser.Object {
				p.readMeta(v, e)
			}
		}
		return nil
	})
}

func progressPart(rpc *event.RPC, key string, v []byte, kind jsonparser.ValueType) {
	switch key {
	case "progress":
		rpc.Progress, rpc.HasProgress = mcp.Number(v)
	case "total":
		rpc.Total, rpc.HasTotal = mcp.Number(v)
	case "message":
		if kind == jsonparser.String {
			rpc.ProgressMsg = mcp.Cut(mcp.Unescape(mustCut(v, 800)), 200)
		}
	}
}

// readMeta reads _meta: the token of a request, and in the modern era who the
// client is (2026-07-28 basic, "_meta").
func (p *parser) readMeta(raw []byte, e *event.Event) {
	_ = jsonparser.ObjectEach(raw, func(key, v []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "progressToken":
			e.RPC.Token, _ = p.exact(v, kind)
		case "io.modelcontextprotocol/protocolVersion":
			p.setRevision(e, v)
		case "io.modelcontextprotocol/clientCapabilities":
			if kind == jsonparser.Object {
				e.RPC.Caps, e.RPC.CapsKnown = mcp.ParseCaps(v), true
			}
		case "io.modelcontextprotocol/clientInfo":
			if kind == jsonparser.Object {
				e.RPC.ClientInfo = p.implementation(v)
				e.Sender.ClientInfo = e.RPC.ClientInfo
			}
		}
		return nil
	})
}

func (p *parser) setRevision(e *event.Event, v []byte) {
	if era := mcp.RevisionEra(string(mustCut(v, 32))); era != mcp.EraUnknown {
		e.Revision, e.RPC.Era = p.name(v), era
	}
}

// implementation is "name version" of an Implementation object.
func (p *parser) implementation(raw []byte) string {
	name, _ := jsonparser.GetString(raw, "name")
	version, _ := jsonparser.GetString(raw, "version")
	if version != "" {
		name += " " + version
	}
	return mcp.Cut(name, maxID)
}

// exact is the id of a value whose JSON type was kept.
func (p *parser) exact(v []byte, kind jsonparser.ValueType) (mcp.ID, bool) {
	switch kind {
	case jsonparser.String:
		return mcp.StringID(mcp.Unescape(v)), true
	case jsonparser.Number:
		return mcp.NewID(v), true
	}
	return "", false
}
