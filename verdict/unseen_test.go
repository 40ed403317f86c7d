package verdict

import (
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
)

// A stream or a connection that the recording does not show may have carried what a
// signal shows in: that it was not observed is not said, and the run is not clean.
func TestUnseen(t *testing.T) {
	dom := event.Domain{Server: "http://h", Path: "/mcp"}
	unanswered := func(path, method string, unit event.Unit, loss event.Loss) func(*rules.Engine) {
		return func(e *rules.Engine) {
			on := event.Event{Kind: event.Opened, Time: event.At(10), Domain: event.Domain{Server: "http://h", Path: path}, Exchange: event.ExchangeID{N: 9},
				HTTPMethod: method, Asked: event.Named("a"), At: event.Address{Unit: unit}}
			e.Apply(&on)
			on.Kind, on.Time, on.Loss = event.Closed, event.At(11), loss
			e.Apply(&on)
		}
	}
	closed := func(what, server, path string) func(*rules.Engine) {
		return func(e *rules.Engine) {
			e.Apply(&event.Event{Kind: event.Unreadable, Time: event.At(10), Domain: event.Domain{Server: server, Path: path}, Note: what, N: 3})
		}
	}
	gap := func(loss event.Loss) func(*rules.Engine) {
		return func(e *rules.Engine) {
			e.Apply(&event.Event{Kind: event.Gap, Time: event.At(10), Domain: dom, Loss: loss})
		}
	}
	f := func(name string, happens func(*rules.Engine), code int, bleed, fallback, why string) {
		t.Helper()
		e, s := sink(rules.Options{})
		s.Judged(signals.CancellationCrosstalk)
		happens(e)
		res := Judge(e, Options{})
		if res.ExitCode != code || !strings.Contains(res.Why, why) || strings.Contains(res.Why, "headers were cut") {
			t.Errorf("%s: exit %d (%s), want %d and %q", name, res.ExitCode, res.Why, code, why)
		}
		for _, st := range res.Domains[0].Signals {
			want := map[string]string{"subscription_bleed": bleed, "fallback_resolution": fallback}[st.Signal]
			if want != "" && st.State != want || strings.Contains(st.Why, "headers") {
				t.Errorf("%s: %s is %s (%s), want %s", name, st.Signal, st.State, st.Why, want)
			}
		}
		for _, k := range res.Domains[0].Conditions {
			if k.Name == "complete" && (k.State == Met) != (bleed == NotObserved) {
				t.Errorf("%s: complete is %s (%s)", name, k.State, k.Why)
			}
		}
	}
	const no, hid = NotObserved, NotAssessable
	lost := event.LossResponseBody
	f("all is in view", func(*rules.Engine) {}, ExitClean, no, no, "1 of 7 signals judged")
	f("a stream", unanswered("/mcp", "GET", event.UnitFrame, lost|event.LossHeaders), ExitInconclusive, hid, no, "1 GET stream has no answer in the recording")
	f("one that carried nothing", unanswered("/mcp", "GET", event.UnitFrame, 0), ExitClean, no, no, "")
	f("one that a browser did not keep", unanswered("/mcp", "GET", event.UnitEntry, lost), ExitClean, no, no, "")
	f("the answer to a request", unanswered("/mcp", "POST", event.UnitFrame, lost), ExitClean, hid, hid, "1 answer not in the recording")
	f("all that HTTP+SSE answers", unanswered("/sse", "GET", event.UnitFrame, lost), ExitInconclusive, hid, hid, "1 GET stream has no answer")
	inline := func(e *rules.Engine) {
		answer := event.Event{Kind: event.Message, Dir: event.ToClient, Time: event.At(9), Domain: dom, Exchange: event.ExchangeID{N: 7}, HTTPMethod: "POST", RPC: event.RPC{Kind: mcp.KindResult, ID: "1"}}
		e.Apply(&answer)
		unanswered("/favicon.ico", "GET", event.UnitFrame, lost)(e)
	}
	f("a page beside a server that answers POSTs on their own exchanges", inline, ExitClean, no, no, "")
	f("TLS", closed("TLS", "http://h", ""), ExitInconclusive, hid, hid, "3 connections (TLS) to this server could not be read")
	f("TLS to another server", closed("TLS", "http://h:9", ""), ExitClean, no, no, "")
	f("TLS to the same port of a server in the clear", closed("TLS", "https://h", ""), ExitClean, no, no, "")
	f("a WebSocket", closed("WebSocket", "http://h", "/mcp"), ExitInconclusive, hid, hid, "3 connections (WebSocket)")
	f("a WebSocket of another path", closed("WebSocket", "http://h", "/reload"), ExitClean, no, no, "")
	announced := func(e *rules.Engine) {
		sse := event.Event{Kind: event.Opened, Time: event.At(12), Domain: event.Domain{Server: "http://h", Path: "/sse"}, Exchange: event.ExchangeID{N: 8}, HTTPMethod: "GET"}
		e.Apply(&sse)
		sse.Kind, sse.Note, sse.Answered = event.Endpoint, "/mcp?session_id=a", event.Named("a")
		e.Apply(&sse)
	}
	f("requests before their stream is announced", announced, ExitInconclusive, hid, hid, "requests to /mcp stand before the HTTP+SSE stream")
	f("a file that ends in the middle", gap(event.LossRest), ExitClean, hid, hid, "not everything is in view: the rest of the recording is missing")
	f("a gap", gap(0), ExitClean, hid, hid, "not everything is in view: 1 gap")
}

// What was found needs no stream more.
func TestFoundBesideUnseen(t *testing.T) {
	e, s := sink(rules.Options{})
	s.Judged(signals.TokenCollision)
	s.Report(finding(signals.Probable))
	e.Apply(&event.Event{Kind: event.Unreadable, Time: event.At(10), Domain: event.Domain{Server: "http://h"}, Note: "TLS", N: 1})
	res := Judge(e, Options{})
	if st := res.Domains[0].Signals[2]; res.ExitCode != ExitFindings || st.Signal != "token_collision" || st.State != Judged {
		t.Errorf("exit %d, %+v", res.ExitCode, st)
	}
	if !strings.Contains(res.Why, "1 connection (TLS) to this server could not be read") {
		t.Errorf("the headline says %q", res.Why)
	}
}

// That gaps are missing secrets is not a reason to capture without loss, or with more clients.
func TestRecipesOfUnseen(t *testing.T) {
	f := func(name string, loss event.Loss, what, want, not string) {
		t.Helper()
		e, s := sink(rules.Options{})
		s.Domain.Overlap = false
		e.Apply(&event.Event{Kind: event.Gap, Time: event.At(10), Domain: s.Domain.Key, Loss: loss})
		if what != "" {
			e.Apply(&event.Event{Kind: event.Unreadable, Time: event.At(10), Domain: event.Domain{Server: "http://h"}, Note: what, N: 1})
		}
		res := Judge(e, Options{})
		help := strings.Join(res.Domains[0].Help, "\n")
		if k := res.Domains[0].Conditions[2]; k.Name != "overlap" || (k.State == Unknown) != (what != "") {
			t.Errorf("%s: %+v", name, k)
		}
		if strings.Count(res.Why, "connection") > 1 {
			t.Errorf("%s: the headline says it twice: %s", name, res.Why)
		}
		if !strings.Contains(help, want) || strings.Contains(help, not) {
			t.Errorf("%s: %q, want %q without %q", name, help, want, not)
		}
	}
	f("loss", 0, "", "without loss", "secrets")
	f("secrets", event.LossDark, "TLS", "give the secrets", "without loss")
	f("secrets, too few", event.LossDark, "TLS that the given secrets do not open", "give the secrets", "two clients")
	f("neither", event.LossDark, "QUIC", "HTTP/1.1 or HTTP/2", "secrets")
}

// A stream that is not in view hides no second party.
func TestOnePartyBesideUnseenStream(t *testing.T) {
	e := rules.NewEngine(rules.Options{})
	on := event.Event{Kind: event.Opened, Time: event.At(1), Domain: event.Domain{Server: "http://h"}, Exchange: event.ExchangeID{N: 1}, HTTPMethod: "GET", Asked: event.Named("a")}
	e.Apply(&on)
	on.Kind, on.Loss = event.Closed, event.LossResponseBody
	e.Apply(&on)
	e.End()
	res := Judge(e, Options{})
	if d := res.Domains[0]; !strings.Contains(res.Why, "one party only") || d.Conditions[2].State != Failed || !strings.Contains(strings.Join(d.Help, ""), "two clients") {
		t.Errorf("%s; %+v; %q", res.Why, d.Conditions[2], d.Help)
	}
}
