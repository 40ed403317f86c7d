package exchange

import "bytes"

// field says which header field a name is, of those that some reader looks at.
type field uint8

const (
	fieldOther field = iota // nothing reads it
	fieldAccept
	fieldAuthorization
	fieldContentEncoding
	fieldContentLength
	fieldContentType
	fieldCookie
	fieldHost
	fieldKey // X-Api-Key
	fieldLastEvent
	fieldRevision // MCP-Protocol-Version
	fieldSession  // Mcp-Session-Id
	fieldTransfer
	fieldUpgrade
	fieldUserAgent
	fieldMCP // Mcp- and something else
)

// fieldOf tells which field a name is. A field that a parser or this package begins
// to look at must be named here, or it is never seen.
func fieldOf(name []byte) field {
	is := func(lower string, f field) field {
		if fold(view(name), lower) {
			return f
		}
		return fieldOther
	}
	got := fieldOther
	switch len(name) {
	case len("host"):
		got = is("host", fieldHost)
	case len("accept"):
		if got = is("accept", fieldAccept); got == fieldOther {
			got = is("cookie", fieldCookie)
		}
	case len("upgrade"):
		got = is("upgrade", fieldUpgrade)
	case len("x-api-key"):
		got = is("x-api-key", fieldKey)
	case len("user-agent"):
		got = is("user-agent", fieldUserAgent)
	case len("content-type"):
		got = is("content-type", fieldContentType)
	case len("authorization"):
		if got = is("authorization", fieldAuthorization); got == fieldOther {
			got = is("last-event-id", fieldLastEvent)
		}
	case len("content-length"):
		if got = is("content-length", fieldContentLength); got == fieldOther {
			got = is("mcp-session-id", fieldSession)
		}
	case len("content-encoding"):
		got = is("content-encoding", fieldContentEncoding)
	case len("transfer-encoding"):
		got = is("transfer-encoding", fieldTransfer)
	case len("mcp-protocol-version"):
		got = is("mcp-protocol-version", fieldRevision)
	}
	if got == fieldOther && len(name) > 4 && name[3] == '-' && fold(view(name[:4]), "mcp-") {
		return fieldMCP
	}
	return got
}

// field tells which field it is.
func (h *Header) field() field {
	if h.known == fieldOther {
		h.known = fieldOf([]byte(h.Name))
	}
	return h.known
}

// Telling reports whether a header field of this name says anything about the
// protocol, its sender or the framing of a body.
func Telling(name []byte) bool { return fieldOf(name) != fieldOther }

// AppendField adds a header field if its name is one that some reader looks at.
// Heads repeat the same few values over and over, so their texts are shared and
// most heads cost no memory of their own. name and value are not kept.
func (b *Builder) AppendField(h []Header, name, value []byte) []Header {
	f := fieldOf(name)
	if f == fieldOther {
		return h
	}
	return append(h, Header{Name: b.names.bytes(name), Value: b.names.bytes(value), known: f})
}

// headLine is a line of a head that was read before.
type headLine struct {
	text  []byte
	field Header
}

// AppendLine adds the field of one line of a head, "name: value", as AppendField
// does. Most lines are the same in every head of a client, and are known again by their text.
func (b *Builder) AppendLine(h []Header, line []byte) []Header {
	if len(line) == 0 {
		return h
	}
	known := &b.lines[place(view(line))]
	if string(known.text) == string(line) {
		return append(h, known.field)
	}
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return h
	}
	n := len(h)
	h = b.AppendField(h, bytes.TrimSpace(line[:colon]), bytes.TrimSpace(line[colon+1:]))
	if len(h) > n && len(line) <= maxName {
		known.text, known.field = append(known.text[:0], line...), h[n]
	}
	return h
}

// Shared returns text as a string that equal texts share.
func (b *Builder) Shared(text []byte) string { return b.names.bytes(text) }
