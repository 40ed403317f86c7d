package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// client is one MCP client with connections of its own.
type client struct {
	http    http.Client
	url     string
	name    string
	session string
}

func newClient(url, name string) *client {
	return &client{url: url, name: name, http: http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
}

// post sends one message and returns the status, and when the first event and the end of
// the answer came.
func (c *client) post(ctx context.Context, body string) (status int, text string, first, end time.Time, err error) {
	resp, err := c.do(ctx, "POST", body)
	if err != nil {
		return 0, "", first, end, err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get(sessionHeader); id != "" && strings.Contains(body, `"initialize"`) {
		c.session = id
	}
	var all strings.Builder
	lines := bufio.NewReader(io.LimitReader(resp.Body, 1<<20))
	for {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if strings.HasPrefix(line, "data: {") && first.IsZero() {
			first = time.Now()
		}
		if err == io.EOF {
			return resp.StatusCode, all.String(), first, time.Now(), nil
		}
		if err != nil {
			return resp.StatusCode, all.String(), first, time.Now(), err
		}
	}
}

func (c *client) do(ctx context.Context, method, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", c.name+"/1")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		req.Header.Set(sessionHeader, c.session)
	}
	if !strings.Contains(body, `"initialize"`) {
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	return c.http.Do(req)
}

// ask sends a message that must be accepted.
func (c *client) ask(body string) error {
	status, text, _, _, err := c.post(context.Background(), body)
	if err == nil && status >= 300 {
		err = fmt.Errorf("status %d: %.300s", status, text)
	}
	if err != nil {
		return fmt.Errorf("%s cannot send %s: %w", c.name, body, err)
	}
	return nil
}

func (c *client) begin(caps string) error {
	err := c.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps +
		`,"clientInfo":{"name":"` + c.name + `","version":"1"}}}`)
	if err == nil && c.session == "" {
		err = fmt.Errorf("%s was given no session id", c.name)
	}
	if err != nil {
		return err
	}
	return c.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

const callBody = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"progressToken":3}}}`

// call calls the tool and fails unless its progress came well before its answer: what
// stands between client and server must not hold streams back.
func (c *client) call() error {
	status, text, first, end, err := c.post(context.Background(), callBody)
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot call: %w", c.name, err)
	case status != 200 || !strings.Contains(text, `"result"`):
		return fmt.Errorf("%s cannot call: status %d: %.300s", c.name, status, text)
	case !strings.Contains(text, "notifications/progress") || end.Sub(first) < toolTime/4:
		return fmt.Errorf("the stream of %s was held back: its first event came %v before its end: %.300s", c.name, end.Sub(first), text)
	}
	return nil
}

// listen holds the stream of the session open until stop is called.
func (c *client) listen() (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := c.do(ctx, "GET", "")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("%s cannot listen: %w", c.name, err)
	}
	return func() { cancel(); resp.Body.Close() }, nil
}

// converse is the traffic: two sessions that overlap, equal ids in both, a call without
// a session in between, and the end of both.
func converse(url, stray string) error {
	a, b := newClient(url, "e2e-a"), newClient(url, "e2e-b")
	if err := errors.Join(a.begin(`{"roots":{"listChanged":true}}`), b.begin(`{"sampling":{}}`)); err != nil {
		return err
	}
	stop, err := a.listen()
	if err != nil {
		return err
	}
	defer stop()
	for _, step := range []func(*client) error{
		func(c *client) error { return c.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`) },
		(*client).call,
	} {
		if err := both(step, a, b); err != nil {
			return err
		}
	}
	if err := strayCall(url, stray); err != nil {
		return err
	}
	stop()
	for _, c := range []*client{a, b} {
		resp, err := c.do(context.Background(), "DELETE", "")
		if err != nil {
			return fmt.Errorf("%s cannot end its session: %w", c.name, err)
		}
		resp.Body.Close()
		if resp.StatusCode >= 300 {
			return fmt.Errorf("%s cannot end its session: status %d", c.name, resp.StatusCode)
		}
	}
	return nil
}

func both(step func(*client) error, a, b *client) error {
	var wg sync.WaitGroup
	var errs [2]error
	for i, c := range []*client{a, b} {
		wg.Go(func() { errs[i] = step(c) })
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// strayCall calls without a session id, and holds the server to what it is said to do.
func strayCall(url, want string) error {
	status, text, _, _, err := newClient(url, "e2e-stray").post(context.Background(), strings.Replace(callBody, `"id":3`, `"id":9`, 1))
	if err != nil {
		return fmt.Errorf("cannot send a call without a session: %w", err)
	}
	got := "refused"
	if status == 200 && strings.Contains(text, `"result"`) {
		got = "served"
	}
	if got != want {
		return fmt.Errorf("a call without a session was %s, want %s: status %d: %.300s", got, want, status, text)
	}
	return nil
}
