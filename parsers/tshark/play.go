package tshark

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// This file makes exchanges of packets.

// live is an exchange that is not over.
type live struct {
	x     *exchange.Exchange
	start int64
	h1    bool
	frame int64 // that the request is in
	conn  string
	key   key
	done  bool

	// of an HTTP/2 stream
	client  string // ip:port of the one that sent the request
	body    []byte // of the request so far
	over    bool
	headed  bool
	stopped [2]bool // the client, the server has ended its side
}

// key is a stream of an HTTP/2 connection.
type key struct {
	conn   string
	stream int64
}

const (
	kindData     = 0
	kindHeaders  = 1
	kindReset    = 3
	kindContinue = 9

	flagEndStream = 1

	maxOpen = 1 << 16 // exchanges that are open at once
)

// bad counts a packet that could not be read. What was in it is not known.
func (r *reader) bad(at event.Address, why string) {
	r.stats.Bad(at, why)
	r.hole(at, 0, "a packet could not be read")
}

func (r *reader) hole(at event.Address, loss event.Loss, why string) {
	r.b.Gap(event.At(r.last), at, event.Sender{}, event.DirUnknown, loss, why)
}

// play handles one packet and reports whether it was about HTTP.
func (r *reader) play(p *packet, at event.Address) bool {
	t := r.time(p.time)
	conn := r.conn(p)
	if p.lost || p.cut {
		why := "the dissector missed bytes of a connection"
		if p.cut {
			why = "the capture holds only the beginning of a packet"
		}
		r.b.Gap(t, at, event.Sender{Conn: conn}, event.DirUnknown, event.LossPairing, why)
	}
	for i := range p.http {
		if m := &p.http[i]; m.method != "" {
			r.request(p, m, conn, t, at)
		} else {
			r.answer(m, conn, t, at)
		}
	}
	r.see(p, conn)
	used := len(p.http) > 0
	for i := range p.frames {
		used = r.frame2(p, &p.frames[i], conn, t, at) || used
	}
	return used || p.lost || p.cut
}

// time makes stamps monotone: packets stand in the order of the capture.
func (r *reader) time(ns int64) event.Time {
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

func (r *reader) conn(p *packet) string {
	if p.stream != "" {
		return "tcp.stream " + p.stream
	}
	a, b := addrPort(p.src, p.sport), addrPort(p.dst, p.dport)
	if a > b {
		a, b = b, a
	}
	if a == "" && len(p.http)+len(p.frames) == 0 {
		return ""
	}
	if a == "" {
		r.stats.Note("the export leaves out the layers ip and tcp: which connection a message belongs to is not known; export with -J 'frame ip tcp http http2' or without any of it, or scan the capture itself")
		return ""
	}
	return a + " " + b
}

func (r *reader) header(lines [][]byte, h []exchange.Header) []exchange.Header {
	for _, l := range lines {
		h = r.b.AppendLine(h, l)
	}
	return h
}

// begin opens an exchange.
func (r *reader) begin(q exchange.Request, p *packet, l *live) {
	if r.lives >= maxOpen {
		r.evict(q.Time, q.At)
	}
	q.Conn, q.Peer = l.conn, p.src
	if to := addrPort(p.dst, p.dport); to != "" {
		q.Server, q.Hosted = "http://"+to, q.Loss&event.LossRequest == 0
		r.unread.serves(to)
	}
	if p.time == 0 && r.last == 0 {
		q.Loss |= event.LossTime
	}
	if l.conn == "" {
		q.Loss |= event.LossPairing
	}
	l.start = q.Time.From
	l.x = r.b.Open(q)
	r.lives++
	r.order = append(r.order, l)
	if len(r.order) > 1024 && len(r.order) > 4*r.lives {
		kept := r.order[:0]
		for _, o := range r.order {
			if !o.done {
				kept = append(kept, o)
			}
		}
		clear(r.order[len(kept):])
		r.order = kept
	}
}

func (r *reader) evict(t event.Time, at event.Address) {
	for _, l := range r.order {
		if !l.done {
			r.stats.Note("more than " + strconv.Itoa(maxOpen) + " exchanges open at once: the oldest were given up")
			r.end(l, t, at, event.ByUnknown, event.LossResponseBody)
			return
		}
	}
}

// end closes an exchange and forgets it.
func (r *reader) end(l *live, t event.Time, at event.Address, by event.By, loss event.Loss) {
	if l.done {
		return
	}
	l.done = true
	r.lives--
	l.x.Close(t, at, by, loss)
	l.body = nil
	if !l.h1 {
		delete(r.open, l.key)
		return
	}
	delete(r.askedIn, l.frame)
	for i, w := range r.waiting[l.conn] {
		if w == l {
			r.waiting[l.conn] = append(r.waiting[l.conn][:i], r.waiting[l.conn][i+1:]...)
			break
		}
	}
	if len(r.waiting[l.conn]) == 0 {
		delete(r.waiting, l.conn)
	}
}

// request is a whole request over HTTP/1.1.
func (r *reader) request(p *packet, m *message, conn string, t event.Time, at event.Address) {
	l := &live{h1: true, frame: p.frame, conn: conn}
	h := r.header(m.lines, nil)
	var loss event.Loss
	if len(m.lines) == 0 {
		loss = event.LossHeaders
	}
	r.begin(exchange.Request{Time: t, At: at, Method: m.method, Target: m.target, Header: r.undone(h, m.body), Loss: loss}, p, l)
	r.waiting[conn] = append(r.waiting[conn], l)
	if p.frame > 0 {
		r.askedIn[p.frame] = l
	}
	var lost event.Loss
	if len(m.body) == 0 && m.method == "POST" && !zeroLength(m.lines) {
		lost = event.LossRequestBody
	}
	r.damaged(m, at)
	l.x.RequestBody(t, at, m.body, lost)
}

// damaged notes bytes over 0x7F of a body that the export does not give as they were.
func (r *reader) damaged(m *message, at event.Address) {
	if !m.bodyKnown && !ascii(m.body) {
		r.stats.Note("bodies stand as text in which tshark may have damaged bytes over 0x7F: contents that differ only there cannot be told apart; export with -x, or scan the capture itself")
	}
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func zeroLength(lines [][]byte) bool {
	for _, l := range lines {
		name, value, _ := bytes.Cut(l, []byte(":"))
		if bytes.EqualFold(name, []byte("content-length")) {
			return string(bytes.TrimSpace(value)) == "0"
		}
	}
	return false
}

// undone returns the header without Content-Encoding if the dissector has undone it.
func (r *reader) undone(h []exchange.Header, body []byte) []exchange.Header {
	if len(body) > 0 && (body[0] == 0x1f || !utf8.Valid(body)) {
		return h
	}
	return exchange.Decoded(h)
}

// answer is a response over HTTP/1.1. It stands in the packet that completes it;
// when its head and the events of a stream came is not known.
func (r *reader) answer(m *message, conn string, t event.Time, at event.Address) {
	if m.status < 200 && m.status > 0 {
		return // 100 Continue and the like
	}
	l := r.askedIn[m.requestIn]
	if l == nil && len(r.waiting[conn]) > 0 {
		l = r.waiting[conn][0]
	}
	if l == nil {
		r.stats.Note("answers whose request is not in the export were left out")
		return
	}
	span := event.Time{From: l.start, To: t.To}
	h := r.header(m.lines, nil)
	var loss event.Loss
	if len(m.lines) == 0 {
		loss = event.LossHeaders
	}
	l.x.Head(exchange.Response{Time: span, At: at, Status: m.status, Header: r.undone(h, m.body), Loss: loss})
	r.damaged(m, at)
	// The last event of a stream completed it, and so did a document.
	last := lastEvent(m.body)
	l.x.Data(span, at, m.body[:last])
	l.x.Data(t, at, m.body[last:])
	var lost event.Loss
	if len(m.body) == 0 && m.status == 200 && !zeroLength(m.lines) {
		lost = event.LossResponseBody
	}
	r.end(l, t, at, event.ByUnknown, lost)
}

// lastEvent returns where the last event of a stream begins, 0 for any other body.
func lastEvent(body []byte) int {
	if len(body) == 0 || body[0] == '{' || body[0] == '[' {
		return 0
	}
	text := bytes.TrimRight(body, "\r\n")
	at := 0
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if i := bytes.LastIndex(text, []byte(blank)); i >= 0 {
			at = max(at, i+len(blank))
		}
	}
	return at
}

// frame2 handles one frame of HTTP/2 and reports whether it belongs to an exchange.
func (r *reader) frame2(p *packet, w *frame, conn string, t event.Time, at event.Address) bool {
	k := key{conn: conn, stream: w.stream}
	from := addrPort(p.src, p.sport)
	l := r.open[k]
	switch {
	case w.stream <= 0:
		return false // settings and the like
	case (w.kind == kindHeaders || w.kind == kindContinue) && pseudo(w, ":method") != "":
		if l != nil {
			r.end(l, t, at, event.ByUnknown, event.LossResponseBody)
		}
		l = &live{conn: conn, key: k, client: from}
		r.open[k] = l
		r.begin(exchange.Request{
			Time: t, At: at, Method: pseudo(w, ":method"), Target: pseudo(w, ":path"), Header: r.fields(w), Loss: unknown(w),
		}, p, l)
	case l == nil:
		r.stats.Note("frames of HTTP/2 streams whose request is not in the export were left out")
		return false
	case w.kind == kindHeaders || w.kind == kindContinue:
		status, _ := strconv.Atoi(pseudo(w, ":status"))
		if status >= 200 && !l.headed {
			l.headed = true
			l.x.Head(exchange.Response{Time: t, At: at, Status: status, Header: r.fields(w), Loss: unknown(w)})
		}
	case w.kind == kindReset:
		by := event.ByServer
		if from == l.client {
			by = event.ByClient
		}
		r.end(l, t, at, by, 0)
		return true
	case w.kind == kindData:
		r.data2(l, w, from == l.client, t, at)
	default:
		return true
	}
	if w.flags&flagEndStream != 0 && (w.kind == kindData || w.kind == kindHeaders) {
		r.ended2(l, from == l.client, t, at)
	}
	return true
}

// data2 takes what a DATA frame carries. In the frame that ends a body the dissector
// shows the whole body that it has put together: only what lies in the frame itself is new.
func (r *reader) data2(l *live, w *frame, client bool, t event.Time, at event.Address) {
	data := w.data
	if n := w.length; n >= 0 && int64(len(data)) > n {
		data = data[int64(len(data))-n:]
	}
	if w.length > 0 && len(data) == 0 {
		dir := event.ToClient
		if client {
			dir = event.ToServer
		}
		l.x.Gap(t, at, dir, "the export leaves out the contents of a frame")
		return
	}
	switch {
	case !client:
		l.x.Data(t, at, data)
	case l.over || len(l.body)+len(data) > source.MaxRecord:
		l.body, l.over = nil, true
	default:
		l.body = append(l.body, data...)
	}
}

func (r *reader) ended2(l *live, client bool, t event.Time, at event.Address) {
	if !client {
		r.end(l, t, at, event.ByServer, 0)
		return
	}
	if l.stopped[0] {
		return
	}
	l.stopped[0] = true
	var loss event.Loss
	if l.over {
		r.stats.Flaw(at, "request body over 64 MiB: skipped")
		loss = event.LossRequestBody
	}
	l.x.RequestBody(t, at, l.body, loss)
	l.body = nil
}

func pseudo(w *frame, name string) string {
	for i, n := range w.names {
		if string(n) == name && i < len(w.values) {
			return string(w.values[i])
		}
	}
	return ""
}

func (r *reader) fields(w *frame) (h []exchange.Header) {
	for i, n := range w.names {
		if i < len(w.values) && string(n) == ":authority" {
			n = []byte("host")
		}
		if i < len(w.values) && len(n) > 0 && n[0] != ':' {
			h = r.b.AppendField(h, n, w.values[i])
		}
	}
	return h
}

// unknown tells a head of which the dissector lacks the header table: the
// connection began before the capture.
func unknown(w *frame) event.Loss {
	for i, n := range w.names {
		if bytes.Contains(n, []byte("<unknown>")) || i < len(w.values) && string(w.values[i]) == "<unknown>" {
			return event.LossHeaders
		}
	}
	return 0
}
