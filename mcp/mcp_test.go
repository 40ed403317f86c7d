package mcp

import (
	"errors"
	"strings"
	"testing"
)

func TestNewID(t *testing.T) {
	f := func(raw string, want ID, fold string) {
		t.Helper()
		if got := NewID([]byte(raw)); got != want || got.Fold() != fold {
			t.Errorf("%s: %s, folded %s", raw, got, got.Fold())
		}
	}
	f("0", "0", "0")
	f(" 7 ", "7", "7")
	f("7.0", "7", "7")
	f("7.5", "7.5", "7.5")
	f("-3", "-3", "-3")
	f(`"7"`, `"7"`, "7")
	f(`"\u0061\"b"`, `"a"b"`, `a"b`)
	f(`""`, `""`, "")
	f("null", NullID, "null")
	f("{}", "", "")
	f("[1]", "", "")
	f("true", "", "")
	f("", "", "")
	f(`"open`, "", "")
	if id := NewID([]byte(`"` + strings.Repeat("ä", MaxIDLen) + `"`)); len(id) > MaxIDLen+2 || !strings.HasSuffix(string(id), `ä"`) {
		t.Errorf("a long id is not cut at a rune: %d bytes", len(id))
	}
	if NewID([]byte("7")) == NewID([]byte(`"7"`)) {
		t.Error("7 and \"7\" are one id")
	}
}

func TestParseMessage(t *testing.T) {
	f := func(raw string, kind Kind, id ID, method string) Message {
		t.Helper()
		var m Message
		if err := ParseMessage([]byte(raw), &m); err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if m.Kind != kind || m.ID != id || m.Method != method {
			t.Errorf("%s: %v %s %s", raw, m.Kind, m.ID, m.Method)
		}
		return m
	}
	f(`{"method":"ping","jsonrpc":"2.0","id":0}`, KindRequest, "0", "ping")
	f(`{"jsonrpc":"2.0","id":null,"method":"x/y"}`, KindNotification, NullID, "x/y")
	f(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, KindNotification, "", Initialized)
	f(`{"result":{},"jsonrpc":"2.0","id":"a"}`, KindResult, `"a"`, "")
	f(`{"result":null,"id":1}`, KindResult, "1", "")
	f(`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, KindError, NullID, "")
	f(`{"jsonrpc":"2.0","id":1,"error":null,"result":{}}`, KindResult, "1", "")
	if m := f(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, KindRequest, "2", "ping"); m.Duplicate != "id" {
		t.Errorf("the duplicate key is not told: %q", m.Duplicate)
	}
	if m := f(`{"jsonrpc":"2.0","id":{},"result":{}}`, KindResult, "", ""); !m.BadID {
		t.Error("an object as id is not told")
	}
	if m := f(`{"jsonrpc":"2.0","id":1,"result":"plain"}`, KindResult, "1", ""); string(m.Result) != `"plain"` {
		t.Errorf("a string as result: %s", m.Result)
	}
	var m Message
	if err := ParseMessage([]byte(`{"a":1}`), &m); !errors.Is(err, ErrNotRPC) {
		t.Errorf("no message: %v", err)
	}
	for _, bad := range []string{`{"jsonrpc":"2.0","id":1`, `[]`, ``, `{"a" 1}`} {
		if err := ParseMessage([]byte(bad), &m); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestEach(t *testing.T) {
	f := func(raw string, n int, batch, ok bool) {
		t.Helper()
		got := 0
		b, err := Each([]byte(raw), func([]byte) { got++ })
		if got != n || b != batch || (err == nil) != ok {
			t.Errorf("%s: %d members, batch %v, %v", raw, got, b, err)
		}
	}
	f(` {"id":1}`, 1, false, true)
	f(`[{"id":1},{"id":2}]`, 2, true, true)
	f(`[{"id":1},3]`, 1, true, true)
	f(`[{"id":1},`, 1, true, false)
	f(`"x"`, 0, false, false)
	f(``, 0, false, false)
}

func TestCapabilities(t *testing.T) {
	f := func(raw string, want Caps) {
		t.Helper()
		if got := ParseCaps([]byte(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	f(`{}`, 0)
	f(`{"sampling":{}}`, CapSampling)
	f(`{"sampling":{"tools":{},"context":{}}}`, CapSampling|CapSamplingTools|CapSamplingContext)
	f(`{"sampling":null}`, 0)
	f(`{"elicitation":{}}`, CapElicitationForm) // an empty object means form
	f(`{"elicitation":{"url":{}}}`, CapElicitationURL)
	f(`{"elicitation":{"url":{},"form":{}}}`, CapElicitationURL|CapElicitationForm)
	f(`{"roots":{"listChanged":true},"experimental":{"x":{}}}`, CapRoots)
	f(`{"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`, CapTaskSampling|CapTaskElicitation)
	if got := CapsOfNames([]string{"sampling", "elicitation", "roots.listChanged", "vendor.x"}); got != CapSampling|CapElicitationForm|CapRoots {
		t.Errorf("names: %s", got)
	}
}

func TestNeededCaps(t *testing.T) {
	f := func(method, params string, want Caps, ok bool) {
		t.Helper()
		if got, known := NeededCaps(method, []byte(params)); got != want || known != ok {
			t.Errorf("%s %s: %s, %v", method, params, got, known)
		}
	}
	f(Sampling, `{"messages":[]}`, CapSampling, true)
	f(Sampling, `{"tools":[{}]}`, CapSampling|CapSamplingTools, true)
	f(Sampling, `{"task":{}}`, CapSampling|CapTaskSampling, true)
	f(Elicitation, `{"message":"?"}`, CapElicitationForm, true)
	f(Elicitation, `{"mode":"url"}`, CapElicitationURL, true)
	f(RootsList, `{}`, CapRoots, true)
	f(Ping, `{}`, 0, false)
	f("vendor/x", `{}`, 0, false)
}

func TestRevisionEra(t *testing.T) {
	f := func(revision string, want Era) {
		t.Helper()
		if got := RevisionEra(revision); got != want {
			t.Errorf("%q: %s", revision, got)
		}
	}
	f("2024-11-05", EraLegacy)
	f("2025-11-25", EraLegacy)
	f("2026-07-28", EraModern)
	f("2027-01-01-rc", EraModern)
	f("", EraUnknown)
	f("latest", EraUnknown)
	f("20260728", EraUnknown)
}

func TestDepth(t *testing.T) {
	f := func(raw string, want int) {
		t.Helper()
		if got := Depth([]byte(raw), 10); got != want {
			t.Errorf("%.20s: %d, want %d", raw, got, want)
		}
	}
	f(`{"a":[1,{"b":"[[["}]}`, 3)
	f(`"\"[["`, 0)
	f(strings.Repeat("[", 1000), 11)
}
