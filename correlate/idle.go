package correlate

import "github.com/isodetect/isodetect/event"

// Pass lets time go on in a domain up to an Idle event, and returns the moment of it:
// nothing happened, so the moment names nobody. It is nil where the domain has come as
// far already. Nothing is forgotten and no window grows by it: what the domain
// tells of its own time is what its events told.
func (s *State) Pass(d *Domain, ev *event.Event) *Moment {
	if d.Now.To == 0 || ev.Time.To <= d.Now.To {
		return nil
	}
	d.Now = ev.Time
	s.Moment = Moment{Event: ev, Domain: d, Ended: s.Moment.Ended[:0]}
	return &s.Moment
}
