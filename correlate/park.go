package correlate

import "slices"

// Nearly every session begins with an initialize that names nobody, so that the
// address it came from is a party until the answer names the session. One that sent
// nothing else is forgotten then, but for its number.

// maxParked bounds the numbers that are remembered.
const maxParked = 1 << 18

// park forgets a party without a session whose only exchange turned out to belong to
// another one. Nobody else points to it. Where several recordings tell, each by its
// own order, parties stay.
func (d *Domain) park(p *Party) {
	idle := p.Running == 0 && p.Streams == 0 && p.Requests == 0 && len(p.Open) == 0
	if p.IsSession() || p.Exchanges != 1 || !idle || p.lost() || d.Views || d.Joined || d.Of != nil {
		return
	}
	last := len(d.Parties) - 1
	for i := last; i >= 0 && i > last-64; i-- {
		if d.Parties[i] != p {
			continue
		}
		d.Parties = slices.Delete(d.Parties, i, i+1)
		key := Other{p.Kind, p.ID}
		delete(d.Others, key)
		if len(d.Parked) >= maxParked || d.Parked == nil {
			d.Parked = map[Other]uint32{}
		}
		d.Parked[key] = p.Number
		return
	}
}

// lost reports whether anything is missing of what a party sent and received.
func (p *Party) lost() bool {
	return p.Holes != nil || slices.ContainsFunc(p.Conns, func(c *Conn) bool { return c.Holes != nil })
}
