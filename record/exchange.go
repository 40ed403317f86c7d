package record

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/isodetect/isodetect/parsers/exchange"
)

// live follows one request and its response. The request is read by the
// goroutine that sends it, the response by the one that serves the client.
type live struct {
	r   *Recorder
	in  *http.Request
	ctx context.Context // of the client: done when it has left
	x   string
	url string

	mu     sync.Mutex
	asked  bool // the req line is written
	closed bool
	body   kept // of the request
	out    *http.Request
	sent   bool // the head of the request went to the server
	head   http.Header
	answer kept // of a response that is no event stream
	stream bool
	coded  bool // the stream has a content-encoding
	sse    events
}

// kept is the beginning of a body, up to the limit.
type kept struct {
	bytes []byte
	over  bool
	limit int
}

func (k *kept) add(p []byte) {
	if len(k.bytes)+len(p) > k.limit {
		p = p[:k.limit-len(k.bytes)]
		k.over = true
	}
	k.bytes = append(k.bytes, p...)
}

// ask writes the req line, once. whole says that the request body has come to its end.
func (l *live) ask(whole bool) {
	if l.asked {
		return
	}
	l.asked = true
	q := line{
		K: "req", X: l.x, Conn: l.in.RemoteAddr, URL: l.url, Method: l.in.Method, H: l.r.hide.header(l.in.Header),
		Cut: !whole || l.body.over,
	}
	if !l.r.opt.BehindProxy {
		q.Peer = l.in.RemoteAddr
	}
	l.r.body(&q, l.in.Header, l.body)
	l.body.bytes = nil
	l.r.j.put(q)
}

// sending hands the request body on and keeps a copy of it.
type sending struct {
	io.ReadCloser
	l    *live
	left int64 // bytes until the end, negative = not known
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.asked {
		l.body.add(p[:n])
	}
	if s.left > 0 {
		s.left = max(s.left-int64(n), 0)
	}
	switch {
	case err == io.EOF, s.left == 0:
		l.ask(true)
		if err == io.EOF && l.out != nil {
			for name, values := range l.in.Trailer {
				l.out.Trailer[name] = values
			}
		}
	case err != nil:
		l.ask(false)
	}
	return n, err
}

// answered writes the head line and prepares for the body.
func (l *live) answered(res *http.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(false) // a server may answer before it has read everything
	l.head = res.Header
	h := line{K: "head", X: l.x, Status: res.StatusCode, H: l.r.hide.header(res.Header)}
	if res.StatusCode == http.StatusSwitchingProtocols {
		l.closed = true
		l.r.j.put(h, line{K: "gap", X: l.x, Missing: "the connection changed its protocol: what followed is not recorded"}, line{K: "close", X: l.x})
		return
	}
	l.r.j.put(h)
	l.stream = mediaType(res.Header) == "text/event-stream"
	l.coded = codings(res.Header) != ""
	l.sse.limit, l.answer.limit = l.r.opt.MaxBody, l.r.opt.MaxBody
	if res.Body == http.NoBody {
		l.close("server", "")
		return
	}
	res.Body = &receiving{ReadCloser: res.Body, l: l}
}

// receiving hands the response body on and writes down what comes.
type receiving struct {
	io.ReadCloser
	l *live
}

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	l := r.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && !l.closed {
		l.piece(p[:n])
	}
	switch {
	case err == io.EOF:
		l.end(true, "server", "")
	case err != nil && l.ctx.Err() != nil:
		l.end(false, "client", "")
	case err != nil:
		l.end(false, "server", err.Error())
	}
	return n, err
}

// Close before the end means that the client could not be written to: it has left.
func (r *receiving) Close() error {
	err := r.ReadCloser.Close()
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.l.end(false, "client", "")
	return err
}

func (l *live) piece(p []byte) {
	switch {
	case !l.stream:
		l.answer.add(p)
	case l.coded:
		l.r.j.put(line{K: "body", X: l.x, B64: bytes.Clone(p)})
	default:
		var batch []line
		l.sse.feed(p, func(id, name, data string, cut bool) { batch = append(batch, l.event(id, name, data, cut)) })
		l.r.j.put(batch...)
	}
}

func (l *live) event(id, name, data string, cut bool) line {
	if cut {
		return line{K: "gap", X: l.x, Dir: "server", Missing: "an event over " + strconv.Itoa(l.sse.limit>>20) + " MiB is not recorded"}
	}
	if name == "endpoint" {
		data = l.r.hide.url(data)
	}
	return line{K: "sse", X: l.x, ID: id, Event: name, Data: &data}
}

// end writes what is left of the response and its close. whole says that the
// server has ended the body properly.
func (l *live) end(whole bool, by, note string) {
	if l.closed {
		return
	}
	var last []line
	switch {
	case !l.stream && len(l.answer.bytes) > 0:
		b := line{K: "body", X: l.x, Cut: !whole || l.answer.over}
		l.r.body(&b, l.head, l.answer)
		l.answer.bytes = nil
		last = append(last, b)
	case l.stream && !l.coded:
		rest := l.sse.end(func(id, name, data string, cut bool) { last = append(last, l.event(id, name, data, cut)) })
		if rest {
			last = append(last, line{K: "gap", X: l.x, Dir: "server", Missing: "the stream ended inside an event"})
		}
	}
	l.r.j.put(last...)
	l.close(by, note)
}

func (l *live) close(by, note string) {
	if l.closed {
		return
	}
	l.closed = true
	l.r.j.put(line{K: "close", X: l.x, By: by, Note: note})
}

// fail writes the end of an exchange that got no answer. It reports whether the
// server was reached at all.
func (l *live) fail(err error) (reached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask(false)
	switch {
	case l.ctx.Err() != nil:
		l.close("client", "")
	case l.sent:
		l.close("server", err.Error())
	default:
		if !l.closed {
			l.r.j.put(line{K: "gap", X: l.x, Missing: "the server could not be reached: " + err.Error()})
			l.r.unreached(err)
		}
		l.close("", err.Error())
	}
	return l.sent
}

// unreached counts an exchange for which the server could not be reached.
func (r *Recorder) unreached(err error) {
	r.lost.Add(1)
	if r.opt.Unreached != nil {
		r.opt.Unreached(err)
	}
}

// body puts a recorded body into a line: as a JSON value where it is one, as text,
// or in base64. Its content-encoding is undone if it can be.
func (r *Recorder) body(to *line, head http.Header, k kept) {
	raw := k.bytes
	if len(raw) == 0 {
		return
	}
	if c := codings(head); c != "" {
		plain, err := exchange.Decode(c, raw)
		if err != nil || to.Cut || len(plain) > k.limit {
			to.B64 = raw
			return
		}
		raw = plain
	}
	if to.Cut {
		raw = wholeRunes(raw)
	}
	if !utf8.Valid(raw) || len(raw) > textLimit && !jsonText(raw) {
		to.B64 = raw // as text, control characters would take six bytes each
		return
	}
	if media := mediaType(head); media == "application/x-www-form-urlencoded" && !r.hide.reveal {
		raw = []byte(r.hide.form(string(raw)))
	}
	if jsonText(raw) {
		to.Body = r.hide.document(bytes.TrimSpace(raw))
		return
	}
	text := string(raw)
	to.Text = &text
}

// textLimit keeps a line of escaped text below the 64 MiB that a record may have.
const textLimit = 10 << 20

// jsonText reports a JSON object or array that can stand in a line as it is.
func jsonText(raw []byte) bool {
	start := bytes.TrimLeft(raw, " \t\r\n")
	if len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return false
	}
	ok, _ := exchange.Valid(start)
	return ok
}

// wholeRunes takes the beginning of a character off the end of a text that was cut.
func wholeRunes(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return p[:i]
			}
			break
		}
	}
	return p
}
