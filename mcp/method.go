package mcp

import "strings"

// Methods that isodetect has to know by name. Every other method is carried as
// it is and never judged by its name.
const (
	Initialize       = "initialize"
	Initialized      = "notifications/initialized"
	Discover         = "server/discover"
	Ping             = "ping"
	ToolsList        = "tools/list"
	ToolsCall        = "tools/call"
	ResourcesList    = "resources/list"
	ResourcesTempl   = "resources/templates/list"
	ResourcesRead    = "resources/read"
	Subscribe        = "resources/subscribe"
	Unsubscribe      = "resources/unsubscribe"
	PromptsList      = "prompts/list"
	PromptsGet       = "prompts/get"
	Complete         = "completion/complete"
	SetLevel         = "logging/setLevel"
	Listen           = "subscriptions/listen"
	Sampling         = "sampling/createMessage"
	Elicitation      = "elicitation/create"
	RootsList        = "roots/list"
	Cancelled        = "notifications/cancelled"
	Progress         = "notifications/progress"
	LogMessage       = "notifications/message"
	ResourceUpdated  = "notifications/resources/updated"
	RootsListChanged = "notifications/roots/list_changed"
)

// SessionBound reports whether a request of this method needs a session on a
// server that issues session ids (DETECTION §3, fallback_resolution: tools,
// resources, prompts, completion, logging).
func SessionBound(method string) bool {
	switch method {
	case ToolsList, ToolsCall, ResourcesList, ResourcesTempl, ResourcesRead, Subscribe, Unsubscribe,
		PromptsList, PromptsGet, Complete, SetLevel:
		return true
	}
	return false
}

// NeedsNoSession reports whether a request of this method is served before or
// without a session by correct servers.
func NeedsNoSession(method string) bool {
	return method == Initialize || method == Ping || method == Discover
}

// Known reports whether a method is one of MCP, of whatever revision. Methods of
// vendors are none.
func Known(method string) bool {
	switch method {
	case Initialize, Discover, Ping, Listen, Sampling, Elicitation, RootsList:
		return true
	}
	return SessionBound(method) || strings.HasPrefix(method, "notifications/") || strings.HasPrefix(method, "tasks/")
}
