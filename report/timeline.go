package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Timeline writes what one party did and received, while it is read. It shows
// ids, methods and states, no values and no session ids.
type Timeline struct {
	p      *page
	alias  string
	domain *correlate.Domain
	n      int
}

// NewTimeline writes to w what the party with this alias, such as S2, does.
// Of the conversations of a session, such as S5·a, it shows the session.
func NewTimeline(w io.Writer, alias string, st Style) *Timeline {
	alias, _, _ = strings.Cut(alias, "·")
	return &Timeline{p: newPage(w, st), alias: alias}
}

// Add takes the next moment. It keeps nothing of it but its domain.
func (t *Timeline) Add(m *correlate.Moment) {
	if m.Party == nil || !strings.EqualFold(m.Party.Alias, t.alias) {
		return
	}
	if m.Domain != t.domain {
		t.begin(m)
	}
	what := happening(m.Event)
	if r := m.Request; r != nil && r.Method != m.Event.RPC.Method && (m.Event.RPC.Kind == mcp.KindResult || m.Event.RPC.Kind == mcp.KindError) {
		what += "  to " + strings.Join(nonEmpty(r.Method, r.Tool), " ")
	}
	if what == "" {
		return
	}
	t.entry(m.Event.Time, m.Event.At, arrow(m.Event)+" "+what)
}

// begin writes the head of a party. A session has no name yet when its initialize
// is read, so that request is told here.
func (t *Timeline) begin(m *correlate.Moment) {
	if t.domain != nil {
		t.p.blank()
	}
	t.domain = m.Domain
	t.p.line(t.p.bold.Render(m.Party.Alias), " in ", escape(m.Domain.ID))
	if b := m.Party.Birth; m.Party.Issued && b.At != m.Event.At {
		t.entry(b.Time, b.At, "→ "+mcp.Initialize)
	}
}

func (t *Timeline) entry(when event.Time, at event.Address, what string) {
	t.n++
	head := "  " + pad(moment(when), 17) + pad(fmt.Sprintf("%s %d", at.Unit, at.N), 14)
	t.p.para(head, escape(hideSecrets(what)), lipgloss.Style{})
}

// End says so if the party was not met.
func (t *Timeline) End() error {
	if t.n == 0 && t.p.err == nil {
		return fmt.Errorf("no party is called %s in these inputs; parties are S1, S2, … in order of appearance, and P1, P2, … without a session", t.alias)
	}
	return t.p.err
}

func moment(at event.Time) string {
	if at.To == 0 {
		return "no time"
	}
	u := time.Unix(0, at.To).UTC()
	return u.Format(clockLayout(u))
}

// arrow is the direction of an event, seen from the client at the left.
func arrow(e *event.Event) string {
	switch {
	case e.Dir == event.ToServer, e.Kind == event.Opened:
		return "→"
	case e.Dir == event.ToClient, e.Kind == event.Head, e.Kind == event.Endpoint:
		return "←"
	}
	return "·"
}

// happening tells an event in a few words, "" for one that others tell already.
func happening(e *event.Event) string {
	switch e.Kind {
	case event.Message:
		return messageWords(&e.RPC)
	case event.Opened:
		if e.HTTPMethod == "POST" {
			return "" // its message says more
		}
		words := e.HTTPMethod
		if e.Resume != "" {
			words += " resuming after " + e.Resume
		}
		return words
	case event.Head:
		if e.Status == 200 {
			return ""
		}
		return fmt.Sprintf("HTTP %d", e.Status)
	case event.Closed:
		if e.By == event.ByServer || e.By == event.ByUnknown {
			return ""
		}
		return "closed by " + e.By.String()
	case event.Gap:
		return "gap: " + e.Note
	case event.SessionResolved:
		return strings.TrimSpace("session resolved " + e.Resolution)
	}
	words := strings.ReplaceAll(e.Kind.String(), "_", " ")
	if tail := messageWords(&e.RPC); tail != "message" {
		words += ": " + tail
	}
	return words
}

func messageWords(r *event.RPC) string {
	words := []string{r.Method}
	switch r.Kind {
	case mcp.KindResult:
		words = []string{"result", r.Method}
		if r.IsError {
			words[0] = "result with isError"
		}
	case mcp.KindError:
		words = []string{fmt.Sprintf("error %d", r.Code), r.Method}
	}
	add := func(name string, v string) {
		if v != "" {
			words = append(words, strings.TrimSpace(name+" "+v))
		}
	}
	add("", r.Tool)
	add("id", string(r.ID))
	add("token", string(r.Token))
	add("cancels", string(r.CancelID))
	add("", r.URI)
	if r.Method == mcp.Progress && r.HasTotal {
		add("", fmt.Sprintf("%g of %g", r.Progress, r.Total))
	} else if r.Method == mcp.Progress {
		add("", fmt.Sprintf("%g", r.Progress))
	}
	if text := strings.Join(nonEmpty(words...), "  "); text != "" {
		return text
	}
	return "message"
}
