package exchange

import (
	"fmt"
	"net/netip"
	"strings"
)

// hosts notices that several servers may stand behind one address: that of a gateway with a
// name for each of them, or that of a forward proxy. The names are those that targets and Host fields
// give (RFC 9112 §3.2, §3.3; :authority in HTTP/2). They divide nothing, since clients spell one
// server in many ways, and a name that a client makes up must not hide what reached another
// one; but who reads the report has to know.
type hosts struct {
	first map[string]string // the first name that was met at an address; "" = another one was told of

	address, host string // of the last request
}

const (
	maxAddresses = 4096
	maxHost      = 253
)

// noteHost tells of a second name at the address of a server.
func (b *Builder) noteHost(r *Request) {
	name, _, full := splitAbsolute(r.Target)
	if name = name[strings.LastIndexByte(name, '@')+1:]; name == "" {
		name, full = hostField(r.Header), false
	}
	h := &b.hosts
	if name == h.host && r.Server == h.address {
		return
	}
	h.address, h.host = r.Server, name
	if name = hostName(name, full); name == "" || strings.HasSuffix(r.Server, "//"+name) {
		return
	}
	first, known := h.first[r.Server]
	switch {
	case known && (first == "" || sameHost(first, name)):
	case known:
		h.first[r.Server] = ""
		b.stats.Note(fmt.Sprintf("requests to %s name several servers (%s, %s): they are judged as one, since one process listens there; if it is a gateway or a forward proxy, record behind it", r.Server, first, name))
	case len(h.first) < maxAddresses:
		if h.first == nil {
			h.first = map[string]string{}
		}
		h.first[strings.Clone(r.Server)] = strings.Clone(name)
	}
}

func hostField(h []Header) string {
	for i := range h {
		if h[i].field() == fieldHost {
			return strings.TrimSpace(h[i].Value)
		}
	}
	return ""
}

// hostName returns what tells a server from others at its address: its name in lower
// case, without port; "" for what is no name. full says that it stood in a target, so that addresses and
// ports tell, too.
func hostName(host string, full bool) string {
	if host == "" || len(host) > maxHost+len(":65535") {
		return ""
	}
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\^{|}/`+"`", c) >= 0 {
			return ""
		}
	}
	host = strings.ToLower(host)
	if full {
		return host
	}
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	host = strings.TrimSuffix(host, ".")
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return ""
	}
	return host
}

// sameHost reports whether two names are one, or one is a longer form of the other, as
// mcp, mcp.tools and mcp.tools.svc.cluster.local are in a cluster.
func sameHost(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return b == a || strings.HasPrefix(b, a) && b[len(a)] == '.'
}
