package traffic

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// harWriter writes one entry when its exchange ends, as a recording proxy does.
type harWriter struct {
	w       *bufio.Writer
	entries int
}

func newHAR(w io.Writer) writer {
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprint(b, `{"log":{"version":"1.2","creator":{"name":"traffic generator","version":"1"},"entries":[`)
	return &harWriter{w: b}
}

func (l *harWriter) happen(h *happening) error {
	x := h.x
	x.written = append(x.written, h)
	if h.what != closed {
		return nil
	}
	if l.entries > 0 {
		l.w.WriteByte(',')
	}
	l.entries++
	first := x.at
	var text strings.Builder
	for _, m := range x.written {
		switch m.what {
		case headed:
			first = m.at
		case event:
			text.WriteString("event: message\ndata: " + m.msg + "\n\n")
		case body:
			text.WriteString(m.msg)
		}
	}
	x.written = nil
	wait, receive := float64(first-x.at)/1e6, float64(h.at-first)/1e6
	_, err := fmt.Fprintf(l.w, "\n"+`{"startedDateTime":"%s","time":%.3f,"connection":"%d","serverIPAddress":"10.0.0.1","request":{"method":"%s","url":"http://10.0.0.1:8080/mcp","httpVersion":"HTTP/1.1","cookies":[],"queryString":[],"headersSize":-1,"bodySize":%d,"headers":%s`,
		stamp(x.at), wait+receive, x.c.port, x.verb, len(x.send), harHeaders(x.requestHeader()))
	if err == nil && x.send != "" {
		_, err = fmt.Fprintf(l.w, `,"postData":{"mimeType":"application/json","text":%s}`, strconv.Quote(x.send))
	}
	if err == nil {
		_, err = fmt.Fprintf(l.w, `},"response":{"status":%d,"statusText":"","httpVersion":"HTTP/1.1","cookies":[],"redirectURL":"","headersSize":-1,"bodySize":%d,"headers":%s,"content":{"size":%d,"mimeType":"%s","text":%s}},"cache":{},"timings":{"send":0,"wait":%.3f,"receive":%.3f}}`,
			x.status, text.Len(), harHeaders(x.responseHeader()), text.Len(), x.contentType(), strconv.Quote(text.String()), wait, receive)
	}
	return err
}

func (x *exchange) contentType() string {
	for _, f := range x.responseHeader() {
		if f[0] == "content-type" {
			return f[1]
		}
	}
	return ""
}

func harHeaders(fields [][2]string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":%q,"value":%q}`, f[0], f[1])
	}
	b.WriteByte(']')
	return b.String()
}

func (l *harWriter) done() error {
	fmt.Fprint(l.w, "\n]}}\n")
	return l.w.Flush()
}
