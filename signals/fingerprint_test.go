package signals

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
)

// told is a made-up finding.
func told() Finding {
	return Finding{
		Signal: TokenCollision, Variant: "misdelivered", Strength: Confirmed, Domain: "http://10.20.0.7:8080/mcp", Path: "/mcp",
		Parties:    []Party{{Alias: "S1", Session: "a", Role: Cause}, {Alias: "S2", Session: "b", Role: Victim}},
		RequestIDs: []string{"7"}, Tokens: []string{"7"}, Method: "tools/call", Tool: "index_documents", First: 1, Last: 2, Count: 3,
		Evidence: []Evidence{{Role: Victim, At: event.Address{N: 412}, Excerpt: "x"}, {Role: Cause, Excerpt: "y"}},
	}
}

func TestFingerprint(t *testing.T) {
	base := func() Finding {
		return told()
	}
	f := func(change func(*Finding), same bool) {
		t.Helper()
		a, b := base(), base()
		change(&b)
		if got := a.Fingerprint() == b.Fingerprint(); got != same {
			t.Errorf("fingerprints equal: %v, want %v", got, same)
		}
	}
	f(func(b *Finding) { b.First, b.Last, b.Count = 1, 2, 3 }, true)
	f(func(b *Finding) {
		b.Parties, b.Evidence, b.RequestIDs, b.Tokens, b.Domain = nil, nil, nil, nil, "x"
	}, true)
	f(func(b *Finding) { b.Strength = Probable }, true)
	f(func(b *Finding) { b.Variant = "interleaved" }, false)
	f(func(b *Finding) { b.Method = "tools/list" }, false)
	f(func(b *Finding) { b.Tool = "other" }, false)
	f(func(b *Finding) { b.Path = "/other" }, false)
	f(func(b *Finding) { b.Signal = SharedSession }, false)
	a, b := base(), base()
	a.Tool, b.Tool = "", ""
	a.URIs, b.URIs = []string{"note://user-17/a"}, []string{"note://user-18/a"}
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("URIs of one shape have two fingerprints")
	}
	if got := a.Fingerprint(); len(got) != 19 || !strings.HasPrefix(got, "v1:") {
		t.Errorf("fingerprint %q is not v1: and 16 digits", got)
	}
}

func TestOccurrence(t *testing.T) {
	base := func() Finding {
		f := told()
		f.Evidence = append([]Evidence{}, f.Evidence...)
		f.Parties = append([]Party{}, f.Parties...)
		return f
	}
	f := func(change func(*Finding), same bool) {
		t.Helper()
		a, b := base(), base()
		change(&b)
		if got := a.Occurrence() == b.Occurrence(); got != same {
			t.Errorf("occurrences equal: %v, want %v", got, same)
		}
	}
	f(func(b *Finding) { b.Domain, b.Path = "x", "/y" }, true)
	f(func(b *Finding) { b.Evidence[0].At = event.Address{N: 99} }, true)
	f(func(b *Finding) { b.Parties[0].Alias = "S9" }, true)
	f(func(b *Finding) { b.Parties[0].Session = "other" }, false)
	f(func(b *Finding) { b.Evidence[0].Excerpt = "other" }, false)
}

func TestShape(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := shape(in); got != want {
			t.Errorf("shape(%q) = %q, want %q", in, got, want)
		}
	}
	f("note://alice/17", "note://alice/*")
	f("file:///a/6f1c2b9e-3d5a-4a57-9c1e-0b8f3f6d2a11/x", "file:///a/*/x")
	f("file:///a/deadbeef00/x", "file:///a/*/x")
	f("file:///cafe/decade/facade", "file:///cafe/decade/facade")
	f("db://t/2026-11-30", "db://t/*")
	f("/mcp", "/mcp")
	f("/v2/mcp", "/v*/mcp")
	f("", "")
}
