package correlate

// Which parties have something in flight or open.

// begin and finish count a client request of a party in flight.
func (d *Domain) begin(p *Party) {
	p.Running++
	d.occupy(p)
}

func (d *Domain) finish(p *Party) {
	p.Running--
	d.vacate(p)
}

// occupy notes that a party has something open, and sees whether another one has too.
func (d *Domain) occupy(p *Party) {
	if p.Busy == 0 && p.Running+p.Streams == 1 {
		d.Busy = append(d.Busy, p)
		p.Busy = int32(len(d.Busy))
	}
	if d.Overlap || d.untimedNow {
		return
	}
	for _, o := range d.Busy {
		if Distinct(p, o) {
			d.Overlap = true
			d.OverlapWhy = p.Alias + " and " + o.Alias + " had something in flight at once"
			return
		}
	}
}

func (d *Domain) vacate(p *Party) {
	if p.Running+p.Streams == 0 {
		d.idle(p)
	}
}

// idle takes a party off Busy. Their order tells who is named as the one that
// another overlapped, so it is kept until one did.
func (d *Domain) idle(p *Party) {
	i, last := int(p.Busy)-1, len(d.Busy)-1
	switch {
	case i < 0:
		return
	case d.Overlap:
		d.Busy[i] = d.Busy[last]
		d.Busy[i].Busy = int32(i) + 1
	default:
		copy(d.Busy[i:], d.Busy[i+1:])
		for k := i; k < last; k++ {
			d.Busy[k].Busy = int32(k) + 1
		}
	}
	d.Busy[last] = nil
	d.Busy = d.Busy[:last]
	p.Busy = 0
}
