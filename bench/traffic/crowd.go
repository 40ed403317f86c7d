package traffic

import (
	"fmt"
	"io"
	"math"
	"time"
)

// Crowd is traffic of many sessions that come one after another and stay.
type Crowd struct {
	Seed     uint64
	Sessions int           // in all
	Calls    int           // of each session, behind its initialize
	Streams  bool          // each opens a GET stream that stays open
	Leave    int           // every so manieth session ends with DELETE; 0 = none does
	Span     time.Duration // of event time, from the first session to the last
}

// Crowd writes the traffic of a crowd in one format to w. It returns the number of bytes.
func (f Format) Crowd(w io.Writer, o Crowd) (int64, error) {
	out := &counter{w: w}
	wr := f.write(out)
	s := newServer(Options{Seed: o.Seed})
	var err error
	flush := func(all bool) {
		for h := s.next(all); h != nil && err == nil; h = s.next(all) {
			err = wr.happen(h)
		}
	}
	gap := int64(o.Span) / int64(max(o.Sessions, 1))
	var here []*session // those that have something left to say, in the order in which they may
	for i := 0; i < o.Sessions && err == nil; i++ {
		c := s.initialize()
		c.left = o.Calls
		here = append(here, c)
		for next := s.now + gap; s.now < next || i == o.Sessions-1 && len(here) > 0; {
			if len(here) == 0 || here[0].ready >= next && i < o.Sessions-1 {
				s.now = next
				break
			}
			c := here[0]
			here = here[1:]
			s.now = max(s.now, c.ready)
			if s.say(c, o) {
				c.ready = s.now + 100*int64(time.Millisecond)
				here = append(here, c)
			}
		}
		flush(false)
	}
	flush(true)
	if err == nil {
		err = wr.done()
	}
	if err != nil {
		return out.n, fmt.Errorf("cannot write %s traffic: %w", f.Name, err)
	}
	return out.n, nil
}

// say lets a session do the next thing and reports whether it has more to do.
func (s *server) say(c *session, o Crowd) bool {
	switch {
	case o.Streams && !c.streams:
		c.streams = true
		x := s.open(c, s.now, "GET", "", true, 200)
		s.add(x, s.now+s.ms(1, 4), headed, "")
		x.c.free = math.MaxInt64
	case c.left > 0:
		c.left--
		s.short(c)
	default:
		if o.Leave > 0 && c.made%o.Leave == 0 {
			x := s.open(c, s.now, "DELETE", "", false, 200)
			s.add(x, s.now+s.ms(1, 3), headed, "")
			s.add(x, s.now+s.ms(3, 4), closed, "")
		}
		return false
	}
	return true
}
