package exchange

import (
	"bytes"
	"mime"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// response is the body of a response while it comes in.
type response struct {
	x       *Exchange
	mode    bodyMode
	said    bool     // the content type named the mode, so that broken content is a problem
	given   bool     // something came
	part    bool     // an encoded body was not decoded to its end: bytes says nothing
	started bool     // of an event stream, the first line was read
	skipLF  bool     // and the last one ended with CR
	bytes   int64    // decoded bytes that came
	enc     *encoded // the body as it came, where it has a content-encoding; else nil
	intake  *intake  // what is read now, or half read; nil = nothing is
}

// intake is a piece of a body and what came before it that is not whole yet. Most open
// streams wait for their next message and need none.
type intake struct {
	time  event.Time // of the piece
	at    event.Address
	json  jsonSplitter
	sse   sseSplitter
	first []byte // the beginning of a body whose content type says nothing
}

// take begins to read a piece.
func (r *response) take(t event.Time, at event.Address) {
	in := r.reading()
	in.time, in.at = t, at
}

func (r *response) reading() *intake {
	b := r.x.b
	switch {
	case r.intake != nil:
	case b.spare != nil:
		r.intake, b.spare = b.spare, nil
		r.intake.time, r.intake.at = event.Time{}, event.Address{}
	default:
		r.intake = &intake{}
	}
	return r.intake
}

// rest is called behind a piece: where nothing is half read, no intake is kept.
func (r *response) rest() {
	in := r.intake
	if in == nil || r.enc != nil && r.mode != modeSkip || in.first != nil || in.json.open() || in.json.large || !in.sse.idle() {
		return
	}
	in.json.drop(r.x.b)
	in.sse.drop(r.x.b)
	r.intake, r.x.b.spare = nil, in
}

// where is the place of the piece that is read now.
func (r *response) where() (at event.Address) {
	if r.intake != nil {
		at = r.intake.at
	}
	return at
}

type bodyMode uint8

const (
	modeSniff bodyMode = iota // the content decides
	modeJSON
	modeSSE
	modeSkip
)

// begin chooses how the body is read. Content types mix inside one session, so
// every response decides for itself.
func (r *response) begin(h responseHeader) {
	media := mediaType(h.contentType)
	switch {
	case media == "text/event-stream":
		r.mode, r.said = modeSSE, true
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		r.mode, r.said = modeJSON, media == "application/json"
	}
	if h.coding == "" {
		return
	}
	dec, err := newDecoder(h.coding, r)
	if err != nil {
		r.fail("cannot decode the response body: " + err.Error() + "; its messages are not seen")
		return
	}
	if dec != nil {
		r.enc = &encoded{coding: h.coding, dec: dec}
	}
}

// mediaType returns the media type of a content type in lower case.
func mediaType(contentType string) string {
	switch contentType {
	case "text/event-stream", "application/json": // nearly all there are
		return contentType
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media
}

func (r *response) data(t event.Time, at event.Address, piece []byte) {
	r.given = true
	r.take(t, at)
	defer r.rest()
	if r.enc == nil {
		r.plain(piece)
		return
	}
	if r.mode == modeSkip {
		return
	}
	if err := r.enc.push(piece, r); err != nil && r.mode != modeSkip {
		r.fail("cannot decode the response body: " + err.Error() + "; the rest of it is skipped")
	}
}

// plain takes decoded bytes. It reports whether more are wanted.
func (r *response) plain(p []byte) bool {
	if r.enc != nil && r.enc.again {
		return true
	}
	r.bytes += int64(len(p))
	if r.mode == modeSniff {
		p = r.sniff(p)
	}
	if r.x.b.full() && r.mode != modeSkip {
		r.fail("more messages in one piece of the body than can be kept: the rest of it is skipped")
	}
	switch r.mode {
	case modeJSON:
		r.intake.json.feed(p, r)
	case modeSSE:
		r.intake.sse.feed(p, r)
	}
	return r.mode != modeSkip
}

// sniff decides by the first bytes and returns what is to be read; nil while it
// cannot decide yet.
func (r *response) sniff(p []byte) []byte {
	in := r.intake
	if len(in.first) > 0 || len(p) < sniffLen {
		in.first = append(in.first, p...)
		p = in.first
	}
	mode, sure := sniffBody(p, false)
	if !sure {
		if len(in.first) == 0 {
			in.first = append(in.first, p...)
		}
		return nil
	}
	r.mode, in.first = mode, nil
	return p
}

const sniffLen = 16

// sniffBody tells JSON and SSE by their beginning. all says that p is the whole body.
func sniffBody(p []byte, all bool) (mode bodyMode, sure bool) {
	s := bytes.TrimLeft(bytes.TrimPrefix(p, bom), " \t\r\n")
	if len(s) == 0 {
		return modeSkip, all || len(p) > 1<<10
	}
	if s[0] == '{' || s[0] == '[' {
		return modeJSON, true
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:", ": "} {
		if bytes.HasPrefix(s, []byte(field)) {
			return modeSSE, true
		}
		if !all && len(s) < len(field) && strings.HasPrefix(field, string(s)) {
			return modeSkip, false
		}
	}
	return modeSkip, true
}

var bom = []byte("\xEF\xBB\xBF")

// gap forgets what is half read: the rest of an encoded or a JSON body cannot be
// read without the missing bytes, an event stream goes on at its next event.
func (r *response) gap() {
	switch {
	case r.mode == modeSSE && r.enc == nil:
		r.reading().sse.gap(r)
	default:
		r.stop()
	}
}

// fail reports a located problem and gives the body up.
func (r *response) fail(text string) {
	r.x.b.stats.Flaw(r.where(), text)
	r.x.loss |= event.LossResponseBody
	r.stop()
}

func (r *response) stop() {
	r.mode = modeSkip
	if in := r.intake; in != nil {
		in.first = nil
		in.json.drop(r.x.b)
		in.sse.drop(r.x.b)
	}
	if r.enc != nil {
		r.enc.forget(r.x.b)
	}
}

// end reads what is left when the exchange ends. An answer that stops in its
// middle is no problem of the input: clients leave.
func (r *response) end() {
	r.part = r.enc != nil && r.mode == modeSkip
	if r.enc != nil {
		r.reading() // the decoder may still hold something back
		if err := r.enc.close(r); err != nil && r.mode != modeSkip {
			r.part = true
			r.fail("cannot decode the response body: " + err.Error() + "; the rest of it is skipped")
		}
	}
	if in := r.intake; r.mode == modeSniff && in != nil && len(in.first) > 0 {
		p := in.first
		in.first = nil
		if mode, _ := sniffBody(p, true); mode != modeSkip {
			r.mode = mode
			r.bytes -= int64(len(p))
			r.plain(p)
		}
	}
	if in := r.intake; in != nil {
		switch r.mode {
		case modeJSON:
			if in.json.open() {
				r.x.loss |= event.LossResponseBody
			}
		case modeSSE:
			in.sse.end(r)
		}
	}
	r.stop()
	r.rest()
}

// jsonSplitter finds where a JSON document ends, so that an answer is known when
// its last byte came and not when the connection ends.
type jsonSplitter struct {
	buf    []byte
	depth  int
	quoted bool
	escape bool
	large  bool // over source.MaxRecord: skip to its end
}

func (j *jsonSplitter) open() bool { return j.depth > 0 || j.quoted }

func (j *jsonSplitter) drop(b *Builder) {
	if j.buf != nil {
		b.release(j.buf)
	}
	*j = jsonSplitter{}
}

func (j *jsonSplitter) feed(p []byte, r *response) {
	for len(p) > 0 {
		if j.depth == 0 {
			i := bytes.IndexAny(p, "{[")
			if i < 0 {
				return
			}
			p = p[i:]
		}
		n, done := j.scan(p)
		if !done {
			j.keep(p, r)
			return
		}
		j.finish(p[:n], r)
		if r.mode != modeJSON {
			return
		}
		p = p[n:]
	}
}

// scan advances over p and returns how many bytes belong to the document, and
// whether it ends there.
func (j *jsonSplitter) scan(p []byte) (n int, done bool) {
	for i := 0; i < len(p); i++ {
		if j.quoted {
			if j.escape {
				j.escape = false
				continue
			}
			k := bytes.IndexByte(p[i:], '"')
			end := len(p)
			if k >= 0 {
				end = i + k
			}
			if e := bytes.IndexByte(p[i:end], '\\'); e >= 0 {
				i += e
				j.escape = true
				continue
			}
			if k < 0 {
				return len(p), false
			}
			i, j.quoted = end, false
			continue
		}
		switch p[i] {
		case '"':
			j.quoted = true
		case '{', '[':
			j.depth++
		case '}', ']':
			if j.depth--; j.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(p), false
}

func (j *jsonSplitter) keep(p []byte, r *response) {
	if j.large {
		return
	}
	if len(j.buf)+len(p) > source.MaxRecord {
		j.large = true
		j.buf = nil
		r.x.b.stats.Flaw(r.where(), "message over 64 MiB: skipped")
		r.x.loss |= event.LossResponseBody
		return
	}
	if j.buf == nil {
		j.buf = r.x.b.buffer()
	}
	j.buf = append(j.buf, p...)
}

func (j *jsonSplitter) finish(p []byte, r *response) {
	raw := p
	if len(j.buf) > 0 || j.large {
		j.keep(p, r)
		raw = j.buf
	}
	if !j.large && len(raw) > source.MaxRecord {
		j.large = true
		r.x.b.stats.Flaw(r.where(), "message over 64 MiB: skipped")
		r.x.loss |= event.LossResponseBody
	}
	if !j.large {
		r.x.document(raw, document{time: r.intake.time, at: r.intake.at, dir: event.ToClient, strict: r.said})
	}
	j.depth, j.quoted, j.escape, j.large = 0, false, false, false
	j.buf = j.buf[:0]
}

// endpoint reads the first event of an HTTP+SSE stream, which says where to POST
// (2024-11-05 basic/transports, "HTTP with SSE").
func (x *Exchange) endpoint(data string) {
	target := strings.Trim(strings.TrimSpace(data), `"`)
	if target == "" {
		return
	}
	x.stream = event.StreamSSE
	if x.era == mcp.EraUnknown {
		x.era = mcp.EraLegacy
	}
	target = resolve(x.domain.Path, target)
	path, query := splitTarget(target)
	session := announcedSession(x.b, path, query)
	x.answered = session
	x.b.announced.add(x.domain.Server, path, query, session)
	t := x.body.intake.time
	// It is the first event of its stream, so the beginning of an interval is its moment.
	t.To = t.From
	e := x.push(event.Endpoint, t, x.body.where())
	e.RPC.Era = x.era
	e.Dir = event.ToClient
	e.Note = x.b.names.text(path)
	e.Excerpt = mcp.Cut("event: endpoint\ndata: "+x.b.openedExcerpt("", path, query, "")[1:], event.MaxExcerpt)
}
