package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
)

// pages lets an engine see a number of ordinary pages, each read once.
func pages(e *rules.Engine, n int) {
	for i := range n {
		ev := event.Event{Time: event.At(100), Domain: event.Domain{Server: "http://web", Path: fmt.Sprint("/", i)}, Exchange: event.ExchangeID{Source: 1, N: uint64(i + 1)}, HTTPMethod: "GET"}
		for _, ev.Kind = range []event.Kind{event.Opened, event.Head, event.Closed} {
			ev.Status = 200
			e.Apply(&ev)
		}
	}
}

// A URL that carried no MCP is no endpoint: it is counted, and neither judged nor advised on.
func TestWithoutMCP(t *testing.T) {
	e := engine(1)
	e.Sinks[0].Judged(signals.TokenCollision)
	pages(e, 12)
	res := Judge(e, Options{})
	w := res.Without
	if len(res.Domains) != 1 || w.URLs != 12 || w.Exchanges != 12 || len(w.Named) != maxWithout || w.Named[1] != "http://web/1" {
		t.Errorf("%d domains, without MCP %+v", len(res.Domains), w)
	}
	if res.ExitCode != ExitClean || !strings.Contains(res.Why, "1 of 1 domain ") || len(res.Help) > 0 {
		t.Errorf("exit code %d, %s, help %v", res.ExitCode, res.Why, res.Help)
	}
}

// Where there is nothing else the run says so, and what to record.
func TestOnlyWithoutMCP(t *testing.T) {
	f := func(n int, why, help string) {
		t.Helper()
		e := rules.NewEngine(rules.Options{})
		pages(e, n)
		res := Judge(e, Options{})
		if res.ExitCode != ExitInconclusive || res.Why != why || len(res.Help) != 1 || !strings.Contains(res.Help[0], help) {
			t.Errorf("%d pages: exit code %d, %s, help %v", n, res.ExitCode, res.Why, res.Help)
		}
	}
	f(0, "no MCP traffic was recognised", "docs/logging.md")
	f(1, "no MCP traffic was recognised: the traffic of one URL was read and is ordinary HTTP", "where the MCP server listens")
	f(60, "no MCP traffic was recognised: the traffic of 60 URLs was read and is ordinary HTTP", "where the MCP server listens")
}
