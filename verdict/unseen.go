package verdict

import (
	"fmt"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
)

// unseen is traffic of a domain that was there and that the recording does not show:
// whole connections and whole streams. What such a one carried may be what a signal
// shows in, so that nothing is said about what did not occur.
type unseen struct {
	conns   []string // connections to its server whose content is closed to us, by kind
	streams int      // GETs without an answer
	sse     int      // the same at paths of its server that take nothing else: of HTTP+SSE all answers come there
	split   string   // path of requests whose answers stand in another domain, "" = none
}

// unannounced counts by server the GETs without an answer at paths that take nothing else.
func unannounced(e *rules.Engine) map[string]int {
	n := map[string]int{}
	for _, s := range e.Sinks {
		if d := s.Domain; d.StreamsUnseen > 0 && d.Requests == 0 {
			n[d.Key.Server] += d.StreamsUnseen
		}
	}
	return n
}

func unseenOf(e *rules.Engine, c *correlate.Domain, sse map[string]int) unseen {
	u := unseen{split: c.Split, streams: c.StreamsUnseen}
	for _, n := range e.State.Closed(c) {
		u.conns = append(u.conns, fmt.Sprintf("%s (%s)", plural(n.N, "connection"), n.What))
	}
	if u.streams == 0 && !c.Inline {
		u.sse = sse[c.Key.Server]
	}
	return u
}

// parties reports whether it may be whole parties that are unseen.
func (u unseen) parties() bool { return len(u.conns) > 0 || u.sse > 0 || u.split != "" }

// from says why a signal is not assessable, "" if nothing that is unseen stands against it.
func (u unseen) from(sig *signals.Signal) string {
	switch {
	case len(u.conns) > 0:
		return u.text() + ": the occasion may have been there"
	case u.split != "":
		return u.text()
	case u.streams > 0 && sig.Requires&signals.Streams != 0, u.sse > 0:
		return u.text() + ", so what the server sent there is not known"
	}
	return ""
}

// text names what is unseen, "" if nothing is.
func (u unseen) text() string {
	switch n := u.streams + u.sse; {
	case len(u.conns) > 0:
		return strings.Join(u.conns, " and ") + " to this server could not be read"
	case u.split != "":
		return "requests to " + u.split + " stand before the HTTP+SSE stream that announces it, so that they are not known to belong to what it answers"
	case n == 1:
		return "1 GET stream has no answer in the recording"
	case n > 1:
		return fmt.Sprintf("%d GET streams have no answer in the recording", n)
	}
	return ""
}

// recipes names what would show it.
func (u unseen) recipes() (out []string) {
	if what := strings.Join(u.conns, " "); strings.Contains(what, "TLS") {
		out = append(out, "give the secrets of every connection to the server (--tls-keylog FILE, written from the start of the program on), or record behind TLS")
	} else if what != "" {
		out = append(out, "record clients that use HTTP/1.1 or HTTP/2: what QUIC and WebSocket carry is not read")
	}
	if u.split != "" {
		out = append(out, "start the recording before the clients connect; instead of an export of tshark, which holds a stream over HTTP/1.1 only where it ended, scan the capture itself")
	} else if u.streams+u.sse > 0 {
		out = append(out, "record both directions of every stream; instead of an export of tshark, which holds an answer over HTTP/1.1 only once it is complete, scan the capture itself")
	}
	return out
}

// missed says why an occasion that was not observed may have been there all the same,
// where single messages or packets are missing; "" = all that there was is in view.
func missed(c *correlate.Domain, sig *signals.Signal) string {
	switch {
	case c.AnswersUnseen > 0 && sig.Requires&(signals.Streams|signals.Headers) != 0: // others need requests for their occasion
		return plural(c.AnswersUnseen, "answer") + " not in the recording: the occasion may have been there"
	case c.LossFlags&event.LossRest != 0:
		return "the file ends in the middle: the occasion may have been behind"
	case c.Gaps > 0:
		return plural(c.Gaps, "gap") + " in the recording: the occasion may have been there"
	}
	return ""
}

// shown reports whether something was found of a signal: that it can be judged needs no more proof.
func shown(s *rules.Sink, sig *signals.Signal) bool {
	for _, f := range s.Findings {
		if f.Signal == sig && f.Strength > signals.Hazard && f.Rejected == "" {
			return true
		}
	}
	return false
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// holes says what the recording does not hold of the domains, "" if nothing is known to be missing.
func holes(res *Result) string {
	why, n := "", 0
	for _, d := range res.Domains {
		for _, k := range d.Conditions {
			if k.Name == "complete" && k.State == Failed {
				n++
				why, _, _ = strings.Cut(k.Why, ": no argument")
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "not everything is in view: " + why
	}
	return fmt.Sprintf("not everything is in view in %d domains", n)
}

// unlock says what would make unreadable traffic readable.
func unlock(what string) string {
	switch what {
	case "TLS":
		return " (give its secrets with --tls-keylog FILE, or record behind TLS)"
	case "TLS that tshark did not decrypt":
		return " (export with -o tls.keylog_file:FILE, or scan the capture itself)"
	case "TLS that the given secrets do not open":
		return " (give the secrets of these connections, too, or record behind TLS)"
	}
	return ""
}
