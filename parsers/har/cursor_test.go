package har

import (
	"testing"

	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// An entry is read a second time without the strict check: a file that has
// changed meanwhile may hold anything, and must be read to an end.
func TestCursorEndsOnAnyText(t *testing.T) {
	const whole = `{"startedDateTime":"2026-07-19T22:20:44Z","x":[1,{"a":[]},"\""],"timings":{"wait":1.5},` +
		`"request":{"method":"POST","headers":[{"name":"accept","value":"\u002a/*"},{"name":":path","value":"/"}],"postData":{"text":"{\"a\":\"}\"}"}},` +
		`"response":{"status":200,"content":{"size":2,"text":"\\\"]"}},"connection":7}`
	b := exchange.New(0, new(source.Stats))
	var e entry
	if err := readEntry(b, []byte(whole), 0, &e); err != nil {
		t.Fatal(err)
	}
	if e.method != "POST" || e.status != 200 || e.conn != "7" || e.bare || len(e.reqHeader) != 1 || e.reqHeader[0].Value != "*/*" ||
		string(e.post.text) != `{\"a\":\"}\"}` || string(e.body.text) != `\\\"]` || e.body.size != 2 || e.timings.before != 1.5 {
		t.Errorf("entry %+v", e)
	}
	for i := range len(whole) {
		if err := readEntry(b, []byte(whole[:i]), 0, &e); err == nil {
			t.Errorf("no error for the first %d bytes", i)
		}
		for _, c := range []byte(`{}[]":,\ 1t`) {
			broken := []byte(whole)
			broken[i] = c
			_ = readEntry(b, broken, 0, &e)
		}
	}
	f := func(raw string) {
		t.Helper()
		c := cursor{raw: []byte(raw)}
		c.array(func() {})
		if !c.bad {
			t.Errorf("%s passes as an array", raw)
		}
	}
	f(`[}`)
	f(`[1,}]`)
	f(`[1`)
}
