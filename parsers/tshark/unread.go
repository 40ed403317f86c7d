package tshark

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/event"
)

// This file tells what of an export could not be read, and how to export it.

// unread is what stands in an export beside HTTP.
type unread struct {
	sealed  map[string]int  // connections in TLS, place in order
	order   []sealedConn    // of those, as they came
	servers map[string]bool // ip:port of those that answer HTTP
	payload int             // packets with bytes of TCP
	preface string          // port to which HTTP/2 begins
	raw     bool            // bytes in hex
	decoded bool            // fields as text
	empty   bool            // what is in HTTP is left out
	bare    bool            // layers below HTTP are left out
	fields  bool            // single fields instead of layers
}

// sealedConn is a connection in TLS of which no HTTP was seen yet.
type sealedConn struct {
	ends [2]string
	read bool
}

const maxSealed = 1 << 16

func (u *unread) serves(end string) {
	if len(u.servers) < maxSealed {
		u.servers[end] = true
	}
}

// chosen takes the name of a layer, which is that of a field where the user chose fields.
func (u *unread) chosen(layer string) {
	for _, of := range []string{"frame.", "ip.", "tcp."} {
		u.fields = u.fields || strings.HasPrefix(layer, of)
	}
}

// left takes that an export leaves out what is below the name of something in a layer.
func (r *reader) left(layer string) {
	switch layer {
	case "http", "http2":
		r.unread.empty = true
		r.stats.Note("the export leaves out what is below http: export with -J instead of -j, or without either")
	default:
		r.unread.bare = true
	}
}

// see notes what a packet holds beside HTTP.
func (r *reader) see(p *packet, conn string) {
	u := &r.unread
	u.raw = u.raw || p.raw
	u.decoded = u.decoded || p.frame > 0
	if p.payload && !p.tls {
		u.payload++
	}
	if p.preface && u.preface == "" {
		u.preface = p.dport
	}
	if conn == "" {
		return
	}
	i, known := u.sealed[conn]
	if p.tls && !known && len(u.order) < maxSealed {
		i, known = len(u.order), true
		u.sealed[conn] = i
		u.order = append(u.order, sealedConn{ends: [2]string{addrPort(p.src, p.sport), addrPort(p.dst, p.dport)}})
	}
	if known && len(p.http)+len(p.frames) > 0 {
		u.order[i].read = true
	}
}

// tellSealed tells of the connections in TLS that the dissector did not decrypt.
func (r *reader) tellSealed(at event.Address) {
	counts, order := map[string]int{}, []string(nil)
	for _, c := range r.unread.order {
		server := c.ends[1] // the first packet is mostly the client's
		if r.unread.servers[c.ends[0]] {
			server = c.ends[0]
		}
		if c.read || server == "" {
			continue
		}
		if counts[server]++; counts[server] == 1 {
			order = append(order, server)
		}
	}
	total := 0
	for _, server := range order {
		total += counts[server]
		r.b.Unreadable(event.At(r.last), at, "http://"+server, "TLS that tshark did not decrypt", counts[server])
	}
	if total > 0 {
		r.stats.Note(fmt.Sprintf("connections in TLS that tshark did not decrypt: %d; export with -o tls.keylog_file:FILE, or scan the capture itself with --tls-keylog FILE", total))
	}
}

// explain tells why no HTTP was found in an export, as far as it shows.
func (r *reader) explain() {
	u := &r.unread
	switch {
	case u.raw && !u.decoded:
		r.stats.Note("an export of -T jsonraw holds no fields as text: export with -T json, and -x for the bytes of bodies, or scan the capture itself")
	case u.empty: // it was said
	case u.fields:
		r.stats.Note("the export holds single fields: export whole packets, without -e, or scan the capture itself")
	case u.bare:
		r.stats.Note("the export leaves out the layers below http: export with -J 'frame ip tcp http http2', or without, or scan the capture itself")
	case u.preface != "":
		r.stats.Note(fmt.Sprintf("tshark did not dissect HTTP/2 without TLS: export with -d tcp.port==%s,http2, or scan the capture itself", u.preface))
	case u.payload > 0:
		r.stats.Note(fmt.Sprintf("tshark saw no HTTP in %d packets with contents: name the port of the server with -d tcp.port==PORT,http (or http2), or scan the capture itself", u.payload))
	}
}
