package mcp

import (
	"strings"

	"github.com/buger/jsonparser"
)

// Caps is the set of client capabilities that decide which server requests may
// reach a client (lifecycle "Capability Negotiation", 2024-11-05 to 2025-11-25).
type Caps uint16

const (
	CapSampling Caps = 1 << iota
	CapSamplingTools
	CapSamplingContext
	CapElicitationForm
	CapElicitationURL
	CapRoots
	CapTaskSampling
	CapTaskElicitation
)

var capNames = []struct {
	bit  Caps
	name string
}{
	{CapSampling, "sampling"}, {CapSamplingTools, "sampling.tools"}, {CapSamplingContext, "sampling.context"},
	{CapElicitationForm, "elicitation.form"}, {CapElicitationURL, "elicitation.url"}, {CapRoots, "roots"},
	{CapTaskSampling, "tasks.requests.sampling.createMessage"}, {CapTaskElicitation, "tasks.requests.elicitation.create"},
}

// Has reports whether every capability of need is in the set.
func (c Caps) Has(need Caps) bool { return c&need == need }

func (c Caps) String() string {
	var names []string
	for _, n := range capNames {
		if c&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// ParseCaps reads the `capabilities` object of an initialize request. An
// elicitation object without modes means the form mode (2025-11-25
// client/elicitation, "Capabilities").
func ParseCaps(raw []byte) Caps {
	var c Caps
	_ = jsonparser.ObjectEach(raw, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		if kind == jsonparser.Null {
			return nil
		}
		switch string(key) {
		case "sampling":
			c |= CapSampling
			c |= sub(value, "tools", CapSamplingTools) | sub(value, "context", CapSamplingContext)
		case "elicitation":
			modes := sub(value, "form", CapElicitationForm) | sub(value, "url", CapElicitationURL)
			if modes == 0 {
				modes = CapElicitationForm
			}
			c |= modes
		case "roots":
			c |= CapRoots
		case "tasks":
			c |= sub(value, "sampling", CapTaskSampling, "requests") | sub(value, "elicitation", CapTaskElicitation, "requests")
		}
		return nil
	})
	return c
}

func sub(raw []byte, key string, bit Caps, path ...string) Caps {
	_, kind, _, err := jsonparser.Get(raw, append(path, key)...)
	if err != nil || kind == jsonparser.NotExist || kind == jsonparser.Null {
		return 0
	}
	return bit
}

// CapsOfNames reads capabilities that a log names, such as "sampling",
// "elicitation.form" or "roots.listChanged". A bare "elicitation" is the form mode.
func CapsOfNames(names []string) Caps {
	var c Caps
	for _, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		switch {
		case n == "elicitation":
			c |= CapElicitationForm
		case strings.HasPrefix(n, "roots"):
			c |= CapRoots
		default:
			for _, k := range capNames {
				if n == strings.ToLower(k.name) {
					c |= k.bit
				}
			}
			if strings.HasPrefix(n, "sampling.") {
				c |= CapSampling
			}
		}
	}
	return c
}

// NeededCaps returns what a client must have declared before a server may send
// it this request (2025-11-25 client/sampling, client/elicitation, client/roots,
// basic/utilities/tasks). ok is false for methods that need nothing.
func NeededCaps(method string, params []byte) (need Caps, ok bool) {
	has := func(path ...string) bool {
		_, kind, _, err := jsonparser.Get(params, path...)
		return err == nil && kind != jsonparser.NotExist && kind != jsonparser.Null
	}
	switch method {
	case Sampling:
		need = CapSampling
		if has("tools") || has("toolChoice") {
			need |= CapSamplingTools
		}
		if has("task") {
			need |= CapTaskSampling
		}
	case Elicitation:
		need = CapElicitationForm
		if mode, err := jsonparser.GetString(params, "mode"); err == nil && mode == "url" {
			need = CapElicitationURL
		}
		if has("task") {
			need |= CapTaskElicitation
		}
	case RootsList:
		need = CapRoots
	default:
		return 0, false
	}
	return need, true
}
