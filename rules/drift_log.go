package rules

import (
	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/signals"
)

// What logs say about server requests.

// asked judges a log line that names the session to which a server request went.
// It is never above probable: the line shows neither the parameters of the
// request nor what else its receiver had in flight.
func (f *Drift) asked(m *correlate.Moment, out *Sink) {
	ev, p, d := m.Event, m.Party, m.Domain
	if f.Told == ev.At && ev.At.N > 0 { // the line tells more: which set was looked at
		return
	}
	if !ev.RPC.CapsKnown || ev.RPC.Caps == 0 || ev.RPC.Era == mcp.EraModern || !p.IsSession() {
		return
	}
	r := &correlate.Request{Dir: event.ToClient, ID: ev.RPC.ID, Method: ev.RPC.Method, Need: ev.RPC.Caps, Party: p,
		Sent: refOf(ev)}
	switch {
	case r.Method == mcp.RootsList && (len(p.Ready) == 0 || f.expected(r, p)):
	case !p.Born || !p.CapsKnown || p.Rekeyed || p.CapsDiffer:
		if len(without(d.Live(ev.Time, 2), p)) > 0 {
			out.Unassessable(signals.CapabilityDrift, "a session that got a server request declared its capabilities out of view")
		}
	default:
		if m.Again {
			f.identify(p, r, out)
			return
		}
		told := *m
		told.Request = r
		if inFamily(p.Caps, r.Need) {
			f.declared(&told, out)
		} else {
			f.undeclared(&told, out)
		}
	}
}

// identify takes a further line about a request that was reported by one which did not name
// its id: this line can be found in other recordings.
func (f *Drift) identify(p *correlate.Party, r *correlate.Request, out *Sink) {
	u := f.Unnamed
	if u.Finding == nil || u.Victim != p.ID || u.Finding.Method != r.Method || r.ID == "" {
		return
	}
	f.Unnamed = Unnamed{}
	u.Finding.RequestIDs = union(u.Finding.RequestIDs, ids(r))
	for i := range u.Finding.Evidence {
		if e := &u.Finding.Evidence[i]; e.At == u.At {
			e.At, e.Time, e.Excerpt, e.Link = r.Sent.At, r.Sent.Time, r.Sent.Excerpt, r.Sent.Link
		}
	}
	if out.Links != nil {
		out.Links.Pin(u.Finding)
	}
}

// inFamily reports whether a set holds what a request needs in any mode: a line
// does not say which mode of elicitation it was.
func inFamily(c, need mcp.Caps) bool {
	if elicitation := mcp.CapElicitationForm | mcp.CapElicitationURL; need&elicitation != 0 {
		return c&elicitation != 0
	}
	return c.Has(need)
}
