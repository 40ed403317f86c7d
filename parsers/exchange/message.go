package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// document is where and when a JSON body or the data of an SSE event was seen.
type document struct {
	time    event.Time
	at      event.Address
	dir     event.Dir
	eventID string
	strict  bool // it is meant to be JSON: broken text is a problem
}

// maxBatch bounds the members of one batch.
const maxBatch = 1 << 14

// document queues the messages of one JSON text.
func (x *Exchange) document(raw []byte, d document) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, bom))
	if len(raw) == 0 {
		return
	}
	if problem := check(raw); problem != "" {
		if d.strict {
			x.b.stats.Flaw(d.at, problem+": its messages are not seen")
			x.loss |= lossOf(d.dir)
		}
		return
	}
	n := 0
	_, err := mcp.Each(raw, func(member []byte) {
		if n++; n <= maxBatch && !x.b.full() {
			x.message(member, raw[0] == '[', d)
		}
	})
	if err == nil && n > maxBatch {
		x.b.stats.Flaw(d.at, fmt.Sprintf("batch of %d messages: those after the first %d are skipped", n, maxBatch))
		x.loss |= lossOf(d.dir)
	}
}

func lossOf(d event.Dir) event.Loss {
	if d == event.ToServer {
		return event.LossRequestBody
	}
	return event.LossResponseBody
}

// check says why a text must not be looked into, "" if it may.
func check(raw []byte) string {
	switch {
	case raw[0] != '{' && raw[0] != '[':
		return "body is no JSON object or array"
	case len(raw) > source.MaxRecord:
		return "message over 64 MiB"
	}
	switch ok, deep := Valid(raw); {
	case deep:
		return fmt.Sprintf("message nested deeper than %d", mcp.MaxDepth)
	case !ok:
		return "body is no valid JSON"
	}
	return ""
}

// message queues one JSON-RPC message.
func (x *Exchange) message(raw []byte, batch bool, d document) {
	e := x.push(event.Message, d.time, d.at)
	e.Dir, e.EventID = d.dir, d.eventID
	if err := x.b.ReadMessage(e, raw); err != nil {
		x.b.drop()
		if !errors.Is(err, mcp.ErrNotRPC) {
			x.b.stats.Flaw(d.at, err.Error())
		}
		return
	}
	m := &x.b.msg
	if m.Duplicate != "" {
		x.b.stats.Flaw(d.at, fmt.Sprintf("key %q stands twice in a message: the last one counts", m.Duplicate))
	}
	if m.BadID {
		x.b.stats.Flaw(d.at, "the id of a message is no string, number or null")
		e.Loss |= event.LossIDType
	}
	e.RPC.Batch = batch
	x.settleEra(e)
	e.Excerpt = excerpt(raw)
	x.b.held += int64(8*len(e.RPC.Marks) + 24*len(e.RPC.Args))
}

// settleEra decides the era of one message by its own evidence, else by the head
// of its exchange. Answers and stream messages have the era of their request
// (DETECTION §1, era).
func (x *Exchange) settleEra(e *event.Event) {
	own := e.RPC.Era
	switch {
	case own != mcp.EraUnknown:
	case mcp.RevisionEra(x.revision) != mcp.EraUnknown:
		own = mcp.RevisionEra(x.revision)
	case x.asked.State == event.Present || x.answered.State == event.Present:
		own = mcp.EraLegacy
	default:
		own = x.era
	}
	e.RPC.Era = own
	if e.Revision == "" {
		e.Revision = x.revision
	}
	if e.Dir == event.ToServer && own != mcp.EraUnknown && (x.era == mcp.EraUnknown || e.RPC.Kind == mcp.KindRequest) {
		x.era = own
	}
	if e.Dir == event.ToClient && x.era != mcp.EraUnknown {
		e.RPC.Era = x.era
	}
}

// excerpt copies the beginning of a message.
func excerpt(raw []byte) string {
	n := len(raw)
	if n > event.MaxExcerpt {
		for n = event.MaxExcerpt; n > event.MaxExcerpt-4 && raw[n]&0xC0 == 0x80; n-- {
		}
	}
	if utf8.Valid(raw[:n]) { // many times faster than to repair what needs none
		return string(raw[:n])
	}
	return mcp.Cut(strings.ToValidUTF8(string(raw[:n]), "\uFFFD"), event.MaxExcerpt)
}
