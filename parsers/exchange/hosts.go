package exchange

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/isodetect/isodetect/parsers/source"
)

// hosts tells the servers apart that stand behind one address: that of a gateway
// with a name for each of them, or that of a forward proxy. Which one a request is for, its
// target or its Host field says (RFC 9112 §3.2, §3.3; :authority in HTTP/2).
//
// Clients of one server spell it in several ways, so the first name that is met at an
// address counts as the address, and so does what is no other name: an address,
// localhost, a longer or shorter form of the name, no Host at all.
type hosts struct {
	met map[string][]string // the names that were met at an address, the first one first

	address, host, answer string // of the last request that was asked about
}

const (
	maxAddresses = 4096
	maxHosts     = 64 // names of one address that are remembered
	maxHost      = 253
)

// server returns event.Domain.Server of a request to an address: the address itself, or
// "address[name]".
func (b *Builder) server(r *Request) string {
	name, full := authority(r.Target), true
	if name == "" {
		name, full = hostField(r.Header), false
	}
	h := &b.hosts
	if !full && name == h.host && r.Server == h.address {
		return h.answer
	}
	server := h.find(r.Server, hostName(name, full), b.stats)
	if !full {
		h.address, h.host, h.answer = r.Server, name, server
	}
	return server
}

func (h *hosts) find(address, name string, stats *source.Stats) string {
	if name == "" || strings.HasSuffix(address, "//"+name) {
		return address
	}
	met := h.met[address]
	for i, known := range met {
		switch {
		case !sameHost(known, name):
		case i == 0:
			return address
		default:
			return within(address, known)
		}
	}
	if len(met) == 0 {
		if h.met == nil {
			h.met = map[string][]string{}
		}
		if len(h.met) < maxAddresses {
			h.met[strings.Clone(address)] = []string{strings.Clone(name)}
		}
		return address
	}
	if len(met) == 1 {
		stats.Note(fmt.Sprintf("several servers stand behind %s, by the names that requests give: each is judged by itself, %s under the address alone", address, met[0]))
	}
	if len(met) < maxHosts {
		h.met[address] = append(met, strings.Clone(name))
	}
	return within(address, name)
}

func within(address, name string) string { return address + "[" + name + "]" }

// authority returns host and port of a target in absolute form, "" of others.
func authority(target string) string {
	i := strings.Index(target, "://")
	if i <= 0 || strings.ContainsAny(target[:i], "/?#") {
		return ""
	}
	target = target[i+3:]
	if j := strings.IndexAny(target, "/?#"); j >= 0 {
		target = target[:j]
	}
	return target[strings.LastIndexByte(target, '@')+1:]
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
