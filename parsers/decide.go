package parsers

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/isodetect/isodetect/event"
)

// Which domains of several recordings are one server. Session ids decide that its server
// made and that both recordings show: made in both, or made in one and named in answers
// in the other, where a request stands in both as well (two processes with one store have
// the sessions in common, not the requests). Addresses decide nothing: a recorder stands
// between client and server, too. Two domains of one recording are never one: it shows
// both sides of a proxy, or two servers.

// tie is two places that show the same sessions.
type tie struct {
	a, b     *place
	sessions int
	requests int
	refused  string // why they are not joined, "" = they are
}

// ties are all of a run, in order.
type ties struct {
	all []*tie
	of  map[*place][]*tie
	at  []*tie // by the indexes of two places
	n   int    // places
}

func (s *ties) between(a, b *place) *tie { return s.at[a.index*s.n+b.index] }

func (s *ties) add(t *tie) {
	s.all = append(s.all, t)
	s.of[t.a], s.of[t.b] = append(s.of[t.a], t), append(s.of[t.b], t)
	s.at[t.a.index*s.n+t.b.index], s.at[t.b.index*s.n+t.a.index] = t, t
}

// joined returns the tie of two places that are one, nil if there is none.
func (s *ties) joined(a, b *place) *tie {
	if t := s.between(a, b); t != nil && t.refused == "" {
		return t
	}
	return nil
}

// decide joins places and says why.
func (v *survey) decide() *Joins {
	j := &Joins{to: map[placed]event.Domain{}, targets: map[event.Domain]bool{}, clocks: map[string]int64{}, notes: map[string][]string{}}
	s := v.ties()
	ambiguous(s)
	joined := groups(v.places, s)
	for _, g := range joined {
		for _, p := range g[1:] {
			for _, d := range append([]event.Domain{p.domain}, p.aliases...) {
				to := g[0].domain
				if d != p.domain {
					to.Path = d.Path
				}
				j.to[placed{p.recording, d}] = to
				j.targets[to] = true
			}
		}
		for _, d := range append([]event.Domain{g[0].domain}, g[0].aliases...) {
			j.targets[d] = true
		}
	}
	j.setClocks(joined, s)
	v.explain(j, joined, s)
	return j
}

// ties finds the places that share sessions, in order.
func (v *survey) ties() *ties {
	n := len(v.places)
	out := &ties{of: map[*place][]*tie{}, at: make([]*tie, n*n), n: n}
	for i, a := range v.places {
		for _, b := range v.places[i+1:] {
			if a.recording == b.recording {
				continue
			}
			t := &tie{a: a, b: b, requests: a.asked.common(&b.asked), sessions: a.made.common(&b.made)}
			if a.domain == b.domain && t.requests > 0 {
				t.sessions += a.short.common(&b.short)
			}
			if t.sessions == 0 {
				if t.sessions = max(a.made.common(&b.told), a.told.common(&b.made)); t.sessions == 0 {
					continue
				}
				if t.requests == 0 {
					t.refused = "requests of these sessions stand in one or the other, never in both, as if two processes shared a store"
				}
			}
			if t.refused == "" && rewritten(a, b, t.requests) {
				t.refused = "it is at another address and most requests are others, as on the two sides of a proxy"
			}
			if skew, n := skewOf(a, b); t.refused == "" && n > 0 && max(skew, -skew) > maxSkew {
				t.refused = fmt.Sprintf("its times are %s apart", time.Duration(max(skew, -skew)).Round(time.Minute))
			}
			out.add(t)
		}
	}
	return out
}

// maxSkew is how far two clocks are apart at most: a zone that was not said, and some.
const maxSkew = int64(26 * time.Hour)

// rewritten reports whether something stands between two captures that does more than
// pass on: most requests of the smaller one are not in the larger as they are.
func rewritten(a, b *place, both int) bool {
	less := min(len(a.asked.kept), len(b.asked.kept))
	return a.wire && b.wire && a.domain.Server != b.domain.Server && 2*both < less
}

// ambiguous refuses the ties of a place with several that cannot be one: what shows two
// sides of a proxy does not say which of them a log is about.
func ambiguous(s *ties) {
	var bad []*tie
	for _, t := range s.all {
		if t.refused == "" && (undecided(s, t, t.a) || undecided(s, t, t.b)) {
			bad = append(bad, t)
		}
	}
	for _, t := range bad {
		t.refused = "the same sessions stand in a second domain that cannot be the same server, and which of the two it is does not show"
	}
}

// undecided reports whether p is tied to another place, too, that cannot be the one at
// the other end of t.
func undecided(s *ties, t *tie, p *place) bool {
	return slices.ContainsFunc(s.of[p], func(o *tie) bool { return o != t && o.refused == "" && rivals(s, t.other(p), o.other(p)) })
}

func (t *tie) other(p *place) *place {
	if t.a == p {
		return t.b
	}
	return t.a
}

// rivals reports whether two places cannot be one server.
func rivals(s *ties, a, b *place) bool {
	t := s.between(a, b)
	return a.recording == b.recording || t != nil && t.refused != ""
}

// groups returns the places that are one server, the one that gives it its name first.
// A group that holds two places which cannot be one is none.
func groups(places []*place, s *ties) [][]*place {
	var out [][]*place
	in := map[*place]bool{}
	for _, p := range places {
		if in[p] {
			continue
		}
		g := []*place{p}
		in[p] = true
		for i := 0; i < len(g); i++ {
			for _, t := range s.of[g[i]] {
				if o := t.other(g[i]); t.refused == "" && !in[o] {
					in[o] = true
					g = append(g, o)
				}
			}
		}
		if len(g) > 1 && !torn(g, s) {
			slices.SortStableFunc(g, func(a, b *place) int { return cmp.Or(rank(a)-rank(b), a.order-b.order) })
			out = append(out, g)
		}
	}
	return out
}

// torn refuses the ties of a group in which two places cannot be one.
func torn(g []*place, s *ties) bool {
	for i, a := range g {
		for _, b := range g[i+1:] {
			if !rivals(s, a, b) {
				continue
			}
			for _, p := range g {
				for _, t := range s.of[p] {
					t.refused = cmp.Or(t.refused, fmt.Sprintf("it would make %s and %s one, which they are not", name(a), name(b)))
				}
			}
			return true
		}
	}
	return false
}

// rank is how much a place knows of its server's address and of time: captures of packets first.
func rank(p *place) int {
	switch {
	case p.unit == event.UnitFrame:
		return 0
	case p.wire:
		return 1
	}
	return 2
}

// skewOf is how far the clock of b is ahead of a's, over n happenings of both; 0 where
// the stamps explain it.
func skewOf(a, b *place) (skew int64, n int) {
	p := &pair{}
	for _, k := range a.clock.keys() {
		x := a.clock.kept[k]
		y, both := b.clock.kept[k]
		if !both {
			continue
		}
		p.deltas, p.halves = append(p.deltas, y.at-x.at), append(p.halves, x.half+y.half)
		switch {
		case y.end && !x.end:
			p.mixed++
		case x.end && !y.end:
			p.mixed--
		}
	}
	if len(p.deltas) == 0 {
		return 0, 0
	}
	skew, _, ok := p.skew()
	if !ok {
		skew = 0
	}
	return skew, len(p.deltas)
}

// setClocks finds for each recording how far it is ahead of the first of its group,
// directly or over others. A recording has one clock, whatever it shows.
func (j *Joins) setClocks(all [][]*place, s *ties) {
	known := map[string]bool{}
	for _, g := range all {
		done := []*place{g[0]}
		in := map[*place]bool{g[0]: true}
		known[g[0].recording] = true
		for i := 0; i < len(done); i++ {
			for _, t := range s.of[done[i]] {
				o := t.other(done[i])
				if t.refused != "" || in[o] {
					continue
				}
				in[o], done = true, append(done, o)
				if skew, n := skewOf(done[i], o); n > 0 && !known[o.recording] {
					known[o.recording] = true
					j.clocks[o.recording] = j.clocks[done[i].recording] + skew
				}
			}
		}
	}
}

// explain writes the notes.
func (v *survey) explain(j *Joins, joined [][]*place, s *ties) {
	tied := map[*place]bool{}
	for _, t := range s.all {
		tied[t.a], tied[t.b] = true, true
		if t.refused != "" {
			j.note(t.b, fmt.Sprintf("not joined: %s with %s: %s: %s; to join them all the same, name them with --domain NAME=GLOB", name(t.b), name(t.a), t.what(), t.refused))
		}
	}
	for _, g := range joined {
		var others []string
		for _, p := range g[1:] {
			others = append(others, name(p))
			j.note(p, fmt.Sprintf("joined: %s is %s: %s", name(p), name(g[0]), shows(p, g, s)))
		}
		j.note(g[0], fmt.Sprintf("joined: %s is %s as well", name(g[0]), strings.Join(others, ", ")))
	}
	for _, p := range v.places {
		switch {
		case tied[p]:
		case len(p.made.kept) > 0 || len(p.told.kept) > 0:
			j.note(p, fmt.Sprintf("not joined: %s: no session id that its server made stands in another input", name(p)))
		case len(p.short.kept) > 0:
			j.note(p, fmt.Sprintf("not joined: %s: its session ids are too short to be those of one server only", name(p)))
		case p.wire || len(p.asked.kept) > 0:
			j.note(p, fmt.Sprintf("not joined: %s: no session is seen to be made or named by its server", name(p)))
		}
	}
	if v.beyond > 0 && len(v.places) > 0 {
		j.note(v.places[0], fmt.Sprintf("not joined: domains beyond the first %d were not compared", maxPlaces))
	}
}

func (t *tie) what() string {
	return fmt.Sprintf("%s that its server made stand in both, and %s", count(t.sessions, "session id"), count(t.requests, "request"))
}

// shows says what joins a place to the first of its group, directly or over another one.
func shows(p *place, g []*place, s *ties) string {
	for _, o := range g {
		switch t := s.joined(p, o); {
		case t == nil:
		case o == g[0]:
			return t.what()
		default:
			return t.what() + ", namely " + name(o)
		}
	}
	return ""
}

func (j *Joins) note(p *place, text string) {
	j.notes[p.input] = append(j.notes[p.input], text)
}

// name calls a place by its domain, and a domain that is no input's own by its recording, too.
func name(p *place) string {
	id := p.domain.Server + p.domain.Path
	if p.domain.Epoch != "" {
		id += "#" + p.domain.Epoch
	}
	if p.domain.Server == p.input {
		return id
	}
	return id + " of " + filepath.Base(p.input)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
