package pcap

// Closed connections. A packet that comes after the end belongs to nobody, unless it
// begins a new connection between the same endpoints; to tell that takes little, so
// that a capture of very many connections takes no more than those that are open.

// maxGraves bounds the closed connections that are remembered.
const maxGraves = 32_000

// grave is what is remembered of a closed connection.
type grave struct {
	n    int // as in conn
	half [2]buried
}

// buried is what is remembered of a half, as in half.
type buried struct {
	base, next   uint32
	known, spoke bool
}

func (h *half) end() buried { return buried{h.base, h.next, h.known, h.spoke} }

// graves are the closed connections, and their keys in the order of their end.
type graves struct {
	known map[connKey]grave
	order []connKey
}

// bury drops a closed connection from the tables and remembers its end.
func (a *assembler) bury(c *conn) {
	g := grave{c.n, [2]buried{c.half[0].end(), c.half[1].end()}}
	a.forget(c)
	t := &a.graves
	if t.known == nil {
		t.known = map[connKey]grave{}
	}
	t.known[c.key] = g
	t.order = append(t.order, c.key)
	if len(t.order) > maxGraves { // of endpoints that were used again, the older end makes room for both
		delete(t.known, t.order[0])
		t.order = t.order[1:]
	}
}

// rise returns the number of the new connection that a segment of half i begins
// between the endpoints of a closed one, 0 if it begins none. Endpoints that no
// closed one is known of begin with number 1.
func (t *graves) rise(key connKey, i int, s *segment) int {
	g, ok := t.known[key]
	switch {
	case !ok && s.flags&flagRST != 0:
		return 0
	case !ok:
		return 1
	case !g.half[i].reused(s):
		return 0
	}
	delete(t.known, key)
	if g.half[0].spoke || g.half[1].spoke {
		return g.n + 1
	}
	return g.n
}

// reused reports whether a segment of a half of a closed connection begins another one.
func (h *buried) reused(s *segment) bool {
	switch {
	case s.flags&flagRST != 0:
		return false
	case s.flags&flagSYN != 0:
		return !h.known || s.seq+1 != h.base // else it is repeated
	case len(s.data) > 0 && h.known:
		far := int32(s.seq - h.next)
		return far > maxAhead || far < -maxAheadAll
	}
	return false
}
