package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const defaultCreator = "recording-proxy"

// HAR compiles a trace to a HAR file as a recording proxy writes it: one entry
// an exchange, stored by start time, with what had arrived when it ended.
func (t *Trace) HAR() []byte {
	var entries []string
	for _, x := range t.Exchanges {
		if x.Opened >= t.From && x.Opened <= t.End {
			entries = append(entries, string(t.harEntry(x)))
		}
	}
	return []byte(`{"log":{"version":"1.2","creator":{"name":"` + t.Creator + `","version":"1.0"},"entries":[` + "\n" +
		strings.Join(entries, ",\n") + "\n]}}\n")
}

func (t *Trace) harEntry(x *Exchange) json.RawMessage {
	end := t.End
	if x.closed && x.Closed < end {
		end = x.Closed
	}
	status, body, size := t.harBody(x, end)
	first := x.FirstByte
	if status == 0 {
		first = end
	}
	host, _, _ := strings.Cut(x.Conn.Host, ":")
	_, port, _ := strings.Cut(x.Conn.ID, ":")
	conn := port
	if x.Conn.Name != "" {
		conn = x.Conn.Name
	}
	if t.Creator != defaultCreator {
		conn = "" // what pairs messages by id knows no connections
	}
	req := x.Header
	if x.CutHead {
		req = nil
	}
	kind := "text/event-stream"
	for _, f := range x.RespHeader {
		if strings.EqualFold(f.Name, "content-type") {
			kind = f.Value
		}
	}
	request := object("method", x.Method, "url", "http://"+x.Conn.Host+x.Target, "httpVersion", "HTTP/1.1", "cookies", json.RawMessage("[]"),
		"headers", harFields(req), "queryString", json.RawMessage("[]"), "postData", harPost(x), "headersSize", -1, "bodySize", len(x.Body))
	respHeader := x.RespHeader
	if status == 0 {
		respHeader, kind = nil, ""
	}
	response := object("status", status, "statusText", statusText(status), "httpVersion", "HTTP/1.1", "cookies", json.RawMessage("[]"), "headers", harFields(respHeader),
		"content", object("size", size, "mimeType", kind, "text", body), "redirectURL", "", "headersSize", -1, "bodySize", size)
	return object("startedDateTime", t.Stamp(x.Opened).Format("2006-01-02T15:04:05.000Z07:00"), "time", milliseconds(end-x.Opened),
		"request", request, "response", response, "cache", json.RawMessage("{}"),
		"timings", object("send", 0.05, "wait", milliseconds(first-x.Opened), "receive", milliseconds(end-first)),
		"serverIPAddress", host, "connection", value(quoteOr(conn)))
}

// harBody returns the status and the body text (nil = not recorded) that had arrived until end.
func (t *Trace) harBody(x *Exchange, end time.Duration) (status int, text json.RawMessage, size int) {
	var b strings.Builder
	hole := false
	for _, h := range x.Parts {
		if h.At > end {
			break
		}
		switch h.Kind {
		case KHead:
			status = x.Status
		case KEvent:
			b.WriteString(sseText(h))
		case KBody:
			b.Write(h.Data)
		case KGap:
			hole = hole || h.Dir == "server"
		}
	}
	if x.Unrecorded || hole {
		return status, nil, b.Len()
	}
	return status, json.RawMessage(encode(b.String())), b.Len()
}

func harPost(x *Exchange) json.RawMessage {
	if len(x.Body) == 0 {
		return nil
	}
	return object("mimeType", "application/json", "text", string(x.Body))
}

func harFields(fields []Field) json.RawMessage {
	list := []string{}
	for _, f := range fields {
		list = append(list, string(object("name", f.Name, "value", f.Value)))
	}
	return json.RawMessage("[" + strings.Join(list, ",") + "]")
}

func statusText(code int) string {
	m := map[int]string{200: "OK", 202: "Accepted", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 500: "Internal Server Error"}
	if s, ok := m[code]; ok {
		return s
	}
	if code == 0 {
		return ""
	}
	return fmt.Sprint("Status ", code)
}
