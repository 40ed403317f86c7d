package parsers

import (
	"cmp"
	"strconv"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// Joins says which domains of several recordings are one server (--join), and by how
// much their clocks differ. A nil one joins nothing.
type Joins struct {
	to      map[placed]event.Domain // what a domain of a recording is called
	targets map[event.Domain]bool   // the domains that several recordings show
	clocks  map[string]int64        // by recording: how far ahead its clock is, ns
	notes   map[string][]string     // by input, or log of several: what was joined with it and what was not, and why
}

// ahead is how far the clock of a recording is ahead of that of the one by whose clock
// its events are put in order.
func (j *Joins) ahead(recording string) int64 {
	if j == nil {
		return 0
	}
	return j.clocks[recording]
}

// tell writes into the inputs of a recording what was decided about it.
func (j *Joins) tell(inputs []*source.Input) {
	if j == nil {
		return
	}
	for i, in := range inputs {
		path := cmp.Or(in.Log, in.Path)
		if i > 0 && path == cmp.Or(inputs[i-1].Log, inputs[i-1].Path) {
			continue // another file of one log
		}
		for _, n := range j.notes[path] {
			in.Stats.Note(n)
		}
	}
}

// place puts an event into the domain that its own was joined to.
func (j *Joins) place(h *track, e *event.Event) {
	if j == nil {
		return
	}
	if to, ok := j.to[placed{h.Inputs[0].Path, e.Domain}]; ok {
		e.Domain = to
	}
	if j.targets[e.Domain] {
		e.Link = link(e)
	}
}

// mark puts an event on the common clock and says whether other recordings show its domain.
func (j *Joins) mark(h *head, e *event.Event) {
	if j == nil {
		return
	}
	e.Joined = j.targets[e.Domain]
	if h.ahead != 0 && e.Time.To != 0 {
		e.Time.From -= h.ahead
		e.Time.To -= h.ahead
	}
}

// link is how a recording that is joined with others calls the happening that an event
// tells of: as they do. 0 = nothing that they could tell, too.
func link(e *event.Event) uint64 {
	if what := bare(e); what != "" {
		h := hash(0).of(what, event.Domain{}, event.Session{}).text(e.RPC.ID.Fold())
		if what == "bare" {
			h = h.text(e.RPC.Method)
		}
		return h.sum()&^event.LinkOnce | event.LinkTimed
	}
	key := named(e) &^ (event.LinkTimed | event.LinkOnce)
	switch {
	case key == 0:
	case e.Dir == event.ToClient && e.RPC.Kind == mcp.KindNotification:
		key |= event.LinkTimed
	case e.RPC.ID == "" && e.RPC.CancelID == "" || e.RPC.Method == mcp.Initialize && e.Kind == event.RequestDone:
		key |= event.LinkOnce
	}
	return key
}

// bare says what an event tells of a request that names no session, "" of another one.
func bare(e *event.Event) string {
	rpc := &e.RPC
	switch {
	case rpc.ID == "" || e.Asked.State != event.Absent || rpc.Method == mcp.Initialize:
	case e.Kind == event.SessionResolved, e.Kind == event.Message && e.Dir == event.ToServer && rpc.Kind == mcp.KindRequest:
		return "bare"
	case e.Kind == event.Message && e.Dir == event.ToClient && e.Answered.State != event.Present && (rpc.Kind == mcp.KindResult || rpc.Kind == mcp.KindError):
		return "bare answer"
	}
	return ""
}

// named is link for what names a session.
func named(e *event.Event) uint64 {
	if key, _ := shared(e, event.Domain{}); key != 0 {
		return key
	}
	h, who := hash(14695981039346656037), e.Asked
	if who.State != event.Present {
		who = e.Answered
	}
	rpc := &e.RPC
	switch {
	case e.Kind == event.Endpoint && e.Answered.State == event.Present:
		return h.of("made", event.Domain{}, e.Answered).sum()
	case e.Kind == event.CancelledBy && rpc.ID != "" && e.Asked.State == event.Present, e.Kind == event.Message && rpc.CancelID != "":
		id, what := rpc.CancelID, "cancel"
		if id == "" {
			id = rpc.ID
		}
		if e.Dir == event.ToClient {
			what = "cancel of the server"
		}
		return h.of(what, event.Domain{}, who).text(id.Fold()).sum()
	case e.Kind == event.CancelledBy && rpc.ID != "" && e.Answered.State == event.Present: // says nothing of who asked for it
		return h.of("cancelled", event.Domain{}, e.Answered).text(rpc.ID.Fold()).sum()
	case e.Kind == event.Routed && e.Answered.State == event.Present:
		who = e.Answered
		return h.delivered(who, rpc)
	case e.Kind != event.Message:
		return 0
	case e.Dir == event.ToClient && who.State == event.Present:
		return h.delivered(who, rpc)
	}
	return 0
}

// delivered is a message that a session got. Progress that does not say how far it is may
// be any of its token.
func (h hash) delivered(who event.Session, rpc *event.RPC) uint64 {
	switch {
	case rpc.Kind == mcp.KindRequest && rpc.ID != "":
		return h.of("reverse", event.Domain{}, who).text(rpc.ID.Fold()).text(rpc.Method).sum()
	case rpc.Kind == mcp.KindNotification && rpc.Method == mcp.Progress && rpc.Token != "" && rpc.HasProgress:
		value := strconv.FormatFloat(rpc.Progress, 'g', -1, 64)
		return h.of("progress", event.Domain{}, who).text(rpc.Token.Fold()).text(value).sum()
	case rpc.Kind == mcp.KindNotification && rpc.Method == mcp.ResourceUpdated && rpc.URI != "":
		return h.of("update", event.Domain{}, who).text(rpc.URI).sum()
	case (rpc.Kind == mcp.KindResult || rpc.Kind == mcp.KindError) && rpc.ID != "":
		return h.of("answered", event.Domain{}, who).text(rpc.ID.Fold()).sum()
	}
	return 0
}
