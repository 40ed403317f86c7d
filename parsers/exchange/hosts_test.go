package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

func TestHostName(t *testing.T) {
	f := func(host, want string) {
		t.Helper()
		if got := hostName(host, false); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
	f("Notes.Example:8080", "notes.example")
	f("notes.example.", "notes.example")
	f("", "")
	f("localhost:80", "")
	f("a.localhost", "")
	f("10.0.0.1", "")
	f("10.0.0.1:8080", "")
	f("[::1]:8080", "")
	f("[fe80::1]", "")
	f("a b", "")
	f("a\x00b", "")
	f("größe", "")
	f("x[y", "x[y")
	f(strings.Repeat("x", maxHost+10), "")
}

// One server that clients spell in several ways stays one; the bounds hold, and the
// order of the names alone decides.
func TestHosts(t *testing.T) {
	var stats source.Stats
	b := New(0, &stats)
	server := func(host string) string {
		x := b.Open(Request{Server: "http://10.0.0.1:80", Hosted: true, Method: "POST", Target: "/mcp", Header: header("Host", host)})
		return x.domain.Server
	}
	f := func(host, want string) {
		t.Helper()
		if got := server(host); got != "http://10.0.0.1:80"+want {
			t.Errorf("%s: %s, want %q behind the address", host, got, want)
		}
	}
	f("mcp.tools.svc", "")
	f("mcp", "")
	f("mcp.tools.svc.cluster.local", "")
	f("127.0.0.1", "")
	f("mcp2", "[mcp2]")
	f("mcp2.tools", "[mcp2]")
	f("mcp.tools.svc", "")
	if len(stats.Notes) != 1 {
		t.Errorf("notes: %q", stats.Notes)
	}
	for i := range 1000 {
		f(fmt.Sprint("tenant-", i), fmt.Sprint("[tenant-", i, "]"))
	}
	if n := len(b.hosts.met["http://10.0.0.1:80"]); n != maxHosts {
		t.Errorf("%d names are remembered", n)
	}
	for i := range maxAddresses + 10 {
		b.Open(Request{Server: fmt.Sprint("http://10.0.0.2:", i), Hosted: true, Header: header("Host", "a")})
	}
	if n := len(b.hosts.met); n != maxAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
	if x := b.Open(Request{Server: "https://a.example", Method: "POST", Target: "/mcp", Header: header("Host", "b.example")}); x.domain.Server != "https://a.example" {
		t.Errorf("a server that is no address became %s", x.domain.Server)
	}
}
