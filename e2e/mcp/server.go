package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// server is the least of an MCP server over HTTP: sessions, one tool that reports
// progress before it answers, and a stream for each session.
type server struct {
	fallback bool

	mu     sync.Mutex
	live   map[string]chan struct{} // closed when the session ends
	newest string
}

func newServer(fallback bool) *server {
	return &server{fallback: fallback, live: map[string]chan struct{}{}}
}

const sessionHeader = "Mcp-Session-Id"

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	if body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)); err != nil || r.Method == "POST" && json.Unmarshal(body, &m) != nil {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set(sessionHeader, s.open())
		answer(w, m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e2e","version":"1"}}`)
		return
	}
	// A proxy in Go (Traefik) cuts an answer that begins before it has seen the end of the
	// request; no real server is that fast.
	time.Sleep(20 * time.Millisecond)
	id, ended, status := s.find(r.Header.Get(sessionHeader))
	if status != 0 {
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set(sessionHeader, id)
	switch {
	case r.Method == "DELETE":
		s.close(id)
	case r.Method == "GET":
		stream(w)
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	case m.Method == "tools/list":
		answer(w, m.ID, `{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}`)
	case m.Method == "tools/call":
		stream(w)
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1}}\n\n", m.ID)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(toolTime)
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", m.ID)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// toolTime is how long the tool of every server in these checks takes after its progress.
const toolTime = 400 * time.Millisecond

func (s *server) open() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := rand.Text()
	s.live[id], s.newest = make(chan struct{}), id
	return id
}

func (s *server) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended, ok := s.live[id]; ok {
		close(ended)
		delete(s.live, id)
	}
}

// find returns the session of a request, or the status that refuses it.
func (s *server) find(id string) (string, chan struct{}, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		if !s.fallback || s.live[s.newest] == nil {
			return "", nil, http.StatusBadRequest
		}
		id = s.newest
	}
	ended, ok := s.live[id]
	if !ok {
		return "", nil, http.StatusNotFound
	}
	return id, ended, 0
}

func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_ = http.NewResponseController(w).Flush()
}
