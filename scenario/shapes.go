package scenario

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
)

// shape is what sets one server implementation's traffic apart from another's.
type shape struct {
	mode    string // how POSTs are answered: sse or json
	echo    bool   // answers name the session
	first   int    // first id of its clients
	ua      string
	session func(of string) string
	header  func(canonical string) string
}

// shapes are the implementations a scenario may name (`server is sdk=ts`).
var shapes = map[string]shape{
	"go":      {mode: "sse", first: 1, ua: "Go-http-client/1.1", session: base32ID, header: canonical},
	"mcpgo":   {mode: "json", first: 1, ua: "Go-http-client/1.1", session: func(of string) string { return "mcp-session-" + uuid(of) }, header: canonical},
	"ts":      {mode: "sse", echo: true, first: 0, ua: "node", session: uuid, header: strings.ToLower},
	"python":  {mode: "sse", echo: true, first: 0, ua: "python-httpx/0.28.1", session: func(of string) string { return strings.ReplaceAll(uuid(of), "-", "") }, header: strings.ToLower},
	"gateway": {mode: "json", first: 1, ua: "mcp-edge/2.7", session: opaque, header: canonical},
}

func canonical(s string) string { return s }

// seed is a fixed number for a text.
func seed(of string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(of))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

func bytesOf(of string, n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		x := seed(fmt.Sprint(of, "#", i))
		for k := 0; k < 8; k++ {
			b = append(b, byte(x>>(8*k)))
		}
	}
	return b[:n]
}

func base32ID(of string) string { return base32.StdEncoding.EncodeToString(bytesOf(of, 17))[:26] }

func uuid(of string) string {
	b := bytesOf(of, 16)
	b[6], b[8] = b[6]&15|64, b[8]&63|128
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func opaque(of string) string { return base64.RawURLEncoding.EncodeToString(bytesOf(of, 16)) }

// jwt makes an unsigned token with a readable subject.
func jwt(sub, issued string) string {
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." +
		enc([]byte(`{"iss":"https://id.example.org","sub":"`+sub+`","iat":`+fmt.Sprint(1773040000+len(issued)*300)+`,"jti":"`+issued+`"}`)) + "." +
		enc(bytesOf(sub+issued, 24))
}

func decode(part string) string {
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return ""
	}
	return string(b)
}
