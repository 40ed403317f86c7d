package tshark

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/isodetect/isodetect/parsers/source"
)

// packet is what is taken from one packet of an export, in the order of the export.
type packet struct {
	frame        int64
	time         int64 // ns, 0 = not exported
	cut          bool  // the capture holds only its beginning
	lost         bool  // the dissector missed bytes before it
	src, dst     string
	sport, dport string
	stream       string // tcp.stream, "" = not exported
	tls          bool   // it holds TLS, decrypted or not
	payload      bool   // it has bytes behind the head of TCP
	preface      bool   // which are those that HTTP/2 begins with
	raw          bool   // the export holds bytes in hex beside its fields, or instead of them
	http         []message
	frames       []frame // of HTTP/2
	length       [2]int64
}

// message is a request or a response over HTTP/1.1.
type message struct {
	method, target string
	status         int
	lines          [][]byte // header fields as they stood
	body           []byte
	bodyKnown      bool // body has its bytes as they were; else those over 0x7F may be damaged
	requestIn      int64
}

// frame is one frame of an HTTP/2 connection.
type frame struct {
	kind, flags, stream, length int64
	names, values               [][]byte
	data                        []byte
}

func (p *packet) reset() {
	*p = packet{http: p.http[:0], frames: p.frames[:0]}
}

// field names what is looked at.
type field uint8

const (
	fNone field = iota
	fFrame
	fTime
	fLen
	fCapLen
	fSrc
	fDst
	fSrcPort
	fDstPort
	fStream
	fLost
	fPayload
	fMethod
	fTarget
	fRequestLine
	fStatus
	fResponseLine
	fBody
	fBodyRaw
	fRequestIn
	fMedia
	f2Kind
	f2Flags
	f2Stream
	f2Length
	f2Name
	f2Value
	f2Data
)

// names are the fields as -T json and PDML spell them.
var names = []struct {
	name string
	field
}{
	{"frame.number", fFrame}, {"frame.time_epoch", fTime}, {"frame.len", fLen}, {"frame.cap_len", fCapLen},
	{"ip.src", fSrc}, {"ip.dst", fDst}, {"ipv6.src", fSrc}, {"ipv6.dst", fDst},
	{"tcp.srcport", fSrcPort}, {"tcp.dstport", fDstPort}, {"tcp.stream", fStream}, {"tcp.analysis.lost_segment", fLost}, {"tcp.payload", fPayload},
	{"http.request.method", fMethod}, {"http.request.uri", fTarget}, {"http.request.line", fRequestLine},
	{"http.response.code", fStatus}, {"http.response.line", fResponseLine}, {"http.file_data", fBody},
	{"http.file_data_raw", fBodyRaw}, {"http.request_in", fRequestIn}, {"media.type", fMedia},
	{"http2.type", f2Kind}, {"http2.flags", f2Flags}, {"http2.streamid", f2Stream}, {"http2.length", f2Length},
	{"http2.header.name", f2Name}, {"http2.header.value", f2Value}, {"http2.data.data", f2Data},
}

// fieldsOf returns the fields by name as an export spells it.
func fieldsOf(spell func(string) string) map[string]field {
	m := make(map[string]field, len(names))
	for _, n := range names {
		m[spell(n.name)] = n.field
	}
	return m
}

// layerOf reports a layer in which something is looked at.
func layerOf(name string) bool {
	switch name {
	case "frame", "ip", "ipv6", "tcp", "http", "http2", "media":
		return true
	}
	return false
}

// layer takes the name of a layer that a packet has.
func (p *packet) layer(name string) {
	switch name {
	case "tls", "ssl":
		p.tls = true
	case "frame_raw":
		p.raw = true
	}
}

// take keeps the value of a field. bytes says that value is the bytes themselves,
// not the text that the dissector shows for them. value is not kept.
func (p *packet) take(f field, value []byte, raw bool) {
	switch f {
	case fFrame:
		p.frame = number(value)
	case fTime:
		p.time = stamp(string(value))
	case fLen:
		p.length[0] = number(value)
	case fCapLen:
		p.length[1] = number(value)
		p.cut = p.cut || p.length[1] < p.length[0]
	case fSrc:
		p.src = string(value)
	case fDst:
		p.dst = string(value)
	case fSrcPort:
		p.sport = string(value)
	case fDstPort:
		p.dport = string(value)
	case fStream:
		p.stream = string(value)
	case fLost:
		p.lost = true
	case fPayload:
		p.payload, p.preface = true, bytes.HasPrefix(value, []byte("50:52:49:20:2a:20"))
	case fMethod:
		p.http = append(p.http, message{method: string(value)})
	case fStatus:
		p.http = append(p.http, message{status: int(number(value))})
	case fTarget, fRequestLine, fResponseLine, fBody, fBodyRaw, fRequestIn, fMedia:
		if n := len(p.http); n > 0 {
			p.http[n-1].take(f, value, raw)
		}
	case f2Kind, f2Flags, f2Stream, f2Length, f2Name, f2Value, f2Data:
		p.take2(f, value, raw)
	}
}

const maxFields = 1 << 12 // header fields of one message, and frames of one packet

func (m *message) take(f field, value []byte, raw bool) {
	switch f {
	case fTarget:
		m.target = string(value)
	case fRequestLine, fResponseLine:
		if len(m.lines) < maxFields {
			m.lines = append(m.lines, bytes.Clone(bytes.TrimRight(value, "\r\n")))
		}
	case fRequestIn:
		m.requestIn = number(value)
	case fBody:
		if m.bodyKnown {
			return
		}
		if raw {
			m.body, m.bodyKnown = bytes.Clone(value), true
		} else if m.body, m.bodyKnown = unhex(value); !m.bodyKnown {
			m.body = bytes.Clone(value)
		}
	case fBodyRaw, fMedia:
		if raw {
			m.body, m.bodyKnown = bytes.Clone(value), true
		} else if b, ok := unhex(value); ok {
			m.body, m.bodyKnown = b, true
		}
	}
}

func (p *packet) take2(f field, value []byte, raw bool) {
	if f == f2Kind || f == f2Length && (len(p.frames) == 0 || p.frames[len(p.frames)-1].kind >= 0) {
		if len(p.frames) >= maxFields {
			return
		}
		if n := len(p.frames); f == f2Length || n == 0 || p.frames[n-1].kind >= 0 {
			p.frames = append(p.frames, frame{kind: -1})
		}
	}
	if len(p.frames) == 0 {
		return
	}
	w := &p.frames[len(p.frames)-1]
	switch f {
	case f2Kind:
		w.kind = number(value)
	case f2Length:
		w.length = number(value)
	case f2Flags:
		w.flags = number(value)
	case f2Stream:
		w.stream = number(value)
	case f2Name:
		if len(w.names) < maxFields {
			w.names = append(w.names, bytes.Clone(value))
		}
	case f2Value:
		if len(w.values) < len(w.names) {
			w.values = append(w.values, bytes.Clone(value))
		}
	case f2Data:
		b, ok := value, true
		if raw {
			b = bytes.Clone(value)
		} else {
			b, ok = unhex(value)
		}
		if ok {
			w.data = b
		}
	}
}

// number reads a decimal or 0x number, -1 if it is none.
func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 0, 64)
	if err != nil {
		return -1
	}
	return n
}

// stamp reads seconds of the epoch with a fraction, or RFC 3339 as newer versions write it.
func stamp(s string) int64 {
	if sec, frac, _ := strings.Cut(s, "."); len(frac) <= 9 {
		n, err := strconv.ParseInt(sec, 10, 64)
		ns, err2 := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
		if err == nil && err2 == nil && n > 0 && n < 7e9 {
			return n*1e9 + ns
		}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

// unhex reads 7b:22 or 7b22. A text of HTTP never looks so.
func unhex(s []byte) ([]byte, bool) {
	s = bytes.TrimSpace(s)
	if len(s) == 0 || len(s) > 3*source.MaxRecord {
		return nil, false
	}
	digits := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == ':' && i%3 == 2 {
			continue
		}
		digits = append(digits, s[i])
	}
	out := make([]byte, len(digits)/2)
	if _, err := hex.Decode(out, digits); err != nil || len(digits)%2 != 0 {
		return nil, false
	}
	return out, true
}

// addrPort joins an address and a port; "" if one is not known.
func addrPort(addr, port string) string {
	a, err := netip.ParseAddr(addr)
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil {
		return ""
	}
	return netip.AddrPortFrom(a, uint16(n)).String()
}
