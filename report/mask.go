package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// masker hides values in what a report quotes. A value that occurs in two pieces
// of evidence of one finding gets a label, ‹v1›, the same wherever it stands, so
// that a crossing can be followed; a value that stands alone shows nothing by its
// label and becomes ‹…›. Labels are numbers, not hashes: a hash of a short value can be guessed.
type masker struct {
	reveal   bool
	sessions knownSessions
	own      map[string]string // alias by session id, of the finding that is masked
	labels   map[string]string // of shared values; "" = not shown yet
	given    *int              // how many labels were given
	visible  map[string]bool   // tokens and URIs that the finding names openly
}

// knownSessions are the sessions of all parties: the alias of each id, "" where it
// has several, and the ids by their first bytes, longest first.
type knownSessions struct {
	alias map[string]string
	begin map[string][]string
}

const (
	elided = "‹…›"
	secret = "‹secret›" // not even by equality: a credential must not be guessed
)

// minBlindID is the length from which a session id is masked wherever it stands;
// shorter ones only where a key says that they are one.
const minBlindID = 6

// newMasker prepares the masks of a run. Values are compared in the findings
// that shown tells of; session ids are known from all of them.
func newMasker(res *verdict.Result, reveal bool, shown func(*signals.Finding) bool) *masker {
	m := &masker{reveal: reveal, labels: map[string]string{}, given: new(int)}
	m.sessions = sessionsOf(res.Findings)
	if reveal {
		return m
	}
	for i := range res.Findings {
		f := &res.Findings[i]
		if !shown(f) {
			continue
		}
		in := map[string]int{} // value → index of the evidence where it was met, plus 1
		w := m.within(f)
		for n, e := range f.Evidence {
			w.walk(e.Excerpt, func(value string) string {
				if first, ok := in[value]; !ok {
					in[value] = n
				} else if first != n {
					m.labels[value] = ""
				}
				return elided
			})
		}
	}
	return m
}

// sessionsOf lists the session ids of all parties. An id that has several aliases
// (two domains may issue equal ones) shows only its hash.
func sessionsOf(findings []signals.Finding) knownSessions {
	alias := map[string]string{}
	for i := range findings {
		for _, p := range findings[i].Parties {
			if p.Session == "" {
				continue
			}
			base, _, _ := strings.Cut(p.Alias, "·")
			if old, ok := alias[p.Session]; ok && old != base {
				base = ""
			}
			alias[p.Session] = base
		}
	}
	begin := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(alias)) {
		if len(id) >= minBlindID {
			begin[id[:minBlindID]] = append(begin[id[:minBlindID]], id)
		}
	}
	for _, ids := range begin {
		slices.SortStableFunc(ids, func(a, b string) int { return len(b) - len(a) })
	}
	return knownSessions{alias, begin}
}

// within returns the masker for one finding, which uses its own aliases and
// leaves open what the finding itself names.
func (m *masker) within(f *signals.Finding) *masker {
	w := *m
	w.visible = map[string]bool{}
	for _, t := range f.Tokens {
		w.visible[strings.Trim(t, `"`)] = true
	}
	for _, u := range f.URIs {
		w.visible[u] = true
	}
	w.own = map[string]string{}
	for _, p := range f.Parties {
		if p.Session != "" {
			w.own[p.Session], _, _ = strings.Cut(p.Alias, "·")
		}
	}
	return &w
}

// session returns a session id as a field shows it.
func (m *masker) session(id string) string {
	switch {
	case id == "":
		return ""
	case m.reveal:
		return escape(id)
	}
	return "~" + digest6(id)
}

// digest6 is what a report shows of a session id: 6 hex digits of its SHA-256.
func digest6(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:3])
}

// quoted returns a session id as an excerpt shows it: alias and hash.
func (m *masker) quoted(id string) string {
	if m.reveal {
		return id
	}
	alias, ok := m.own[id]
	if !ok {
		alias = m.sessions.alias[id]
	}
	if alias != "" {
		return "‹" + alias + "·" + digest6(id) + "›"
	}
	return "‹~" + digest6(id) + "›"
}

// who returns the text of a party without a session. A readable subject is a person.
func (m *masker) who(text string) string {
	if rest, ok := strings.CutPrefix(text, "subject "); ok && !m.reveal {
		return "subject ~" + digest6(rest)
	}
	return m.text(text)
}

// text makes a sentence of a rule or a parser printable.
func (m *masker) text(s string) string {
	if s == "" {
		return ""
	}
	return escape(m.plainText(s))
}

func (m *masker) texts(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, m.text(s))
	}
	return out
}

// plain makes ids, tokens and URIs printable.
func (m *masker) plain(list []string) []string { return m.texts(list) }

// excerpt masks a record and makes it printable, in at most event.MaxExcerpt bytes.
func (m *masker) excerpt(s string) string {
	return cut(escape(m.hideSessions(m.walk(s, m.label))), event.MaxExcerpt)
}

// label returns what stands for a value.
func (m *masker) label(value string) string {
	label, shared := m.labels[value]
	if !shared {
		return elided
	}
	if label == "" {
		*m.given++
		label = fmt.Sprintf("‹v%d›", *m.given)
		m.labels[value] = label
	}
	return label
}

// hideSessions replaces every known session id, also one that the end of the
// excerpt cuts.
func (m *masker) hideSessions(s string) string {
	if m.reveal {
		return s
	}
	var out strings.Builder
	done := 0
	for i := 0; i+minBlindID <= len(s); {
		n, id := m.sessions.at(s[i:])
		if n == 0 {
			i++
			continue
		}
		out.WriteString(s[done:i])
		out.WriteString(m.quoted(id))
		i += n
		done = i
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// at returns the session id that s begins with, and how many bytes of it are
// there: fewer than all where the end of s cuts it. 0 = none.
func (k knownSessions) at(s string) (n int, id string) {
	for _, id := range k.begin[s[:minBlindID]] {
		if strings.HasPrefix(s, id) {
			return len(id), id
		}
	}
	for _, id := range k.begin[s[:minBlindID]] {
		if strings.HasPrefix(id, s) {
			return len(s), id
		}
	}
	return 0, ""
}
