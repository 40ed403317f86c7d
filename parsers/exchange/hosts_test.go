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

// Names that may be of several servers at one address are told of once, and divide nothing.
func TestHosts(t *testing.T) {
	f := func(want int, names ...string) {
		t.Helper()
		var stats source.Stats
		b := New(0, &stats)
		for _, n := range names {
			x := b.Open(Request{Server: "http://10.0.0.1:80", Hosted: true, Method: "POST", Target: "/mcp", Header: header("Host", n)})
			if x.domain.Server != "http://10.0.0.1:80" {
				t.Errorf("%s: of %s", n, x.domain.Server)
			}
		}
		if len(stats.Notes) != want {
			t.Errorf("%v: notes %q", names, stats.Notes)
		}
	}
	f(0, "mcp.tools.svc", "mcp", "mcp.tools.svc.cluster.local", "127.0.0.1", "localhost:80", "", "MCP")
	f(1, "a.example", "b.example", "a.example", "c.example")
	f(1, "10.0.0.1", "a.example", "10.0.0.1", "b.example:80")
	var stats source.Stats
	b := New(0, &stats)
	for i := range maxAddresses + 10 {
		b.Open(Request{Server: fmt.Sprint("http://10.0.0.2:", i), Hosted: true, Header: header("Host", "a")})
	}
	if n := len(b.hosts.first); n != maxAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
	b.Open(Request{Server: "http://10.0.0.2:1", Hosted: true, Target: "http://other:81/mcp"})
	if len(stats.Notes) != 1 {
		t.Errorf("a target in absolute form: notes %q", stats.Notes)
	}
}
