package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
)

// Sender is what a request shows about who sent it, but for its connection and
// address (event.Sender). Requests that show the same share one.
type Sender struct {
	Principal, Cookie, UserAgent, ClientInfo string
}

// Subject reports whether the principal is a readable subject, which may be compared for difference.
func (s *Sender) Subject() bool { return event.Sender{Principal: s.Principal}.Subject() }

// Hints is what the requests of a party show about who holds it; each list is bounded.
// Parties of which the same is known share one, so that it is never changed.
type Hints struct {
	Principals, Cookies, UserAgents []string
}

// Known returns the hints of a party, empty ones if there are none.
func (p *Party) Known() Hints {
	if p.Hints == nil {
		return Hints{}
	}
	return *p.Hints
}

// has reports whether the hints hold all that a sender shows, or have no room for it.
func (h *Hints) has(s *Sender) bool {
	full := func(list []string, v string) bool {
		return v == "" || len(list) >= maxHints || slices.Contains(list, v)
	}
	return full(h.Principals, s.Principal) && full(h.Cookies, s.Cookie) && full(h.UserAgents, s.UserAgent)
}

// with returns the hints with what a sender shows.
func (h Hints) with(s *Sender) *Hints {
	return &Hints{addHint(h.Principals, s.Principal), addHint(h.Cookies, s.Cookie), addHint(h.UserAgents, s.UserAgent)}
}

func addHint(list []string, v string) []string {
	if v == "" || slices.Contains(list, v) || len(list) >= maxHints {
		return list
	}
	return append(slices.Clip(list), v)
}

// Shown is a sender and what is known of a party that nobody else sent for.
type Shown struct {
	Sender Sender
	Hints  *Hints
}

const maxSenders = 4096

// senderOf returns the one value for all that show the same, nil where nothing is shown.
func (d *Domain) senderOf(s Sender) *Sender {
	if s == (Sender{}) {
		return nil
	}
	return &d.shared(s).Sender
}

func (d *Domain) shared(s Sender) *Shown {
	if known := d.Senders[s]; known != nil {
		return known
	}
	if len(d.Senders) >= maxSenders || d.Senders == nil {
		d.Senders = map[Sender]*Shown{} // a few are made twice then
	}
	made := &Shown{Sender: s}
	made.Hints = Hints{}.with(&s)
	d.Senders[s] = made
	return made
}

// hint notes what a request shows about who holds a party.
func (d *Domain) hint(p *Party, s *Sender) {
	switch {
	case s == nil:
	case p.Hints == nil:
		p.Hints = d.shared(*s).Hints
	case !p.Hints.has(s):
		p.Hints = p.Hints.with(s)
	}
}

const maxTexts = 512

// same returns one string for all equal ones.
func (d *Domain) same(text string) string {
	if known, ok := d.Texts[text]; ok {
		return known
	}
	if len(d.Texts) >= maxTexts || d.Texts == nil {
		d.Texts = map[string]string{}
	}
	d.Texts[text] = text
	return text
}
