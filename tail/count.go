package tail

import (
	"fmt"
	"strings"
)

// How a watch stands, in numbers.

// counts are the values at the last look, from which metrics grow.
type counts struct{ malformed, gaps, late, evictions, dropped int64 }

// now are the present values of what is counted elsewhere.
func (t *Tail) now() (c counts) {
	all := t.graph.Live.Totals()
	c.malformed, c.gaps, c.late = all.Malformed, all.Gaps, all.Late
	for _, s := range t.graph.Engine.Sinks {
		c.evictions += int64(s.Domain.Evicted)
	}
	if t.opt.Syslog != nil {
		c.dropped = t.opt.Syslog.Dropped()
	}
	return c
}

// gauge shows how the watch stands.
func (t *Tail) gauge(busy bool) {
	g, c := t.opt.Gauges, t.now()
	g.malformed.AddInt64(c.malformed - t.counts.malformed)
	g.gaps.AddInt64(c.gaps - t.counts.gaps)
	g.evictions.AddInt64(c.evictions - t.counts.evictions)
	g.late.AddInt64(c.late - t.counts.late)
	g.dropped.AddInt64(c.dropped - t.counts.dropped)
	if t.opt.Webhook != nil {
		g.refused.Store(t.opt.Webhook.refused.Load())
	}
	t.counts = c
	live := 0
	for _, s := range t.graph.Engine.Sinks {
		live += s.Domain.LiveCount
	}
	g.sessions.Store(int64(live))
	g.watermark.Store(t.graph.Live.Time())
	lag := int64(0)
	if at := t.graph.Live.Time(); busy && at > 0 { // more is written than was judged
		lag = max(0, t.opt.Clock.Now().UnixNano()-at)
	}
	g.lag.Store(lag)
	g.beat.Store(t.opt.Clock.Now().UnixNano())
	g.ready.Store(true)
}

// enough is how many lines of a source show that isodetect does not understand it.
const enough = 1000

// remark says once of a source that its lines are not read, or that none of many tells of
// MCP: a watch that can find nothing must not look like one that finds nothing.
func (t *Tail) remark(end bool) {
	if t.opt.Log == nil {
		return
	}
	for _, s := range t.graph.Live.Sources {
		st := &s.Input.Stats
		if t.remarked[s.Index] || st.Used > 0 {
			continue
		}
		text := ""
		switch {
		case s.Unread != "":
			text = "it is not followed: " + s.Unread
		case st.Records >= enough, end && st.Records > 0:
			text = fmt.Sprintf("%d lines were read, and none of them tells of MCP; isodetect inspect says what is understood of a file", st.Records)
		default:
			continue
		}
		if t.remarked == nil {
			t.remarked = map[int32]bool{}
		}
		t.remarked[s.Index] = true
		t.opt.Log(s.Input.Path + ": " + text)
	}
}

// Summary tells what a watch has read, for its end.
func (t *Tail) Summary() string {
	all := t.graph.Live.Totals()
	parts := []string{fmt.Sprintf("%d lines read, %d used, %d malformed", all.Records, all.Used, all.Malformed), fmt.Sprintf("%d findings told", len(t.emitter.Told))}
	return strings.Join(parts, "; ")
}
