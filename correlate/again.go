package correlate

import (
	"cmp"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Loggers tell of one message in several lines: of what is sent and of why, of what came
// and of what is done about it. Two lines of one log are about one message where they name
// the same session, direction, method and id, token or URI, follow one another within a
// moment, and are not of one form: a logger that says the same twice means two messages.

// Telling is a message that lines of a log told of a moment ago.
type Telling struct {
	Party  *Party
	View   int32
	At     int64 // event time of the first line, ns
	Forms  [4]uint32
	Dir    event.Dir
	Kind   telling
	Method string
	ID     string // folded; of a cancel that of the cancelled request
	Token  string
	URI    string
	Value  float64 // of progress
	Valued bool
}

// telling is what kind of message a line is about.
type telling uint8

const (
	tellsNothing telling = iota
	tellsRequest
	tellsNotification
	tellsAnswer
	tellsCancelled // that a request was cancelled, not the cancel
)

const (
	moment      = int64(10e6) // ns between the lines about one message
	maxTellings = 64
)

// toldBefore reports whether a line tells of a message that another line of its log told
// of just before, and remembers it otherwise. Of several that may be meant it is the first.
func (d *Domain) toldBefore(m *Moment) bool {
	now := tellingOf(m)
	if now.Kind == tellsNothing {
		return false
	}
	old := 0
	for old < len(d.Tellings) && now.At-d.Tellings[old].At > moment {
		old++
	}
	d.Tellings = slices.Delete(d.Tellings, 0, old)
	for i := range d.Tellings {
		if t := &d.Tellings[i]; t.may(&now) {
			t.Forms[slices.Index(t.Forms[:], 0)] = now.Forms[0]
			t.ID, t.Method = cmp.Or(t.ID, now.ID), cmp.Or(t.Method, now.Method)
			if !t.Valued {
				t.Value, t.Valued = now.Value, now.Valued
			}
			return true
		}
	}
	if len(d.Tellings) == maxTellings {
		d.Tellings = slices.Delete(d.Tellings, 0, 1)
	}
	d.Tellings = append(d.Tellings, now)
	return false
}

// may reports whether a later line may be about the same message.
func (t *Telling) may(o *Telling) bool {
	alike := func(a, b string) bool { return a == b || a == "" || b == "" }
	return t.Party == o.Party && t.View == o.View && t.Dir == o.Dir && t.Kind == o.Kind &&
		alike(t.Method, o.Method) && alike(t.ID, o.ID) && t.Token == o.Token && t.URI == o.URI &&
		(t.Value == o.Value || !t.Valued || !o.Valued) &&
		max(o.At-t.At, t.At-o.At) <= moment && t.Forms[len(t.Forms)-1] == 0 && !slices.Contains(t.Forms[:], o.Forms[0])
}

// tellingOf is what a line of a log tells about a message of a session.
func tellingOf(m *Moment) (t Telling) {
	ev, rpc := m.Event, &m.Event.RPC
	if !m.Party.IsSession() {
		return t
	}
	t = Telling{Party: m.Party, View: ev.View, At: ev.Time.To, Forms: [4]uint32{ev.Form}, Dir: ev.Dir, Method: rpc.Method, ID: rpc.ID.Fold()}
	switch {
	case ev.Kind == event.CancelledBy:
		t.Kind, t.Method, t.Dir = tellsCancelled, "", event.ToServer
		if rpc.CancelID != "" {
			t.ID = rpc.CancelID.Fold()
		}
	case ev.Kind == event.RequestDone && rpc.ID != "":
		t.Kind, t.Dir = tellsAnswer, event.ToClient
	case ev.Kind != event.Message && ev.Kind != event.Routed:
	case rpc.Kind == mcp.KindRequest && rpc.Method != "":
		t.Kind, t.URI = tellsRequest, ""
	case (rpc.Kind == mcp.KindResult || rpc.Kind == mcp.KindError) && rpc.ID != "":
		t.Kind = tellsAnswer
	case rpc.Kind == mcp.KindNotification && (rpc.URI != "" || rpc.Token != "" || rpc.CancelID != ""):
		t.Kind, t.Token, t.URI = tellsNotification, rpc.Token.Fold(), rpc.URI
		t.ID, t.Value, t.Valued = rpc.CancelID.Fold(), rpc.Progress, rpc.HasProgress
	}
	return t
}
