package correlate

import (
	"fmt"
	"slices"

	"github.com/isodetect/isodetect/event"
)

// Which sessions are live.

// Live returns the sessions that were, or may have been, live at t, in order of
// becoming live: all of them, or the first few where max is not 0.
func (d *Domain) Live(t event.Time, max int) []*Party {
	var live []*Party
	for _, p := range d.Lively[d.overBefore(t):] {
		if p.LiveAt(t) == No {
			continue
		}
		if live = append(live, p); len(live) == max {
			break
		}
	}
	return live
}

// over is how many sessions at the front of Domain.Lively have ended, the last of them when.
// What was live longest mostly ended first, and most questions are about now.
type over struct {
	n    int
	last int64
}

// overBefore returns how many sessions at the front of Lively had ended before t.
func (d *Domain) overBefore(t event.Time) int {
	if d.over.n > 0 && d.over.last >= t.From {
		return 0
	}
	for d.over.n < len(d.Lively) {
		p := d.Lively[d.over.n]
		if p.Live || p.LiveTo.To >= t.From {
			break
		}
		d.over = over{d.over.n + 1, max(d.over.last, p.LiveTo.To)}
	}
	return d.over.n
}

func (d *Domain) setLive(p *Party, from event.Time) {
	if p.Live {
		return
	}
	if p.WasLive {
		d.over = over{} // it may be among them
	}
	p.WasLive = true
	p.Live, p.LiveFrom, p.LiveTo = true, from, event.Time{}
	if !slices.Contains(d.Lively[max(0, len(d.Lively)-8):], p) {
		d.pruneLively()
		d.Lively = append(d.Lively, p)
	}
	d.LiveCount++
	if d.LiveCount >= 2 && !d.Overlap && !d.untimedNow {
		d.Overlap = true
		d.OverlapWhy = fmt.Sprintf("%s became live while another session was", p.Alias)
	}
}

func (d *Domain) endLive(p *Party, at event.Time) {
	if !p.Live {
		return
	}
	p.Live, p.LiveTo = false, at
	d.LiveCount--
}

// pruneLively forgets sessions that ended so long ago that nothing which is
// still to come can lie in their lives.
func (d *Domain) pruneLively() {
	if len(d.Lively) < 64 || len(d.Lively) < 2*d.LiveCount || d.Intervals > 0 {
		return
	}
	d.Lively, d.over = slices.DeleteFunc(d.Lively, d.bury), over{}
}

// bury forgets which tokens a session that is past gave, unless they are one
// interval, and reports whether it is past.
func (d *Domain) bury(p *Party) bool {
	if !d.past(p) {
		return false
	}
	if p.Tokens.Many != nil && d.left(p) {
		p.Tokens = IDSet{Many: &ManyIDs{Forgot: true}}
		p.Lose(event.ToServer, d.Now.To)
	}
	return true
}

// left reports whether a session that is past has no stream on which anything could
// still reach it. Of several logs, one may tell later.
func (d *Domain) left(p *Party) bool { return p.Streams == 0 && p.Running == 0 && !d.Views }

// past reports whether a session ended so long ago that nothing still to come lies in its life.
func (d *Domain) past(p *Party) bool { return p.Gone || !p.Live && p.LiveTo.To+2*Grace < d.Now.To }
