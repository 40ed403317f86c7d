package pattern

import "strings"

// Kind is what a line means.
type Kind uint8

const (
	Ignored Kind = iota
	SessionCreated
	SessionResolved
	SessionRejected
	SessionClosed
	Request
	Notification
	Response
	Finished
	CancelReceived
	Cancelled
	ServerRequest
	Progress
	Updated
	Delivered
	Subscribed
	Unsubscribed
	CapabilitiesConsulted
	ProcessStarted
	Stateless
	Stdio
)

// Event is a kind by the name that a file gives it, with its fields.
type Event struct {
	Name string
	Kind Kind
	Must []string
	May  []string
}

// Field is a part of an event.
type Field struct {
	Name string
	Word bool     // one word: a value with white space in it is none, and the line another one
	Of   []string // the only values that a constant may have; nil = any
}

// everywhere are fields of every event.
var everywhere = []string{"time", "instance"}

// Events lists what a line may mean, in the order of docs/patterns.md.
var Events = []Event{
	{"session_created", SessionCreated, []string{"session"}, []string{"capabilities", "client", "client_version", "protocol"}},
	{"session_resolved", SessionResolved, []string{"session", "source"}, []string{"presented", "method", "id", "tool", "remote"}},
	{"session_rejected", SessionRejected, nil, []string{"presented", "method", "id", "status"}},
	{"session_closed", SessionClosed, []string{"session"}, nil},
	{"request", Request, []string{"session", "method"}, []string{"id", "presented", "tool", "token", "uri", "remote", "protocol"}},
	{"notification", Notification, []string{"session", "method"}, []string{"presented"}},
	{"response", Response, []string{"session", "id"}, []string{"method", "error", "code"}},
	{"finished", Finished, []string{"session"}, []string{"id", "presented", "method", "tool", "uri", "outcome", "status", "error", "code"}},
	{"cancel_received", CancelReceived, []string{"session", "id"}, []string{"reason"}},
	{"cancelled", Cancelled, []string{"session", "id"}, []string{"by", "tool", "reason"}},
	{"server_request", ServerRequest, []string{"session", "method"}, []string{"id", "stream"}},
	{"progress", Progress, []string{"session", "token"}, []string{"origin", "progress", "total", "detail", "stream"}},
	{"updated", Updated, []string{"session", "uri"}, []string{"origin", "stream"}},
	{"delivered", Delivered, []string{"session", "method"}, []string{"origin", "id", "token", "uri", "stream"}},
	{"subscribed", Subscribed, []string{"session", "uri"}, []string{"id"}},
	{"unsubscribed", Unsubscribed, []string{"session", "uri"}, []string{"id"}},
	{"capabilities_consulted", CapabilitiesConsulted, []string{"session", "capabilities"}, []string{"method"}},
	{"process_started", ProcessStarted, nil, nil},
	{"stateless", Stateless, nil, nil},
	{"stdio", Stdio, nil, nil},
	{"ignored", Ignored, nil, nil},
}

// Fields lists the fields of all events.
var Fields = []Field{
	{Name: "session", Word: true},
	{Name: "presented", Word: true},
	{Name: "origin", Word: true},
	{Name: "by", Word: true},
	{Name: "source", Word: true, Of: []string{"header", "query", "path", "initialize", "fallback", "connection", "token", "cookie", "restore", "stateless", "none"}},
	{Name: "method", Word: true},
	{Name: "id", Word: true},
	{Name: "token", Word: true},
	{Name: "uri", Word: true},
	{Name: "tool", Word: true},
	{Name: "capabilities"},
	{Name: "client"},
	{Name: "client_version"},
	{Name: "protocol", Word: true},
	{Name: "remote", Word: true},
	{Name: "reason"},
	{Name: "outcome", Word: true, Of: []string{"ok", "error", "cancelled", "dropped"}},
	{Name: "status", Word: true},
	{Name: "error"},
	{Name: "code", Word: true},
	{Name: "progress", Word: true},
	{Name: "total", Word: true},
	{Name: "detail"},
	{Name: "stream", Word: true, Of: []string{"post", "get", "sse"}},
	{Name: "time"},
	{Name: "instance", Word: true},
}

func eventOf(name string) *Event {
	for i := range Events {
		if Events[i].Name == name {
			return &Events[i]
		}
	}
	return nil
}

func fieldOf(name string) *Field {
	for i := range Fields {
		if Fields[i].Name == name {
			return &Fields[i]
		}
	}
	return nil
}

// all lists the fields of an event, those that it must have first.
func (e *Event) all() []string {
	return append(append(append([]string{}, e.Must...), e.May...), everywhere...)
}

func eventNames() string {
	names := make([]string, len(Events))
	for i := range Events {
		names[i] = Events[i].Name
	}
	return strings.Join(names, ", ")
}
