package verdict

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/rules"
)

const (
	frame = 1 << event.UnitFrame
	entry = 1 << event.UnitEntry
	line  = 1 << event.UnitLine
)

// The reason names the true cause, and the first advice is what takes it away.
func TestReasonAndAdvice(t *testing.T) {
	f := func(name, why, first string, prepare func(*correlate.Domain)) {
		t.Helper()
		e, s := sink(rules.Options{})
		prepare(s.Domain)
		d := Judge(e, Options{}).Domains[0]
		if d.Outcome != OutcomeInconclusive || !strings.Contains(d.Why, why) || len(d.Help) == 0 || !strings.Contains(d.Help[0], first) {
			t.Errorf("%s: %s, %q, %q, want %q, %q", name, d.Outcome, d.Why, d.Help, why, first)
		}
		if all := strings.Join(d.Help, " "); strings.Contains(all, "export") && s.Domain.Units != entry {
			t.Errorf("%s: advice about an export where there is none: %s", name, all)
		} else if strings.Contains(all, "tcpdump") && s.Domain.Units != frame {
			t.Errorf("%s: advice about a capture where there is none: %s", name, all)
		}
	}
	lost := func(units uint8, cause correlate.Cause, flags event.Loss) func(*correlate.Domain) {
		return func(c *correlate.Domain) {
			c.Units, c.LossFlags, c.BodiesLost = units, flags, 3
			c.Losses.Bodies[cause] = 3
			if cause == correlate.InGap {
				c.Gaps, c.Losses.Gaps[cause] = 1, 1
			}
		}
	}
	f("mid-session", "began in the middle of connections, and 3 bodies came before", "start the recording before", lost(frame, correlate.BeforeStart, event.LossStart))
	f("snap length", "the snap length of the capture cut 3 bodies", "tcpdump -s 0", lost(frame, correlate.BySnap, event.LossSnap))
	f("a file of a ring is missing", "packets missing from the capture took 3 bodies", "of a ring of files give all", lost(frame, correlate.InGap, 0))
	f("a recorder that lost something", "gaps of the recording took 3 bodies", "record without loss", lost(line, correlate.InGap, 0))
	f("a recorder without bodies", "3 bodies were not recorded", "record with bodies", lost(line, correlate.NotKept, 0))
	f("a HAR without bodies", "3 bodies were not recorded", "export with bodies", lost(entry, correlate.NotKept, 0))
	f("nothing happened", "did not occur in view", "at the same time what signals show in", func(c *correlate.Domain) { c.Units = frame })
	f("mid-session, and nothing happened", "; the recording began in the middle", "start the recording before", func(c *correlate.Domain) { c.Units, c.LossFlags = frame, event.LossStart })
	f("one after the other", "no two parties were live", "record at least two clients", func(c *correlate.Domain) { c.Overlap = false })
	f("mid-session, and one after the other", "no two parties were live", "start the recording before", func(c *correlate.Domain) {
		lost(frame, correlate.BeforeStart, event.LossStart)(c)
		c.Overlap = false
	})
	f("without times", "times of the exchanges are not known", "that keeps times", func(c *correlate.Domain) { c.Units, c.Overlap, c.Untimed = frame, false, true })
	f("modern", "modern era", "up to 2025-11-25", func(c *correlate.Domain) { c.Modern = true })
	f("a server that is down", "the recording says: the server could not be reached: refused", "start the server", func(c *correlate.Domain) {
		lost(line, correlate.InGap, 0)(c)
		c.Overlap, c.Parties, c.SessionsMade, c.Losses.Notes = false, nil, 0, []string{unreached + ": refused"}
	})
}

// Clients that name no session and come from one place are not "one party only".
func TestIndistinct(t *testing.T) {
	f := func(name string, inits int, peer string, want string) {
		t.Helper()
		e := rules.NewEngine(rules.Options{})
		n := uint64(0)
		for i := range 2 + inits {
			method, result := mcp.ToolsList, event.ShapeTools
			if i < inits {
				method, result = mcp.Initialize, event.ShapeInitialize
			}
			n++
			base := event.Event{Domain: event.Domain{Server: "http://h", Path: "/mcp"}, Exchange: event.ExchangeID{N: n}, HTTPMethod: "POST",
				Stream: event.StreamPost, Asked: event.Session{State: event.Absent}, Answered: event.Session{State: event.Absent}, Sender: event.Sender{Peer: peer}}
			for k, kind := range []event.Kind{event.Opened, event.Message, event.Head, event.Message, event.Closed} {
				ev := base
				ev.Kind, ev.Time = kind, event.At(int64(10*n)+int64(k))
				switch k {
				case 1:
					ev.Dir, ev.RPC = event.ToServer, event.RPC{Kind: mcp.KindRequest, ID: "1", Method: method}
				case 2:
					ev.Status = 200
				case 3:
					ev.Dir, ev.RPC = event.ToClient, event.RPC{Kind: mcp.KindResult, ID: "1", Shape: result}
				}
				e.Apply(&ev)
			}
		}
		e.End()
		d := Judge(e, Options{}).Domains[0]
		if !strings.HasPrefix(d.Why, want) {
			t.Errorf("%s: %q, want %q", name, d.Why, want)
		}
		apart := strings.Contains(strings.Join(d.Help, " "), "have clients told apart")
		if apart != strings.HasPrefix(want, indistinct) {
			t.Errorf("%s: advice %q", name, d.Help)
		}
	}
	f("three clients at one address", 3, "10.0.0.1", indistinct+": all requests, 3 initialize among them, name no session and come from one address")
	f("nobody's initialize is in view", 0, "10.0.0.1", indistinct+": all requests name no session and come from one address")
	f("one client", 1, "10.0.0.1", "one party only")
	f("no address either", 2, "", indistinct+": all requests, 2 initialize among them, carry no session, credential or address")
}
