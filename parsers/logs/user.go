package logs

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
)

// userPatterns holds lines against the patterns of the user (--patterns), before
// anything of the built-in wordings is tried.
type userPatterns struct {
	set  *pattern.Set
	hits []source.PatternUse // of the input, by pattern

	hit *pattern.Pattern // that claims the current line

	// Of the current line.
	texts [][]byte // what a message may be: what stands behind the prefix of loggers, or behind a part of it
	vals  []value  // by key path
	twice bool     // a key of running text stood twice: which one is the logger's does not show
	path  []byte
	took  [pattern.MaxCaptures]value
	bytes [pattern.MaxCaptures][]byte
}

func newUserPatterns(set *pattern.Set, stats *source.Stats) *userPatterns {
	if set == nil {
		return nil
	}
	stats.Patterns = make([]source.PatternUse, len(set.Patterns))
	for i := range set.Patterns {
		stats.Patterns[i] = source.PatternUse{Name: set.Patterns[i].Name, Row: set.Patterns[i].Row}
	}
	return &userPatterns{set: set, hits: stats.Patterns, vals: make([]value, len(set.Paths))}
}

// begin forgets the line before.
func (u *userPatterns) begin() {
	u.hit, u.texts, u.twice = nil, u.texts[:0], false
	clear(u.vals)
}

// claimJSON holds a JSON line, which is in p.rec, against the patterns.
func (p *parser) claimJSON(b []byte) {
	u, r := p.user, &p.rec
	if len(u.vals) > 0 {
		u.object(b, 0, 0, 0)
	}
	if msg := r.get(slotMessage, slotEvent); msg.form == formString && len(msg.raw) <= maxText {
		u.texts = append(u.texts, r.text(msg))
	}
	u.claim(r)
}

// claimText holds a line of text against the patterns, and reports whether one
// claims it. If not, p.rec is as it was.
func (p *parser) claimText(b []byte) bool {
	u, r := p.user, &p.rec
	if len(b) > maxText || wrapped(b) || continued(b) {
		return false
	}
	b = bytes.TrimRight(inlineObject(p, b), " \t")
	r.pieced = true
	i := r.prefix(b, p.opt.AssumeUTCOffset)
	r.pieced = false
	if i >= len(b) {
		r.reset()
		return false
	}
	r.textual = true
	if tail := jsonTail(b, i); tail >= 0 && r.readJSON(b[tail:]) {
		if r.native || r.has(slotMessage) {
			r.reset()
			return false
		}
		u.object(b[tail:], 0, 0, 0)
		u.texts = append(u.texts, bytes.TrimSpace(b[i:tail]))
	} else {
		r.watch = u
		r.readPairs(b, i)
		r.watch = nil
		if msg := r.get(slotMessage, slotEvent); msg.form == formString || msg.form == formBare {
			u.texts = append(u.texts, r.text(msg))
		}
	}
	u.texts = append(u.texts, b[i:])
	for k := len(r.starts) - 1; k >= 0; k-- {
		if at := r.starts[k]; at != i {
			u.texts = append(u.texts, b[at:])
		}
	}
	if u.claim(r); u.hit == nil {
		r.reset()
		return false
	}
	return true
}

// continued reports an indented line, which goes on with the record before it: it
// may be anybody's text.
func continued(b []byte) bool {
	return b[0] == '\t' || bytes.HasPrefix(b, []byte("  "))
}

// object keeps the values of the key paths that patterns name. The line is known
// to be JSON; of a key that stands twice the last counts.
func (u *userPatterns) object(b []byte, i, prefix, depth int) {
	for i = space(b, i+1); i < len(b) && b[i] == '"'; i = space(b, i+1) {
		end := stringEnd(b, i)
		if end < 0 {
			return
		}
		u.path = append(u.path[:prefix], b[i+1:end-1]...)
		at := space(b, end)
		if at = space(b, at+1); at >= len(b) {
			return
		}
		end, f := valueEnd(b, at)
		if f == formNone {
			return
		}
		k, known, inner := u.set.Path(u.path)
		if known {
			v := value{b[at:end], f}
			if f == formString {
				v.raw = b[at+1 : end-1]
			}
			u.vals[k] = v
		}
		if inner && f == formObject && depth < mcp.MaxDepth && len(u.path) < maxUserPath {
			n := len(u.path)
			u.path = append(u.path, '.')
			u.object(b, at, n+1, depth+1)
		}
		if i = space(b, end); i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// maxUserPath is more than a path of a pattern may have.
const maxUserPath = 256

// pair takes a pair of running text.
func (u *userPatterns) pair(key []byte, v value) {
	k, known, _ := u.set.Path(key)
	switch {
	case !known:
	case u.vals[k].form != formNone:
		u.twice = true
	default:
		u.vals[k] = v
	}
}

// claim finds the first pattern that fits the line.
func (u *userPatterns) claim(r *record) {
	for i := range u.set.Patterns {
		if q := &u.set.Patterns[i]; u.fits(q, r) {
			u.hit = q
			u.hits[i].Lines++
			return
		}
	}
}

func (u *userPatterns) fits(q *pattern.Pattern, r *record) bool {
	if len(q.Keys) > 0 && u.twice || !u.message(q) {
		return false
	}
	for i := range q.Keys {
		if k := &q.Keys[i]; !u.key(k, r) && !k.Optional {
			return false
		}
	}
	for i := range q.Fields {
		if a := &q.Fields[i]; a.Capture >= 0 && a.Field.Word && !oneWord(r, u.took[a.Capture]) {
			return false
		}
	}
	return true
}

// message holds the possible messages of the line against a pattern. It comes
// first, and so forgets what was taken for the pattern before.
func (u *userPatterns) message(q *pattern.Pattern) bool {
	clear(u.took[:len(q.Captures)])
	if q.Message == nil && q.Regexp == nil {
		return true
	}
	clear(u.bytes[:len(q.Captures)])
	for _, text := range u.texts {
		if !q.Match(text, u.bytes[:]) {
			continue
		}
		for c := range q.Captures {
			if u.bytes[c] != nil {
				u.took[c] = value{u.bytes[c], formBare}
			}
		}
		return true
	}
	return false
}

// key holds the value of a key against what a pattern wants of it.
func (u *userPatterns) key(k *pattern.Key, r *record) bool {
	var v value
	for _, path := range k.Paths {
		if v = u.vals[path]; v.form != formNone {
			break
		}
	}
	switch {
	case v.form == formNone || len(v.raw) > maxText:
		return false
	case k.Value == nil:
		return v.absent()
	}
	if c, ok := k.Value.Whole(); ok {
		if c >= 0 {
			u.took[c] = v
		}
		return true
	}
	text := v.raw
	switch v.form {
	case formString:
		text = r.text(v)
	case formObject, formArray:
		return false
	}
	clear(u.bytes[:])
	if !k.Value.Match(text, u.bytes[:]) {
		return false
	}
	for c, b := range u.bytes {
		if b != nil {
			u.took[c] = value{b, formBare}
		}
	}
	return true
}

// oneWord reports a value without white space, or one that says nothing.
func oneWord(r *record, v value) bool {
	t := v.raw
	if v.form == formString || v.form == formBare {
		t = bytes.TrimSpace(r.text(v))
	}
	return v.form == formObject || v.form == formArray || bytes.IndexFunc(t, func(c rune) bool { return c <= ' ' || c == 0x7f }) < 0
}

// unmatched notes the patterns that claimed no line of the input.
func (u *userPatterns) unmatched(stats *source.Stats) {
	var names []string
	for _, h := range u.hits {
		if h.Lines == 0 {
			names = append(names, fmt.Sprintf("%q", mcp.Cut(h.Name, 40)))
		}
	}
	const shown = 8
	switch n := len(names); {
	case n == 0:
	case n == len(u.hits):
		stats.Note("no pattern of " + u.set.File + " matched a line")
	case n > shown:
		stats.Note(fmt.Sprintf("%d patterns of %s matched no line: %s and %d more", n, u.set.File, strings.Join(names[:shown], ", "), n-shown))
	default:
		stats.Note(fmt.Sprintf("patterns of %s that matched no line: %s", u.set.File, strings.Join(names, ", ")))
	}
}
