package exchange

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"sort"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/mcp"
)

// principal names who a credential speaks for without keeping the credential:
// the subject of a readable JWT, else a hash (DETECTION §1, party). hidden says
// that a recorder has replaced the credential, which then names nobody.
func principal(value string) (name string, hidden bool) {
	credential := strings.TrimSpace(value)
	scheme, rest, two := strings.Cut(credential, " ")
	token := credential
	if two {
		token = strings.TrimSpace(rest)
	}
	if credential == "" || token == "" {
		return "", false
	}
	if redacted(token) {
		return "", true
	}
	if two && strings.EqualFold(scheme, "bearer") {
		if sub := jwtSubject(token); sub != "" {
			return sub, false
		}
	}
	return "key:" + digest("isodetect credential", token), false
}

func subject(principal string) bool { return strings.HasPrefix(principal, "sub:") }

// jwtSubject returns "sub:iss|sub" of a JWT with both claims (RFC 7519 §4.1). The
// signature is not checked: what the token says is what the sender claims.
func jwtSubject(token string) string {
	head, rest, ok := strings.Cut(token, ".")
	claims, _, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || !strings.HasPrefix(head, "ey") || len(claims) > 64<<10 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(claims, "="))
	if err != nil {
		return ""
	}
	iss, err1 := jsonparser.GetString(raw, "iss")
	sub, err2 := jsonparser.GetString(raw, "sub")
	if err1 != nil || err2 != nil || iss == "" || sub == "" {
		return ""
	}
	return "sub:" + mcp.Cut(iss, 256) + "|" + mcp.Cut(sub, 256)
}

// digest returns 16 hex digits of SHA-256 over a fixed prefix and a secret.
func digest(prefix, secret string) string {
	sum := sha256.Sum256([]byte(prefix + "\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

// affinity appends the cookies of one Cookie field that bind a client to a
// backend, as name=hash (DETECTION §1, sender hints).
func affinity(have []string, field string) []string {
	for field != "" && len(have) < 16 {
		var pair string
		pair, field, _ = strings.Cut(field, ";")
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && affinityName(name) {
			have = append(have, cutText(name, 64)+"="+digest("isodetect cookie", value))
		}
	}
	return have
}

func affinityName(name string) bool {
	l := strings.ToLower(name)
	switch l {
	case "ingresscookie", "serverid", "route":
		return true
	}
	return strings.HasPrefix(l, "awsalb") || strings.HasPrefix(l, "arraffinity") || strings.Contains(l, "aff") || strings.Contains(l, "sticky")
}

func joinCookies(cookies []string) string {
	sort.Strings(cookies)
	return strings.Join(cookies, "; ")
}
