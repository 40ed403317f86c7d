package mcp

import (
	"strings"
	"testing"
)

func TestPlaceholder(t *testing.T) {
	f := func(id ID, want bool) {
		t.Helper()
		if got := id.Placeholder(); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
	f("", true)
	f(NullID, true)
	f(`"server-error"`, true)
	f("0", false) // ids start at 0
	f(`""`, false)
	f(`"null"`, false)
}

func TestUnescape(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Unescape([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	f(`plain`, "plain")
	f(`\u0061\n\"`, "a\n\"")
	f(`\ud83d\ude00`, "😀")
	f(`\q`, `\q`) // a broken escape stays
	f("a\xffb", "a\uFFFDb")
	f("a\xff\\n", "a\uFFFD\n")
	f("", "")
}

// Whatever the order of keys is, the message is the same.
func TestKeyOrderChangesNothing(t *testing.T) {
	keys := []string{`"jsonrpc":"2.0"`, `"id":7`, `"method":"tools/call"`, `"params":{"name":"id","arguments":{"id":8,"method":"x"}}`}
	var permute func(rest, done []string)
	permute = func(rest, done []string) {
		if len(rest) == 0 {
			text := "{" + strings.Join(done, " , ") + "}"
			var m Message
			if err := ParseMessage([]byte(text), &m); err != nil || m.Kind != KindRequest || m.ID != "7" || m.Method != ToolsCall || len(m.Params) == 0 || m.Duplicate != "" {
				t.Errorf("%s: %v, %+v", text, err, m)
			}
			return
		}
		for i := range rest {
			permute(append(append([]string(nil), rest[:i]...), rest[i+1:]...), append(done[:len(done):len(done)], rest[i]))
		}
	}
	permute(keys, nil)
}

func TestSessionBound(t *testing.T) {
	f := func(method string, bound, none bool) {
		t.Helper()
		if SessionBound(method) != bound || NeedsNoSession(method) != none {
			t.Errorf("%s: bound %v, needs none %v", method, SessionBound(method), NeedsNoSession(method))
		}
	}
	f(ToolsCall, true, false)
	f(PromptsGet, true, false)
	f(SetLevel, true, false)
	f(Complete, true, false)
	f(Initialize, false, true)
	f(Ping, false, true)
	f(Discover, false, true)
	f(Cancelled, false, false)
	f("vendor/x", false, false)
}

func TestNamesOfCapabilities(t *testing.T) {
	f := func(names string, want Caps) {
		t.Helper()
		if got := CapsOfNames(strings.Split(names, ",")); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
	f("", 0)
	f(" Sampling ,ROOTS", CapSampling|CapRoots)
	f("sampling.tools", CapSampling|CapSamplingTools)
	f("elicitation.url", CapElicitationURL)
	f("elicitation", CapElicitationForm)
	f("tasks.requests.elicitation.create", CapTaskElicitation)
	f("experimental,tools", 0)
	if need, _ := NeededCaps(Elicitation, []byte(`{"mode":"url","task":{}}`)); need != CapElicitationURL|CapTaskElicitation || CapElicitationForm.Has(need) || !(need | CapRoots).Has(need) {
		t.Errorf("%s", need)
	}
	if s := (CapSampling | CapRoots).String(); s != "sampling, roots" || Caps(0).String() != "none" {
		t.Errorf("%q", s)
	}
}
