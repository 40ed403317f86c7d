// Package record is a reverse proxy that writes down the HTTP exchanges which pass
// through it as wire JSONL (docs/wire.md). It changes nothing of them, holds nothing
// back, and puts hashes in the place of credentials.
package record

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options says what is recorded and how.
type Options struct {
	Upstream    *url.URL // of the server: scheme, host and perhaps a path in front of every path
	Out         io.Writer
	Creator     string        // program and version for the first line
	Reveal      bool          // store credentials as they are
	KeepHost    bool          // pass the client's Host header on, whatever it is
	BehindProxy bool          // the clients' addresses are those of a proxy: leave them out
	MaxBody     int           // bytes of a body or event that are recorded; 0 = 40 MiB, which fit into one line
	Unreached   func(error)   // is told of each exchange for which the server could not be reached, perhaps of several at once; nil = nobody is
	Grace       time.Duration // how long Serve waits for open exchanges when it is stopped; 0 = 1 s
}

const maxBody = 40 << 20

// Recorder is the proxy as an http.Handler.
type Recorder struct {
	opt   Options
	j     *journal
	hide  hasher
	proxy httputil.ReverseProxy
	link  *link // for requests of a server that was not set up by Serve
	n     atomic.Int64
	lost  atomic.Int64
}

// New returns a Recorder and writes the first line of the recording.
func New(opt Options) (*Recorder, error) {
	if opt.Out == nil {
		return nil, errNoOutput
	}
	if err := CheckUpstream(opt.Upstream); err != nil {
		return nil, err
	}
	if opt.MaxBody <= 0 || opt.MaxBody > maxBody {
		opt.MaxBody = maxBody
	}
	if opt.Grace <= 0 {
		opt.Grace = time.Second
	}
	j, err := newJournal(opt.Out, opt.Creator)
	if err != nil {
		return nil, fmt.Errorf("cannot write the recording: %w", err)
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	r := &Recorder{opt: opt, j: j, hide: hasher{key: key, reveal: opt.Reveal}, link: newLink()}
	r.proxy = httputil.ReverseProxy{
		Rewrite:        r.rewrite,
		Transport:      transport{r},
		FlushInterval:  -1,
		ModifyResponse: modify,
		ErrorHandler:   r.refuse,
		ErrorLog:       log.New(io.Discard, "", 0), // broken exchanges stand in the recording
	}
	return r, nil
}

// CheckUpstream says why a URL cannot be Options.Upstream, nil if it can.
func CheckUpstream(u *url.URL) error {
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the upstream must be an absolute URL such as http://127.0.0.1:8080")
	case u.User != nil:
		return errors.New("the upstream must not hold a credential: let the client send it")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the upstream must be a URL without a query or fragment")
	}
	return nil
}

// Exchanges returns how many exchanges have begun.
func (r *Recorder) Exchanges() int64 { return r.n.Load() }

// Unreached returns for how many of them the server could not be reached.
func (r *Recorder) Unreached() int64 { return r.lost.Load() }

type liveKey struct{}

// ServeHTTP passes one exchange on and records it.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	l := &live{r: r, ctx: in.Context(), x: strconv.FormatInt(r.n.Add(1), 10)}
	l.body.limit = r.opt.MaxBody
	ctx := httptrace.WithClientTrace(context.WithValue(in.Context(), liveKey{}, l), &httptrace.ClientTrace{
		WroteHeaders: func() {
			l.mu.Lock()
			l.sent = true
			l.mu.Unlock()
		},
	})
	l.in = in.WithContext(ctx)
	l.url = r.hide.url(r.target(in).String())
	if in.ContentLength == 0 || in.Body == nil || in.Body == http.NoBody {
		l.ask(true)
	} else {
		l.in.Body = &sending{ReadCloser: in.Body, l: l, left: in.ContentLength}
	}
	// A server may answer while it is still reading. HTTP/2 always lets it.
	_ = http.NewResponseController(w).EnableFullDuplex()
	r.proxy.ServeHTTP(&plainWriter{ResponseWriter: w}, l.in)
}

// target returns the URL of a request at the server.
func (r *Recorder) target(in *http.Request) *url.URL {
	p := httputil.ProxyRequest{In: in, Out: &http.Request{URL: &url.URL{Path: in.URL.Path, RawPath: in.URL.RawPath}}}
	p.SetURL(r.opt.Upstream)
	p.Out.URL.RawQuery, p.Out.URL.ForceQuery = in.URL.RawQuery, in.URL.ForceQuery
	return p.Out.URL
}

// rewrite directs a request to the server and restores what httputil.ReverseProxy
// takes away from it.
func (r *Recorder) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL = r.target(p.In)
	p.Out.Host = p.In.Host
	if !r.opt.KeepHost && r.ownHost(p.In.Host) {
		p.Out.Host = ""
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
	if l, ok := p.In.Context().Value(liveKey{}).(*live); ok && len(p.In.Trailer) > 0 {
		l.mu.Lock()
		l.out = p.Out
		l.mu.Unlock()
	}
}

// ownHost reports whether a Host header is to be that of the server. The one kind
// that is not: a name, sent on its way to a server on this machine. A page that had its
// name resolve to 127.0.0.1 must be refused by the server as it would be without a recorder.
func (r *Recorder) ownHost(host string) bool {
	if !Loopback(r.opt.Upstream.Hostname()) {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || strings.EqualFold(name, "localhost")
}

// Loopback reports whether a host is this machine by its address or as localhost.
func Loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}

func modify(res *http.Response) error {
	if l, ok := res.Request.Context().Value(liveKey{}).(*live); ok {
		l.answered(res)
	}
	return nil
}

// refuse ends an exchange without an answer as the server has ended it: by breaking
// off. Only a server that could not be reached at all is told about in words.
func (r *Recorder) refuse(w http.ResponseWriter, in *http.Request, err error) {
	l, ok := in.Context().Value(liveKey{}).(*live)
	if ok && l.fail(err) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusBadGateway)
	fmt.Fprintf(w, "isodetect record cannot reach %s: %s\n", r.opt.Upstream.Redacted(), err)
}

// plainWriter keeps net/http from adding fields that the server did not send.
type plainWriter struct{ http.ResponseWriter }

func (w *plainWriter) WriteHeader(code int) {
	if code >= 200 {
		for _, name := range []string{"Date", "Content-Type"} {
			if _, ok := w.Header()[name]; !ok {
				w.Header()[name] = nil
			}
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush.
func (w *plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	}
	return strings.TrimSpace(media)
}

// codings returns the content-encodings of a head in one list, "" if there is none.
func codings(h http.Header) string {
	all := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ","))
	if strings.Trim(strings.ReplaceAll(all, "identity", ""), ", ") == "" {
		return ""
	}
	return all
}
