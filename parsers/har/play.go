package har

import (
	"container/heap"
	"fmt"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/exchange"
)

// live is an exchange between its start and its end.
type live struct {
	*exchange.Exchange
	rec   record
	raw   []byte // nil if it must be read again
	e     entry  // points into raw
	first int64
	end   int64
	sure  bool // first is the first byte; else it came anywhere until end
	from  int  // offset in e.messages behind what was emitted
	given int  // bytes of the body that were given before its end
	last  int64
}

// phase is a moment of an exchange. At one time the heads of answers come before
// new requests, and new requests before the ends of others: what may have
// overlapped is taken as overlapping.
type phase uint8

const (
	phaseHead phase = iota
	phaseStart
	phaseMessage
	phaseEnd
)

// moment is something of a begun exchange that is due at a time.
type moment struct {
	at    int64
	phase phase
	n     int32
}

func (a moment) before(b moment) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.phase != b.phase:
		return a.phase < b.phase
	}
	return a.n < b.n
}

// due holds the next moment of every exchange that has begun.
type due []moment

func (d due) Len() int           { return len(d) }
func (d due) Less(i, j int) bool { return d[i].before(d[j]) }
func (d due) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *due) Push(x any)        { *d = append(*d, x.(moment)) }
func (d *due) Pop() any {
	old := *d
	m := old[len(old)-1]
	*d = old[:len(old)-1]
	return m
}

// step does what is due next and reports whether there was anything.
func (r *reader) step() bool {
	if r.err != nil {
		return false
	}
	if r.started < len(r.records) {
		rec := r.records[r.started]
		m := moment{at: rec.start, phase: phaseStart, n: rec.n}
		if len(r.due) == 0 || m.before(r.due[0]) {
			r.started++
			r.start(rec)
			return true
		}
	}
	if len(r.due) == 0 {
		return false
	}
	m := heap.Pop(&r.due).(moment)
	l := r.live[m.n]
	switch m.phase {
	case phaseHead:
		r.head(l)
	case phaseMessage:
		r.message(l)
	case phaseEnd:
		r.end(l)
	}
	return true
}

func (r *reader) plan(l *live, p phase, at int64) {
	heap.Push(&r.due, moment{at: at, phase: p, n: l.rec.n})
}

func (l *live) at(r *reader) event.Address {
	return event.Address{Source: r.in.Index, Unit: event.UnitEntry, N: int64(l.rec.n), Offset: l.rec.off}
}

// keepRaw bounds the entries that stay in memory between their moments.
const keepRaw = 32 << 20

// load reads the entry of l again if it is not in memory.
func (r *reader) load(l *live) bool {
	if l.raw != nil {
		return true
	}
	raw := make([]byte, l.rec.size)
	if _, err := r.ra.ReadAt(raw, l.rec.off); err != nil {
		r.err = fmt.Errorf("cannot read entry %d of %s again: %w", l.rec.n, r.in.Path, err)
		return false
	}
	if err := r.again(raw, &l.e); err != nil {
		r.err = fmt.Errorf("cannot read entry %d of %s again: it has changed: %w", l.rec.n, r.in.Path, err)
		return false
	}
	l.raw = raw
	r.kept += len(raw)
	return true
}

// unload forgets the entry if too many are in memory.
func (r *reader) unload(l *live, always bool) {
	if l.raw == nil || !always && r.kept <= keepRaw {
		return
	}
	r.kept -= len(l.raw)
	l.raw, l.e = nil, entry{}
}

func (r *reader) start(rec record) {
	l := &live{rec: rec}
	if !r.load(l) {
		return
	}
	e := &l.e
	l.first, l.end, l.sure = e.moments()
	l.last = l.first
	t, at := event.Time{From: e.start, To: e.start, Moment: event.MomentStart}, l.at(r)
	origin, target := splitURL(e.url)
	body, lost := e.requestBody(&r.room)
	header := e.reqHeader
	if !encoded(header, body) {
		header = exchange.Decoded(header)
	}
	l.Exchange = r.b.Open(exchange.Request{
		Time: t, At: at, Server: r.server(origin, e.address), Method: e.method, Target: target,
		Header: header, Conn: e.conn, Peer: e.peer, Loss: r.loss(e) | lost,
	})
	l.RequestBody(t, at, body, 0)
	r.live[rec.n] = l
	switch {
	case e.status > 0:
		at := l.first
		if !l.sure {
			at = l.end
		}
		r.plan(l, phaseHead, at)
	default:
		r.plan(l, phaseEnd, l.end)
	}
	r.unload(l, false)
}

// loss is what this writer loses of every exchange.
func (r *reader) loss(e *entry) (loss event.Loss) {
	if r.paired {
		loss |= event.LossPairing
		if e.bare {
			loss |= event.LossHeaders
		}
	}
	if r.noTime {
		loss |= event.LossTime
	}
	if e.status < 0 {
		loss |= event.LossHeaders // provisional headers: the request was not answered yet
	}
	return loss
}

func (r *reader) server(origin, address string) string {
	if address == "" {
		address = r.only[origin] // a request that failed names no address
	}
	if address == "" || strings.Contains(origin+":", "://"+address+":") || strings.HasSuffix(origin, "://["+bare(address)+"]") {
		return origin
	}
	return origin + "[" + bare(address) + "]"
}

func (r *reader) head(l *live) {
	if !r.load(l) {
		return
	}
	e := &l.e
	t := event.Time{From: l.first, To: l.first, Moment: event.MomentFirstByte}
	if !l.sure {
		t.To = l.end
	}
	header := e.resHeader
	if !e.body.asSent() || !r.coded(e) {
		header = exchange.Decoded(header)
	}
	l.Head(exchange.Response{Time: t, At: l.at(r), Status: e.status, Header: header})
	if at, ok := l.nextMessage(); ok {
		r.plan(l, phaseMessage, at)
	} else {
		r.endpoint(l)
		r.plan(l, phaseEnd, l.end)
	}
	r.unload(l, false)
}

// coded reports whether the recorded body still has its content-encoding.
func (r *reader) coded(e *entry) bool {
	body, _ := e.body.bytes(&r.room)
	return encoded(e.resHeader, body)
}

// endpoint gives the endpoint event of an HTTP+SSE stream at the first byte: it
// names the session that every request until the end of the stream belongs to.
func (r *reader) endpoint(l *live) {
	if l.e.method != "GET" || !l.e.isStream() {
		return
	}
	body, coded, _ := r.bodyOf(l)
	if n := endpointLen(body); n > 0 && !coded {
		l.given = n
		l.Text(event.At(l.first), l.at(r), body[:n])
	}
}

// sseMessage is one member of _eventSourceMessages, which Chrome writes with the
// time of its arrival.
type sseMessage struct {
	at       int64 // 0 = not given, or not in the time of the exchange
	id, name string
	data     []byte // still escaped
}

// nextMessage returns when the next message of _eventSourceMessages is due.
func (l *live) nextMessage() (at int64, ok bool) {
	m, _, ok := l.readMessage()
	if !ok {
		return 0, false
	}
	return l.clamp(m.at), true
}

func (l *live) clamp(at int64) int64 {
	if at == 0 {
		at = l.end
	}
	return min(max(at, l.last), l.end)
}

// readMessage reads the message at l.from and returns the offset behind it.
func (l *live) readMessage() (m sseMessage, next int, ok bool) {
	raw := l.e.messages
	i := l.from
	for i < len(raw) && raw[i] != '{' {
		i++
	}
	if i >= len(raw) {
		return m, i, false
	}
	var s exchange.Scan
	n, _ := s.Advance(raw[i:])
	_ = jsonparser.ObjectEach(raw[i:i+n], func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch string(key) {
		case "time":
			if sec := number(value, kind); sec > 0 && sec < 7e9 {
				m.at = int64(sec*1e6) * 1e3 // a float64 holds µs of today
			}
		case "eventName", "event", "type":
			if m.name == "" || string(key) != "type" {
				m.name = text(value, kind)
			}
		case "eventId", "id":
			m.id = text(value, kind)
		case "data":
			if kind == jsonparser.String || kind == jsonparser.Number {
				m.data = value
			}
		}
		return nil
	})
	const slack = 5e9
	if m.at < l.first-slack || m.at > l.end+slack {
		m.at = 0
	}
	return m, i + n, true
}

func (r *reader) message(l *live) {
	if !r.load(l) {
		return
	}
	m, next, ok := l.readMessage()
	if ok {
		l.from = next
		t := l.interval()
		if m.at != 0 {
			l.last = l.clamp(m.at)
			t = event.At(l.last)
		}
		if m.name == "message" {
			m.name = ""
		}
		var data []byte
		data, r.room = mcp.UnescapeBytes(m.data, r.room)
		l.SSE(t, l.at(r), m.id, m.name, data)
	}
	if at, more := l.nextMessage(); more {
		r.plan(l, phaseMessage, at)
	} else {
		r.plan(l, phaseEnd, l.end)
	}
	r.unload(l, false)
}

// interval is all that a HAR says about the time of a message in a stream.
func (l *live) interval() event.Time { return event.Time{From: l.first, To: l.end} }

func (r *reader) end(l *live) {
	if !r.load(l) {
		return
	}
	at := l.at(r)
	var loss event.Loss
	if l.from == 0 && l.e.status > 0 {
		loss = r.body(l)
	}
	t := event.Time{From: l.end, To: l.end, Moment: event.MomentEnd}
	l.Close(t, at, l.e.by, loss)
	r.unload(l, true)
	delete(r.live, l.rec.n)
}

// body gives the recorded body of the response.
func (r *reader) body(l *live) event.Loss {
	e := &l.e
	body, coded, problem := r.bodyOf(l)
	switch {
	case problem != "":
		r.stats.Flaw(l.at(r), problem)
		return event.LossResponseBody
	case len(body) == 0:
		// Only an answer with status 200 is expected to have a body (DETECTION §1, complete).
		if e.status == 200 && e.method != "DELETE" && (!e.body.present || e.body.size > 0) {
			if e.isStream() {
				r.stats.Note("event streams without a body: they were open when the archive was saved, or the recorder left bodies out; what they carried is not known")
			}
			return event.LossResponseBody
		}
	case coded:
		l.Data(l.interval(), l.at(r), body)
	default:
		l.Text(l.interval(), l.at(r), body[min(l.given, len(body)):])
	}
	return 0
}

// bodyOf returns the body of the response; coded says that its
// content-encoding is still applied.
func (r *reader) bodyOf(l *live) (body []byte, coded bool, problem string) {
	e := &l.e
	body, problem = e.body.bytes(&r.room)
	if e.body.asSent() {
		return body, encoded(e.resHeader, body), problem
	}
	if fixed, ok := e.mojibake(body); ok {
		body = fixed
		r.stats.Note("text of event streams was decoded as windows-1252 by the recorder: repaired to UTF-8")
	}
	return body, false, problem
}

// answer reports a result or an error.
func answer(e *event.Event) bool {
	return e.RPC.Kind == mcp.KindResult || e.RPC.Kind == mcp.KindError
}
