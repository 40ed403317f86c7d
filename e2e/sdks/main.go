// Command sdks starts a real MCP server of a public Go SDK behind `isodetect record`,
// drives two real clients against it, and leaves the recording:
//
//	sdks go-sdk|mcp-go ISODETECT FILE
//
// go-sdk is a healthy server with sessions. mcp-go is one in stateless mode, where
// the cancel of one client meets the call of another that has the same request id.
// It is a module of its own so that the SDKs are no dependency of isodetect.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sdks go-sdk|mcp-go ISODETECT FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sdks:", err)
		os.Exit(1)
	}
}

func run(kind, bin, file string) error {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	meeting := newHall()
	var handler http.Handler
	var drive func(context.Context, string, *hall) error
	switch kind {
	case "go-sdk":
		handler, drive = healthyServer(meeting), driveHealthy
	case "mcp-go":
		handler, drive = statelessServer(meeting), driveStateless
	default:
		return fmt.Errorf("no server of kind %q", kind)
	}
	srv := httptest.NewServer(handler)
	defer srv.CloseClientConnections()
	rec, err := startRecorder(ctx, bin, srv.URL, file)
	if err != nil {
		return err
	}
	err = drive(ctx, rec.url, meeting)
	if err == nil && kind == "go-sdk" {
		err = compareTimes(ctx, srv.URL, rec.url)
	}
	return errors.Join(err, rec.end())
}

// hall is where the calls of a tool wait until the driver lets them go.
type hall struct {
	entered chan string // names of those who came in
	gone    chan string // and of those whose context ended while they waited
	leave   chan struct{}
}

func newHall() *hall {
	return &hall{entered: make(chan string, 16), gone: make(chan string, 16), leave: make(chan struct{})}
}

// stay waits as a tool does that works for a while.
func (h *hall) stay(ctx context.Context, who string) error {
	h.entered <- who
	select {
	case <-h.leave:
		return nil
	case <-ctx.Done():
		h.gone <- who
		return ctx.Err()
	}
}

func (h *hall) wait(ctx context.Context, c chan string, who string) error {
	select {
	case got := <-c:
		if got != who {
			return fmt.Errorf("%s came where %s was expected", got, who)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nothing was heard of %s: %w", who, ctx.Err())
	}
}

// connect starts a client that has connections of its own.
func connect(ctx context.Context, url, name string, progress func()) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress() },
	})
	t := &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: &bearer{token: "secret-of-" + name}}}
	s, err := c.Connect(ctx, t, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		return nil, fmt.Errorf("%s cannot connect: %w", name, err)
	}
	return s, nil
}

// bearer sends a credential: without sessions it is what tells two clients apart.
type bearer struct {
	http.Transport
	token string
}

func (b *bearer) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(q)
}

// call is tools/call with a progress token that every client uses.
func call(ctx context.Context, s *mcp.ClientSession, who string) error {
	p := &mcp.CallToolParams{Name: "work", Arguments: map[string]any{"who": who}}
	p.SetProgressToken("t-1")
	res, err := s.CallTool(ctx, p)
	switch {
	case err != nil:
		return err
	case res.IsError:
		return errors.New("the tool failed")
	}
	return nil
}

// compareTimes tells what the recorder adds to a call, and fails above 2 ms.
func compareTimes(ctx context.Context, direct, recorded string) error {
	var took [2][]time.Duration
	var sessions [2]*mcp.ClientSession
	for i, url := range []string{direct, recorded} {
		s, err := connect(ctx, url, "timing", func() {})
		if err != nil {
			return err
		}
		defer s.Close()
		sessions[i] = s
	}
	for range 300 { // in turns, so that what else the machine does hits both
		for i, s := range sessions {
			start := time.Now()
			if err := s.Ping(ctx, nil); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	added := took[1][150] - took[0][150]
	fmt.Printf("median of a ping: %v direct, %v recorded\n", took[0][150], took[1][150])
	if added > 2*time.Millisecond {
		return fmt.Errorf("the recorder adds %v to a call, over 2 ms", added)
	}
	return nil
}
