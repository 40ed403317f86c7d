package logs

import (
	"bytes"
	"strings"
)

// template is a fixed text of an SDK, by which a message begins whatever logger
// wrote the line: the same text stands in plain lines, on rich consoles and under
// "message" of a JSON line.
type template struct {
	begins string
	read   func(p *parser, rest []byte) verdict // rest is what stands behind begins; nil = it says nothing about a session in a way that counts
	holds  string                               // what must stand behind it as well
	pairs  bool                                 // key=value pairs may follow; else all of it is the message
}

// fits reports whether a message is written by this template.
func (t *template) fits(msg []byte) bool {
	return bytes.HasPrefix(msg, []byte(t.begins)) && (t.holds == "" || bytes.Contains(msg[:min(len(msg), 512)], []byte(t.holds)))
}

// templateOf returns the template of a message, or nil.
func templateOf(msg []byte) *template {
	if len(msg) == 0 {
		return nil
	}
	of := templates[msg[0]]
	for i := range of {
		if of[i].fits(msg) {
			return &of[i]
		}
	}
	return nil
}

// templates holds the texts by their first byte. It is read only.
var templates = func() (by [256][]template) {
	for _, family := range [...][]template{pythonTemplates, consoleTemplates, dotnetTemplates, javaTemplates, tracingTemplates} {
		for _, t := range family {
			by[t.begins[0]] = append(by[t.begins[0]], t)
		}
	}
	return by
}()

var dotnetTemplates = []template{
	{begins: "Server (", read: dotnetMessage},
	{begins: "Sending server-to-client JSON-RPC request '", read: dotnetOverGET},
}

// template reads a message whose text is known. silent means that there is
// nothing more in the line.
func (p *parser) template() verdict {
	p.clientFile()
	p.loggedAccess()
	if id := p.forms.told.python.refused; id != "" {
		p.forms.told.python.refused = ""
		p.pythonRefused(id)
	}
	switch t := templateOf(p.msg); {
	case t == nil:
		return unclaimed
	case t.read == nil:
		return silent
	default:
		return t.read(p, p.msg[len(t.begins):])
	}
}

// firstWord returns the text up to the first blank, without punctuation behind it.
func firstWord(b []byte) []byte {
	if k := bytes.IndexByte(b, ' '); k >= 0 {
		b = b[:k]
	}
	return bytes.TrimRight(b, ".,:;")
}

// methodOfType is the method of a message class as the Python and Rust SDKs name
// them (FORMATS 1.3), and whether it is a notification; "" for other words.
func methodOfType(class []byte) (method string, notification bool) {
	if m, ok := typeMethods[string(class)]; ok {
		return m, strings.HasPrefix(m, "notifications/")
	}
	return "", false
}

var typeMethods = map[string]string{
	"InitializeRequest": "initialize", "PingRequest": "ping", "ListToolsRequest": "tools/list", "CallToolRequest": "tools/call",
	"ListResourcesRequest": "resources/list", "ListResourceTemplatesRequest": "resources/templates/list", "ReadResourceRequest": "resources/read",
	"SubscribeRequest": "resources/subscribe", "UnsubscribeRequest": "resources/unsubscribe", "ListPromptsRequest": "prompts/list",
	"GetPromptRequest": "prompts/get", "SetLevelRequest": "logging/setLevel", "CompleteRequest": "completion/complete",
	"GetTaskRequest": "tasks/get", "GetTaskPayloadRequest": "tasks/result", "ListTasksRequest": "tasks/list", "CancelTaskRequest": "tasks/cancel",
	"CreateMessageRequest": "sampling/createMessage", "ListRootsRequest": "roots/list", "ElicitRequest": "elicitation/create",
	"InitializedNotification": "notifications/initialized", "CancelledNotification": "notifications/cancelled",
	"ProgressNotification": "notifications/progress", "RootsListChangedNotification": "notifications/roots/list_changed",
	"ResourceUpdatedNotification": "notifications/resources/updated", "LoggingMessageNotification": "notifications/message",
	"ToolListChangedNotification": "notifications/tools/list_changed", "PromptListChangedNotification": "notifications/prompts/list_changed",
	"ResourceListChangedNotification": "notifications/resources/list_changed",
}
