package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type workInput struct {
	Who string `json:"who"`
}

// healthyServer is the official SDK in its usual mode: sessions, one server for all.
func healthyServer(h *hall) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "healthy", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "work", Description: "reports progress and waits"},
		func(ctx context.Context, q *mcp.CallToolRequest, in workInput) (*mcp.CallToolResult, any, error) {
			err := q.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: q.Params.GetProgressToken(), Progress: 1, Message: "for " + in.Who})
			if err != nil {
				return nil, nil, err
			}
			if err := h.stay(ctx, in.Who); err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done for " + in.Who}}}, nil, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// driveHealthy has two clients with equal ids and tokens in flight at once; one
// cancels its call, and the other's must go on.
func driveHealthy(ctx context.Context, url string, h *hall) error {
	told := make(chan string, 16)
	a, err := connect(ctx, url, "alpha", func() { told <- "alpha" })
	if err != nil {
		return err
	}
	b, err := connect(ctx, url, "beta", func() { told <- "beta" })
	if err != nil {
		return err
	}
	results := make(chan error, 2)
	go func() { results <- call(ctx, a, "alpha") }()
	if err := errors.Join(h.wait(ctx, h.entered, "alpha"), h.wait(ctx, told, "alpha")); err != nil {
		return err
	}
	bctx, cancel := context.WithCancel(ctx)
	cancelled := make(chan error, 1)
	go func() { cancelled <- call(bctx, b, "beta") }()
	if err := errors.Join(h.wait(ctx, h.entered, "beta"), h.wait(ctx, told, "beta")); err != nil {
		cancel()
		return err
	}
	cancel()
	if err := h.wait(ctx, h.gone, "beta"); err != nil {
		return err
	}
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("beta cancelled its call and got %v", err)
	}
	close(h.leave)
	if err := <-results; err != nil {
		return fmt.Errorf("alpha's call: %w", err)
	}
	return errors.Join(a.Close(), b.Close())
}
