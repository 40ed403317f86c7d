// Command gosdk is an MCP server of go-sdk under net/http, with the emitter of docs/emitters,
// which make e2e copies into events/ before it builds this.
//
//	gosdk PORT [fallback]
//
// fallback makes the mistake: a request without a session id gets the newest session's. go-sdk
// names the session in the answer to initialize only, so the lookup tells the emitter what it did.
package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/isodetect/isodetect/e2e/servers/gosdk/events"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "wait", Description: "reports progress, then answers"}, tool)
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if len(os.Args) > 2 && os.Args[2] == "fallback" {
		handler = &newest{next: handler}
	}
	http.Handle("/mcp", events.Handler(os.Stdout, handler))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func tool(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
	time.Sleep(400 * time.Millisecond)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, err
}

// newest hands a request without a session id to the session that came last.
type newest struct {
	next http.Handler
	mu   sync.Mutex
	id   string
}

func (n *newest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	asked := r.Header.Get("Mcp-Session-Id")
	if asked == "" && !bytes.Contains(body, []byte(`"initialize"`)) {
		n.mu.Lock()
		asked = n.id
		n.mu.Unlock()
		r.Header.Set("Mcp-Session-Id", asked)
		events.Resolved(r.Context(), asked, "fallback")
	}
	n.next.ServeHTTP(w, r)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" && asked == "" {
		n.mu.Lock()
		n.id = id
		n.mu.Unlock()
	}
}
