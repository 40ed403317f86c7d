package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// statelessServer is mcp-go without sessions: calls in flight are found by the
// request id alone, which two clients share.
func statelessServer(h *hall) http.Handler {
	s := server.NewMCPServer("stateless", "1")
	s.AddTool(mcp.NewTool("work", mcp.WithString("who")), func(ctx context.Context, q mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who := q.GetString("who", "")
		if err := h.stay(ctx, who); err != nil {
			return mcp.NewToolResultError("cancelled: " + err.Error()), nil
		}
		return mcp.NewToolResultText("done for " + who), nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true))
}

// driveStateless has beta and then alpha call with the same request id; beta
// cancels its call, and alpha's ends.
func driveStateless(ctx context.Context, url string, h *hall) error {
	a, err := connectMCPGo(ctx, url, "alpha")
	if err != nil {
		return err
	}
	b, err := connectMCPGo(ctx, url, "beta")
	if err != nil {
		return err
	}
	results := map[string]chan error{"beta": make(chan error, 1), "alpha": make(chan error, 1)}
	for _, c := range []struct {
		who string
		*client.Client
	}{{"beta", b}, {"alpha", a}} {
		go func() {
			q := mcp.CallToolRequest{}
			q.Params.Name, q.Params.Arguments = "work", map[string]any{"who": c.who}
			res, err := c.CallTool(ctx, q)
			if err == nil && res.IsError {
				err = errors.New("the tool failed")
			}
			results[c.who] <- err
		}()
		if err := h.wait(ctx, h.entered, c.who); err != nil {
			return err
		}
	}
	cancel := mcp.JSONRPCNotification{JSONRPC: "2.0", Notification: mcp.Notification{
		Method: "notifications/cancelled",
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": secondID, "reason": "beta is done with it"}},
	}}
	if err := b.GetTransport().SendNotification(ctx, cancel); err != nil {
		return err
	}
	if err := h.wait(ctx, h.gone, "alpha"); err != nil {
		return err
	}
	if err := <-results["alpha"]; err == nil {
		return errors.New("alpha's call was cancelled and still succeeded")
	}
	close(h.leave)
	return <-results["beta"]
}

// secondID is the id of a client's call: mcp-go counts from 1, which initialize has.
const secondID = 2

func connectMCPGo(ctx context.Context, url, name string) (*client.Client, error) {
	c, err := client.NewStreamableHttpClient(url+"/mcp", transport.WithHTTPBasicClient(&http.Client{Transport: &bearer{token: "secret-of-" + name}}))
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	q := mcp.InitializeRequest{}
	q.Params.ProtocolVersion = "2025-06-18"
	q.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	if _, err := c.Initialize(ctx, q); err != nil {
		return nil, fmt.Errorf("%s cannot connect: %w", name, err)
	}
	return c, nil
}
