package signals

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Fingerprint names what is wrong, for baselines: the same fault on another day,
// between other parties and in another recording has the same one.
func (f *Finding) Fingerprint() string {
	name := ""
	if f.Signal != nil {
		name = f.Signal.Name
	}
	subject := f.Tool
	if subject == "" {
		shapes := make([]string, len(f.URIs))
		for i, u := range f.URIs {
			shapes[i] = shape(u)
		}
		slices.Sort(shapes)
		subject = strings.Join(slices.Compact(shapes), " ")
	}
	return "v1:" + Digest(16, name, f.Variant, shape(f.Path), f.Method, subject)
}

// Subject is the tool of a finding, or the shape of its first URI without the
// query, which may hold secrets.
func (f *Finding) Subject() string {
	if f.Tool != "" || len(f.URIs) == 0 {
		return f.Tool
	}
	uri, _, _ := strings.Cut(f.URIs[0], "?")
	return shape(uri)
}

// Occurrence names what happened: the content of the record on which a finding
// stands and its parties, wherever they were recorded.
func (f *Finding) Occurrence() string {
	parties := make([]string, len(f.Parties))
	for i, p := range f.Parties {
		parties[i] = Digest(16, p.Session, p.Text)
	}
	slices.Sort(parties)
	content := ""
	if len(f.Evidence) > 0 {
		anchor := slices.IndexFunc(f.Evidence, func(e Evidence) bool { return e.Role == Victim })
		content = f.Evidence[max(anchor, 0)].Excerpt
	}
	return Digest(16, append(parties, f.Signal.Name, f.Variant, content)...)
}

// Digest is n hex digits of the SHA-256 of parts.
func Digest(n int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:n]
}

// shape generalises the parts of a URI that name one of many: runs of digits,
// UUIDs, and long runs of hex digits each become *.
func shape(uri string) string {
	var b strings.Builder
	for i := 0; i < len(uri); {
		n := idRun(uri[i:])
		if n == 0 {
			b.WriteByte(uri[i])
			i++
			continue
		}
		b.WriteByte('*')
		i += n
	}
	return b.String()
}

// idRun is the length of an id at the beginning of s: a word of hex digits and
// dashes that is all digits, or has 8 hex digits of which one is a digit, and 0 for anything else.
func idRun(s string) int {
	n, digits, hexes := 0, 0, 0
	for n < len(s) {
		c := s[n]
		if c >= '0' && c <= '9' {
			digits++
		} else if c|0x20 >= 'a' && c|0x20 <= 'f' {
			hexes++
		} else if c != '-' || n == 0 {
			break
		}
		n++
	}
	for n > 0 && s[n-1] == '-' {
		n--
	}
	if digits > 0 && digits+hexes >= 8 && !(n < len(s) && letter(s[n])) {
		return n
	}
	n = 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
