package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/buger/jsonparser"
)

func listed(raw string) string {
	var out []string
	for m := MembersOf([]byte(raw)); m.Next(); {
		out = append(out, fmt.Sprintf("%s:%s:%s", m.Key, m.Value, m.Kind))
	}
	return strings.Join(out, " ")
}

func TestMembers(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got := listed(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	f(`{}`, "")
	f(` { } `, "")
	f(`{"a":1}`, "a:1:number")
	f("\n{ \"a\" :\t-1.5e+3 ,\r\n\"b\": \"x\" }\n", "a:-1.5e+3:number b:x:string")
	f(`{"a":true,"b":false,"c":null}`, "a:true:boolean b:false:boolean c:null:null")
	f(`{"a":{"x":[{"}":"]"}]},"b":[1,{"y":"}"}],"c":""}`, `a:{"x":[{"}":"]"}]}:object b:[1,{"y":"}"}]:array c::string`)
	f(`{"a\"\u0062":"q\"\\","a":"\\"}`, `a"b:q\"\\:string a:\\:string`)
	f(`{"a":1,"a":2}`, "a:1:number a:2:number")
	f(`{"`+strings.Repeat("k", 20)+`":"`+strings.Repeat("v", 20)+`"}`, strings.Repeat("k", 20)+":"+strings.Repeat("v", 20)+":string")
	for _, none := range []string{"", " ", "[]", `["a",1]`, `"a"`, "7", "null", "}"} {
		f(none, "")
	}
	for _, broken := range []string{`{`, `{,`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a" 1}`, `{a:1}`, `{"a\`} {
		f(broken, "")
	}
	f(`{"a":"x`, "a:x:string") // ends early, and stays in the text
	f(`{"a":{"x`, `a:{"x:object`)
	f(`{"a":1 2,"b":3}`, "a:1:number")
}

// FuzzMembers holds the walk against encoding/json, and ParseValid against ParseMessage.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"name":"x","_meta":{"progressToken":0}},"params":[1]}`))
	f.Add([]byte(` {"id":{},"error":{"code":-1,"message":"\u00e9"},"id":7}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"result":"\\"}`))
	f.Add([]byte(`{"a":[{"b":"]}"},"\"",-0.5E+7],"":false}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		for m := MembersOf(raw); m.Next(); n++ { // no panic and an end, whatever the text
			if n > len(raw) {
				t.Fatalf("%q has more members than bytes", raw)
			}
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		if token, err := dec.Token(); err != nil || token != json.Delim('{') || !json.Valid(raw) {
			return
		}
		m := MembersOf(raw)
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				t.Fatal(err)
			}
			if !m.Next() {
				t.Fatalf("%q: the member %q is missing", raw, key)
			}
			got := string(m.Value)
			if m.Kind == jsonparser.String {
				got = `"` + got + `"`
			}
			if got != string(value) || m.Kind != kindOf(value) {
				t.Fatalf("%q: %s %q, want %q", raw, m.Kind, got, value)
			}
			if text := string(m.Key); !strings.Contains(text, `\`) && !strings.Contains(key.(string), "\uFFFD") && text != key {
				t.Fatalf("%q: key %q, want %q", raw, text, key)
			}
		}
		if m.Next() {
			t.Fatalf("%q: a member %q too many", raw, m.Key)
		}
		var quick, careful Message
		quickErr, err := ParseValid(raw, &quick), ParseMessage(raw, &careful)
		if err != nil && !errors.Is(err, ErrNotRPC) {
			return // a key that jsonparser cannot unescape
		}
		if quickErr != err || !reflect.DeepEqual(quick, careful) {
			t.Fatalf("%q: %+v %v, want %+v %v", raw, quick, quickErr, careful, err)
		}
	})
}

func kindOf(value []byte) jsonparser.ValueType {
	switch value[0] {
	case '"':
		return jsonparser.String
	case '{':
		return jsonparser.Object
	case '[':
		return jsonparser.Array
	case 't', 'f':
		return jsonparser.Boolean
	case 'n':
		return jsonparser.Null
	}
	return jsonparser.Number
}
