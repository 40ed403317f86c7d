package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// link is the way to the server of one client connection. Every client has
// connections of its own there, as it would without a recorder: a server that
// confuses clients by their connection must not be made to by the recorder, nor kept from it.
type link struct{ *http.Transport }

func newLink() *link {
	return &link{&http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // else bodies would be decoded and heads changed
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}}
}

type linkKey struct{}

// transport sends a request over the link of its client's connection.
type transport struct{ r *Recorder }

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) {
	if l, ok := q.Context().Value(linkKey{}).(*link); ok {
		return l.RoundTrip(q)
	}
	return t.r.link.RoundTrip(q)
}

// Serve passes on and records what comes in on ln until ctx is done or the recording
// cannot be written any more, which is its error. When it is stopped it takes no new
// connections, gives open exchanges a moment to end, and then closes the recording before
// it breaks the rest off: they were open when the recording ended.
func (r *Recorder) Serve(ctx context.Context, ln net.Listener) error {
	var links links
	srv := &http.Server{
		Handler:                      r,
		ConnContext:                  links.open,
		ConnState:                    links.state,
		ErrorLog:                     log.New(io.Discard, "", 0), // broken connections stand in the recording
		ReadHeaderTimeout:            time.Minute,
		DisableGeneralOptionsHandler: true,
		Protocols:                    new(http.Protocols),
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	var err error
	select {
	case <-ctx.Done():
	case <-r.j.failed:
	case err = <-served:
		err = fmt.Errorf("cannot accept connections: %w", err)
	}
	grace, stop := context.WithTimeout(context.Background(), r.opt.Grace)
	defer stop()
	_ = srv.Shutdown(grace) // what is still open is cut below
	r.j.end()
	if e := srv.Close(); err == nil && e != nil && !errors.Is(e, net.ErrClosed) {
		err = e
	}
	if e := r.j.failure(); e != nil {
		err = fmt.Errorf("cannot write the recording: %w", e)
	}
	return err
}

// links holds the link of every client connection that is open.
type links struct{ of sync.Map }

func (l *links) open(ctx context.Context, c net.Conn) context.Context {
	way := newLink()
	l.of.Store(c, way)
	return context.WithValue(ctx, linkKey{}, way)
}

func (l *links) state(c net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	if way, ok := l.of.LoadAndDelete(c); ok {
		way.(*link).CloseIdleConnections()
	}
}
