package exchange

// AppendField adds a header field if its name is one that some reader looks at.
// Heads repeat the same few values over and over, so their texts are shared and
// most heads cost no memory of their own. name and value are not kept.
func (b *Builder) AppendField(h []Header, name, value []byte) []Header {
	if !Telling(name) {
		return h
	}
	return append(h, Header{Name: b.names.bytes(name), Value: b.names.bytes(value)})
}

// Shared returns text as a string that equal texts share.
func (b *Builder) Shared(text []byte) string { return b.names.bytes(text) }

// Telling reports whether a header field of this name says anything about the
// protocol, its sender or the framing of a body. A field that a parser or this
// package begins to look at must be named here, or it is never seen.
func Telling(name []byte) bool {
	switch len(name) {
	case len("accept"):
		return fold(view(name), "accept") || fold(view(name), "cookie")
	case len("upgrade"):
		return fold(view(name), "upgrade")
	case len("x-api-key"):
		return fold(view(name), "x-api-key") || mcpName(name)
	case len("user-agent"):
		return fold(view(name), "user-agent") || mcpName(name)
	case len("content-type"):
		return fold(view(name), "content-type") || mcpName(name)
	case len("authorization"):
		return fold(view(name), "authorization") || fold(view(name), "last-event-id") || mcpName(name)
	case len("content-length"):
		return fold(view(name), "content-length") || mcpName(name)
	case len("content-encoding"):
		return fold(view(name), "content-encoding") || mcpName(name)
	case len("transfer-encoding"):
		return fold(view(name), "transfer-encoding") || mcpName(name)
	}
	return mcpName(name)
}

// mcpName reports whether a name begins with "mcp-".
func mcpName(name []byte) bool {
	return len(name) > 4 && name[3] == '-' && fold(view(name[:4]), "mcp-")
}
