package pcap

import "slices"

// This file puts IP fragments together. A datagram of which a fragment never
// comes is lost like a packet that was not captured: the hole shows in its connection.

const (
	maxDatagrams   = 1024     // that wait for fragments
	maxFragmented  = 16 << 20 // bytes of them
	fragmentWait   = 30e9     // ns (RFC 791 and RFC 8200 §4.5 say 15 s and 60 s)
	maxDatagram    = 1<<16 - 1
	maxRunsOfOne   = 64  // runs between which a datagram still has holes
	datagramsCosts = 256 // bytes that a datagram costs beside its own
)

type fragmentKey struct {
	src, dst [16]byte
	id       uint32
	proto    byte // IPv4
}

// fragments are the datagrams that are not whole yet, the oldest first.
type fragments struct {
	waiting map[fragmentKey]*datagram
	order   []*datagram
	held    int
	lost    int64 // datagrams that were given up
}

type datagram struct {
	key   fragmentKey
	began int64
	size  int // -1 = the last fragment has not come
	cut   int // from here on nothing was captured
	data  []byte
	runs  []run // that have come, in order, not touching
}

type run struct{ from, to int }

// add takes a fragment: its offset, whether others follow, its captured bytes and
// how many of it were not captured. With the last one that was missing it returns
// the whole, valid until the next call, and how much of its end was not captured.
func (f *fragments) add(key fragmentKey, now int64, at int, more bool, b []byte, missing int) (all []byte, lack int, whole bool) {
	f.expire(now)
	end := at + len(b) + missing
	if end > maxDatagram || end == at {
		return nil, 0, false
	}
	g := f.waiting[key]
	if g == nil {
		if f.waiting == nil {
			f.waiting = map[fragmentKey]*datagram{}
		}
		g = &datagram{key: key, began: now, size: -1, cut: maxDatagram}
		f.waiting[key] = g
		f.order = append(f.order, g)
		f.held += datagramsCosts
	}
	if !more && g.size < 0 {
		g.size = end
	}
	if missing > 0 {
		g.cut = min(g.cut, at+len(b))
	}
	f.held -= len(g.data)
	g.take(at, end, b)
	f.held += len(g.data)
	if g.size < 0 || len(g.runs) != 1 || g.runs[0].from != 0 || g.runs[0].to < g.size {
		f.bound()
		return nil, 0, false
	}
	f.drop(g)
	n := min(g.size, g.cut)
	return g.data[:n], g.size - n, true
}

// take copies a fragment to its place; what has come before wins.
func (g *datagram) take(at, end int, b []byte) {
	if len(g.data) < end {
		g.data = slices.Grow(g.data, end-len(g.data))[:end]
	}
	from := at
	i := 0
	for ; i < len(g.runs) && g.runs[i].from < end; i++ {
		if r := g.runs[i]; from < r.from {
			g.fill(from, r.from, at, b)
		}
		from = max(from, g.runs[i].to)
	}
	if from < end {
		g.fill(from, end, at, b)
	}
	g.join(run{at, end})
}

func (g *datagram) fill(from, to, at int, b []byte) {
	if from-at < len(b) {
		copy(g.data[from:to], b[from-at:min(to-at, len(b))])
	}
}

func (g *datagram) join(r run) {
	if len(g.runs) >= maxRunsOfOne {
		return // it will never be whole
	}
	out := g.runs[:0:0]
	for _, o := range g.runs {
		switch {
		case o.to < r.from:
			out = append(out, o)
		case r.to < o.from:
			out = append(out, r)
			r = o
		default:
			r = run{min(r.from, o.from), max(r.to, o.to)}
		}
	}
	g.runs = append(out, r)
}

// expire gives up the datagrams that wait too long.
func (f *fragments) expire(now int64) {
	for len(f.order) > 0 && now-f.order[0].began > fragmentWait {
		f.giveUp()
	}
}

// bound gives up the oldest datagrams where too much waits.
func (f *fragments) bound() {
	for len(f.order) > maxDatagrams || f.held > maxFragmented {
		f.giveUp()
	}
}

func (f *fragments) giveUp() {
	f.lost++
	f.drop(f.order[0])
}

func (f *fragments) drop(g *datagram) {
	delete(f.waiting, g.key)
	if i := slices.Index(f.order, g); i >= 0 {
		f.order = slices.Delete(f.order, i, i+1)
	}
	f.held -= len(g.data) + datagramsCosts
}
