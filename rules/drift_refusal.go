package rules

import (
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Calls that a server refused because their client lacks a capability: it looks at capabilities.

// Refusal is a call that the server refused for lack of a client capability.
type Refusal struct {
	Party  *correlate.Party
	Method string
	Tool   string
	Lacks  mcp.Caps // those that the refusal may mean
	Ref    correlate.Ref
}

// of reports whether a later call is the same one, and what it needs is what was lacking.
func (f Refusal) of(r *correlate.Request, need mcp.Caps) bool {
	return f.Party == r.Party && f.Method == r.Method && f.Tool == r.Tool && f.Lacks&need != 0
}

// saysUnsupported returns the capabilities that the client may lack by an error
// text: those that it names, all if it names none, 0 if it does not speak of that.
func saysUnsupported(text string) (lacks mcp.Caps) {
	t := strings.ToLower(text)
	says := func(word string) bool { return strings.Contains(t, word) }
	if !slices.ContainsFunc([]string{"not support", "unsupported", "n't support", "missing", "lacks", "not declare", "without", "require", "need"}, says) {
		return 0
	}
	if says("sampling") {
		lacks |= mcp.CapSampling | mcp.CapSamplingTools | mcp.CapSamplingContext | mcp.CapTaskSampling
	}
	if says("elicit") {
		lacks |= mcp.CapElicitationForm | mcp.CapElicitationURL | mcp.CapTaskElicitation
	}
	if says("roots") {
		lacks |= mcp.CapRoots
	}
	if lacks == 0 && says("capabilit") {
		return ^mcp.Caps(0)
	}
	return lacks
}

// refusedBefore reports whether a call that the victim has in flight was refused
// for lack of what the server asks for now, before the donor came.
func (f *Drift) refusedBefore(asked *correlate.Request, p, donor *correlate.Party) bool {
	for _, old := range f.Refusals {
		if correlate.Before(old.Ref.Time, donor.LiveFrom) != correlate.Certain {
			continue
		}
		for _, c := range p.Open {
			if c.Dir == event.ToServer && c.InFlight(asked.Sent.Time) != correlate.No && old.of(c, asked.Need) {
				return true
			}
		}
	}
	return false
}
