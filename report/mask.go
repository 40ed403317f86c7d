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
	texted   map[string]string // sentences outside of findings that were masked before
	visible  map[string]bool   // tokens and URIs that the finding names openly
}

// knownSessions are the sessions of all parties: the alias of each id, "" where it
// has several, the ids in order, and the lengths of those that begin alike.
type knownSessions struct {
	alias   map[string]string
	sorted  []string
	lengths map[string][]int // by the first minBlindID bytes, longest first
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
	m := &masker{reveal: reveal, labels: map[string]string{}, given: new(int), texted: map[string]string{}}
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
	k := knownSessions{alias, slices.Sorted(maps.Keys(alias)), map[string][]int{}}
	for _, id := range k.sorted {
		if len(id) < minBlindID {
			continue
		}
		begin := id[:minBlindID]
		if at, ok := slices.BinarySearchFunc(k.lengths[begin], len(id), func(n, want int) int { return want - n }); !ok {
			k.lengths[begin] = slices.Insert(k.lengths[begin], at, len(id))
		}
	}
	return k
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
	if done, ok := m.texted[s]; ok && m.own == nil {
		return done
	}
	done := escape(m.plainText(s))
	if m.own == nil && len(m.texted) < maxTexted { // what is told of every domain is the same few sentences
		m.texted[s] = done
	}
	return done
}

const maxTexted = 4096

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
	lengths := k.lengths[s[:minBlindID]]
	for _, n := range lengths {
		if n <= len(s) {
			if _, ok := k.alias[s[:n]]; ok {
				return n, s[:n]
			}
		}
	}
	if len(lengths) > 0 && lengths[0] > len(s) {
		if i, _ := slices.BinarySearch(k.sorted, s); i < len(k.sorted) && strings.HasPrefix(k.sorted[i], s) {
			return len(s), k.sorted[i]
		}
	}
	return 0, ""
}
