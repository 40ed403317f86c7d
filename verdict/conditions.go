package verdict

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
)

// conditions tests the validity conditions of DETECTION §4.
func conditions(e *rules.Engine, s *rules.Sink, u unseen) []Condition {
	c := s.Domain
	return []Condition{multiplexed(e, c), unshared(s), overlap(c, u), http(e, c), creation(c), complete(c, u)}
}

func multiplexed(e *rules.Engine, c *correlate.Domain) Condition {
	k := Condition{Name: "multiplexed"}
	switch {
	case e.Options.Pinned:
		k.State, k.Why = Failed, "the user says that sessions are pinned to processes (--assume pinned)"
	case e.Options.Multiplexed:
		k.State, k.Why = Met, "the user says so (--assume multiplexed)"
	case len(c.Cookies) > 1:
		k.State, k.Why = Unknown, fmt.Sprintf("%d different affinity cookies came back: a proxy pins clients to processes", len(c.Cookies))
	case c.Log && c.Key.Epoch != "":
		k.State, k.Why = Met, "one process wrote these lines"
	case c.Log:
		k.State, k.Why = Unknown, "the log names no process: several may have written it"
	default:
		k.State, k.Why = Met, "one listener served all of it"
	}
	return k
}

func unshared(s *rules.Sink) Condition {
	for _, f := range s.Findings {
		if f.Signal == signals.SharedSession || f.Signal == signals.ResponseCrossing && f.Variant == "shared_session" {
			session, _, _ := strings.Cut(f.Parties[0].Alias, "·") // the finding names its conversations
			return Condition{"unshared", Failed, session + " is used by several conversations; among themselves they are no victims of each other"}
		}
	}
	return Condition{"unshared", Met, "no session was seen in use by two conversations"}
}

func overlap(c *correlate.Domain, u unseen) Condition {
	switch {
	case c.Overlap:
		return Condition{"overlap", Met, c.OverlapWhy}
	case c.Untimed:
		return Condition{"overlap", Unknown, "the exchanges have no times of their own, so that none is known to overlap another one"}
	case !u.parties() && alike(c) != "":
		return Condition{"overlap", Unknown, indistinct}
	}
	if u.parties() {
		return Condition{"overlap", Unknown, "no two parties are seen to be live, or to have requests in flight, at one moment; " + u.text()}
	}
	return Condition{"overlap", Failed, "no two parties were live, or had requests in flight, at one moment"}
}

func http(e *rules.Engine, c *correlate.Domain) Condition {
	switch {
	case e.State.Stdio:
		return Condition{"http", Failed, "the transport is stdio: one client per process"}
	case c.Log:
		return Condition{"http", Unknown, "the log does not show the transport"}
	}
	return Condition{"http", Met, "parsed from HTTP"}
}

func creation(c *correlate.Domain) Condition {
	born, sessions := 0, 0
	for _, p := range c.Parties {
		if p.IsSession() {
			sessions++
			if p.Born {
				born++
			}
		}
	}
	k := Condition{Name: "creation_visible"}
	switch {
	case sessions == 0 && c.Unissued > 0:
		k.State, k.Why = Failed, "the endpoint issues no session ids"
	case born == 0:
		k.State, k.Why = Failed, "no session is seen to be made"
	case born < sessions:
		k.State, k.Why = Unknown, fmt.Sprintf("%d of %d sessions are seen to be made", born, sessions)
	default:
		k.State, k.Why = Met, fmt.Sprintf("all %d sessions are seen to be made", sessions)
	}
	return k
}

func complete(c *correlate.Domain, u unseen) Condition {
	var holes []string
	if why := u.text(); why != "" {
		holes = append(holes, why)
	}
	if c.Gaps > 0 {
		holes = append(holes, strings.Join(append([]string{plural(c.Gaps, "gap")}, c.Losses.Notes...), ": "))
	}
	if c.AnswersUnseen > 0 {
		holes = append(holes, plural(c.AnswersUnseen, "answer")+" not in the recording")
	}
	if c.BodiesLost > 0 {
		holes = append(holes, bodiesLost(c))
	}
	if c.LossFlags&event.LossRest != 0 {
		holes = append(holes, "the rest of the recording is missing, the file ends in the middle")
	}
	if c.LossFlags&event.LossSnap != 0 && c.Losses.Bodies[correlate.BySnap] == 0 {
		holes = append(holes, "packets cut by the snap length")
	}
	if c.LossFlags&event.LossStart != 0 && c.Losses.Bodies[correlate.BeforeStart] == 0 {
		holes = append(holes, "connections that began before the recording")
	}
	if c.Paired {
		holes = append(holes, "requests and answers paired by id")
	}
	if c.Evicted > 0 {
		holes = append(holes, plural(c.Evicted, "item")+" of state evicted")
	}
	if c.Log {
		return Condition{"complete", Unknown, "a log holds what its level lets through"}
	}
	if len(holes) > 0 {
		return Condition{"complete", Failed, strings.Join(holes, "; ") + ": no argument from absence where they touch it"}
	}
	return Condition{"complete", Met, "no gap, all bodies recorded"}
}
