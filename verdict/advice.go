package verdict

import (
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// recipes names what would make a signal assessable, what is most needed first.
func recipes(c *correlate.Domain, u unseen, sig *signals.Signal) []string {
	if c.Log {
		out := together(c, u)
		if sig == signals.FallbackResolution { // the one that an access log can carry
			out = append(out, sig.Name+" in a log: "+sig.Log)
		}
		return append(out, "log what docs/logging.md lists for each signal (also isodetect explain SIGNAL), or record the traffic: tcpdump -i any -s 0 -B 16384 -w mcp.pcap tcp port PORT")
	}
	return append(wholeness(c), together(c, u)...)
}

// together names what would show two parties at once, where none were seen.
func together(c *correlate.Domain, u unseen) []string {
	switch {
	case c.Overlap, u.parties(), c.Requests == 0 && c.SessionsMade == 0 && c.BodiesLost > 0: // the second one may be there, or nobody is: something else is wrong
		return nil
	case c.Untimed:
		return []string{"use a recording that keeps times: a capture, a HAR of a browser or proxy, or isodetect record"}
	case alike(c) != "":
		return []string{"have clients told apart while you record: give each a credential or an address of its own, or let the server issue session ids"}
	}
	return []string{"record at least two clients that use the server at the same time"}
}

// unreached is how a gap begins that isodetect record writes where the server did not answer at all.
const unreached = "the server could not be reached"

// wholeness names what would keep the next recording from lacking what this one lacks.
func wholeness(c *correlate.Domain) []string {
	var out []string
	l := &c.Losses
	if c.LossFlags&event.LossRest != 0 {
		out = append(out, "take the file once its writer has closed it, and all of it: it ends in the middle")
	}
	if l.Bodies[correlate.BySnap]+l.Heads[correlate.BySnap]+l.Gaps[correlate.BySnap] > 0 || c.LossFlags&event.LossSnap != 0 {
		out = append(out, "capture whole packets: tcpdump -s 0")
	}
	down := slices.ContainsFunc(l.Notes, func(n string) bool { return strings.HasPrefix(n, unreached) })
	switch {
	case l.Gaps[correlate.InGap] == 0:
	case down:
		out = append(out, "start the server before the clients, where --upstream of the recorder says that it listens")
	case captured(c):
		out = append(out, "capture without loss: tcpdump -B 16384, without --immediate-mode; of a ring of files give all")
	case exported(c):
		out = append(out, "export all entries")
	default:
		out = append(out, "record without loss: the recording names what it lacks")
	}
	if c.LossFlags&event.LossStart != 0 || l.Bodies[correlate.BeforeStart]+l.Heads[correlate.BeforeStart] > 0 {
		out = append(out, "start the recording before the clients connect")
	}
	switch n := l.Bodies[correlate.NotKept]; {
	case n == 0 || down:
	case exported(c):
		out = append(out, "export with bodies, and after the streams have ended")
	default:
		out = append(out, "record with bodies")
	}
	if l.Heads[correlate.NotKept] > 0 && !down {
		out = append(out, "record with all headers")
	}
	if c.Paired {
		out = append(out, "record the exchanges themselves (a capture, isodetect record): this recording pairs requests and answers by their ids")
	}
	return out
}

// once returns each recipe once, in the order given.
func once(help []string) []string {
	var out []string
	for _, h := range help {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// otherwise names what would help where nothing could be judged though no signal
// says that it could not.
func otherwise(c *correlate.Domain, u unseen, o Options) []string {
	switch {
	case o.outside(c):
		return []string{"choose --since and --until around what was recorded"}
	case c.Modern && !c.Legacy:
		return []string{"record clients that speak a revision up to 2025-11-25"}
	}
	out := wholeness(c)
	if c.Overlap && c.BodiesLost == 0 && c.Gaps == 0 && c.LossFlags&event.LossRest == 0 && u.text() == "" {
		out = append(out, "let at least two clients do at the same time what signals show in (calls with progress, cancels, subscriptions, server requests): isodetect explain SIGNAL")
	}
	return out
}
