package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// readBody takes a body in one of its three spellings.
func (l *line) readBody(key string, value []byte, kind jsonparser.ValueType) error {
	l.sent = true
	switch {
	case kind == jsonparser.Null:
		l.sent = false
	case key == "body" && kind == jsonparser.String:
		l.body, l.room[0] = mcp.UnescapeBytes(value, l.room[0]) // a recorder that could not parse the body
	case key == "body":
		l.body, l.json = value, true
	case kind != jsonparser.String:
		return fmt.Errorf("%s is no string", key)
	case key == "body_text":
		l.body, l.room[0] = mcp.UnescapeBytes(value, l.room[0])
	default:
		b, err := base64.StdEncoding.DecodeString(mcp.Unescape(value))
		if err != nil {
			return fmt.Errorf("cannot decode body_b64: %w", err)
		}
		l.body, l.raw = b, true
	}
	return nil
}

// maxOpen bounds the exchanges that are open at once.
const maxOpen = 1 << 17

// apply hands one line to its exchange.
func (r *feeder) apply(l *line, at event.Address) error {
	t := r.time(l.ts)
	if l.kind == kindGap {
		r.gap(l, t, at)
		return nil
	}
	if l.x == "" {
		return errors.New("line has no x, the id of its exchange: skipped")
	}
	x, known := r.open[l.x]
	switch {
	case l.kind == kindReq && known:
		r.stats.Flaw(at, fmt.Sprintf("exchange %.60q is opened again: the first one ends here", l.x))
		x.Close(t, at, event.ByUnknown, 0)
		r.forget(l.x)
		r.request(l, t, at)
		return nil
	case l.kind == kindReq:
		r.request(l, t, at)
		return nil
	case !known:
		r.stats.Flaw(at, fmt.Sprintf("exchange %.60q has no req line: its request is not known", l.x))
		x = r.begin(l, t, at, event.LossStart|event.LossRequest|event.LossRequestBody|event.LossHeaders)
	}
	r.response(x, l, t, at)
	return nil
}

// time makes stamps monotone: inside one source its order counts.
func (r *feeder) time(ns int64) event.Time {
	switch {
	case ns == 0:
		ns = r.last
	case ns < r.last:
		r.stats.BackSteps++
		ns = r.last
	}
	r.last = ns
	return event.At(ns)
}

func (r *feeder) begin(l *line, t event.Time, at event.Address, loss event.Loss) *live {
	if len(r.open) >= maxOpen {
		r.evict(t, at)
	}
	server, target := splitURL(l.url)
	x := &live{Exchange: r.b.Open(exchange.Request{
		Time: t, At: at, Server: server, Method: l.method, Target: target,
		Header: l.header, Loss: loss, Conn: l.conn, Peer: hostOf(l.peer),
	})}
	r.open[l.x] = x
	r.order = append(r.order, l.x)
	return x
}

func (r *feeder) request(l *line, t event.Time, at event.Address) {
	var loss event.Loss
	if l.noHead {
		loss |= event.LossHeaders
	}
	if !l.sent && l.method == "POST" {
		loss |= event.LossRequestBody
	}
	if !l.raw {
		l.header = exchange.Decoded(l.header)
	}
	x := r.begin(l, t, at, loss)
	if l.cut {
		loss |= event.LossRequestBody
	}
	x.RequestBody(t, at, l.body, loss&event.LossRequestBody)
}

func (r *feeder) response(x *live, l *line, t event.Time, at event.Address) {
	switch l.kind {
	case kindHead:
		var loss event.Loss
		if l.noHead {
			loss = event.LossHeaders
		}
		x.Head(exchange.Response{Time: t, At: at, Status: l.status, Header: l.header, Loss: loss})
	case kindBody:
		switch {
		case l.json:
			x.SSE(t, at, "", "", l.body)
		case l.raw:
			x.Data(t, at, l.body)
		default:
			x.Text(t, at, l.body)
		}
		if l.cut {
			x.Gap(t, at, event.ToClient, "the recorder kept only the beginning of the body")
		}
	case kindSSE:
		x.SSE(t, at, l.id, l.event, l.data)
	case kindClose:
		by := event.ByUnknown
		switch l.by {
		case "client":
			by = event.ByClient
		case "server":
			by = event.ByServer
		}
		x.Close(t, at, by, 0)
		r.forget(l.x)
	}
}

// gap applies to one exchange, or to all that are open on a connection.
func (r *feeder) gap(l *line, t event.Time, at event.Address) {
	dir := event.DirUnknown
	switch l.dir {
	case "client", "to_server", "c2s", "request":
		dir = event.ToServer
	case "server", "to_client", "s2c", "response":
		dir = event.ToClient
	}
	note := l.note
	if note == "" {
		note = "the recording says that bytes are missing"
	}
	if x, ok := r.open[l.x]; ok {
		x.Gap(t, at, dir, note)
		return
	}
	loss := event.Loss(0)
	if l.conn != "" {
		loss = event.LossPairing // how many messages are missing there is not known
	}
	r.b.Gap(t, at, event.Sender{Conn: l.conn, Peer: hostOf(l.peer)}, dir, loss, note)
}

func (r *feeder) forget(x string) {
	delete(r.open, x)
	// The order is only needed at the end; it is thinned out when most of it is closed.
	if len(r.order) > 1024 && len(r.order) > 4*len(r.open) {
		kept := r.order[:0]
		for _, id := range r.order {
			if _, ok := r.open[id]; ok {
				kept = append(kept, id)
			}
		}
		clear(r.order[len(kept):])
		r.order = kept
	}
}

// evict closes the exchange that is open longest.
func (r *feeder) evict(t event.Time, at event.Address) {
	for i, id := range r.order {
		x, ok := r.open[id]
		if !ok {
			continue
		}
		x.Close(t, at, event.ByUnknown, event.LossResponseBody)
		delete(r.open, id)
		r.order = r.order[i+1:]
		r.stats.Note(fmt.Sprintf("more than %d exchanges open at once: the oldest were given up", maxOpen))
		return
	}
}

// splitURL returns the server as scheme://host:port, and path with query.
func splitURL(raw string) (server, target string) {
	i := strings.Index(raw, "://")
	if i < 0 {
		return "", raw
	}
	scheme, rest := strings.ToLower(raw[:i]), raw[i+3:]
	authority := rest
	if j := strings.IndexAny(rest, "/?#"); j >= 0 {
		authority, target = rest[:j], rest[j:]
	}
	if j := strings.LastIndexByte(authority, '@'); j >= 0 {
		authority = authority[j+1:]
	}
	if _, err := url.Parse(scheme + "://" + authority); err == nil && !hasPort(authority) {
		switch scheme {
		case "http":
			authority += ":80"
		case "https":
			authority += ":443"
		}
	}
	return scheme + "://" + strings.ToLower(authority), target
}

func hasPort(authority string) bool {
	i := strings.LastIndexByte(authority, ':')
	return i >= 0 && i > strings.LastIndexByte(authority, ']')
}

// hostOf takes the port off an address, so that the connections of one client share a peer.
func hostOf(peer string) string {
	if a, err := netip.ParseAddrPort(peer); err == nil {
		return a.Addr().String()
	}
	if i := strings.LastIndexByte(peer, ':'); i > 0 && strings.IndexByte(peer, ':') == i {
		return peer[:i]
	}
	return strings.Trim(peer, "[]")
}
