package logs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// memory is an input that stands in memory.
type memory []byte

func (m memory) Stream() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m)), nil }
func (m memory) Random() (source.RandomReader, int64, error) {
	return nil, 0, io.ErrUnexpectedEOF
}

// scan reads a whole log and returns one line of text for each event.
func scan(t testing.TB, log []byte, opt source.Options) ([]string, source.Stats) {
	t.Helper()
	in := &source.Input{Path: "x.log", Size: int64(len(log)), Opener: memory(log)}
	r, err := open([]*source.Input{in}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		e, err := r.Next()
		if err == io.EOF {
			return out, in.Stats
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, describe(e))
	}
}

// describe writes what an event says, without its excerpt.
func describe(e *event.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", e.At.N, e.Kind)
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=%s", name, value)
		}
	}
	session := func(s event.Session) string {
		switch s.State {
		case event.Absent:
			return "absent"
		case event.Present:
			if s.Kind != event.IDWire {
				return fmt.Sprintf("%s(kind %d)", s.ID, s.Kind)
			}
			return s.ID
		}
		return ""
	}
	if e.Time.From != 0 {
		add("t", time.Unix(0, e.Time.From).UTC().Format("15:04:05.999999999"))
	}
	if e.Time.Moment == event.MomentEnd {
		add("moment", "end")
	}
	add("server", e.Domain.Server)
	add("epoch", e.Domain.Epoch)
	add("asked", session(e.Asked))
	add("answered", session(e.Answered))
	add("origin", session(e.Origin))
	add("how", e.Resolution)
	if e.Dir != event.DirUnknown {
		add("dir", e.Dir.String())
	}
	if e.RPC.Kind != mcp.KindNone {
		add("kind", e.RPC.Kind.String())
	}
	add("method", e.RPC.Method)
	add("id", string(e.RPC.ID))
	add("token", string(e.RPC.Token))
	add("uri", e.RPC.URI)
	add("tool", e.RPC.Tool)
	add("cancels", string(e.RPC.CancelID))
	add("reason", e.RPC.Reason)
	if e.RPC.CapsKnown {
		add("caps", strings.ReplaceAll(e.RPC.Caps.String(), " ", ""))
	}
	add("client", e.RPC.ClientInfo)
	add("revision", e.Revision)
	if e.RPC.Era != mcp.EraUnknown {
		add("era", e.RPC.Era.String())
	}
	if e.Outcome != event.OutcomeUnknown {
		add("outcome", [...]string{"", "ok", "error", "cancelled", "dropped", "ended"}[e.Outcome])
	}
	add("http", e.HTTPMethod)
	if e.Status != 0 {
		add("status", fmt.Sprint(e.Status))
	}
	if e.Stream != event.StreamUnknown {
		add("stream", e.Stream.String())
	}
	if e.RPC.Progress != 0 {
		add("progress", fmt.Sprint(e.RPC.Progress))
	}
	if e.RPC.Code != 0 {
		add("code", fmt.Sprint(e.RPC.Code))
	}
	add("error", e.RPC.ErrorText)
	add("ua", e.Sender.UserAgent)
	add("note", e.Note)
	if e.Loss&event.LossIDType != 0 {
		add("loss", "id-type")
	}
	if e.Loss&event.LossTime != 0 {
		add("loss", "time")
	}
	return b.String()
}
