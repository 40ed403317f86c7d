package rules

import (
	"slices"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// How findings call parties, calls and ids, and make evidence.

// party makes the finding's view of a party.
func party(p *correlate.Party, role signals.Role) signals.Party {
	if p.IsSession() {
		return signals.Party{Alias: p.Alias, Session: p.ID, Role: role}
	}
	return signals.Party{Alias: p.Alias, Text: p.Name(), Role: role}
}

// sender makes the finding's view of whoever sent an exchange that names no
// session: the session its connection carried, else its party, else what is known of it.
func sender(x *correlate.Exchange, role signals.Role) signals.Party {
	if own := ownSession(x); own != nil {
		return party(own, role)
	}
	if x != nil && x.Party != nil {
		return party(x.Party, role)
	}
	return signals.Party{Alias: "?", Text: senderText(x), Role: role}
}

func senderText(x *correlate.Exchange) string {
	if x == nil {
		return "unknown sender"
	}
	switch s := x.From(); {
	case s.Principal != "":
		return "sender with its own credential"
	case x.Conn != nil:
		return "sender on connection " + x.Conn.ID
	case s.UserAgent != "":
		return "sender with user agent " + s.UserAgent
	}
	return "unknown sender"
}

// ownSession returns the only session that the connection of an exchange
// carried before it, or nil.
func ownSession(x *correlate.Exchange) *correlate.Party {
	if x == nil || x.Before != 1 || x.Conn.Mixed || x.Conn.Sessions[0].Gone {
		return nil
	}
	return x.Conn.Sessions[0]
}

// candidates adds up to eight parties in the role of candidates.
func candidates(to []signals.Party, parties []*correlate.Party) []signals.Party {
	for _, p := range parties {
		if len(to) >= maxCandidates {
			break
		}
		if !slices.ContainsFunc(to, func(q signals.Party) bool { return q.Alias == p.Alias }) {
			to = append(to, party(p, signals.Candidate))
		}
	}
	return to
}

const maxCandidates = 8

// seen makes a piece of evidence of a record.
func seen(role signals.Role, ref correlate.Ref, p *correlate.Party, says string) signals.Evidence {
	alias := ""
	if p != nil {
		alias = p.Alias
	}
	return signals.Evidence{Role: role, At: ref.At, Time: ref.Time, Party: alias, Says: says, Excerpt: ref.Excerpt, Link: ref.Link, View: ref.View}
}

// here makes a piece of evidence of the event being applied.
func here(role signals.Role, ev *event.Event, p *correlate.Party, says string) signals.Evidence {
	return seen(role, refOf(ev), p, says)
}

func refOf(ev *event.Event) correlate.Ref {
	return correlate.Ref{At: ev.At, View: ev.View, Time: ev.Time, Excerpt: ev.Excerpt, Link: ev.Link}
}

func ids(rs ...*correlate.Request) []string {
	var out []string
	for _, r := range rs {
		if r != nil && r.ID != "" && !slices.Contains(out, string(r.ID)) {
			out = append(out, string(r.ID))
		}
	}
	return out
}

// idText prints an id as people write it.
func idText(id mcp.ID) string { return string(id) }

// name calls a party in a sentence.
func name(p *correlate.Party) string {
	if p == nil {
		return "an unknown sender"
	}
	if p.IsSession() {
		return p.Alias
	}
	return p.Alias + " (" + p.Name() + ")"
}

// call calls a request in a sentence: method, tool and id.
func call(r *correlate.Request) string {
	s := r.Method
	if r.Tool != "" {
		s += " " + r.Tool
	}
	return s + " with id " + idText(r.ID)
}

// without returns ps without p, in order.
func without(ps []*correlate.Party, p *correlate.Party) []*correlate.Party {
	var out []*correlate.Party
	for _, q := range ps {
		if q != p {
			out = append(out, q)
		}
	}
	return out
}

func tokens(ts ...mcp.ID) []string {
	var out []string
	for _, t := range ts {
		if t != "" && !slices.Contains(out, string(t)) {
			out = append(out, string(t))
		}
	}
	return out
}

func idList(ts ...mcp.ID) []string { return tokens(ts...) }
