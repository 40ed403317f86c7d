package har

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// This file reads messages of HTTP/1.1 as they stood on the wire, which Burp and
// Fiddler keep, also for what was HTTP/2.

// rawHead splits a message into its first line, the fields that tell something and its body.
func rawHead(r *reader, raw []byte, h []exchange.Header) (first string, _ []exchange.Header, body []byte) {
	n := 0
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		raw = rest
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			break
		}
		if n++; n == 1 {
			first = string(line[:min(len(line), 64<<10)])
			continue
		}
		if n <= maxHeaders {
			h = r.b.AppendLine(h, line)
		}
	}
	return first, h, raw
}

// rawRequest fills in a request. origin is put before a target without a host.
func (e *entry) rawRequest(r *reader, raw []byte, origin string) bool {
	first, h, body := rawHead(r, raw, e.reqHeader[:0])
	method, rest, ok := strings.Cut(first, " ")
	target, _, _ := strings.Cut(rest, " ")
	if !ok || method == "" || target == "" {
		return false
	}
	e.method, e.reqHeader = r.b.Shared([]byte(method)), h
	if !strings.Contains(target[:min(len(target), 12)], "://") {
		target = origin + target
	}
	e.url = r.b.Shared([]byte(target))
	e.post.rawBody(h, body)
	return true
}

// rawResponse fills in a response; none is no defect.
func (e *entry) rawResponse(r *reader, raw []byte) {
	first, h, body := rawHead(r, raw, e.resHeader[:0])
	version, rest, _ := strings.Cut(first, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || !strings.HasPrefix(version, "HTTP/") {
		return
	}
	e.response, e.status, e.resHeader = true, status, h
	e.body.rawBody(h, body)
}

// rawBody takes a body, and undoes its chunks if the tool has left them in.
func (c *content) rawBody(h []exchange.Header, body []byte) {
	for _, f := range h {
		if strings.EqualFold(f.Name, "transfer-encoding") && strings.Contains(strings.ToLower(f.Value), "chunked") {
			body = unchunked(body)
		}
	}
	c.present, c.plain, c.text, c.size = true, true, body, int64(len(body))
}

// unchunked undoes the chunked transfer coding; what is not chunked stays as it is.
func unchunked(body []byte) []byte {
	line, _, ok := bytes.Cut(body, []byte("\r\n"))
	size, _, _ := bytes.Cut(line, []byte(";"))
	if _, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31); !ok || err != nil {
		return body
	}
	// The end may be missing: what came before it counts.
	plain, _ := io.ReadAll(io.LimitReader(httputil.NewChunkedReader(bufio.NewReader(bytes.NewReader(body))), source.MaxRecord))
	return plain
}
