package correlate

// MarkSet remembers which marks occurred in a domain, in two generations, so that
// its size stays bounded: when the young one is full the old one is dropped. It
// keeps 31 bits of each hash, so that some new marks, one in ten thousand when it is
// full, look as if they had occurred: that costs a marker and never makes one.
type MarkSet struct {
	Young, Old Marks
}

// Marks is an open-addressed table of shortened hashes; 0 is empty.
type Marks struct {
	Slots []uint32
	Used  int
}

const (
	minMarks       = 1 << 8
	markGeneration = 1 << 18
)

// Has reports whether v was added and is remembered.
func (s *MarkSet) Has(v uint64) bool {
	h := short(v)
	return s.Young.has(h) || s.Old.has(h)
}

// Add remembers v.
func (s *MarkSet) Add(v uint64) {
	h := short(v)
	if s.Young.Used >= markGeneration && !s.Young.has(h) {
		s.Old, s.Young = s.Young, Marks{}
	}
	s.Young.add(h)
}

func short(v uint64) uint32 { return uint32(v*0x9E3779B97F4A7C15>>32) | 1 }

// find returns the slot of h, or the empty one where it belongs.
func (m *Marks) find(h uint32) int {
	mask := len(m.Slots) - 1
	for i := int(h>>1) & mask; ; i = (i + 1) & mask {
		if m.Slots[i] == h || m.Slots[i] == 0 {
			return i
		}
	}
}

func (m *Marks) has(h uint32) bool {
	return len(m.Slots) > 0 && m.Slots[m.find(h)] == h
}

func (m *Marks) add(h uint32) {
	if 2*m.Used >= len(m.Slots) {
		old := m.Slots
		m.Slots = make([]uint32, max(minMarks, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				m.Slots[m.find(o)] = o
			}
		}
	}
	if i := m.find(h); m.Slots[i] == 0 {
		m.Slots[i] = h
		m.Used++
	}
}
