// Package exchangetest gives tests of formats an input that lies in memory and
// events as lines of text.
package exchangetest

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// Bytes is an input in memory.
type Bytes []byte

// Stream returns the bytes from the beginning.
func (b Bytes) Stream() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }

// Random returns the bytes for reading in any order.
func (b Bytes) Random() (source.RandomReader, int64, error) {
	return random{bytes.NewReader(b)}, int64(len(b)), nil
}

type random struct{ *bytes.Reader }

func (random) Close() error { return nil }

// Input returns an input with index 0 that holds b.
func Input(b []byte) *source.Input {
	return &source.Input{Path: "test", Size: int64(len(b)), Opener: Bytes(b)}
}

// Read reads an input to its end and returns its events as lines.
func Read(f source.Format, in *source.Input) (lines []string, err error) {
	r, err := f.Open([]*source.Input{in}, source.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, Line(e))
	}
}

// Line writes what an event says, leaving out what is not known.
func Line(e *event.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s x%d %s", moment(e.Time), e.Kind, e.Exchange.N, at(e.At))
	put := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&s, " %s=%q", key, value)
		}
	}
	raw := func(key string, value any, zero any) {
		if value != zero {
			fmt.Fprintf(&s, " %s=%v", key, value)
		}
	}
	put("domain", e.Domain.Server+e.Domain.Path)
	put("asked", session(e.Asked))
	put("answered", session(e.Answered))
	put("principal", e.Sender.Principal)
	put("conn", e.Sender.Conn)
	put("peer", e.Sender.Peer)
	put("cookie", e.Sender.Cookie)
	put("agent", e.Sender.UserAgent)
	raw("stream", e.Stream, event.StreamUnknown)
	raw("dir", e.Dir, event.DirUnknown)
	raw("loss", e.Loss, event.Loss(0))
	put("http", e.HTTPMethod)
	raw("status", e.Status, 0)
	put("revision", e.Revision)
	put("resume", e.Resume)
	put("event", e.EventID)
	if e.Kind == event.Closed {
		fmt.Fprintf(&s, " by=%s bytes=%d", e.By, e.Bytes)
	}
	put("note", e.Note)
	rpc(&s, put, raw, &e.RPC)
	put("excerpt", e.Excerpt)
	return s.String()
}

func rpc(s *strings.Builder, put func(string, string), raw func(string, any, any), r *event.RPC) {
	raw("era", r.Era.String(), "unknown")
	raw("rpc", r.Kind.String(), "none")
	put("id", string(r.ID))
	put("method", r.Method)
	put("tool", r.Tool)
	put("uri", r.URI)
	put("token", string(r.Token))
	put("cancel", string(r.CancelID))
	put("reason", r.Reason)
	put("trace", r.Trace)
	put("listen", string(r.Listen))
	if r.CapsKnown {
		fmt.Fprintf(s, " caps=%q", r.Caps.String())
	}
	put("client", r.ClientInfo)
	raw("progress", r.Progress, 0.0)
	if r.HasTotal {
		fmt.Fprintf(s, " total=%v", r.Total)
	}
	put("says", r.ProgressMsg)
	raw("code", r.Code, 0)
	raw("isError", r.IsError, false)
	put("error", r.ErrorText)
	raw("shape", fmt.Sprintf("%#x", uint16(r.Shape)), "0x0")
	raw("batch", r.Batch, false)
	if r.BodyHash != 0 {
		fmt.Fprintf(s, " hash=%x", r.BodyHash)
	}
	for _, a := range r.Args {
		fmt.Fprintf(s, " arg=%x:%x:%d", a.Key, a.Run[0], a.Class)
	}
	if len(r.Marks) > 0 {
		h := uint64(0)
		for _, m := range r.Marks {
			h = h*31 + m
		}
		fmt.Fprintf(s, " marks=%d:%x", len(r.Marks), h)
	}
	raw("cut", r.MarksCut, false)
}

func session(s event.Session) string {
	switch s.State {
	case event.Absent:
		return "-"
	case event.Present:
		return s.ID
	}
	return ""
}

func at(a event.Address) string { return fmt.Sprintf("%s %d@%d", a.Unit, a.N, a.Offset) }

func moment(t event.Time) string {
	f := func(ns int64) string { return time.Unix(0, ns).UTC().Format("15:04:05.000000") }
	if t.From == t.To {
		return f(t.From)
	}
	return f(t.From) + "…" + f(t.To)
}
