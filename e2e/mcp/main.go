// Command mcp is the traffic of e2e/logging: two MCP clients at once, a stray request
// without a session, and a small MCP server to stand behind a proxy.
//
//	go run ./e2e/mcp serve [-fallback] HOST:PORT
//	go run ./e2e/mcp clients [-stray refused|served] URL
//	go run ./e2e/mcp port
//	go run ./e2e/mcp wait HOST:PORT | URL
//
// serve -fallback makes the mistake that isodetect is to find: a request without a session
// id is served from the newest session. clients fails unless the server did with the stray
// request what -stray says, and unless streams arrived as they were sent.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("cannot run without a command: use serve, clients, port or wait")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fallback := fs.Bool("fallback", false, "serve a request without a session id from the newest session")
	stray := fs.String("stray", "refused", "what the server does with a call without a session id: refused or served")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "serve":
		return http.ListenAndServe(fs.Arg(0), newServer(*fallback))
	case "clients":
		return converse(fs.Arg(0), *stray)
	case "port":
		return printPort()
	case "wait":
		return wait(fs.Arg(0), 30*time.Second)
	}
	return fmt.Errorf("cannot run %q: use serve, clients, port or wait", args[0])
}

// printPort prints a port of the loopback that is free now.
func printPort() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot find a free port: %w", err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return l.Close()
}

// wait returns when somebody listens at an address, or when what stands behind a proxy
// answers at a URL.
func wait(at string, limit time.Duration) error {
	try := listens
	if strings.Contains(at, "://") {
		try = answers
	}
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		err := try(at)
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("nothing at %s after %v: %w", at, limit, err)
		}
	}
}

func listens(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// answers fails while a proxy has no route yet, or nothing behind it.
func answers(url string) error {
	c := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
