package verdict

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
)

// whyNothing says why nothing could be judged in a domain.
func whyNothing(s *rules.Sink, u unseen, o Options) string {
	c := s.Domain
	switch {
	case o.outside(c):
		return "nothing was recorded between --since and --until"
	case c.Modern && !c.Legacy:
		return "all requests are of the modern era (2026-07-28 on), which is not judged yet"
	case u.parties():
		return u.text()
	case parties(c) == 0 && c.Requests == 0 && len(c.Losses.Notes) > 0:
		return "no request was read; the recording says: " + strings.Join(c.Losses.Notes, "; ")
	case parties(c) == 0 && c.Requests == 0 && c.BodiesLost > 0:
		return "no request was read: " + bodiesLost(c)
	case alike(c) != "":
		return indistinct + ": " + alike(c)
	case parties(c) == 0:
		return "no MCP message of a known sender was recognised"
	case !c.Overlap && parties(c) == 1:
		return "one party only: isolation cannot fail, or be seen to hold, without a second one"
	case !c.Overlap:
		return apart(c)
	case u.text() != "":
		return u.text()
	case c.BodiesLost > 0:
		return bodiesLost(c)
	case c.LossFlags&event.LossRest != 0:
		return "the file ends in the middle, and the occasions at which a signal shows did not occur up to there"
	case c.Gaps > 0:
		return plural(c.Gaps, "gap") + " in the recording, and the occasions at which a signal shows did not occur in the rest"
	case c.Modern:
		return "part of the traffic is of the modern era (2026-07-28 on), which is not judged yet; in the rest no signal had an occasion to show"
	}
	why := "the occasions at which a signal shows did not occur in view"
	if o.Since != 0 || o.Until != 0 {
		why = "the occasions at which a signal shows did not occur between --since and --until"
	}
	if c.LossFlags&event.LossStart != 0 {
		why += "; the recording began in the middle of connections"
	}
	return why
}

// apart says why nothing that needs an overlap was judged.
func apart(c *correlate.Domain) string {
	if c.Untimed {
		return "the times of the exchanges are not known, so that no two parties are known to have been live at one moment"
	}
	if alike(c) != "" {
		return indistinct
	}
	return "no two parties were live at one moment"
}

const indistinct = "clients cannot be told apart"

// alike says why the senders of requests without a session cannot be told apart, ""
// if they can or if there was one client only.
func alike(c *correlate.Domain) string {
	if c.Overlap || c.Log || c.Untimed || c.SessionsMade > 0 || c.Requests == 0 || parties(c) > 1 {
		return ""
	}
	shared := "carry no session, credential or address"
	for _, p := range c.Parties {
		if p.Requests == 0 {
			continue
		}
		if c.Inits+c.Unissued == 1 && c.LossFlags&event.LossStart == 0 {
			return "" // the one client that there is
		}
		shared = "name no session and come from one address"
		switch p.Kind {
		case correlate.ByPrincipal:
			shared = "name no session and carry one credential"
		case correlate.ByClientInfo:
			shared = "name no session and one client"
		}
	}
	if n := c.Inits + c.Unissued; n > 1 {
		return fmt.Sprintf("all requests, %d initialize among them, %s", n, shared)
	}
	return "all requests " + shared
}

// bodiesLost says why bodies are not known.
func bodiesLost(c *correlate.Domain) string {
	return because(c, c.Losses.Bodies, "body", "bodies")
}

// headsLost says why headers of requests are not known.
func headsLost(c *correlate.Domain) string {
	if c.Losses.Heads == ([correlate.Causes]int{}) {
		return "headers are not in view, so which requests named no session is not known"
	}
	return because(c, c.Losses.Heads, "request's headers", "requests' headers") + ", so which requests named no session is not known"
}

// because names the causes for which things are not known, and how many of them.
func because(c *correlate.Domain, n [correlate.Causes]int, one, many string) string {
	var out []string
	for cause, text := range [correlate.Causes]string{
		correlate.BySnap:      "the snap length of the capture cut %s",
		correlate.InGap:       gap(c) + " took %s",
		correlate.BeforeStart: "the recording began in the middle of connections, and %s came before",
		correlate.NotKept:     "%s not recorded",
	} {
		if n[cause] == 0 {
			continue
		}
		what := fmt.Sprintf("%d %s", n[cause], many)
		if n[cause] == 1 {
			what = "1 " + one
		}
		if correlate.Cause(cause) == correlate.NotKept {
			verb := " were"
			if n[cause] == 1 && one != "request's headers" {
				verb = " was"
			}
			what += verb
		}
		out = append(out, fmt.Sprintf(text, what))
	}
	return strings.Join(out, "; ")
}

// gap says what gaps are in the kind of recording that a domain is known from.
func gap(c *correlate.Domain) string {
	if captured(c) {
		return "packets missing from the capture"
	}
	return "gaps of the recording"
}

// captured reports whether the records of a domain are packets.
func captured(c *correlate.Domain) bool { return c.Units&(1<<event.UnitFrame) != 0 }

// exported reports whether they are entries of an archive.
func exported(c *correlate.Domain) bool { return c.Units&(1<<event.UnitEntry) != 0 }
