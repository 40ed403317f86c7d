package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/mcp"
)

func TestValid(t *testing.T) {
	f := func(raw string, want bool) {
		t.Helper()
		if ok, deep := Valid([]byte(raw)); ok != want || deep {
			t.Errorf("%q: valid %v, deep %v, want %v", raw, ok, deep, want)
		}
	}
	for _, s := range []string{`{}`, `[]`, ` {"a" : [1, 2.5e-3, -0, true,false,null, "x\u00e9\n"] } `, `"abcdefghijklmnop"`, `0`, `[[],{},[{}]]`, `"é"`, "\"\xff\""} {
		f(s, true)
	}
	for _, s := range []string{``, ` `, `{`, `[`, `]`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `01`, `-`, `1.`, `1e`, `.5`, `+1`, `tru`, `nulll`, `"a`, `"\x"`, `"\u12g4"`, `"\u12`, "\"a\nb\"", "\"12345678\x01\"", `{} {}`, `{"a":1 "b":2}`, `[1 2]`, `{1:2}`, `"a"b`} {
		f(s, false)
	}
	nest := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	f(nest(mcp.MaxDepth), true)
	if ok, deep := Valid([]byte(nest(mcp.MaxDepth + 1))); ok || !deep {
		t.Errorf("nested too deep: valid %v, deep %v", ok, deep)
	}
}

// FuzzValid checks the fast path against encoding/json.
func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":["\u00e9\\",-1.5E+3,true,null,{}]}}`))
	f.Add([]byte("[\"\x7f\x80\x1f\",\"12345678\\\"\"]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ok, deep := Valid(raw)
		if deep {
			if mcp.Depth(raw, mcp.MaxDepth) <= mcp.MaxDepth {
				t.Fatalf("%q is not that deep", raw)
			}
			return
		}
		if want := json.Valid(raw); ok != want {
			t.Fatalf("%q: valid %v, want %v", raw, ok, want)
		}
	})
}
