package rules

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// shapeOf returns which result shapes fit a method (schemas 2024-11-05 to
// 2025-11-25, "…Result"). 0 = any: the method is not known here.
func shapeOf(method string) event.Shape {
	switch method {
	case mcp.Initialize:
		return event.ShapeInitialize
	case mcp.ToolsList:
		return event.ShapeTools
	case mcp.ResourcesList, mcp.ResourcesTempl:
		return event.ShapeResources
	case mcp.PromptsList:
		return event.ShapePrompts
	case mcp.ToolsCall:
		return event.ShapeContent | event.ShapeTask
	case mcp.ResourcesRead:
		return event.ShapeContents
	case mcp.PromptsGet:
		return event.ShapeMessages
	case mcp.Complete:
		return event.ShapeCompletion
	case mcp.Ping, mcp.Subscribe, mcp.Unsubscribe, mcp.SetLevel:
		return event.ShapeEmpty
	}
	return 0
}

// impossible reports whether a result of this shape cannot answer the method.
// Only shapes that the protocol gives to another method count: servers add
// members to their results, and some answer with empty or vendor objects.
func impossible(method string, s event.Shape) bool {
	fit := shapeOf(method)
	if fit == 0 || s&fit != 0 {
		return false
	}
	return s&^(event.ShapeEmpty|event.ShapeOther) != 0
}

// fits reports whether a result of this shape is the right one for the method
// and for no looser reason.
func fits(method string, s event.Shape) bool {
	return s&shapeOf(method)&^event.ShapeEmpty != 0
}

// lists reports whether a method asks what there is: the answer names everything, so
// that a name in it is nobody's content.
func lists(method string) bool {
	switch method {
	case mcp.ToolsList, mcp.ResourcesList, mcp.ResourcesTempl, mcp.PromptsList:
		return true
	}
	return false
}

// apt reports whether a result of this shape answers the method that got it and cannot
// answer the other one: then its form says whose it is, where no content of the other says more.
func apt(got, other string, s event.Shape) bool { return fits(got, s) && impossible(other, s) }
