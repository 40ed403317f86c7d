package logs

import (
	"bytes"
	"hash/fnv"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Access logs (FORMATS A4 and §3). All print the request line; what stands around
// it tells the dialects apart. A line gives something only where it was made to
// print a session header, a method, or carries the session in its query.

// accessLine is an access line, taken apart at its request.
type accessLine struct {
	pre, post    []byte // in front of and behind the quoted request
	method, path []byte
}

// splitAccess finds the quoted request of a line: "POST /mcp HTTP/1.1", or
// "POST /mcp 1.1" as hypercorn writes it.
func splitAccess(b []byte) (a accessLine, ok bool) {
	for i := 0; i < len(b) && i < maxRequestAt; {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return a, false
		}
		i += k + 1
		n := 0
		for n < 8 && i+n < len(b) && b[i+n] >= 'A' && b[i+n] <= 'Z' {
			n++
		}
		if n < 3 || i+n >= len(b) || b[i+n] != ' ' || !verb(b[i:i+n]) {
			continue
		}
		end := bytes.IndexByte(b[i:], '"')
		if end < 0 {
			return a, false
		}
		a.pre, a.post, a.method = b[:i-1], b[i+end+1:], b[i:i+n]
		a.path, _, _ = bytes.Cut(b[i+n+1:i+end], []byte(" "))
		return a, true
	}
	return a, false
}

// maxRequestAt is how far into a line its request may begin.
const maxRequestAt = 4096

// access fills what all dialects have in common and reports whether the line says
// anything about MCP. status is as it was written.
func (p *parser) accessLine(a *accessLine, status []byte) verdict {
	r := &p.rec
	r.textual = true
	r.set(slotHTTPMethod, nil, value{a.method, formBare})
	r.set(slotPath, nil, value{a.path, formBare})
	r.set(slotStatus, nil, value{status, formBare})
	p.querySession(a.path)
	if !r.has(slotAsked) && !r.has(slotResponseHeader) && !r.has(slotMCPSession) && !r.has(slotRPCMethod) && len(r.bodies) == 0 {
		return silent
	}
	p.mcp = true
	return filled
}

// querySession reads the session of the HTTP+SSE transport, which stands in the query.
func (p *parser) querySession(path []byte) {
	_, query, ok := bytes.Cut(path, []byte("?"))
	for ok && len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		key, id, _ := bytes.Cut(pair, []byte("="))
		switch string(key) {
		case "session_id", "sessionId", "sessionid":
			p.rec.set(slotAsked, key, value{id, formBare})
			return
		}
	}
}

// fields reads what stands behind the request of a line in the common log format:
// status, bytes, referrer, User-Agent, and then whatever the operator added. before is
// how many bare words stand in front of referrer and agent.
func (p *parser) fields(post []byte, before int) (status []byte) {
	quoted, words := 0, 0
	for i := space(post, 0); i < len(post); i = space(post, i) {
		start := i
		if post[i] == '"' {
			end := quoteEnd(post, i)
			if end < 0 {
				return status
			}
			if words < before {
			} else if quoted++; quoted <= 2 { // the later of two is the agent
				p.agent(post[i+1 : end-1])
			}
			i = end
			continue
		}
		for i < len(post) && keyByte(post[i]) {
			i++
		}
		if i < len(post) && i > start && (post[i] == '=' || post[i] == ':') && !isDigit(post[start]) {
			key := post[start:i]
			end, v := pairValue(post, i+1)
			p.accessPair(key, v)
			i = max(end, i+1)
			continue
		}
		for i < len(post) && post[i] != ' ' && post[i] != '\t' {
			i++
		}
		if words++; words == 1 {
			status = post[start:i]
		}
	}
	return status
}

func (p *parser) agent(ua []byte) {
	if string(ua) != "-" && len(ua) > 0 {
		p.rec.at[slotUserAgent], p.rec.vals[slotUserAgent] = p.rec.gen, value{ua, formBare}
	}
}

// accessPair files one field that an operator gave a name of their own: what it is
// shows in the words of the name, or in the shape of the value (FORMATS 1.4).
func (p *parser) accessPair(key []byte, v value) {
	r := &p.rec
	path := appendPath(r.path[:0], key)
	text := v.raw
	switch {
	case sessionKey(path):
		switch {
		case responseKey(path):
			r.set(slotResponseHeader, key, v)
		case requestKey(path):
			r.set(slotMCPSession, key, v)
			r.set(slotAsked, key, v)
		default:
			r.set(slotMCPSession, key, v)
		}
	case rpcMethod(text):
		r.set(slotRPCMethod, key, value{text, formBare})
	case mcp.RevisionEra(string(mustCut(text, 32))) != mcp.EraUnknown:
		r.set(slotProtocol, key, value{text, formBare})
	case idKey(path) && !traceLike(text) && len(text) > 0:
		r.set(slotRPCID, key, v)
	case keySlots[string(path)] == slotRequestHeaders:
	default:
		switch s := keySlots[string(path)]; s {
		case slotUserAgent, slotPID, slotInstance, slotPod, slotRPCID, slotToken, slotTool, slotURI, slotClient, slotClientVersion, slotErrorCode:
			r.set(s, key, v)
		}
	}
}

// sessionKey reports a name that speaks of the MCP session: mcp_sid, sid, osid,
// http_mcp_session_id, resp_session.
func sessionKey(path []byte) bool {
	switch s := keySlots[string(path)]; s {
	case slotMCPSession, slotSession, slotAsked, slotResponseHeader, slotAnswered:
		return true
	}
	return bytes.Contains(path, []byte("session")) || bytes.HasSuffix(path, []byte("sid")) && len(path) <= 16
}

// responseKey reports a name that speaks of the answer.
func responseKey(path []byte) bool {
	if s := keySlots[string(path)]; s == slotResponseHeader || s == slotAnswered {
		return true
	}
	for _, w := range [...]string{"res", "sent", "out", "upstream", "downstream", "answer", "reply"} {
		if k := bytes.Index(path, []byte(w)); k >= 0 && !(w == "res" && bytes.HasPrefix(path[k:], []byte("ress"))) {
			return true
		}
	}
	return string(path) == "osid" || string(path) == "rsid"
}

// requestKey reports a name that speaks of the request itself and no resolved session.
func requestKey(path []byte) bool {
	if keySlots[string(path)] == slotAsked {
		return true
	}
	for _, w := range [...]string{"req", "http", "header", "hdr", "asked", "incoming"} {
		if bytes.Contains(path, []byte(w)) {
			return true
		}
	}
	return false
}

// idKey reports a name of the JSON-RPC id.
func idKey(path []byte) bool {
	switch string(path) {
	case "id", "rid", "msgid", "messageid", "callid":
		return true
	}
	return keySlots[string(path)] == slotRPCID
}

// doubled reports whether the line of the same bytes was seen among the last ones
// that gave a session to a request without one.
func (s *formState) doubled() bool {
	h := fnv.New64a()
	_, _ = h.Write(s.line)
	sum := h.Sum64()
	for _, have := range s.named {
		if have == sum {
			return true
		}
	}
	s.named[s.names%len(s.named)] = sum
	s.names++
	return false
}

// startKey moves the time of a JSON access line whose stamp is by its name the
// start to the end of the request: Envoy and Kong count the duration in ms, Traefik in ns.
func (p *parser) startKey(e *event.Event) {
	r := &p.rec
	if e.Time.To == 0 || !r.has(slotTime) {
		return
	}
	unit := 0.0
	switch path := appendPath(r.path[:0], r.keys[slotTime]); string(path) {
	case "starttime", "startedat":
		unit = 1e6
	case "startutc":
		unit = 1
	default:
		return
	}
	e.Time.Moment = event.MomentStart
	d, ok := mcp.Number(r.text(r.get(slotDuration)))
	if ok && d >= 0 && d*unit < maxDuration {
		e.Time.From, e.Time.To, e.Time.Moment = e.Time.From+int64(d*unit), e.Time.To+int64(d*unit), event.MomentEnd
	}
}

const maxDuration = 1e17 // three years, in ns
