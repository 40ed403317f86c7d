package har

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// Mitmproxy is what mitmproxy and mitmdump write with -w: finished flows, one behind
// the other. Unlike a HAR it has the addresses of the clients.
var Mitmproxy = source.Format{
	Name:    "mitmproxy",
	Title:   "flow dump of mitmproxy or mitmdump -w",
	Checked: "real",
	Carries: "as har, and the clients' addresses; event streams only with store_streamed_bodies",
	Sniff:   sniffMitmproxy,
	Open: func(in []*source.Input, opt source.Options) (source.Reader, error) {
		return open(in[0], opt, container{name: "mitmproxy", survey: surveyMitmproxy, parse: parseFlow, again: parseFlow})
	},
}

func sniffMitmproxy(head []byte, _ bool) int {
	i := bytes.IndexByte(head[:min(len(head), maxLengthDigits+1)], ':')
	if i <= 0 {
		return 0
	}
	if _, ok := lengthOf(head[:i]); !ok {
		return 0
	}
	if _, _, err := cutTnet(head[i+1:]); err != nil {
		// The first key of the first flow is whole in any head.
		return 0
	}
	for _, key := range []string{"11:client_conn;", "7:request;", "8:response;", "11:client_conn,", "7:request,"} {
		if bytes.Contains(head, []byte(key)) {
			return 97
		}
	}
	return 0
}

func surveyMitmproxy(r *reader, size int64, v *surveyor) error {
	s := tnetStream{br: bufio.NewReaderSize(io.NewSectionReader(r.ra, 0, size), 256<<10)}
	for {
		p, err := s.next(source.MaxRecord)
		if err == io.EOF {
			return nil
		}
		if p.size > 0 {
			v.entry(p)
		}
		if err != nil {
			return err
		}
	}
}

var errFlow = errors.New("flow is no tnetstring that can be read: skipped")

// parseFlow reads one flow.
func parseFlow(r *reader, raw []byte, e *entry) error {
	*e = entry{time: -1, bodySize: -1, reqHeader: e.reqHeader[:0], resHeader: e.resHeader[:0]}
	e.post.size, e.body.size = -1, -1
	flow, rest, err := cutTnet(raw)
	if err != nil || len(rest) > 0 || flow.kind != '}' {
		return errFlow
	}
	var first, end int64
	var bad error
	keep := func(err error) {
		if err != nil {
			bad = errFlow
		}
	}
	keep(flow.members(func(key string, v tnet) {
		switch key {
		case "request":
			keep(e.flowRequest(r, v))
		case "response":
			if v.kind == '}' {
				e.response = true
			}
			var err error
			first, end, err = e.flowResponse(r, v)
			keep(err)
		case "client_conn":
			keep(v.members(func(key string, v tnet) {
				switch key {
				case "peername", "address": // the second until version 6
					var peer string
					keep(v.items(func(i int, v tnet) {
						switch {
						case i == 0:
							peer = v.text()
						case i == 1 && v.integer() > 0: // 0: the flow was made from a HAR, which names no client
							e.peer = r.b.Shared([]byte(peer))
						}
					}))
				case "id":
					e.conn = r.b.Shared([]byte(v.text()))
				}
			}))
		case "error":
			keep(v.members(func(key string, v tnet) {
				switch key {
				case "timestamp":
					end = max(end, v.seconds())
				case "msg":
					e.by = endedBy(v.text())
				}
			}))
		case "type":
			if v.text() != "http" {
				e.kind = v.text()
			}
		}
	}))
	if e.peer == "" {
		e.conn = "" // made up with the client
	}
	switch {
	case bad != nil:
		return bad
	case e.kind != "": // a flow of TCP, UDP or DNS
		e.timed = true
		return nil
	case !e.timed:
		return errors.New("flow without the time of its request: skipped")
	}
	if first > 0 {
		e.timings.known = true
		e.timings.before = ms(first - e.start)
		end = max(end, first)
	}
	if end > 0 {
		e.time = ms(end - e.start)
	}
	return nil
}

func ms(ns int64) float64 { return float64(max(ns, 0)) / 1e6 }

// endedBy reads the words in which mitmproxy says why a flow broke off.
func endedBy(msg string) event.By {
	switch l := strings.ToLower(msg); {
	case strings.Contains(l, "client disconnect"), strings.Contains(l, "client closed"):
		return event.ByClient
	case strings.Contains(l, "server disconnect"), strings.Contains(l, "server closed"):
		return event.ByServer
	}
	return event.ByUnknown
}

func (e *entry) flowRequest(r *reader, v tnet) (err error) {
	var scheme, host, path string
	var port int
	bad := v.members(func(key string, v tnet) {
		switch key {
		case "method":
			e.method = r.b.Shared([]byte(v.text()))
		case "scheme":
			scheme = v.text()
		case "host":
			host = v.text()
		case "port":
			port = v.integer()
		case "path":
			path = v.text()
		case "http_version":
			e.version = v.text()
		case "headers":
			err = e.flowHeaders(r, v, true)
		case "content":
			e.post.flowBody(v)
		case "timestamp_start":
			e.start = v.seconds()
			e.timed = e.start > 0
		}
	})
	if bad != nil {
		err = bad
	}
	if scheme == "" {
		scheme = "http"
	}
	e.url = r.b.Shared([]byte(scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port)) + path))
	return err
}

func (e *entry) flowResponse(r *reader, v tnet) (first, end int64, err error) {
	bad := v.members(func(key string, v tnet) {
		switch key {
		case "status_code":
			e.status = v.integer()
		case "headers":
			err = e.flowHeaders(r, v, false)
		case "content":
			e.body.flowBody(v)
		case "timestamp_start":
			first = v.seconds()
		case "timestamp_end":
			end = v.seconds()
		}
	})
	if bad != nil {
		err = bad
	}
	return first, end, err
}

// flowBody takes a body with its content-encoding; mitmproxy writes nothing where it
// passed a stream on without keeping it.
func (c *content) flowBody(v tnet) {
	if v.kind != ',' && v.kind != ';' {
		return
	}
	c.present, c.plain, c.text, c.size = true, true, v.data, int64(len(v.data))
}

func (e *entry) flowHeaders(r *reader, v tnet, request bool) error {
	h := e.resHeader[:0]
	if request {
		h = e.reqHeader[:0]
	}
	var bad error
	n := 0
	err := v.items(func(_ int, pair tnet) {
		var name, value []byte
		if err := pair.items(func(i int, v tnet) {
			switch i {
			case 0:
				name = v.data
			case 1:
				value = v.data
			}
		}); err != nil {
			bad = err
		}
		if n++; n <= maxHeaders && len(name) > 0 && name[0] != ':' {
			h = r.b.AppendField(h, name, value)
		}
	})
	if err != nil {
		bad = err
	}
	if request {
		e.reqHeader = h
	} else {
		e.resHeader = h
	}
	return bad
}

// maxHeaders bounds the fields of one head.
const maxHeaders = 1 << 12
