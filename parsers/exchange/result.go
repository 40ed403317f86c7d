package exchange

import (
	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// readResult fills what a result looks like. A shape that is impossible for the
// method of a request shows an answer that went astray.
func (b *Builder) readResult(e *event.Event, raw []byte) {
	r := &e.RPC
	if len(raw) == 0 || raw[0] != '{' {
		r.Shape = event.ShapeOther
		return
	}
	var f resultFields
	for o := mcp.MembersOf(raw); o.Next(); {
		f.member(o.Key, o.Value, o.Kind)
	}
	r.Shape = f.shape()
	r.IsError = f.isError
	if f.isError {
		r.ErrorText = contentText(f.content)
	}
	if f.revision != nil && r.Shape&event.ShapeInitialize != 0 {
		e.Revision = b.name(f.revision, jsonparser.String, 64)
		r.Era = mcp.EraLegacy
	}
	if f.inputs != nil {
		r.Caps, r.CapsKnown = inputCaps(f.inputs), true
	}
}

// resultFields is what the members of one result show.
type resultFields struct {
	bits     event.Shape
	members  int
	caps     bool
	role     bool
	isError  bool
	content  []byte
	revision []byte
	inputs   []byte
}

func (f *resultFields) member(key, value []byte, kind jsonparser.ValueType) {
	if string(key) == "_meta" {
		return
	}
	f.members++
	list, object := kind == jsonparser.Array, kind == jsonparser.Object
	set := func(ok bool, s event.Shape) {
		if ok {
			f.bits |= s
		}
	}
	switch string(key) {
	case "protocolVersion":
		if kind == jsonparser.String {
			f.revision = value
		}
	case "capabilities":
		f.caps = object
	case "tools":
		set(list, event.ShapeTools)
	case "resources", "resourceTemplates":
		set(list, event.ShapeResources)
	case "prompts":
		set(list, event.ShapePrompts)
	case "content":
		f.content = value
		set(list, event.ShapeContent)
		f.role = f.role || object
	case "contents":
		set(list, event.ShapeContents)
	case "messages":
		set(list, event.ShapeMessages)
	case "completion":
		set(object, event.ShapeCompletion)
	case "roots":
		set(list, event.ShapeRoots)
	case "role":
		f.role = true
	case "action":
		set(kind == jsonparser.String, event.ShapeElicited)
	case "task":
		set(object, event.ShapeTask)
	case "isError":
		f.isError = kind == jsonparser.Boolean && len(value) == 4
	case "inputRequests":
		if object {
			f.inputs = value
		}
	}
}

func (f *resultFields) shape() event.Shape {
	s := f.bits
	if f.revision != nil && f.caps {
		s |= event.ShapeInitialize
	}
	if f.role && f.content != nil {
		s = s&^event.ShapeContent | event.ShapeSampling
	}
	switch {
	case f.members == 0:
		return event.ShapeEmpty
	case s == 0:
		return event.ShapeOther
	}
	return s
}

// contentText joins the text blocks of a tool result.
func contentText(raw []byte) string {
	var text string
	if len(raw) == 0 || raw[0] != '[' {
		return ""
	}
	_, _ = jsonparser.ArrayEach(raw, func(block []byte, kind jsonparser.ValueType, _ int, err error) {
		if err != nil || kind != jsonparser.Object || len(text) >= maxError {
			return
		}
		value, kind, _, err := jsonparser.Get(block, "text")
		if err != nil || kind != jsonparser.String {
			return
		}
		if text != "" {
			text += "\n"
		}
		text += short(value, kind, maxError)
	})
	return mcp.Cut(text, maxError)
}

// inputCaps returns what a client must have declared for the requests that an
// input_required result holds (2026-07-28 basic/patterns/mrtr).
func inputCaps(raw []byte) mcp.Caps {
	var need mcp.Caps
	_ = jsonparser.ObjectEach(raw, func(_, value []byte, kind jsonparser.ValueType, _ int) error {
		if kind != jsonparser.Object {
			return nil
		}
		method, err := jsonparser.GetString(value, "method")
		if err != nil {
			return nil
		}
		params, _, _, _ := jsonparser.Get(value, "params")
		if c, ok := mcp.NeededCaps(method, params); ok {
			need |= c
		}
		return nil
	})
	return need
}
