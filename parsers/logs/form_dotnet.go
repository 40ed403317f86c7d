package logs

import (
	"bytes"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// The console logger of .NET writes two lines and no time (FORMATS A8, from
// documentation):
//
//	info: ModelContextProtocol.Server.McpServer[1201237163]
//	      Server (notes 1.0.0), Client (claude-ai 0.1.0) method 'tools/call' request handler called.

func dotnetBegins(_ *parser, q *pending, line []byte) bool {
	at := 0
	if st, ok := parseTime(line, 0); ok { // TimestampFormat stands in front
		at = st.length
		for at < len(line) && line[at] == ' ' {
			at++
		}
	}
	rest := line[at:]
	if len(rest) < 10 || rest[4] != ':' || rest[5] != ' ' || rest[len(rest)-1] != ']' || bytes.IndexByte(rest[6:], ' ') >= 0 || bytes.IndexByte(rest, '[') < 0 {
		return false
	}
	switch string(rest[:4]) {
	case "trce", "dbug", "info", "warn", "fail", "crit":
	default:
		return false
	}
	q.buf = append(q.buf, line[:at]...)
	q.buf = append(q.buf, dotnetLevel(rest[:4])...)
	category := rest[6:bytes.IndexByte(rest, '[')]
	q.buf = append(append(append(q.buf, " ["...), category[max(0, len(category)-maxCategory):]...), ']')
	return true
}

// maxCategory is how much of a logger's name is kept, as what stands in brackets in front of a message.
const maxCategory = 76

// systemd returns a line without the <6> that the systemd console of .NET puts in front.
func systemd(b []byte) []byte {
	if len(b) > 4 && b[0] == '<' && isDigit(b[1]) && b[2] == '>' && b[3] >= 'A' {
		return b[3:]
	}
	return b
}

func dotnetLevel(w []byte) string {
	switch string(w) {
	case "trce":
		return "TRACE"
	case "dbug":
		return "DEBUG"
	case "warn":
		return "WARN"
	case "fail", "crit":
		return "ERROR"
	}
	return "INFO"
}

func dotnetMore(q *pending, line []byte) belongs {
	if !bytes.HasPrefix(line, []byte("      ")) {
		return another
	}
	q.buf = append(append(q.buf, ' '), line[6:]...)
	return inside
}

// dotnetMessage reads the messages of the C# SDK. They begin with the names of
// server and client, which are no session; the session that the SDK names in the
// line about its birth is a private one that never is on the wire.
func dotnetMessage(p *parser, rest []byte) verdict {
	var client []byte
	_, body, ok := bytes.Cut(rest, []byte("Client ("))
	if ok {
		k := bytes.IndexByte(body, ')')
		if k < 0 {
			return silent
		}
		client, body = body[:k], bytes.TrimSpace(body[k+1:])
	} else {
		k := bytes.IndexByte(rest, ')')
		if k < 0 {
			return silent
		}
		body = bytes.TrimSpace(rest[k+1:])
	}
	p.mcp = true
	switch {
	case bytes.HasPrefix(body, []byte("method '")):
		method, tail, _ := bytes.Cut(body[len("method '"):], []byte("'"))
		if !bytes.Contains(tail, []byte("handler called")) {
			return silent
		}
		e := p.emit(event.Message)
		e.Dir, e.RPC.Method, e.RPC.Kind = event.ToServer, p.name(method), mcp.KindRequest
		if bytes.HasPrefix(method, []byte("notifications/")) {
			e.RPC.Kind = mcp.KindNotification
		}
		e.RPC.ClientInfo = p.name(client)
	case bytes.HasPrefix(body, []byte("canceled request '")):
		id, tail, _ := bytes.Cut(body[len("canceled request '"):], []byte("'"))
		e := p.emit(event.CancelledBy)
		e.RPC.ID, e.Outcome = mcp.NewID(id), event.OutcomeCancelled
		if !integer(id) {
			e.RPC.ID = mcp.StringID(string(id))
		}
		e.Loss |= event.LossIDType
		if _, reason, ok := bytes.Cut(tail, []byte("Reason: '")); ok {
			reason, _, _ = bytes.Cut(reason, []byte("'"))
			e.RPC.Reason = mcp.Cut(string(mustCut(reason, 512)), 256)
		}
	case bytes.HasPrefix(body, []byte("transport received message. Message: '")):
		p.bodyOf(body, event.ToServer)
	case bytes.HasPrefix(body, []byte("transport sending message. Message: '")):
		p.bodyOf(body, event.ToClient)
	}
	return silent
}

// bodyOf emits the message that stands as JSON in a text, whose session the text
// does not name.
func (p *parser) bodyOf(text []byte, dir event.Dir) {
	k := bytes.IndexByte(text, '{')
	if k < 0 {
		return
	}
	end, f := valueEnd(text, k)
	var m mcp.Message
	if f == formNone || mcp.ParseMessage(text[k:end], &m) != nil {
		return
	}
	e := p.emit(event.Message)
	e.Dir = dir
	p.parties(e)
	p.fill(&m, e)
}

// dotnetOverGET reads the warning about a server request that goes out on the GET
// stream; it names the session of the wire.
func dotnetOverGET(p *parser, rest []byte) verdict {
	method, tail, ok := bytes.Cut(rest, []byte("'"))
	if !ok {
		return silent
	}
	p.mcp = true
	if _, id, ok := bytes.Cut(tail, []byte("SessionId: '")); ok {
		if id, _, ok = bytes.Cut(id, []byte("'")); ok && len(id) > 0 {
			p.rec.set(slotMCPSession, nil, value{id, formBare})
		}
	}
	e := p.emit(event.Message)
	e.Dir, e.RPC.Kind, e.RPC.Method = event.ToClient, mcp.KindRequest, p.name(method)
	p.parties(e)
	p.needed(e, mcp.KindRequest, nil)
	return silent
}
