package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/signals"
)

// Two requests with one token in flight: is the progress of both on one stream?

// Series is the progress that reached the party of one request.
type Series struct {
	Request *correlate.Request
	Rivals  []*correlate.Request // other parties' requests with the same token, in flight at the same time
	Points  []Point
	Place   int // in Token.Series
}

// Point is one progress notification.
type Point struct {
	Value, Total float64
	HasTotal     bool
	Text         string // its message with the digits taken out
	Stream       event.ExchangeID
	Ordered      bool // its place in the series is sure: no replay, and no other request of the party could be meant
	Ref          correlate.Ref
}

// watch notes a rival of a request and reports whether there was room.
func (f *Token) watch(r, rival *correlate.Request) bool {
	s := f.series(r)
	if s != nil && slices.Contains(s.Rivals, rival) {
		return true // a second line about a request
	}
	if s == nil || len(s.Rivals) >= maxRivals {
		return false
	}
	if s.Rivals == nil {
		s.Rivals = make([]*correlate.Request, 0, maxRivals)
	}
	s.Rivals = append(s.Rivals, rival)
	return true
}

// series returns the series of a request and begins it if there is room.
func (f *Token) series(r *correlate.Request) *Series {
	s := f.Of[r.Seq]
	if s != nil {
		return s
	}
	if len(f.Of) >= maxSeries {
		f.dropAlone()
		if f.Full = f.Full || len(f.Of) >= maxSeries; len(f.Of) >= maxSeries {
			return nil
		}
	}
	if len(f.Series) >= 2*maxSeries {
		f.Series = f.keep(f.Series[:0], func(s *Series) bool { return s != nil })
	}
	s = &Series{Request: r, Place: len(f.Series)}
	f.Of[r.Seq] = s
	f.Series = append(f.Series, s)
	if r.Ended() {
		f.Alone = append(f.Alone, s)
	}
	return s
}

// dropAlone makes room: it forgets the series of requests that ended without a rival.
func (f *Token) dropAlone() {
	for _, s := range f.Alone {
		if len(s.Rivals) == 0 && f.Of[s.Request.Seq] == s {
			delete(f.Of, s.Request.Seq)
			f.Series[s.Place] = nil
		}
	}
	f.Alone = f.Alone[:0]
}

// keep appends the series that stay to the front of the list.
func (f *Token) keep(to []*Series, stays func(*Series) bool) []*Series {
	for _, s := range f.Series {
		if stays(s) {
			s.Place = len(to)
			to = append(to, s)
		}
	}
	clear(f.Series[len(to):])
	return to
}

const maxRivals = 8

// point keeps a progress value of a request whose token another party has in flight too.
func (f *Token) point(r *correlate.Request, ev *event.Event, ordered bool) {
	s := f.series(r)
	if s == nil {
		return
	}
	if len(s.Points) > 0 && s.Points[0].Ref.View != ev.View { // another recording tells of the same progress
		if s.Points[0].Stream.N != 0 || ev.Exchange.N == 0 {
			return
		}
		s.Points = s.Points[:0] // what arrived says more than what a log says was sent
	}
	if len(s.Points) < maxPoints {
		s.Points = append(s.Points, Point{
			Value: ev.RPC.Progress, Total: ev.RPC.Total, HasTotal: ev.RPC.HasTotal, Text: skeleton(ev.RPC.ProgressMsg), Stream: ev.Exchange, Ordered: ordered,
			Ref: refOf(ev),
		})
	}
}

// skeleton takes the digits out of a progress message, so that "part 1 of 8"
// and "part 2 of 8" are one series.
func skeleton(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// settle judges the series that ended with all their rivals a grace ago, or all at the end.
func (f *Token) settle(d *correlate.Domain, now int64, end bool, out *Sink) {
	if !end && d.Intervals > 0 {
		return // messages of streams without times may still belong to what ended
	}
	over := func(r *correlate.Request) bool { return r.Ended() && r.End.Time.To+correlate.Grace < now }
	var done []*Series
	f.Alone = f.Alone[:0]
	f.Series = f.keep(f.Series[:0], func(s *Series) bool {
		switch {
		case s == nil:
			return false
		case end || over(s.Request) && !slices.ContainsFunc(s.Rivals, func(r *correlate.Request) bool { return !over(r) }):
			done = append(done, s)
			return false
		case len(s.Rivals) == 0 && s.Request.Ended():
			f.Alone = append(f.Alone, s)
		}
		return true
	})
	for _, s := range done {
		for _, rival := range s.Rivals {
			f.judge(s, rival, out)
		}
	}
	for _, s := range done {
		delete(f.Of, s.Request.Seq)
	}
}

// judge asks whether the progress of a rival, which has the same token in
// flight, came mixed into a series while the rival's own is missing or broken off.
func (f *Token) judge(s *Series, rival *correlate.Request, out *Sink) {
	if !s.Request.Overlaps(rival) || len(s.Points) < 2 {
		return
	}
	var theirs []Point
	if o := f.Of[rival.Seq]; o != nil {
		theirs = o.Points
	}
	if rival.Party != nil && rival.Party.Unseen() && !s.onOwn() {
		return // it may have got its own there
	}
	lacks := f.lacks(rival, theirs)
	if lacks == lacksNothing {
		return
	}
	points := ordered(s.Points)
	if fall, how := mixed(points, theirs); how != "" {
		f.report(s, rival, "interleaved", fall, how, lacks.text(rival, theirs), out)
		return
	}
	if at, how := beyond(points); how != "" && len(theirs) > 0 {
		f.report(s, rival, "duplicated", at, how, lacks.text(rival, theirs), out)
	}
}

// onOwn reports whether all of a series came with the answer to its request: so a
// server sends progress, and not on the stream of a GET.
func (s *Series) onOwn() bool {
	x := s.Request.Exchange
	return x != nil && !slices.ContainsFunc(s.Points, func(p Point) bool { return p.Stream != x.ID })
}

// ordered returns the points whose place in the series is sure.
func ordered(points []Point) []Point {
	unsure := func(p Point) bool { return !p.Ordered }
	if !slices.ContainsFunc(points, unsure) {
		return points
	}
	return slices.DeleteFunc(slices.Clone(points), unsure)
}

// lack is what a series misses.
type lack uint8

const (
	lacksNothing lack = iota
	lacksAll
	lacksEnd // it broke off
)

// lacks says what the rival's own series misses.
func (f *Token) lacks(rival *correlate.Request, points []Point) lack {
	if rival.Fate == correlate.Lost || rival.OwnCancel != (event.Time{}) || rival.Left || rival.Ended() && !rival.Succeeded() {
		return lacksNothing // what it misses has another reason, or is not known
	}
	if rival.Party == nil || !rival.Party.Complete(event.ToClient, rival.Sent.Time.From) {
		return lacksNothing
	}
	if len(points) == 0 {
		if rival.Tool != "" && f.reports(rival.Tool) {
			return lacksAll
		}
		return lacksNothing
	}
	if last := furthest(points); last.HasTotal && last.Value < last.Total {
		return lacksEnd
	}
	return lacksNothing
}

// furthest returns the first point with the highest value.
func furthest(points []Point) *Point {
	last := &points[0]
	for i := range points {
		if points[i].Value > last.Value {
			last = &points[i]
		}
	}
	return last
}

// text words what the series of a rival misses.
func (l lack) text(rival *correlate.Request, points []Point) string {
	if l == lacksAll {
		return fmt.Sprintf("%s got no progress at all for its %s, a tool that reports progress", name(rival.Party), call(rival))
	}
	last := furthest(points)
	return fmt.Sprintf("the progress of %s broke off at %g of %g", name(rival.Party), last.Value, last.Total)
}

// mixed reports whether the points of one stream are two series: they fall with
// the total or the message of the other series, or split into two increasing
// series that interleave. A single fall alone is a tool with phases.
func mixed(points, theirs []Point) (Point, string) {
	for _, own := range byStream(points) {
		falls := 0
		for i := 1; i < len(own); i++ {
			if own[i].Value > own[i-1].Value {
				continue
			}
			falls++
			if foreign(own[i], own[i-1], theirs) {
				return own[i], fmt.Sprintf("its progress fell from %g to %g, with the total or message of the other series", own[i-1].Value, own[i].Value)
			}
		}
		if falls >= 2 && twoSeries(own) {
			return own[len(own)-1], "its progress is two increasing series that interleave"
		}
	}
	return Point{}, ""
}

// foreign reports whether p carries the total or message of the other series
// and its predecessor does not.
func foreign(p, before Point, theirs []Point) bool {
	for _, t := range theirs {
		if t.HasTotal && p.HasTotal && t.Total == p.Total && before.Total != p.Total {
			return true
		}
		if t.Text != "" && t.Text == p.Text && before.Text != p.Text {
			return true
		}
	}
	return false
}

// byStream divides points by the stream they came on, since only there their order is sure.
func byStream(points []Point) [][]Point {
	exact := !slices.ContainsFunc(points, func(p Point) bool { return orderless(p.Ref.Time) })
	if exact {
		return [][]Point{points}
	}
	var out [][]Point
	for _, p := range points {
		i := slices.IndexFunc(out, func(s []Point) bool { return s[0].Stream == p.Stream })
		if i < 0 {
			out = append(out, []Point{p})
			continue
		}
		out[i] = append(out[i], p)
	}
	return out
}

// twoSeries reports whether points split into exactly two strictly increasing
// series: their longest run of non-increasing values (Dilworth) has length two.
func twoSeries(points []Point) bool {
	longest := make([]int, len(points))
	deepest := 0
	for i := range points {
		longest[i] = 1
		for j := range i {
			if points[j].Value >= points[i].Value {
				longest[i] = max(longest[i], longest[j]+1)
			}
		}
		deepest = max(deepest, longest[i])
	}
	return deepest == 2
}

// beyond reports whether one value came twice, or more than the total.
func beyond(points []Point) (Point, string) {
	for i, p := range points {
		if p.HasTotal && p.Total > 0 && p.Value > p.Total {
			return p, fmt.Sprintf("its progress went to %g of %g", p.Value, p.Total)
		}
		for _, q := range points[:i] {
			if q.Value == p.Value {
				return p, fmt.Sprintf("it received the value %g twice", p.Value)
			}
		}
	}
	return Point{}, ""
}

func (f *Token) report(s *Series, rival *correlate.Request, variant string, at Point, how, lacks string, out *Sink) {
	a, b := s.Request, rival
	out.Report(signals.Finding{
		Signal: signals.TokenCollision, Variant: variant, Strength: signals.Probable, Era: "legacy",
		Parties:    []signals.Party{party(a.Party, signals.Cause), party(b.Party, signals.Victim)},
		RequestIDs: ids(a, b), Tokens: tokens(a.Token, b.Token), Method: b.Method, Tool: b.Tool,
		First: s.Points[0].Ref.Time.From, Last: at.Ref.Time.To,
		Summary: fmt.Sprintf("%s and %s have token %s in flight at once, and %s receives the progress of both", name(a.Party), name(b.Party), a.Token, name(a.Party)),
		Because: []string{
			fmt.Sprintf("%s and %s both gave the token %s, and both requests were in flight", name(a.Party), name(b.Party), a.Token),
			fmt.Sprintf("on the side of %s: %s (P-PRG-3 demands that progress increases)", name(a.Party), how),
			"at the same time " + lacks,
			"so the router keeps one entry per token, and the later registration took both series",
		},
		Assumption: "the tool does not report progress in this shape by itself",
		Evidence: []signals.Evidence{
			seen(signals.Victim, b.Sent, b.Party, "gives the token"),
			seen(signals.Cause, a.Sent, a.Party, "gives the same token"),
			seen(signals.Cause, s.Points[0].Ref, a.Party, "first progress on this side"),
			seen(signals.Cause, at.Ref, a.Party, how),
		},
	})
}

func (f *Token) reports(tool string) bool {
	known, _ := f.Reports.Get(tool)
	return known
}
