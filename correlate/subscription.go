package correlate

import (
	"net/url"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// subscribe notes a resources/subscribe or unsubscribe request.
func (d *Domain) subscribe(r *Request, ev *event.Event) {
	p := r.Party
	if p == nil || r.Method != mcp.Subscribe {
		return
	}
	if len(p.Subs) >= maxSubs {
		oldest := p.Subs[0].URI
		p.Subs = append(p.Subs[:0], p.Subs[1:]...)
		if p.Subscriber != 0 {
			d.Covering.remove(p, oldest)
		}
		p.Lose(event.ToServer, ev.Time.To)
		d.Evicted++
	}
	d.addSub(p, Subscription{URI: NewURI(r.URI), Ref: refOf(ev), Request: r.Seq})
}

func (d *Domain) addSub(p *Party, s Subscription) {
	if len(p.Subs) == 0 && p.IsSession() {
		if len(d.Subscribers) >= 64 && len(d.Subscribers) >= 2*d.LiveCount && d.Intervals == 0 {
			d.Subscribers = slices.DeleteFunc(d.Subscribers, d.unsubscribe)
		}
		d.SubsMade++
		p.Subscriber = d.SubsMade
		d.Subscribers = append(d.Subscribers, p)
	}
	p.Subs = append(p.Subs, s)
	if p.Subscriber != 0 {
		d.Covering.add(p, s.URI)
	}
}

// unsubscribe takes a session that is past out of the index of subscriptions, and
// reports whether it was. What it subscribed to is forgotten where no stream is open
// on which an update could still reach it, and that is a hole.
func (d *Domain) unsubscribe(p *Party) bool {
	if !d.past(p) {
		return false
	}
	d.Covering.clear(p)
	p.Subscriber = 0
	if d.left(p) {
		p.Subs = nil
		p.Lose(event.ToServer, d.Now.To)
	}
	return true
}

const maxSubs = 64

// subscribed takes the answer to a subscribe or unsubscribe.
func (d *Domain) subscribed(r *Request, t event.Time) {
	p := r.Party
	if p == nil {
		return
	}
	switch r.Method {
	case mcp.Subscribe:
		for i := range p.Subs {
			if p.Subs[i].Request == r.Seq {
				p.Subs[i].Accepted = r.Answer == mcp.KindResult
				p.Subs[i].Refused = r.Answer == mcp.KindError
			}
		}
	case mcp.Unsubscribe:
		if r.Answer != mcp.KindResult {
			return
		}
		gone := NormalURI(r.URI)
		for i := range p.Subs {
			if p.Subs[i].Ended == (event.Time{}) && p.Subs[i].URI.Normal == gone {
				p.Subs[i].Ended = t
			}
		}
	}
}

// URI is a resource URI with the form in which it is compared.
type URI struct{ Text, Normal string }

// NewURI returns a URI ready to be compared.
func NewURI(text string) URI {
	normal := NormalURI(text)
	if normal == text {
		normal = text // one string, not two
	}
	return URI{text, normal}
}

// Covers says whether a subscription to s covers an update of u: equal after
// normalising, u below s at a `/` boundary (sub-resources are allowed by the
// schema comment of ResourceUpdatedNotification, all revisions), or s a template that matches u.
func (s URI) Covers(u URI) bool {
	nu, ns := u.Normal, s.Normal
	if nu == ns {
		return true
	}
	if strings.HasPrefix(nu, ns) && (strings.HasSuffix(ns, "/") || nu[len(ns)] == '/' || nu[len(ns)] == '?' || nu[len(ns)] == '#') {
		return true
	}
	return strings.Contains(s.Text, "{") && matchTemplate(s.Text, u.Text)
}

// NormalURI lowers scheme and host, decodes unreserved escapes, unifies
// file:/x and file:///x, and drops a trailing slash.
func NormalURI(s string) string {
	s = strings.TrimSpace(s)
	i := strings.IndexByte(s, ':')
	if i <= 0 {
		return strings.TrimSuffix(unescapePath(s), "/")
	}
	scheme, rest := strings.ToLower(s[:i]), s[i+1:]
	if scheme == "file" {
		rest = "///" + strings.TrimLeft(strings.TrimPrefix(rest, "//localhost"), "/")
	}
	if strings.HasPrefix(rest, "//") {
		host := rest[2:]
		path := ""
		if j := strings.IndexAny(host, "/?#"); j >= 0 {
			host, path = host[:j], host[j:]
		}
		rest = "//" + strings.ToLower(host) + path
	}
	return strings.TrimSuffix(scheme+":"+unescapePath(rest), "/")
}

func unescapePath(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// matchTemplate matches u against an RFC 6570 template, each expression
// standing for any text without `/` ({+x} and {/x*} for any text). It takes time
// of the product of their lengths at most: both are the wire's.
func matchTemplate(tmpl, u string) bool {
	if strings.Count(tmpl, "{") > maxExpressions { // nobody's template: what cannot be told is taken to match
		return strings.HasPrefix(u, tmpl[:strings.IndexByte(tmpl, '{')])
	}
	ends := make([]bool, len(u)+1) // where in u the template may end that was matched so far
	ends[0] = true
	for {
		open := strings.IndexByte(tmpl, '{')
		if open < 0 {
			return len(tmpl) <= len(u) && ends[len(u)-len(tmpl)] && strings.HasSuffix(u, tmpl)
		}
		passLiteral(ends, u, tmpl[:open])
		tmpl = tmpl[open:]
		end := strings.IndexByte(tmpl, '}')
		if end < 0 {
			return false
		}
		passExpression(ends, u, strings.ContainsAny(tmpl[1:end], "+/*#?&"))
		tmpl = tmpl[end+1:]
	}
}

const maxExpressions = 8

func passLiteral(ends []bool, u, text string) {
	for n := len(u); n >= 0; n-- {
		from := n - len(text)
		ends[n] = from >= 0 && ends[from] && u[from:n] == text
	}
}

func passExpression(ends []bool, u string, wide bool) {
	for n := 1; n <= len(u); n++ {
		ends[n] = ends[n] || ends[n-1] && (wide || u[n-1] != '/')
	}
}
